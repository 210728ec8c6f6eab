//! `referee can-mate`: whether a side can still mate by any series of legal moves, for one position
//! or for a suite of positions with known answers.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, ValueEnum};
use rayon::prelude::*;
use referee_chess::{CastlingMode, Color, Position, UciMove};
use referee_mate::limits::{FULL_NODES, MAX_NODES};
use referee_mate::suite::{Case, Verdict, cases, judge};
use referee_mate::{Budget, CanMate, can_mate};
use serde_json::json;

use crate::EXIT_USAGE;

/// The longest line of a suite that is read, in bytes.
const LINE_BYTES_MAX: u64 = 1_024;
/// The positions of a suite that are worked on together.
const BATCH: usize = 4_096;

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
            (Some(path), _) => self.run_suite(path),
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

    fn run_suite(&self, path: &Path) -> Result<ExitCode, Failure> {
        let file = File::open(path).map_err(|error| {
            Failure::Usage(format!("{} cannot be read: {error}", path.display()))
        })?;
        let mut lines = Lines {
            reader: BufReader::new(file),
            number: 0,
        };
        let mut out = io::stdout().lock();
        let (mut passed, mut failed) = (0_u64, 0_u64);
        let budget = Budget::of(self.budget);
        loop {
            let batch = lines.batch(path)?;
            if batch.is_empty() {
                break;
            }
            let verdicts: Vec<(Case, Vec<Verdict>)> = batch
                .into_par_iter()
                .map(|case| {
                    let verdicts = judge(&case, budget, &|| false).to_vec();
                    (case, verdicts)
                })
                .collect();
            for (case, verdicts) in verdicts {
                for verdict in verdicts {
                    if verdict.is_passed() {
                        passed += 1;
                        continue;
                    }
                    failed += 1;
                    writeln!(
                        out,
                        "{}:{}: {}: expected {}, got {}: {}",
                        path.display(),
                        case.line,
                        verdict.winner,
                        if verdict.expected { "yes" } else { "no" },
                        describe(&case.position, &verdict.answer),
                        case.fen
                    )
                    .map_err(Failure::Output)?;
                }
            }
        }
        writeln!(out, "{passed} passed, {failed} failed").map_err(Failure::Output)?;
        Ok(if failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

enum Failure {
    Usage(String),
    Output(io::Error),
}

/// The lines of a suite, each of bounded length.
struct Lines<R> {
    reader: R,
    number: usize,
}

impl<R: BufRead> Lines<R> {
    fn batch(&mut self, path: &Path) -> Result<Vec<Case>, Failure> {
        let mut batch = Vec::new();
        while batch.len() < BATCH {
            let mut line = Vec::new();
            let read = io::Read::take(&mut self.reader, LINE_BYTES_MAX + 1)
                .read_until(b'\n', &mut line)
                .map_err(|error| {
                    Failure::Usage(format!("{} cannot be read: {error}", path.display()))
                })?;
            if read == 0 {
                break;
            }
            self.number += 1;
            let at = |what: String| {
                Failure::Usage(format!("{}:{}: {what}", path.display(), self.number))
            };
            if line.len() as u64 > LINE_BYTES_MAX {
                return Err(at(format!(
                    "the line is longer than {LINE_BYTES_MAX} bytes"
                )));
            }
            let text = String::from_utf8(line).map_err(|_| at("the line is not UTF-8".into()))?;
            for case in cases(&text) {
                let case = case.map_err(|error| at(error.reason))?;
                batch.push(Case {
                    line: self.number,
                    ..case
                });
            }
        }
        Ok(batch)
    }
}

/// The moves of a line in UCI notation.
fn line_of(position: &Position, found: &CanMate) -> Vec<UciMove> {
    let CanMate::Yes(moves) = found else {
        return Vec::new();
    };
    let mut at = position.clone();
    moves
        .iter()
        .map(|&mv| {
            let uci = at.uci(mv);
            at.play_unchecked(mv);
            uci
        })
        .collect()
}

fn describe(position: &Position, found: &CanMate) -> String {
    match found {
        CanMate::Yes(moves) if moves.is_empty() => "yes: mate is on the board".into(),
        CanMate::Yes(_) => {
            let line: Vec<String> = line_of(position, found)
                .iter()
                .map(ToString::to_string)
                .collect();
            format!("yes: {}", line.join(" "))
        }
        CanMate::No(proof) => format!("no ({}): {proof}", proof.name()),
        CanMate::Unknown { nodes } => format!("unknown after {nodes} positions"),
    }
}

fn describe_json(
    position: &Position,
    side: Color,
    found: &CanMate,
    micros: u64,
) -> serde_json::Value {
    let line: Vec<String> = line_of(position, found)
        .iter()
        .map(ToString::to_string)
        .collect();
    let side = match side {
        Color::White => "white",
        Color::Black => "black",
    };
    match found {
        CanMate::Yes(_) => {
            json!({"side": side, "can_mate": "yes", "line": line, "micros": micros})
        }
        CanMate::No(proof) => json!({
            "side": side, "can_mate": "no", "proof": proof.name(), "text": proof.to_string(),
            "micros": micros
        }),
        CanMate::Unknown { nodes } => {
            json!({"side": side, "can_mate": "unknown", "nodes": nodes, "micros": micros})
        }
    }
}
