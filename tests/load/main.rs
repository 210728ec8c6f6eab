//! What serving costs in processor time; see README.md beside this file.

#![forbid(unsafe_code)]

mod bare;
mod beside;
mod cpu;
mod fleet;
mod moves;
mod quiet;
mod raw;
mod watchers;

use std::process::ExitCode;

use referee_api::v1::{Game, RuleParameters, RuleProfile};

/// The moves that a game goes to and fro with.
const SHUFFLE: [&str; 4] = ["Nf3", "Nf6", "Ng1", "Ng8"];

#[tokio::main]
async fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("moves") => moves::run().await,
        Some("fleet") => fleet::run().await,
        Some("beside") => beside::run().await,
        Some("quiet") => quiet::run().await,
        Some("watchers") => watchers::run().await,
        // The other side of `watchers`, which starts it.
        Some("bare") => bare::serve().await,
        _ => {
            eprintln!(
                "usage: load moves | quiet | watchers | beside | fleet [DEPTH [HASH_MIB [FEN]]]"
            );
            return ExitCode::from(64);
        }
    }
    ExitCode::SUCCESS
}

/// A game that neither repetition nor a count ends.
fn endless() -> Game {
    let overrides = RuleParameters {
        fivefold: Some(false),
        seventy_five: Some(false),
        ..RuleParameters::default()
    };
    Game {
        rule_profile: Some(RuleProfile {
            overrides: Some(overrides),
            ..RuleProfile::default()
        }),
        ..Game::default()
    }
}

/// The value in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
