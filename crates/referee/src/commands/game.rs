//! `referee game`: a client for people. It creates games, shows them, follows them and acts in
//! them, over the API that everybody else uses.

mod act;
mod action_words;
mod actions;
mod board;
mod clocks;
mod create;
mod decisions;
mod events;
mod json;
mod names;
mod output;
mod rulings;
mod show;
mod times;
mod watch;
mod words;

use clap::{Args, Subcommand};

use self::act::ActArguments;
use self::create::CreateArguments;
use self::show::ShowArguments;
use self::watch::WatchArguments;
use crate::connection::{self, ServerArguments};
use crate::exit::Outcome;

/// The command line of `referee game`.
#[derive(Debug, Args)]
pub(crate) struct GameArguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    server: ServerArguments,
    /// Writes what the server answers as JSON, one message a line.
    #[arg(long, short, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Creates a game and writes its name.
    Create(Box<CreateArguments>),
    /// Shows a game: the board, the clocks, what stands, and how it ended.
    Show(ShowArguments),
    /// Follows a game: moves, rulings and clocks, until it is over.
    Watch(WatchArguments),
    /// Puts an action to the referee, and writes the ruling.
    Act(Box<ActArguments>),
}

impl GameArguments {
    /// Does what is asked for.
    pub(crate) fn run(self) -> Outcome {
        let server = self.server.read()?;
        let json = self.json;
        match self.command {
            Command::Create(create) => {
                let request = create.request()?;
                connection::run(create::create(&server, request, json))
            }
            Command::Show(show) => connection::run(show.show(&server, json)),
            Command::Watch(watch) => connection::run(watch.watch(&server, json)),
            Command::Act(act) => {
                let request = act.request()?;
                if act.is_dry_run() {
                    return act::print(&request);
                }
                connection::run(act::act(&server, request, json))
            }
        }
    }
}
