//! A server, put together from its parts: listener, layers, services, background work; running
//! until it is told to stop, and draining in bounded time.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use referee_api::v1::perft_service_server::PerftServiceServer;
use referee_api::v1::rules_service_server::RulesServiceServer;
use referee_api::v1::store_service_server::StoreServiceServer;
use referee_api::v1::token_service_server::TokenServiceServer;
use referee_api::worker::v1::worker_service_server::WorkerServiceServer;
use referee_record::RecordKey;
use referee_store::{ReplicaId, Store};
use referee_telemetry::Telemetry;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::body::Body;
use tonic::codec::CompressionEncoding;
use tonic::service::Routes;
use tonic_health::server::health_reporter;
use tower::{Layer as _, Service};
use uuid::Uuid;

use crate::access::{Access, Allowances, Gate, OperatorToken, Subjects};
use crate::background::{Background, readiness};
use crate::clock::Clock;
use crate::error::ServiceError;
use crate::games::{CacheLimits, Games};
use crate::limits;
use crate::measures;
use crate::perft::PerftJobs;
use crate::pool::{Solvers, Turns, WorkPool};
use crate::services::{
    Copies, GamesService, PerftService, RulesService, StoreKeeper, StreamingGames, TokenKeeper,
    WorkerDesk,
};
use crate::transport::{
    Ages, CallerLayer, Capacity, Inside, InsideDoor, Ledger, Streams, Tls, TransportErrorLayer,
    WebOrigins, inside, methods, reflection, serve, serve_inside,
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
    /// How long it is served on after the signal to stop, no longer ready, before anything ends.
    pub drain_delay: Duration,
    /// Cancelled, it ends that time.
    pub hurry: CancellationToken,
    /// After which time a connection is asked to end, with a tenth more or less; none is never.
    pub connection_age_max: Option<Duration>,
    /// How long its calls may go on then, with a tenth more or less, before streams end.
    pub connection_age_grace: Duration,
    /// What signs exported records; without it they are not signed.
    pub record_key: Option<RecordKey>,
    /// The folder that copies of the store go to; without it none is made.
    pub backup_folder: Option<PathBuf>,
    /// How many copies stay in that folder, the newest; without it all do.
    pub backup_keep: Option<usize>,
    /// The folder in which the plans of perft jobs are sorted, in files without a name.
    pub sort_folder: PathBuf,
    /// What connections are encrypted with; without it they are not.
    pub tls: Option<Arc<Tls>>,
    /// The origins whose pages may call from browsers; without it nothing but HTTP/2 is spoken.
    pub web: Option<WebOrigins>,
    /// What asks the server to look at the files of `tls` again.
    pub reload: Reload,
    /// Whether callers have to say who they are.
    pub access: Access,
    /// What each principal and each platform may take, where they have to say who they are.
    pub allowances: Allowances,
    /// Whose the certificates of clients are; without it they say nothing.
    pub subjects: Option<Subjects>,
    /// The token of the first operator, beside those in the store.
    pub operator_token: Option<OperatorToken>,
    /// The platform whose games everybody acts on, where nobody has to say who they are; and
    /// operators, where they name no other.
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
    /// Where everything is measured and traced.
    pub telemetry: Telemetry,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            drain_timeout: limits::DRAIN_TIMEOUT_DEFAULT,
            drain_delay: Duration::ZERO,
            hurry: CancellationToken::new(),
            connection_age_max: None,
            connection_age_grace: limits::CONNECTION_AGE_GRACE_DEFAULT,
            record_key: None,
            backup_folder: None,
            backup_keep: None,
            sort_folder: std::env::temp_dir(),
            tls: None,
            web: None,
            reload: Reload::default(),
            access: Access::Open,
            allowances: Allowances::default(),
            subjects: None,
            operator_token: None,
            platform: "default".into(),
            cache_bytes_max: limits::CACHE_BYTES_MAX,
            cache_games_max: limits::CACHE_GAMES_MAX,
            open_streams_max: limits::OPEN_STREAMS_MAX,
            connections_max: limits::CONNECTIONS_MAX,
            under_way_bytes_max: limits::UNDER_WAY_BYTES_MAX,
            telemetry: Telemetry::default(),
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
    worker_listener: Option<TcpListener>,
    inside: (Inside, InsideDoor),
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
            worker_listener: None,
            inside: inside(),
            store,
            clock,
            options,
        }
    }

    /// The server, with workers on a listener of their own, if there is one: the other one does not
    /// serve them then.
    #[must_use]
    pub fn with_worker_listener(self, worker_listener: Option<TcpListener>) -> Server {
        Server {
            worker_listener,
            ..self
        }
    }

    /// Returns what opens connections to the server from within its process, for as long as it
    /// runs.
    #[must_use]
    pub fn inside(&self) -> Inside {
        self.inside.0.clone()
    }

    /// Serves until `stop` is cancelled, then drains.
    ///
    /// On the signal health turns to `NOT_SERVING`, and everything else goes on for the drain
    /// delay, so that whoever sends calls has heard of that. Then streams end with `SHUTTING_DOWN`,
    /// open calls are answered, and after the drain timeout whatever is left is dropped. From then
    /// on the clocks of games stand still, until a server runs again. When this returns, every job
    /// of the server has ended, unless the drain timeout passed.
    ///
    /// # Errors
    ///
    /// Where the server cannot start.
    pub async fn run(self, stop: CancellationToken) -> Result<(), ServeError> {
        // Cancelled when the delay after the signal is over.
        let closing = CancellationToken::new();
        let (health, health_service) = health_reporter();
        let tasks = TaskTracker::new();
        let solvers = Solvers::default();
        let games = self.begin_games(&tasks, &solvers).await?;
        let store = self.store.clone();
        let perft = self.begin_perft();
        let telemetry = self.options.telemetry.clone();
        let background = Background::start(&games, &perft, store.clone(), telemetry.metrics())
            .map_err(ServeError::Thread)?;
        let heartbeat = Arc::clone(&games.heartbeat);
        let workers = worker_service(WorkerDesk::new(Arc::clone(&perft), closing.clone()));
        let routes = self.routes(games, perft, &tasks, &solvers, &closing)?;
        let mut routes = routes.add_service(health_service.clone());
        if self.worker_listener.is_none() {
            routes = routes.add_service(workers.clone());
        }
        let worker_routes = Routes::new(workers).add_service(health_service);
        let gate = self.gate();
        tasks.spawn(Arc::clone(&gate).run(closing.clone()));
        let services = layer_all(&telemetry, gate, routes, worker_routes);
        let ledger = self.ledger();
        measures::read_before(telemetry.metrics(), &ledger, &self.store);
        self.follow_certificates(&tasks, &closing);
        // Who hears that the service is ready finds all that is served and measured.
        readiness::begin(&health, &telemetry).await;
        // From the signal on it says that nothing is served.
        let ready = readiness::run(store, heartbeat, health, telemetry.clone(), stop.clone());
        let ready = tasks.spawn(ready);
        let doors = Doors {
            listener: self.listener,
            worker_listener: self.worker_listener,
            inside: self.inside.1,
            tls: self.options.tls,
            web: self.options.web,
        };
        let serving = doors.serve(ledger, services, closing.clone());
        tokio::pin!(serving);
        // Then the door is closed, and connections go when their calls have ended.
        let is_served = tokio::select! {
            () = &mut serving => true,
            () = to_close(&stop, self.options.drain_delay, &self.options.hurry) => false,
        };
        let drained = async {
            // A door that closed by itself ends the rest as well.
            stop.cancel();
            closing.cancel();
            if ready.await.is_err() {
                tracing::error!("the job that tells health did not end well");
            }
            let served = async {
                if !is_served {
                    serving.await
                }
            };
            // The last sign of life is given at once: from here on clocks stand still.
            tokio::join!(served, background.stop());
            tasks.close();
            tasks.wait().await;
        };
        if tokio::time::timeout(self.options.drain_timeout, drained)
            .await
            .is_err()
        {
            tracing::warn!("dropped what was open at the drain deadline");
        }
        Ok(())
    }

    /// Reads certificates again where they change, and has them measured, if there are any.
    fn follow_certificates(&self, tasks: &TaskTracker, closing: &CancellationToken) {
        if let Some(tls) = self.options.tls.clone() {
            measures::read_certificate(self.options.telemetry.metrics(), &tls);
            tasks.spawn(tls.follow(self.options.reload.0.subscribe(), closing.clone()));
        }
    }

    fn ledger(&self) -> Arc<Ledger> {
        Ledger::new(Capacity {
            connections: self.options.connections_max,
            calls: limits::CALLS_PENDING_MAX,
            streams: self.options.open_streams_max,
            bytes: self.options.under_way_bytes_max,
            ages: Ages {
                max: self.options.connection_age_max,
                grace: self.options.connection_age_grace,
            },
        })
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
            self.options.telemetry.metrics(),
        );
        games.await.map(Arc::new).map_err(ServeError::Store)
    }

    /// What knows callers.
    fn gate(&self) -> Arc<Gate> {
        Arc::new(Gate::new(
            self.options.access,
            &self.options.platform,
            self.options.operator_token,
            self.options.subjects.clone(),
            self.options.allowances,
            self.store.clone(),
            Arc::clone(&self.clock),
        ))
    }

    fn begin_perft(&self) -> Arc<PerftJobs> {
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        let metrics = Arc::clone(self.options.telemetry.metrics());
        let folder = self.options.sort_folder.clone();
        Arc::new(PerftJobs::new(store, clock, metrics, folder))
    }

    /// Every service, but health.
    fn routes(
        &self,
        games: Arc<Games>,
        perft: Arc<PerftJobs>,
        tasks: &TaskTracker,
        solvers: &Solvers,
        stop: &CancellationToken,
    ) -> Result<Routes, ServeError> {
        let streams = Streams::new(Arc::clone(&self.clock), tasks.clone());
        let pool = WorkPool::new(limits::READS_AT_ONCE_MAX, limits::READS_WAITING_MAX)
            .within(limits::READS_WAITING_BYTES_MAX);
        let rules = RulesService::new(streams.clone(), pool.clone(), solvers, stop.clone());
        let copies = self.options.backup_folder.clone();
        let keeper = StoreKeeper::new(
            Arc::clone(&self.store),
            Arc::clone(&self.clock),
            streams.clone(),
            stop.clone(),
            copies.map(|folder| Copies::new(folder, self.options.backup_keep)),
        );
        let perft = PerftService::new(perft, streams.clone(), stop.clone());
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
        let tokens = TokenKeeper::new(self.store.clone(), Arc::clone(&self.clock));
        let (v1, v1alpha) = (reflection(), reflection());
        Ok(Routes::new(rules)
            .add_service(StreamingGames::new(games))
            .add_service(
                StoreServiceServer::new(keeper)
                    .accept_compressed(CompressionEncoding::Gzip)
                    .accept_compressed(CompressionEncoding::Zstd)
                    .max_decoding_message_size(limits::MESSAGE_BYTES_MAX),
            )
            .add_service(
                PerftServiceServer::new(perft)
                    .accept_compressed(CompressionEncoding::Gzip)
                    .accept_compressed(CompressionEncoding::Zstd)
                    .max_decoding_message_size(limits::MESSAGE_BYTES_MAX),
            )
            .add_service(
                TokenServiceServer::new(tokens)
                    .accept_compressed(CompressionEncoding::Gzip)
                    .accept_compressed(CompressionEncoding::Zstd)
                    .max_decoding_message_size(limits::MESSAGE_BYTES_MAX),
            )
            .add_service(v1.build_v1().map_err(ServeError::Reflection)?)
            .add_service(v1alpha.build_v1alpha().map_err(ServeError::Reflection)?))
    }
}

