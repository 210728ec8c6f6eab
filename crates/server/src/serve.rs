//! Running the services on a listener until told to stop, and draining in bounded time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use referee_api::v1::game_service_server::GameServiceServer;
use referee_api::v1::rules_service_server::RulesServiceServer;
use referee_record::RecordKey;
use referee_store::Store;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic_health::ServingStatus;

use crate::afterthought::look;
use crate::desk::Desk;
use crate::game_service::Games;
use crate::limits;
use crate::pulse::{Pulse, beat};
use crate::reject::RejectLayer;
use crate::rules_service::Rules;
use crate::status::ApiError;
use crate::timekeeper::keep_time;

/// How the services run.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// How long open calls and streams may go on after the signal to stop. Connections that are
    /// still open then are dropped, silent ones among them.
    pub drain_timeout: Duration,
    /// What signs exported records; without it they are not signed.
    pub record_key: Option<RecordKey>,
}

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions {
            drain_timeout: Duration::from_secs(10),
            record_key: None,
        }
    }
}

/// Why the services stopped or did not start.
#[derive(Debug)]
pub enum ServeError {
    /// The descriptors for reflection cannot be read: a build that is broken.
    Reflection(tonic_reflection::server::Error),
    /// The sign of life could not be given.
    Store(ApiError),
    /// The transport failed.
    Transport(tonic::transport::Error),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reflection(_) => f.write_str("the descriptors for reflection cannot be read"),
            Self::Store(error) => write!(f, "the store does not take the sign of life: {error:?}"),
            Self::Transport(_) => f.write_str("the listener failed"),
        }
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Reflection(error) => Some(error),
            Self::Store(_) => None,
            Self::Transport(error) => Some(error),
        }
    }
}

/// The names that health is told of, besides the empty one for the whole server: each service,
/// and two for probes.
const HEALTH_NAMES: [&str; 4] = [
    "referee.v1.RulesService",
    "referee.v1.GameService",
    "readiness",
    "liveness",
];

/// Serves until `stop` is done, then drains.
///
/// On the signal health turns to `NOT_SERVING`, streams end with `SHUTTING_DOWN`, open calls are
/// answered, and after `drain_timeout` whatever is left is dropped. From the signal on the clocks
/// of games stand still, until the services run again. The store is not closed.
///
/// # Errors
///
/// Where the services cannot start or the listener fails.
pub async fn serve(
    listener: TcpListener,
    store: Arc<dyn Store>,
    options: ServeOptions,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let (health, health_service) = tonic_health::server::health_reporter();
    set_health(&health, ServingStatus::Serving).await;
    let drain_timeout = options.drain_timeout;
    let (stopping, is_stopping) = watch::channel(false);
    let (looks, queue) = mpsc::channel(limits::MATE_QUEUE_MAX);
    let pulse = Pulse::begin(&*store).await.map_err(ServeError::Store)?;
    let desk = Arc::new(Desk::new(store, looks, pulse));
    let beating = tokio::spawn(beat(Arc::clone(&desk), is_stopping.clone()));
    let keeping = tokio::spawn(keep_time(Arc::clone(&desk), is_stopping.clone()));
    let looking = look(Arc::clone(&desk), queue, is_stopping.clone());
    tokio::spawn(looking);
    let record_key = options.record_key.map(Arc::new);
    let games = Games::new(desk, record_key, is_stopping.clone());
    let (v1, v1alpha) = (reflection(), reflection());
    let router = Server::builder()
        .timeout(limits::CALL_TIMEOUT)
        .max_concurrent_streams(limits::CONCURRENT_STREAMS_MAX)
        .http2_keepalive_interval(Some(Duration::from_secs(30)))
        .http2_keepalive_timeout(Some(Duration::from_secs(20)))
        .layer(RejectLayer)
        .add_service(health_service)
        .add_service(v1.build_v1().map_err(ServeError::Reflection)?)
        .add_service(v1alpha.build_v1alpha().map_err(ServeError::Reflection)?)
        .add_service(
            RulesServiceServer::new(Rules::new(is_stopping.clone()))
                .max_decoding_message_size(limits::MESSAGE_BYTES_MAX),
        )
        .add_service(
            GameServiceServer::new(games).max_decoding_message_size(limits::MESSAGE_BYTES_MAX),
        );
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let mut told = is_stopping;
    let serving = router.serve_with_incoming_shutdown(incoming, async move {
        // The sender outlives the serving, so the wait ends with the signal only.
        let _ = told.wait_for(|stopping| *stopping).await;
    });
    tokio::pin!(serving);
    tokio::select! {
        ended = &mut serving => return ended.map_err(ServeError::Transport),
        () = stop => {}
    }
    set_health(&health, ServingStatus::NotServing).await;
    stopping.send_replace(true);
    let drained = async {
        let ended = serving.await;
        // What the service itself was writing is written, too.
        let _ = tokio::join!(beating, keeping);
        ended
    };
    match tokio::time::timeout(drain_timeout, drained).await {
        Ok(ended) => ended.map_err(ServeError::Transport),
        Err(_) => {
            tracing::warn!("dropped what was open at the drain deadline");
            Ok(())
        }
    }
}

fn reflection() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(referee_api::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        // Clients decode the details of errors with these.
        .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
}

async fn set_health(health: &tonic_health::server::HealthReporter, status: ServingStatus) {
    for name in HEALTH_NAMES {
        // A process that drains is alive.
        if name != "liveness" || status == ServingStatus::Serving {
            health.set_service_status(name, status).await;
        }
    }
    health.set_service_status("", status).await;
}
