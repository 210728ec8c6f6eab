//! The door: connections are accepted while there are places and descriptors, and served until the
//! server stops.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::{Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::body::Body;
use tower::Service;

use super::connection::{self, Protocols};
use super::ledger::{Ledger, Place, Seldom};
use super::tls::{Tls, VerifiedClient};
use super::web::WebOrigins;
use crate::limits;

/// What is kept open, so that there is a descriptor to turn somebody away with when there is no
/// other left.
const SPARE: &str = "/dev/null";

/// Accepts connections and serves them until `stop` is cancelled and the calls that are open then
/// have ended.
///
/// Dropped before, it drops all connections.
pub(crate) async fn serve<S>(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    web: Option<WebOrigins>,
    ledger: Arc<Ledger>,
    service: S,
    stop: CancellationToken,
) where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S: Clone + Send + Sync + 'static,
    S::Future: Send,
{
    let protocols = Arc::new(Protocols::new(web));
    let connections = TaskTracker::new();
    let gone = CancellationToken::new();
    let _goes = gone.clone().drop_guard();
    let mut door = Door {
        spare: File::open(SPARE).ok(),
        listener,
        ledger,
        seldom: Seldom::default(),
    };
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = door.accept() => accepted,
        };
        let Some((stream, peer)) = accepted else {
            continue;
        };
        let Some(place) = door.ledger.admit(peer.ip()) else {
            // Dropped: the client sees the end at once, and may come back.
            drop(stream);
            tokio::time::sleep(limits::ACCEPT_FULL_PAUSE).await;
            continue;
        };
        // Small answers must not wait for others.
        let _ = stream.set_nodelay(true);
        let (tls, service) = (tls.clone(), service.clone());
        let (protocols, stop) = (Arc::clone(&protocols), stop.clone());
        let serving = async move {
            let begun = begin(stream, tls.as_deref(), peer.ip(), &place, &stop).await;
            if let Some((stream, client)) = begun {
                connection::serve(stream, client, place, service, protocols, stop).await;
            }
        };
        let gone = gone.clone();
        connections.spawn(async move {
            tokio::select! {
                () = serving => {}
                () = gone.cancelled() => {}
            }
        });
    }
    // Who comes now is refused by the system, and finds another server.
    drop(door);
    connections.close();
    connections.wait().await;
}

/// A connection with or without encryption.
type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// Begins what stands below HTTP/2, within bounded time. `None` where it fails, or the connection
/// has to go meanwhile.
async fn begin(
    stream: TcpStream,
    tls: Option<&Tls>,
    peer: IpAddr,
    place: &Place,
    stop: &CancellationToken,
) -> Option<(Stream, Option<VerifiedClient>)> {
    let Some(tls) = tls else {
        return Some((Either::Left(stream), None));
    };
    tokio::select! {
        shaken = tls.shake_hands(stream, peer) => {
            let (stream, client) = shaken?;
            Some((Either::Right(Box::new(stream)), client))
        }
        () = place.account().cut() => None,
        () = stop.cancelled() => None,
    }
}

/// Where connections come in.
struct Door {
    listener: TcpListener,
    ledger: Arc<Ledger>,
    /// Closed to turn somebody away, and opened again.
    spare: Option<File>,
    seldom: Seldom,
}

impl Door {
    /// Waits for the next connection; none where one came that could not be taken.
    async fn accept(&mut self) -> Option<(TcpStream, SocketAddr)> {
        match self.listener.accept().await {
            Ok(accepted) => Some(accepted),
            Err(error) if is_of_one_connection(&error) => None,
            Err(error) => {
                if let Some(others) = self.seldom.now() {
                    let open = self.ledger.connections();
                    tracing::error!(%error, open, others, "a connection could not be accepted");
                }
                self.ledger.let_go_of_some();
                self.turn_away().await;
                // The next one would fail as well, at once and for ever.
                tokio::time::sleep(limits::ACCEPT_FAILED_PAUSE).await;
                None
            }
        }
    }

    /// Tells the next one that comes that there is no place, rather than to let everybody wait.
    async fn turn_away(&mut self) {
        drop(self.spare.take());
        let waiting = self.listener.accept();
        // Who is there is there now.
        let _ = tokio::time::timeout(limits::ACCEPT_FULL_PAUSE, waiting).await;
        self.spare = File::open(SPARE).ok();
    }
}

/// Whether an error says something about a connection that came, and nothing about the next.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::ConnectionAborted
            | Kind::ConnectionReset
            | Kind::ConnectionRefused
            | Kind::Interrupted
            | Kind::NetworkDown
            | Kind::NetworkUnreachable
            | Kind::HostUnreachable
            | Kind::TimedOut
    )
}
