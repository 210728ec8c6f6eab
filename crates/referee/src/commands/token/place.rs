//! Where the commands about tokens find them, and what all of them say.

use std::path::{Path, PathBuf};

use clap::Args;
use referee_server::{Clock as _, MachineClock, is_platform};
use referee_store::{Fault, OpenError, ReadError, SqliteStore, Store as _};
use tonic::Request;
use tonic::metadata::{Ascii, MetadataValue};

use crate::connection::{Server, TrustArguments};
use crate::exit::Failure;

/// The header that names the platform of a call, where it is another than that of the credential.
const PLATFORM_HEADER: &str = "referee-platform";

/// Where tokens are kept.
#[derive(Debug, Args)]
pub(super) struct PlaceArguments {
    /// The store, which no server may have open.
    #[arg(
        long,
        value_name = "FILE",
        env = "REFEREE_STORE",
        default_value = "referee.db"
    )]
    store: PathBuf,
    /// Asks the server that runs on a store, as http://HOST:PORT or https://HOST:PORT.
    #[arg(long, short, value_name = "URL")]
    server: Option<String>,
    /// The platform of the tokens. Default: in a store `default`, and for a list all; on a server
    /// that of the credential.
    #[arg(long, value_name = "NAME", value_parser = read_platform)]
    pub(super) platform: Option<String>,
    #[command(flatten)]
    trust: TrustArguments,
}

impl PlaceArguments {
    /// Returns the server that is to be asked, where one is.
    pub(super) fn server(&self) -> Result<Option<Server>, Failure> {
        let server = self.server.as_deref();
        server
            .map(|url| Server::read("--server", url, &self.trust))
            .transpose()
    }

    /// Returns a request about the platform that was named.
    pub(super) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let platform: Option<MetadataValue<Ascii>> =
            self.platform.as_deref().and_then(|name| name.parse().ok());
        if let Some(platform) = platform {
            request.metadata_mut().insert(PLATFORM_HEADER, platform);
        }
        request
    }

    /// Opens the store, does something with it, and closes it.
    pub(super) fn with_store<T>(
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
                "a server runs on {}: ask it with --server URL and --token-file FILE",
                path.display()
            ),
            error => error.to_string(),
        })
    })
}

/// Takes the name of a platform.
fn read_platform(text: &str) -> Result<String, String> {
    let expected = "expected is a name of at most 128 lower-case letters, digits, hyphens, dots and \
                    underscores";
    is_platform(text)
        .then(|| text.to_owned())
        .ok_or_else(|| expected.to_owned())
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