/// Waits for the signal, and for the delay after it; not for the delay where somebody hurries.
async fn to_close(stop: &CancellationToken, delay: Duration, hurry: &CancellationToken) {
    stop.cancelled().await;
    tokio::select! {
        () = tokio::time::sleep(delay) => {}
        () = hurry.cancelled() => {}
    }
}

/// Puts the layers around what is served: calls are counted outermost, so that whatever is refused
/// is counted as well; then callers are known, and errors of the transport have their details.
fn layer_all(
    telemetry: &Telemetry,
    gate: Arc<Gate>,
    routes: Routes,
    worker_routes: Routes,
) -> Services<
    impl Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static,
> {
    let calls = telemetry.calls(&methods(), Body::new, Body::new);
    let layered = |routes: Routes, callers: &CallerLayer| {
        calls.layer(callers.layer(TransportErrorLayer.layer(routes)))
    };
    let own = CallerLayer::own_worker(Arc::clone(&gate));
    let callers = CallerLayer::new(gate);
    Services {
        of_all: layered(routes, &callers),
        from_inside: layered(worker_routes.clone(), &own),
        of_workers: layered(worker_routes, &callers),
    }
}

/// The service of workers as it is served.
fn worker_service(desk: WorkerDesk) -> WorkerServiceServer<WorkerDesk> {
    WorkerServiceServer::new(desk)
        .accept_compressed(CompressionEncoding::Gzip)
        .accept_compressed(CompressionEncoding::Zstd)
        .max_decoding_message_size(limits::MESSAGE_BYTES_MAX)
}

