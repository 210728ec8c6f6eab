//! `referee can-mate`: whether a side can still mate by any series of legal moves, for one position
//! or for a suite of positions with known answers.

#![expect(clippy::disallowed_types, reason = "how long an answer took is shown")]

mod answer;
mod suite;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use referee_chess::{Color, Position};
use referee_mate::limits::{FULL_NODES, MAX_NODES};
use referee_mate::{Budget, can_mate};

use self::answer::{describe, describe_json};
use crate::exit::{Exit, Failure, Outcome};
use crate::position::castling_mode;

/// The side that is asked about.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Side {
    White,
    Black,
}

/// What `referee can-mate` is told.
#[derive(Debug, Args)]
pub(crate) struct CanMateArguments {
    /// The position in Forsyth-Edwards Notation, with or without its counters, or `startpos`.
    #[arg(required_unless_present = "suite", conflicts_with = "suite")]
    fen: Option<String>,
    /// Ask about one side only.
    #[arg(long, short, value_enum)]
    side: Option<Side>,
    /// Positions that may be visited for each side.
    #[arg(long, short, value_name = "NODES", default_value_t = FULL_NODES, env = "REFEREE_MATE_BUDGET",
          value_parser = clap::value_parser!(u64).range(1..=MAX_NODES))]
    budget: u64,
    /// Read the castling rights as those of Chess960.
    #[arg(long)]
    chess960: bool,
    /// Write one line of JSON for each answer.
    #[arg(long, short)]
    json: bool,
    /// A file of positions with known answers: `W` or `-`, `B` or `-`, and a FEN on each line; `-`
    /// is standard input.
    #[arg(long, value_name = "FILE")]
    suite: Option<PathBuf>,
}

impl CanMateArguments {
    /// Answers for a position, whatever is found, or runs a suite.
    pub(crate) fn run(self) -> Outcome {
        match (&self.suite, &self.fen) {
            (Some(path), _) => suite::run(path, self.budget),
            (None, Some(fen)) => self.answer(fen),
            (None, None) => Err(Failure::Usage("give a FEN or --suite FILE".into())),
        }
    }

    fn sides(&self) -> Vec<Color> {
        match self.side {
            None => Color::ALL.to_vec(),
            Some(Side::White) => vec![Color::White],
            Some(Side::Black) => vec![Color::Black],
        }
    }

    fn answer(&self, fen: &str) -> Outcome {
        let position = Position::from_fen(fen, castling_mode(self.chess960))
            .map_err(|error| Failure::Usage(format!("the FEN cannot be played from: {error}")))?;
        let mut out = io::stdout().lock();
        for side in self.sides() {
            let start = Instant::now();
            let found = can_mate(&position, side, Budget::of(self.budget), &|| false);
            let written = if self.json {
                let micros = start.elapsed().as_micros() as u64;
                writeln!(out, "{}", describe_json(&position, side, &found, micros))
            } else {
                writeln!(out, "{side}: {}", describe(&position, &found))
            };
            written.map_err(Failure::Output)?;
        }
        out.flush().map_err(Failure::Output)?;
        Ok(Exit::Fine)
    }
}
