//! A server, put together from its parts: listener, layers, services, background work; running
//! until it is told to stop, and draining in bounded time.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use referee_api::v1::rules_service_server::RulesServiceServer;
use referee_api::v1::store_service_server::StoreServiceServer;
use referee_record::RecordKey;
use referee_store::{ReplicaId, Store};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::codec::CompressionEncoding;
use tonic::service::Routes;
use tonic_health::server::health_reporter;
use tower::Layer as _;
use uuid::Uuid;

use crate::background::{Background, readiness};
use crate::clock::Clock;
use crate::error::ServiceError;
use crate::games::{CacheLimits, Games};
use crate::limits;
use crate::pool::{Solvers, Turns, WorkPool};
use crate::services::{GamesService, RulesService, StoreKeeper, StreamingGames};
use crate::transport::{
    CallerLayer, Capacity, Ledger, Streams, Tls, TransportErrorLayer, WebOrigins, reflection, serve,
};

/// Asks a server to look at its files again, at once. Clones ask the same server.
#[derive(Clone, Debug, Default)]
pub struct Reload(watch::Sender<u64>);

impl Reload {
    /// Asks.
    pub fn ask(&self) {
        self.0.send_modify(|count| *count += 1);
    }
}

/// How a server runs.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// How long open calls and streams may go on after the signal to stop. Connections that are
    /// still open then are dropped, silent ones among them.
    pub drain_timeout: Duration,
    /// What signs exported records; without it they are not signed.
    pub record_key: Option<RecordKey>,
    /// The folder that copies of the store go to; without it none is made.
    pub backup_folder: Option<PathBuf>,
    /// What connections are encrypted with; without it they are not.
    pub tls: Option<Arc<Tls>>,
    /// The origins whose pages may call from browsers; without it nothing but HTTP/2 is spoken.
    pub web: Option<WebOrigins>,
    /// What asks the server to look at the files of `tls` again.
    pub reload: Reload,
    /// The platform whose games everybody acts on, as long as nobody has to say who they are.
    pub platform: String,
    /// The most bytes that games in memory may take.
    pub cache_bytes_max: usize,
    /// The most games in memory.
    pub cache_games_max: usize,
    /// The most watch, play, export and verify streams that are open at once.
    pub open_streams_max: usize,
    /// The most connections. Each takes a descriptor, and the store needs some.
    pub connections_max: usize,
    /// The most bytes of requests and answers that are under way.
    pub under_way_bytes_max: usize,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            drain_timeout: limits::DRAIN_TIMEOUT_DEFAULT,
            record_key: None,
            backup_folder: None,
            tls: None,
            web: None,
            reload: Reload::default(),
            platform: "default".into(),
            cache_bytes_max: limits::CACHE_BYTES_MAX,
            cache_games_max: limits::CACHE_GAMES_MAX,
            open_streams_max: limits::OPEN_STREAMS_MAX,
            connections_max: limits::CONNECTIONS_MAX,
            under_way_bytes_max: limits::UNDER_WAY_BYTES_MAX,
        }
    }
}

/// Why a server stopped or did not start.
#[derive(Debug)]
pub enum ServeError {
    /// The descriptors for reflection cannot be read: a build that is broken.
    Reflection(tonic_reflection::server::Error),
    /// The store cannot be read, or does not take the sign of life.
    Store(ServiceError),
    /// The system has no thread for the signs of life.
    Thread(std::io::Error),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reflection(_) => f.write_str("the descriptors for reflection cannot be read"),
            Self::Store(_) => f.write_str("the store cannot be used"),
            Self::Thread(_) => f.write_str("no thread for the signs of life"),
        }
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Reflection(error) => Some(error),
            Self::Store(error) => Some(error),
            Self::Thread(error) => Some(error),
        }
    }
}

/// A server that does not run yet.
pub struct Server {
    listener: TcpListener,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    options: ServerOptions,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("listener", &self.listener)
            .field("clock", &self.clock)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// A server of the games in a store, on a listener, by a clock.
    ///
    /// The store may be one that other servers use as well; it is not closed at the end.
    #[must_use]
    pub fn new(
        listener: TcpListener,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        options: ServerOptions,
    ) -> Server {
        Server {
            listener,
            store,
            clock,
            options,
        }
    }

