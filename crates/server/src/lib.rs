//! gRPC services: read the request, ask a pure room, store, answer.
//!
//! This is the only room that knows both the contract (`referee-api`) and the rules, and the only
//! one that knows gRPC statuses. [`serve`] runs the services on a listener until it is told to
//! stop; the caller brings the store, the listener and the signal.

#![forbid(unsafe_code)]

mod actions;
mod afterthought;
mod clocks;
mod content;
mod desk;
mod details;
mod entry;
mod export;
mod fields;
mod finding;
mod follow;
mod game_service;
mod keys;
pub mod limits;
mod mating;
mod pgn_games;
mod play;
mod profile_fields;
mod pulse;
mod read;
mod record;
mod reject;
mod replay;
mod rules_service;
mod serve;
mod standing;
mod status;
mod stream;
mod timekeeper;
mod verdicts;
mod view;

pub use details::ErrorDetails;
pub use keys::{KeyError, RecordKey, read_public_key};
pub use replay::{Replay, ReplayError};
pub use serve::{ServeError, ServeOptions, serve};
pub use status::{ApiError, DOMAIN, Violation};
