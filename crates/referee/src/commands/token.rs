//! `referee token`: issues tokens, lists and revokes them, in a store that no server runs on.

mod issue;
mod list;
mod revoke;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use referee_server::{Clock as _, MachineClock};
use referee_store::{Fault, OpenError, ReadError, SqliteStore, Store as _, TokenScope};

use crate::exit::{Failure, Outcome};

/// The command line of `referee token`.
#[derive(Debug, Args)]
pub(crate) struct TokenArguments {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Issues a token and prints it, once: only its hash is kept.
    Issue(issue::IssueArguments),
    /// Lists tokens, without their secrets.
    List(list::ListArguments),
    /// Revokes a token.
    Revoke(revoke::RevokeArguments),
}

impl TokenArguments {
    /// Does what was asked for.
    pub(crate) fn run(self) -> Outcome {
        match self.command {
            TokenCommand::Issue(issue) => issue.run(),
            TokenCommand::List(list) => list.run(),
            TokenCommand::Revoke(revoke) => revoke.run(),
        }
    }
}

/// Which store a command works on.
#[derive(Debug, Args)]
struct StoreOfTokens {
    /// The store, which no server may have open.
    #[arg(
        long,
        value_name = "FILE",
        env = "REFEREE_STORE",
        default_value = "referee.db"
    )]
    store: PathBuf,
}

impl StoreOfTokens {
    /// Opens the store, does something with it, and closes it.
    fn with<T>(
        &self,
        work: impl AsyncFnOnce(&SqliteStore) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let store = open(&self.store)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime =
            runtime.map_err(|error| Failure::Trouble(format!("cannot start: {error}")))?;
        runtime.block_on(async {
            let done = work(&store).await;
            let closed = store.close().await;
            let done = done?;
            closed.map_err(|error| Failure::Trouble(error.to_string()))?;
            Ok(done)
        })
    }
}

fn open(path: &Path) -> Result<SqliteStore, Failure> {
    SqliteStore::open(path).map_err(|error| {
        Failure::Trouble(match error {
            OpenError::Locked { path } => format!(
                "a server runs on {}; stop it, or ask it by the methods of \
                 `referee.v1.TokenService`",
                path.display()
            ),
            error => error.to_string(),
        })
    })
}

/// The time of day, in microseconds since 1970.
fn now_us() -> i64 {
    MachineClock::after(None).now_us()
}

fn of_fault(fault: &Fault) -> Failure {
    Failure::Trouble(fault.to_string())
}

fn of_read(error: &ReadError) -> Failure {
    Failure::Trouble(error.to_string())
}

/// Says what a token is confined to.
fn scope_words(scope: &TokenScope) -> String {
    match scope {
        TokenScope::Platform => "all".to_owned(),
        TokenScope::Game { game, seat: 1 } => format!("games/{game} white"),
        TokenScope::Game { game, seat: 2 } => format!("games/{game} black"),
        TokenScope::Game { game, .. } => format!("games/{game}"),
        TokenScope::Label { key, value } => format!("{key}={value}"),
    }
}
