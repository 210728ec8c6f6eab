//! Two servers of this process over one opened store, as two processes would be: neither hears of
//! the other's commits but from the log. One of them keeps two games in memory.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use referee_api::v1::game_service_client::GameServiceClient;
use referee_server::limits::PROCESS_HEARTBEAT_INTERVAL;
use referee_server::{ManualClock, ServeError, Server, ServerOptions};
use referee_store::{SqliteStore, Store};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::apart::Apart;
use crate::line::{Line, Turns};
use crate::wire;

/// When the clock of a pair begins: 2026-01-01, in microseconds since 1970.
const BEGIN_US: i64 = 1_767_225_600_000_000;

/// The games that the second server keeps in memory.
pub const CACHED_BY_SECOND: usize = 2;

/// The longest step of time in which both servers give the signs of life that are due.
const STEP_MAX: Duration = Duration::from_millis(500);

/// How long a server may be late with a sign of life before time goes on without it.
const BEAT_PATIENCE: Duration = Duration::from_millis(500);

/// How far time may go on without a sign of life: what would make the service count as down.
const SILENCE: Duration = Duration::from_secs(4);

/// After this time something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a pair is started.
#[derive(Clone, Copy, Debug)]
pub struct PairOptions {
    /// The streams that may be open on each server.
    pub open_streams_max: usize,
    /// How long each server waits for open calls and streams when it stops.
    pub drain_timeout: Duration,
    /// The platform whose games everybody acts on, for each server.
    pub platforms: [&'static str; 2],
}

impl Default for PairOptions {
    fn default() -> PairOptions {
        let options = ServerOptions::default();
        PairOptions {
            open_streams_max: options.open_streams_max,
            drain_timeout: options.drain_timeout,
            platforms: ["default"; 2],
        }
    }
}

/// Two servers over one store, and the clock of both.
pub struct Pair {
    clock: ManualClock,
    store: Arc<dyn Store>,
    options: PairOptions,
    servers: Vec<Running>,
    turns: Arc<Turns>,
    _folder: Option<TempDir>,
}

/// One server of a pair.
pub struct Running {
    address: SocketAddr,
    store: Arc<Apart>,
    stop: CancellationToken,
    run: JoinHandle<Result<(), ServeError>>,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses = self.servers.iter().map(|server| server.address);
        f.debug_list().entries(addresses).finish()
    }
}

impl Pair {
    /// Starts two servers on a store of their own.
    ///
    /// # Panics
    ///
    /// Where they do not come up.
    pub async fn start() -> Pair {
        Pair::start_with(PairOptions::default()).await
    }

    /// Starts two servers on a store of their own, with options.
    ///
    /// # Panics
    ///
    /// Where they do not come up.
    pub async fn start_with(options: PairOptions) -> Pair {
        Pair::start_over(options, |store| Arc::new(store)).await
    }

    /// Starts two servers over a store of their own in which something stands before the engine.
    ///
    /// # Panics
    ///
    /// Where they do not come up.
    pub async fn start_over(
        options: PairOptions,
        wrap: impl FnOnce(SqliteStore) -> Arc<dyn Store>,
    ) -> Pair {
        let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
        let store = SqliteStore::open(folder.path().join("referee.db"));
        let store = wrap(store.expect("the store opens"));
        Pair::begin(options, store, BEGIN_US, Some(folder)).await
    }

    /// Starts two servers on the store in a file, at a time in microseconds since 1970.
    ///
    /// # Panics
    ///
    /// Where they do not come up.
    pub async fn open(file: &Path, now_us: i64) -> Pair {
        let store = SqliteStore::open(file).expect("the store opens");
        Pair::begin(PairOptions::default(), Arc::new(store), now_us, None).await
    }

    async fn begin(
        options: PairOptions,
        store: Arc<dyn Store>,
        now_us: i64,
        folder: Option<TempDir>,
    ) -> Pair {
        let mut pair = Pair {
            clock: ManualClock::at_us(now_us),
            store,
            options,
            servers: Vec::new(),
            turns: Arc::default(),
            _folder: folder,
        };
        pair.start_servers().await;
        pair
    }

    async fn start_servers(&mut self) {
        for number in 0..2 {
            let server = self.start_server(number).await;
            self.servers.push(server);
        }
    }

