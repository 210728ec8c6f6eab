//! Where the commands about tokens find them, and what all of them say.

use std::path::{Path, PathBuf};

use clap::Args;
use referee_server::{Clock as _, MachineClock, is_platform};
use referee_store::{Fault, OpenError, ReadError, SqliteStore, Store as _, TokenScope};

use crate::exit::Failure;

/// Which store a command works on.
#[derive(Debug, Args)]
pub(super) struct StoreOfTokens {
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
    pub(super) fn with<T>(
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
pub(super) fn now_us() -> i64 {
    MachineClock::after(None).now_us()
}

pub(super) fn of_fault(fault: &Fault) -> Failure {
    Failure::Trouble(fault.to_string())
}

pub(super) fn of_read(error: &ReadError) -> Failure {
    Failure::Trouble(error.to_string())
}

/// Says what a token is confined to.
pub(super) fn scope_words(scope: &TokenScope) -> String {
    match scope {
        TokenScope::Platform => "all".to_owned(),
        TokenScope::Game { game, seat: 1 } => format!("games/{game} white"),
        TokenScope::Game { game, seat: 2 } => format!("games/{game} black"),
        TokenScope::Game { game, .. } => format!("games/{game}"),
        TokenScope::Label { key, value } => format!("{key}={value}"),
    }
}

/// Takes the name of a platform.
pub(super) fn read_platform(text: &str) -> Result<String, String> {
    let expected = "expected is a name of at most 128 lower-case letters, digits, hyphens, dots and \
                    underscores";
    is_platform(text)
        .then(|| text.to_owned())
        .ok_or_else(|| expected.to_owned())
}
