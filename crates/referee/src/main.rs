//! The `referee` binary: configuration, wiring, signals and exit codes, which are one table for all
//! commands (`exit`).

#![forbid(unsafe_code)]

mod commands;
mod connection;
mod environment;
mod exit;
mod limits;
mod log;
mod names;
mod position;
mod printable;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use commands::can_mate::CanMateArguments;
use commands::conform::ConformArguments;
use commands::export::ExportArguments;
use commands::game::GameArguments;
use commands::judge::JudgeArguments;
use commands::paper::{CompletionsArguments, ManArguments};
use commands::perft::PerftArguments;
use commands::serve::ServeArguments;
use commands::store::StoreArguments;
use commands::token::TokenArguments;
use commands::verify::VerifyArguments;
use commands::worker::WorkerArguments;
use exit::{Exit, Failure, Outcome};

/// The version, with the revision of what judges, which every record names as well, and the commit
/// where it is known.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let commit = match env!("REFEREE_COMMIT") {
        "" => String::new(),
        commit => format!(", commit {commit}"),
    };
    format!(
        "{} ({}{commit})",
        referee_record::VERSION,
        referee_record::REVISION
    )
});

/// A chess referee: it rules on moves and games, with reasons, and forgets nothing.
#[derive(Debug, Parser)]
#[command(name = "referee")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    log: log::LogArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the gRPC service.
    Serve(Box<ServeArguments>),
    /// Says whether a side can still mate by any series of legal moves.
    CanMate(CanMateArguments),
    /// Re-judges games from files in Portable Game Notation.
    Judge(JudgeArguments),
    /// Counts the moves of a tree, or runs a suite of positions with known counts.
    ///
    /// The last two plies are counted together, from one null move, as chessbit and MPerft do: only
    /// moves that touch checks, pins or castling are made. Positions that several paths lead to
    /// where the tree is cut into tasks are counted once. So nodes per second are those of a
    /// count, not of a move generator; `--no-bulk` makes every move.
    Perft(PerftArguments),
    /// Counts tasks of perft jobs for a server; any number of workers, safe to kill.
    Worker(WorkerArguments),
    /// Plays conformance cases through the API of a referee, this one or another.
    Conform(ConformArguments),
    /// Creates games, shows them, follows them and acts in them, over the API of a server.
    Game(GameArguments),
    /// Writes the record of a game, to be checked by `referee verify`.
    Export(ExportArguments),
    /// Checks exported game records: hash chain, signature, rulings, board and clocks.
    Verify(VerifyArguments),
    /// Copies stores and verifies them, in use or not.
    Store(StoreArguments),
    /// Issues tokens, lists and revokes them.
    Token(TokenArguments),
    /// Writes what a shell needs to complete command lines.
    Completions(CompletionsArguments),
    /// Writes the manual pages.
    Man(ManArguments),
}

/// Returns the command line. Every page of help has the exit codes.
fn command_line() -> clap::Command {
    let command = Arguments::command().version(VERSION.as_str());
    with_table(command, &exit::table())
}

fn with_table(command: clap::Command, table: &str) -> clap::Command {
    command
        .after_help(table.to_owned())
        .mut_subcommands(|command| with_table(command, table))
}

fn main() -> ExitCode {
    exit::end(run())
}

/// Says what is wrong with the command line, in color on a terminal; but what was typed, or put
/// together by a script, may hold characters that a terminal obeys, and then without.
fn print_mistake(error: &clap::Error) {
    let is_plain = |text: &OsString| !text.to_string_lossy().contains(char::is_control);
    if std::env::args_os().all(|text| is_plain(&text)) {
        let _ = error.print();
    } else {
        exit::tell(error.render());
    }
}

fn run() -> Outcome {
    let matches = command_line().try_get_matches();
    let read = matches.and_then(|matches| {
        let arguments = Arguments::from_arg_matches(&matches)?;
        Ok((arguments, matches))
    });
    let (arguments, matches) = match read {
        Ok(read) => read,
        // Help and version are answers, all else is a mistake.
        Err(error) if error.use_stderr() => {
            print_mistake(&error);
            if position::is_split(env::args_os()) {
                let _ = writeln!(io::stderr(), "{}", position::SPLIT_TIP);
            }
            return Ok(Exit::Usage);
        }
        Err(answer) => {
            let shown = answer.print().and_then(|()| io::stdout().flush());
            return shown.map(|()| Exit::Fine).map_err(Failure::Output);
        }
    };
    let started = arguments.log.start();
    started.map_err(Failure::Usage)?;
    let outcome = run_command(arguments.command, &matches, &arguments.log.log);
    referee_telemetry::log::finish();
    outcome
}

fn run_command(command: Command, matches: &ArgMatches, log: &str) -> Outcome {
    match command {
        Command::Serve(serve) => serve.run(command_line(), matches, log),
        Command::CanMate(can_mate) => can_mate.run(),
        Command::Judge(judge) => judge.run(),
        Command::Perft(perft) => perft.run(),
        Command::Worker(worker) => worker.run(),
        Command::Conform(conform) => conform.run(),
        Command::Game(game) => game.run(),
        Command::Export(export) => export.run(),
        Command::Verify(verify) => verify.run(),
        Command::Store(store) => store.run(),
        Command::Token(token) => token.run(),
        Command::Completions(completions) => completions.run(command_line()),
        Command::Man(man) => man.run(command_line()),
    }
}
