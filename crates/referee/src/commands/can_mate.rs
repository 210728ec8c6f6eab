//! `referee can-mate`: whether a side can still mate by any series of legal moves, for one position
//! or for a suite of positions with known answers.

#![expect(clippy::disallowed_types, reason = "how long an answer took is shown")]

mod answer;
mod failure;
mod suite;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, ValueEnum};
use referee_chess::{CastlingMode, Color, Position};
use referee_mate::limits::{FULL_NODES, MAX_NODES};
use referee_mate::{Budget, CanMate, can_mate};

use self::answer::{describe, describe_json};
use self::failure::Failure;
use crate::exit::EXIT_USAGE;

/// The side that is asked about.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Side {
    White,
    Black,
}

/// What `referee can-mate` is told.
#[derive(Debug, Args)]
pub(crate) struct CanMateArguments {
    /// The position in Forsyth-Edwards Notation.
    #[arg(required_unless_present = "suite", conflicts_with = "suite")]
    fen: Option<String>,
    /// Ask about one side only.
    #[arg(long, value_enum)]
    side: Option<Side>,
    /// Positions that may be visited for each side.
    #[arg(long, value_name = "NODES", default_value_t = FULL_NODES, env = "REFEREE_MATE_BUDGET",
          value_parser = clap::value_parser!(u64).range(1..=MAX_NODES))]
    budget: u64,
    /// Read the castling rights as those of Chess960.
    #[arg(long)]
    chess960: bool,
    /// Write one line of JSON for each answer.
    #[arg(long)]
    json: bool,
    /// A file of positions with known answers: `W` or `-`, `B` or `-`, and a FEN on each line.
    #[arg(long, value_name = "FILE")]
    suite: Option<PathBuf>,
}

impl CanMateArguments {
    pub(crate) fn run(self) -> ExitCode {
        let done = match (&self.suite, &self.fen) {
            (Some(path), _) => suite::run(path, self.budget),
            (None, Some(fen)) => self.answer(fen),
            (None, None) => Err(Failure::Usage("give a FEN or --suite FILE".into())),
        };
        match done {
            Ok(code) => code,
            Err(Failure::Usage(message)) => {
                eprintln!("error: {message}");
                ExitCode::from(EXIT_USAGE)
            }
            // A reader that has seen enough is no failure.
            Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                ExitCode::SUCCESS
            }
            Err(Failure::Output(error)) => {
                eprintln!("error: the output cannot be written: {error}");
                ExitCode::FAILURE
            }
        }
    }

    fn sides(&self) -> Vec<Color> {
        match self.side {
            None => Color::ALL.to_vec(),
            Some(Side::White) => vec![Color::White],
            Some(Side::Black) => vec![Color::Black],
        }
    }

    fn answer(&self, fen: &str) -> Result<ExitCode, Failure> {
        let mode = if self.chess960 {
            CastlingMode::Chess960
        } else {
            CastlingMode::Standard
        };
        let position = Position::from_fen(fen, mode)
            .map_err(|error| Failure::Usage(format!("the FEN cannot be played from: {error}")))?;
        let mut out = io::stdout().lock();
        let mut is_decided = true;
        for side in self.sides() {
            let start = Instant::now();
            let found = can_mate(&position, side, Budget::of(self.budget), &|| false);
            is_decided &= !matches!(found, CanMate::Unknown { .. });
            let written = if self.json {
                let micros = start.elapsed().as_micros() as u64;
                writeln!(out, "{}", describe_json(&position, side, &found, micros))
            } else {
                writeln!(out, "{side}: {}", describe(&position, &found))
            };
            written.map_err(Failure::Output)?;
        }
        Ok(if is_decided {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}