    /// Serves until `stop` is cancelled, then drains.
    ///
    /// On the signal health turns to `NOT_SERVING`, streams end with `SHUTTING_DOWN`, open calls
    /// are answered, and after the drain timeout whatever is left is dropped. From the signal on
    /// the clocks of games stand still, until a server runs again. When this returns, every job of
    /// the server has ended, unless the drain timeout passed.
    ///
    /// # Errors
    ///
    /// Where the server cannot start.
    pub async fn run(self, stop: CancellationToken) -> Result<(), ServeError> {
        let drain_timeout = self.options.drain_timeout;
        let (health, health_service) = health_reporter();
        let tasks = TaskTracker::new();
        let solvers = Solvers::default();
        let games = self.begin_games(&tasks, &solvers).await?;
        let store = self.store.clone();
        let background = Background::start(&games, store.clone()).map_err(ServeError::Thread)?;
        let heartbeat = Arc::clone(&games.heartbeat);
        let routes = self
            .routes(games, &tasks, &solvers, &stop)?
            .add_service(health_service);
        readiness::begin(&health).await;
        // From the signal on it says that nothing is served.
        let ready = readiness::run(store, heartbeat, health, stop.clone());
        let ready = tasks.spawn(ready);
        let service = TransportErrorLayer.layer(routes);
        let service = CallerLayer::open(&self.options.platform).layer(service);
        let ledger = Ledger::new(Capacity {
            connections: self.options.connections_max,
            streams: self.options.open_streams_max,
            bytes: self.options.under_way_bytes_max,
        });
        let (tls, web) = (self.options.tls, self.options.web);
        if let Some(tls) = tls.clone() {
            tasks.spawn(tls.follow(self.options.reload.0.subscribe(), stop.clone()));
        }
        let serving = serve(self.listener, tls, web, ledger, service, stop.clone());
        tokio::pin!(serving);
        // The door is closed with the signal, and connections go when their calls have ended.
        let is_served = tokio::select! {
            () = &mut serving => true,
            () = stop.cancelled() => false,
        };
        let drained = async {
            // A door that closed by itself ends the rest as well.
            stop.cancel();
            if ready.await.is_err() {
                tracing::error!("the job that tells health did not end well");
            }
            let served = async {
                if !is_served {
                    serving.await;
                }
            };
            // The last sign of life is given at once: from here on clocks stand still.
            tokio::join!(served, background.stop());
            tasks.close();
            tasks.wait().await;
        };
        if tokio::time::timeout(drain_timeout, drained).await.is_err() {
            tracing::warn!("dropped what was open at the drain deadline");
        }
        Ok(())
    }

    async fn begin_games(
        &self,
        tasks: &TaskTracker,
        solvers: &Solvers,
    ) -> Result<Arc<Games>, ServeError> {
        let cache = CacheLimits {
            bytes_max: self.options.cache_bytes_max,
            games_max: self.options.cache_games_max,
        };
        let games = Games::begin(
            Arc::clone(&self.store),
            Arc::clone(&self.clock),
            ReplicaId(Uuid::new_v4().as_u128()),
            cache,
            tasks.clone(),
            solvers,
        );
        games.await.map(Arc::new).map_err(ServeError::Store)
    }

    /// Every service, but health.
    fn routes(
        &self,
        games: Arc<Games>,
        tasks: &TaskTracker,
        solvers: &Solvers,
        stop: &CancellationToken,
    ) -> Result<Routes, ServeError> {
        let streams = Streams::new(Arc::clone(&self.clock), tasks.clone());
        let pool = WorkPool::new(limits::READS_AT_ONCE_MAX, limits::READS_WAITING_MAX)
            .within(limits::READS_WAITING_BYTES_MAX);
        let rules = RulesService::new(streams.clone(), pool.clone(), solvers, stop.clone());
        let keeper = StoreKeeper::new(
            Arc::clone(&self.store),
            Arc::clone(&self.clock),
            streams.clone(),
            stop.clone(),
            self.options.backup_folder.clone(),
        );
        let games = GamesService {
            games,
            streams,
            stop: stop.clone(),
            pool,
            imports: Turns::new(limits::IMPORTS_AT_ONCE_MAX, limits::IMPORTS_WAITING_MAX),
            record_key: self.options.record_key.clone().map(Arc::new),
            pgn_exports: Arc::new(Semaphore::new(limits::PGN_EXPORTS_MAX)),
        };
        let rules = RulesServiceServer::new(rules)
            .accept_compressed(CompressionEncoding::Gzip)
            .accept_compressed(CompressionEncoding::Zstd)
            .max_decoding_message_size(limits::MESSAGE_BYTES_MAX);
        let (v1, v1alpha) = (reflection(), reflection());
        Ok(Routes::new(rules)
            .add_service(StreamingGames::new(games))
            .add_service(
                StoreServiceServer::new(keeper)
                    .accept_compressed(CompressionEncoding::Gzip)
                    .accept_compressed(CompressionEncoding::Zstd)
                    .max_decoding_message_size(limits::MESSAGE_BYTES_MAX),
            )
            .add_service(v1.build_v1().map_err(ServeError::Reflection)?)
            .add_service(v1alpha.build_v1alpha().map_err(ServeError::Reflection)?))
    }
}
