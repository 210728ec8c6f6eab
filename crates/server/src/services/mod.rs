//! The services: one file for each group of methods. They read the request, ask the games or a
//! pure room, and answer.

mod can_mate;
mod create;
mod export;
mod export_pgn;
mod games;
mod import_pgn;
mod imported;
mod listing;
mod place;
mod play;
mod rules;
mod service;
mod store;
mod streaming;
mod verify_games;
mod watch;
mod watch_games;

pub(crate) use self::rules::RulesService;
pub(crate) use self::service::GamesService;
pub(crate) use self::store::StoreKeeper;
pub(crate) use self::streaming::StreamingGames;
