//! Where a suite runs: against the real binary, or against two servers over one store.

#![expect(
    clippy::disallowed_methods,
    reason = "the time of the real binary is that of the machine"
)]

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use referee_api::v1::game_service_client::GameServiceClient;
use tempfile::TempDir;
use tokio::time::sleep;

use crate::line::{Line, Turns};
use crate::pair::Pair;
use crate::process::{Referee, signal};
use crate::wire;

/// A client of games, whatever it is connected to.
pub type Games = GameServiceClient<Line>;

/// How much time passes at once while something is waited for.
const STEP: Duration = Duration::from_millis(50);

/// How long a step of passing time takes at least: what has become due meanwhile shall be done at
/// about that time.
const PACE: Duration = Duration::from_millis(10);

/// After this time something hangs.
const PATIENCE: Duration = Duration::from_secs(90);

/// A service under test.
#[derive(Debug)]
pub enum Deployment {
    /// The real binary as one process, by the real clock.
    Binary {
        /// The process.
        process: Referee,
        /// The folder with its store, which outlives it.
        folder: PathBuf,
        /// That folder, where it goes away with the deployment.
        own: Option<TempDir>,
        /// Whose turn it is; with one server always the same.
        turns: Arc<Turns>,
    },
    /// Two servers over one store, by a clock that moves when the test says so.
    Pair(Box<Pair>),
}

/// Makes a test of each function for both deployments. A function takes a [`Deployment`].
#[macro_export]
macro_rules! on_both {
    ($($test:ident),+ $(,)?) => {
        mod binary {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test($crate::deployment::Deployment::binary()).await;
                }
            )+
        }

        mod pair {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test($crate::deployment::Deployment::pair().await).await;
                }
            )+
        }
    };
}

impl Deployment {
    /// Starts the real binary.
    ///
    /// # Panics
    ///
    /// Where it does not come up.
    #[must_use]
    pub fn binary() -> Deployment {
        let own = tempfile::tempdir().expect("a folder for temporary files can be made");
        Deployment::Binary {
            process: Referee::start_in(own.path()),
            folder: own.path().to_owned(),
            own: Some(own),
            turns: Arc::default(),
        }
    }

    /// Starts the real binary on the store in a folder, which is there afterwards as well.
    ///
    /// # Panics
    ///
    /// Where it does not come up.
    #[must_use]
    pub fn binary_in(folder: &Path) -> Deployment {
        Deployment::Binary {
            process: Referee::start_in(folder),
            folder: folder.to_owned(),
            own: None,
            turns: Arc::default(),
        }
    }

    /// Starts two servers.
    ///
    /// # Panics
    ///
    /// Where they do not come up.
    pub async fn pair() -> Deployment {
        Deployment::Pair(Box::new(Pair::start().await))
    }

    /// Returns an address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        match self {
            Self::Binary { process, .. } => process.address(),
            Self::Pair(pair) => pair.server(0).address(),
        }
    }

    /// Opens a connection to each server, used as one.
    pub async fn line(&self) -> Line {
        match self {
            Self::Binary { process, turns, .. } => {
                Line::new(vec![process.connect().await], Arc::clone(turns))
            }
            Self::Pair(pair) => pair.line().await,
        }
    }

    /// Opens connections for games.
    pub async fn games(&self) -> Games {
        GameServiceClient::new(self.line().await)
    }

    /// Opens connections for games on which little can be under way.
    pub async fn narrow_games(&self) -> Games {
        let line = match self {
            Self::Binary { process, turns, .. } => {
                Line::new(vec![process.connect_narrow().await], Arc::clone(turns))
            }
            Self::Pair(pair) => pair.narrow_line().await,
        };
        GameServiceClient::new(line)
    }

    /// Returns the time of the service in milliseconds since 1970.
    ///
    /// # Panics
    ///
    /// Before 1970.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        match self {
            Self::Binary { .. } => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH);
                let ms = since.expect("it is after 1970").as_millis();
                i64::try_from(ms).unwrap_or(i64::MAX)
            }
            Self::Pair(pair) => pair.now_us() / 1_000,
        }
    }

    /// Lets time pass.
    pub async fn pass(&self, duration: Duration) {
        match self {
            Self::Binary { .. } => sleep(duration).await,
            Self::Pair(pair) => pair.pass(duration).await,
        }
    }

    /// Lets time pass until something has happened.
    pub async fn passing<T>(&self, happens: impl Future<Output = T>) -> T {
        let Self::Pair(pair) = self else {
            return happens.await;
        };
        let mut happens = pin!(happens);
        loop {
            tokio::select! {
                biased;
                happened = &mut happens => return happened,
                () = sleep(PACE) => pair.pass(STEP).await,
            }
        }
    }

    /// Goes away without a word, and is there again after some time. The two servers do not go
    /// away: time leaps, as if nobody had been there.
    ///
    /// # Panics
    ///
    /// Where it does not come up again.
    #[must_use]
    pub async fn die(self, down: Duration) -> Deployment {
        match self {
            Self::Binary {
                process,
                folder,
                own,
                turns,
            } => {
                process.kill();
                sleep(down).await;
                Self::Binary {
                    process: Referee::start_in(&folder),
                    folder,
                    own,
                    turns,
                }
            }
            Self::Pair(pair) => {
                pair.fall_silent(down);
                Self::Pair(pair)
            }
        }
    }

    /// Ends as it should, and is there again after some time.
    ///
    /// # Panics
    ///
    /// Where it does not end well or does not come up again.
    #[must_use]
    pub async fn restart(mut self, down: Duration) -> Deployment {
        if let Self::Pair(pair) = &mut self {
            pair.restart(down).await;
            return self;
        }
        self.stop();
        assert!(self.ended(PATIENCE).await, "it ends well");
        self.die(down).await
    }

    /// Stands still for some time, as a process does that gets no turn.
    pub async fn stand_still(&self, duration: Duration) {
        match self {
            Self::Binary { process, .. } => {
                signal(process.id(), "STOP");
                sleep(duration).await;
                signal(process.id(), "CONT");
            }
            Self::Pair(pair) => pair.stand_still(duration),
        }
    }

    /// Tells the service to end; see [`ended`](Self::ended).
    pub fn stop(&self) {
        match self {
            Self::Binary { process, .. } => process.terminate(),
            Self::Pair(pair) => pair.stop(),
        }
    }

    /// Waits for the end of the service; says whether it ended well and in time.
    pub async fn ended(&mut self, patience: Duration) -> bool {
        match self {
            Self::Binary { process, .. } => {
                let ended = tokio::task::block_in_place(|| process.wait(patience));
                matches!(ended, Ok(Some(status)) if status.success())
            }
            Self::Pair(pair) => pair.ended(patience).await,
        }
    }

    /// Opens a connection to one of the servers.
    pub async fn connect(&self) -> tonic::transport::Channel {
        wire::connect(self.address()).await
    }
}
