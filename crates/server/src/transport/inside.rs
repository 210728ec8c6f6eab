//! Connections of the process with itself, which no network carries: a worker in the process of the
//! server calls the services as any other does, and needs no address, key or certificate for it.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use http::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower::{Service, service_fn};

use super::connection::{self, Protocols};
use super::ledger::Ledger;
use crate::limits;

/// The name of the server to itself.
const AUTHORITY: &str = "http://inside";

/// The account of such connections.
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Opens connections to the server of the same process.
#[derive(Clone, Debug)]
pub struct Inside(mpsc::Sender<DuplexStream>);

/// Where such connections come in.
#[derive(Debug)]
pub(crate) struct InsideDoor(mpsc::Receiver<DuplexStream>);

/// Returns both ends.
pub(crate) fn inside() -> (Inside, InsideDoor) {
    let (sender, receiver) = mpsc::channel(limits::INSIDE_WAITING_MAX);
    (Inside(sender), InsideDoor(receiver))
}

impl Inside {
    /// Returns a channel that connects when it is first used, and again where it broke off. It
    /// fails once the server has stopped.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn channel(&self) -> Channel {
        let sender = self.0.clone();
        Endpoint::from_static(AUTHORITY).connect_with_connector_lazy(service_fn(move |_: Uri| {
            let sender = sender.clone();
            async move {
                let (near, far) = tokio::io::duplex(limits::STREAM_UNSENT_BYTES_MAX);
                let sent = sender.send(far).await;
                sent.map_err(|_stopped| io::Error::from(io::ErrorKind::ConnectionRefused))?;
                Ok::<_, io::Error>(TokioIo::new(near))
            }
        }))
    }
}

/// Serves such connections until `stop` is cancelled and the calls that are open then have ended.
///
/// Dropped before, it drops all of them.
pub(crate) async fn serve_inside<S>(
    mut door: InsideDoor,
    ledger: Arc<Ledger>,
    service: S,
    stop: CancellationToken,
) where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S: Clone + Send + Sync + 'static,
    S::Future: Send,
{
    let protocols = Arc::new(Protocols::new(None));
    let connections = TaskTracker::new();
    let gone = CancellationToken::new();
    let _goes = gone.clone().drop_guard();
    loop {
        let stream = tokio::select! {
            () = stop.cancelled() => break,
            stream = door.0.recv() => stream,
        };
        let Some(stream) = stream else { break };
        let Some(place) = ledger.admit(ADDRESS) else {
            continue;
        };
        let (service, protocols) = (service.clone(), Arc::clone(&protocols));
        let serving = connection::serve(stream, None, place, service, protocols, stop.clone());
        let gone = gone.clone();
        connections.spawn(async move {
            tokio::select! {
                () = serving => {}
                () = gone.cancelled() => {}
            }
        });
    }
    drop(door);
    connections.close();
    connections.wait().await;
}
