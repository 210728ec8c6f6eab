//! `referee store`: copies stores and verifies them. Through the server that runs on one, or by
//! itself.

mod backup;
mod verify;
mod waiting;

use clap::{Args, Subcommand};

use crate::exit::Outcome;

/// The command line of `referee store`.
#[derive(Debug, Args)]
pub(crate) struct StoreArguments {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// Copies a store: by the server that runs on it, or here where none does.
    Backup(backup::BackupArguments),
    /// Verifies stores and copies: each chain, count and index.
    Verify(verify::VerifyStoreArguments),
}

impl StoreArguments {
    /// Does what was asked for.
    pub(crate) fn run(self) -> Outcome {
        match self.command {
            StoreCommand::Backup(backup) => backup.run(),
            StoreCommand::Verify(verify) => verify.run(),
        }
    }
}
