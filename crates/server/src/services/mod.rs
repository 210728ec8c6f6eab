//! The services: one file for each group of methods. They read the request, ask the games or a
//! pure room, and answer.

mod can_mate;
mod copies;
mod create;
mod export;
mod export_pgn;
mod games;
mod import_pgn;
mod imported;
mod listing;
mod perft;
mod permit;
mod place;
mod play;
mod rules;
mod service;
mod store;
mod streaming;
mod tokens;
mod verify_games;
mod watch;
mod watch_games;
mod worker;

pub(crate) use self::copies::Copies;
pub(crate) use self::perft::PerftService;
pub(crate) use self::rules::RulesService;
pub(crate) use self::service::GamesService;
pub(crate) use self::store::StoreKeeper;
pub(crate) use self::streaming::StreamingGames;
pub(crate) use self::tokens::TokenKeeper;
pub(crate) use self::worker::WorkerDesk;