/// What is served by which door.
struct Services<S> {
    of_all: S,
    of_workers: S,
    from_inside: S,
}

/// Where connections come in.
struct Doors {
    listener: TcpListener,
    worker_listener: Option<TcpListener>,
    inside: InsideDoor,
    tls: Option<Arc<Tls>>,
    /// The pages that may call; no page is a worker.
    web: Option<WebOrigins>,
}

impl Doors {
    /// Serves all of them until the server stops: the one with everything, the others with what
    /// workers need.
    async fn serve<S>(self, ledger: Arc<Ledger>, services: Services<S>, stop: CancellationToken)
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send,
    {
        let from_inside = serve_inside(
            self.inside,
            Arc::clone(&ledger),
            services.from_inside,
            stop.clone(),
        );
        let of_workers = async {
            if let Some(listener) = self.worker_listener {
                let (tls, ledger) = (self.tls.clone(), Arc::clone(&ledger));
                serve(
                    listener,
                    tls,
                    None,
                    ledger,
                    services.of_workers,
                    stop.clone(),
                )
                .await;
            }
        };
        let (tls, ledger) = (self.tls.clone(), Arc::clone(&ledger));
        let web = self.web;
        let of_all = serve(
            self.listener,
            tls,
            web,
            ledger,
            services.of_all,
            stop.clone(),
        );
        tokio::join!(of_all, of_workers, from_inside);
    }
}
