//! `referee token`: issues tokens, lists and revokes them, through a server, or in a store that
//! no server runs on.

mod issue;
mod list;
mod place;
mod revoke;
mod shown;

use clap::{Args, Subcommand};

use crate::exit::Outcome;

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