    async fn start_server(&self, number: usize) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let store = Arc::new(Apart::new(Arc::clone(&self.store)));
        let mut options = ServerOptions {
            open_streams_max: self.options.open_streams_max,
            drain_timeout: self.options.drain_timeout,
            platform: self.options.platforms[number].into(),
            ..ServerOptions::default()
        };
        if number == 1 {
            options.cache_games_max = CACHED_BY_SECOND;
        }
        let clock = Arc::new(self.clock.clone());
        let server = Server::new(listener, store.clone(), clock, options);
        let stop = CancellationToken::new();
        let run = tokio::spawn(server.run(stop.clone()));
        let running = Running {
            address,
            store,
            stop,
            run,
        };
        // The port is open before the server runs; time must not pass until it does.
        let is_alive = async {
            while running.store.last_beat_us() == i64::MIN {
                assert!(!running.run.is_finished(), "server {number} did not start");
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(PATIENCE, is_alive).await.expect("it starts");
        running
    }

    /// Returns one of the servers.
    #[must_use]
    pub fn server(&self, number: usize) -> &Running {
        &self.servers[number]
    }

    /// Returns the store that both work on.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Opens connections to both, used as one: calls and streams alternate.
    pub async fn line(&self) -> Line {
        let mut channels = Vec::new();
        for server in &self.servers {
            channels.push(server.connect().await);
        }
        Line::new(channels, Arc::clone(&self.turns))
    }

    /// Does the same with connections on which little can be under way.
    pub async fn narrow_line(&self) -> Line {
        let mut channels = Vec::new();
        for server in &self.servers {
            channels.push(wire::connect_narrow(server.address).await);
        }
        Line::new(channels, Arc::clone(&self.turns))
    }

    /// Opens connections to both for games.
    pub async fn games(&self) -> GameServiceClient<Line> {
        GameServiceClient::new(self.line().await)
    }

    /// Returns the time of both servers in microseconds since 1970.
    #[must_use]
    pub fn now_us(&self) -> i64 {
        referee_server::Clock::now_us(&self.clock)
    }

    /// Lets time pass for both servers, in steps in which each gives the signs of life that are
    /// due. It goes by as fast as they do.
    ///
    /// # Panics
    ///
    /// Where a server gives no sign of life any more.
    pub async fn pass(&self, duration: Duration) {
        let mut left = duration;
        while !left.is_zero() {
            let step = left.min(STEP_MAX);
            self.clock.advance(step);
            left -= step;
            for server in &self.servers {
                self.wait_for_beat(server).await;
            }
        }
    }

    /// Waits until a server has given the sign of life that is due. A server that had not begun to
    /// wait for the time of its next one is not due yet, so it may be late, but not for long.
    async fn wait_for_beat(&self, server: &Running) {
        let silence = || {
            let silence_us = self.now_us() - server.store.last_beat_us();
            Duration::from_micros(u64::try_from(silence_us).unwrap_or_default())
        };
        let until = |least: Duration| async move {
            while silence() >= least {
                sleep(Duration::from_millis(1)).await;
            }
        };
        if timeout(BEAT_PATIENCE, until(PROCESS_HEARTBEAT_INTERVAL))
            .await
            .is_err()
        {
            let beaten = timeout(PATIENCE, until(SILENCE)).await;
            beaten.expect("a server gives signs of life");
        }
    }

    /// Lets time go by in one leap, as if nobody had been there.
    pub fn fall_silent(&self, duration: Duration) {
        self.clock.advance(duration);
    }

    /// Stops both servers, lets time go by, and starts two others on the same store.
    ///
    /// # Panics
    ///
    /// Where they do not end well or do not come up again.
    pub async fn restart(&mut self, down: Duration) {
        self.stop();
        assert!(self.ended(PATIENCE).await, "both end well");
        self.fall_silent(down);
        self.start_servers().await;
    }

    /// Drops the first server in the middle of its work, and returns its view of the store.
    pub async fn drop_first(&mut self) -> Arc<Apart> {
        let server = self.servers.remove(0);
        server.run.abort();
        // It is gone when that has been seen; an error is what it ends with.
        let _ = server.run.await;
        server.store
    }

    /// Stops both servers and closes the store.
    ///
    /// # Panics
    ///
    /// Where they do not end well.
    pub async fn close(mut self) {
        self.stop();
        assert!(self.ended(PATIENCE).await, "both end well");
        self.store.close().await.expect("the store is closed");
    }

    /// Tells both servers to stop.
    pub fn stop(&self) {
        for server in &self.servers {
            server.stop.cancel();
        }
    }

    /// Waits for both servers to end; says whether they did so well and in time.
    pub async fn ended(&mut self, patience: Duration) -> bool {
        let mut well = true;
        for server in self.servers.drain(..) {
            let ended = timeout(patience, server.run).await;
            well &= matches!(ended, Ok(Ok(Ok(()))));
        }
        well
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Running {
    /// Returns the address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns its view of the store.
    #[must_use]
    pub fn store(&self) -> &Apart {
        &self.store
    }

    /// Opens a connection.
    pub async fn connect(&self) -> Channel {
        wire::connect(self.address).await
    }

    /// Opens a connection for games.
    pub async fn games(&self) -> GameServiceClient<Channel> {
        GameServiceClient::new(self.connect().await)
    }
}
