//! The contract and the rules, one into the other: requests read, answers and events written,
//! records folded, hashed, signed and judged again.
//!
//! A game is its record: a genesis and events, stored as the bytes of the contract's own messages.
//! [`read_creation`] reads how a game begins and [`convert::action::read_action`] what is asked of
//! it; [`FoldedGame`] is the fold of what was stored; [`build_event`] turns what the rules say to
//! an action into what is answered and what is to be stored, with [text about persons](split) apart
//! from what is hashed. Nothing here knows a store, a stream
//! or a status, and nothing reads a clock.
//!
//! ```
//! use referee_api::v1;
//! use referee_laws::Time;
//! use referee_record::convert::action::read_action;
//! use referee_record::{
//!     FoldedGame, PendingWrite, build_event, complete_genesis, read_creation,
//! };
//! use prost::Message;
//!
//! let request = v1::CreateGameRequest {
//!     game: Some(v1::Game::default()),
//!     request_id: "create-1".into(),
//!     ..v1::CreateGameRequest::default()
//! };
//! let (genesis, game) = read_creation(&request)?;
//! let genesis = complete_genesis(genesis, &game, "games/board-1".into(), None);
//! let mut folded = FoldedGame::begin(&genesis.encode_to_vec(), 0)?;
//!
//! let message = v1::Action {
//!     seat: v1::Seat::White.into(),
//!     request_id: "move-1".into(),
//!     kind: Some(v1::action::Kind::MakeMove(v1::MakeMove {
//!         r#move: "e4".into(),
//!         ..v1::MakeMove::default()
//!     })),
//!     ..v1::Action::default()
//! };
//! let submitted = read_action(&message)?;
//! let judgment = folded.game.judge(&submitted.action, Time::ORIGIN);
//! let pending = build_event(&folded, &message, judgment, 0, "anonymous", || [7; 16])?;
//! assert!(matches!(pending.write, PendingWrite::Entry { .. }));
//! folded = pending.after.expect("the move stands");
//! assert_eq!(folded.view().moves, ["e2e4"]);
//! # Ok::<(), referee_record::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod convert;
mod creation;
mod error;
mod event;
mod fields;
mod finding;
mod folded;
mod judge;
pub mod limits;
mod name;
mod personal;
mod replay;
mod request_hash;
mod signature;
mod update;

pub use creation::{
    check_labels, check_tags, complete_genesis, is_told_by_the_game, read_creation,
};
pub use error::{Error, Violation};
pub use event::{PendingEvent, PendingWrite, answer_of, build_event};
pub use fields::Fields;
pub use finding::Finding;
pub use folded::{FoldedGame, state, time_us, write_created, write_summary};
pub use judge::{REVISION, VERSION};
pub use name::{read_name, resource_name};
pub use personal::{Personal, Private, SALT_BYTES, Salt, split, text_of_action};
pub use replay::{Replay, ReplayError};
pub use request_hash::{hash_action, hash_creation};
pub use signature::{KeyError, RecordKey, key_id, read_private_key, read_public_key};
pub use update::{Update, read_update};
