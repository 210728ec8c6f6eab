//! `referee store backup`.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use referee_api::v1;
use referee_api::v1::back_up_store_response::Kind;
use referee_store::{Course, OpenError, StoreFile};

use super::waiting::{run_blocking, silent};
use crate::connection::{self, Server, TrustArguments};
use crate::exit::{Exit, Failure, Outcome};
use crate::limits::STORE_SILENCE_SECONDS_MAX;
use crate::printable::standard_output;

/// The command line of `referee store backup`.
#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// The new file; it must not be there yet.
    #[arg(
        value_name = "FILE",
        required_unless_present = "server",
        conflicts_with = "server"
    )]
    file: Option<PathBuf>,
    /// The store, which no server may have open.
    #[arg(
        long,
        value_name = "STORE",
        env = "REFEREE_STORE",
        default_value = "referee.db"
    )]
    store: PathBuf,
    /// Asks the server that runs on a store, as http://HOST:PORT or https://HOST:PORT. The server
    /// writes the copy into the folder that it was started with (`referee serve --backup-folder`),
    /// and names it.
    #[arg(long, short, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    trust: TrustArguments,
}

impl BackupArguments {
    pub(super) fn run(self) -> Outcome {
        let course = Arc::new(Course::default());
        match (self.server, self.file) {
            (Some(url), _) => {
                let server = Server::read("--server", &url, &self.trust)?;
                connection::run(ask(server))
            }
            (None, Some(file)) => {
                let working = Arc::clone(&course);
                run_blocking(&course, move || copy(&self.store, file, &working))
            }
            (None, None) => Err(Failure::Usage("name a file, or a --server".into())),
        }
    }
}

fn copy(store: &PathBuf, file: PathBuf, course: &Arc<Course>) -> Outcome {
    let mut opened = StoreFile::open_alone(store).map_err(|error| {
        Failure::Trouble(match error {
            OpenError::Locked { path } => format!(
                "a server runs on {}: ask it for the copy with --server URL",
                path.display()
            ),
            error => error.to_string(),
        })
    })?;
    let done = opened.back_up(&file, course);
    let done = done.map_err(|error| Failure::Trouble(error.to_string()))?;
    tell(&file.display().to_string(), done.games, done.bytes)
}

async fn ask(server: Server) -> Outcome {
    let mut store = server.store().await?;
    let stream = connection::in_time(store.back_up_store(v1::BackUpStoreRequest {})).await;
    let refused = |status: tonic::Status| server.failure(&status);
    let mut stream = stream.map_err(refused)?.into_inner();
    let silence = Duration::from_secs(STORE_SILENCE_SECONDS_MAX);
    loop {
        let next = tokio::time::timeout(silence, stream.message()).await;
        let next = next.map_err(|_| silent(&server))?.map_err(refused)?;
        let Some(message) = next else {
            let text = format!("{} ended the copy before its end", server.text());
            return Err(Failure::Trouble(text));
        };
        if let Some(Kind::Backup(backup)) = message.kind {
            let (games, bytes) = (backup.games.max(0) as u64, backup.bytes.max(0) as u64);
            return tell(&backup.file, games, bytes);
        }
    }
}

fn tell(file: &str, games: u64, bytes: u64) -> Outcome {
    let mut out = standard_output(false);
    writeln!(out, "{file}: {games} games, {bytes} bytes")
        .and_then(|()| out.flush())
        .map_err(Failure::Output)?;
    Ok(Exit::Fine)
}
