//! gRPC services: read the request, ask a pure room, store, answer.
//!
//! This is the only room that knows gRPC statuses; `referee-record` turns messages into what the
//! rules know, and back. [`serve`] runs the services on a listener until it is told to
//! stop; the caller brings the store, the listener and the signal.

#![forbid(unsafe_code)]

mod afterthought;
mod desk;
mod details;
mod export;
mod follow;
mod game_service;
pub mod limits;
mod mating;
mod pgn_games;
mod play;
mod pulse;
mod reject;
mod rules_service;
mod serve;
mod status;
mod stream;
mod timekeeper;
mod verdicts;

pub use details::ErrorDetails;
pub use serve::{ServeError, ServeOptions, serve};
pub use status::{ApiError, DOMAIN};
