//! The `referee` binary: configuration, wiring, signals and exit codes.
//!
//! Exit codes: 0 after the work is done or a drain, 1 where the work failed or could not start,
//! 64 for a command line or a setting that makes no sense.

#![forbid(unsafe_code)]

mod commands;
mod exit;
mod judge_command;
mod limits;
mod log;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::can_mate::CanMateArguments;
use commands::conform::ConformArguments;
use commands::export::ExportArguments;
use commands::perft::PerftArguments;
use commands::serve::ServeArguments;
use commands::verify::VerifyArguments;
use exit::EXIT_USAGE;
use judge_command::JudgeArguments;

/// A chess referee: it rules on moves and games, with reasons, and forgets nothing.
#[derive(Debug, Parser)]
#[command(name = "referee", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    log: log::LogArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the gRPC service.
    Serve(ServeArguments),
    /// Says whether a side can still mate by any series of legal moves.
    CanMate(CanMateArguments),
    /// Re-judges games from files in Portable Game Notation.
    Judge(JudgeArguments),
    /// Counts the moves of a tree, or runs a suite of positions with known counts.
    Perft(PerftArguments),
    /// Plays conformance cases through the API of a referee, this one or another.
    Conform(ConformArguments),
    /// Writes the record of a game, to be checked by `referee verify`.
    Export(ExportArguments),
    /// Checks exported game records: hash chain, signature, rulings, board and clocks.
    Verify(VerifyArguments),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are answers, all else is a mistake. A closed terminal is neither.
            let _ = error.print();
            return if error.use_stderr() {
                ExitCode::from(EXIT_USAGE)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    if let Err(error) = arguments.log.start() {
        eprintln!("error: {error}");
        return ExitCode::from(EXIT_USAGE);
    }
    match arguments.command {
        Command::Serve(serve) => serve.run(),
        Command::CanMate(can_mate) => can_mate.run(),
        Command::Judge(judge) => judge.run(),
        Command::Perft(perft) => perft.run(),
        Command::Conform(conform) => conform.run(),
        Command::Export(export) => export.run(),
        Command::Verify(verify) => verify.run(),
    }
}
