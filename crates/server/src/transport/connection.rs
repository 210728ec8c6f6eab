//! One connection, from its first byte to its end.

use std::convert::Infallible;
use std::future::{Future, pending, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::body::Body;
use tower::Service;

use super::ledger::{Account, Place};
use super::metered::{HeldMessage, Received, Sent};
use super::tls::{ClientCertificate, VerifiedClient};
use crate::access::Payer;
use crate::error::{EndedBy, ServiceError};
use crate::limits;

/// What every connection of HTTP/2 begins with (RFC 9113, 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

tokio::task_local! {
    /// What resets the stream that the running task serves.
    static RESET: CancellationToken;
}

/// The way that a call came by.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The account of the connection.
    pub(crate) account: Arc<Account>,
    /// Whose certificate the client showed, where it showed one.
    pub(crate) certificate: Option<Arc<ClientCertificate>>,
    /// Whose account the bytes of the request go to, as soon as that is known.
    pub(crate) payer: Arc<OnceLock<Payer>>,
    /// Cancelled, the stream of the call is reset, and whatever waits in it is dropped.
    pub(crate) reset: CancellationToken,
}

impl Line {
    /// Waits until streams have to end, and says why; `stop` is that of the service.
    pub(crate) async fn ended(&self, stop: &CancellationToken) -> EndedBy {
        tokio::select! {
            () = stop.cancelled() => EndedBy::ShuttingDown,
            () = self.account.age().is_over() => EndedBy::ConnectionAge,
        }
    }
}

/// Serves a connection until it ends, has to give way to others, or the server stops and its calls
/// have ended. `stream` is what it looks like after any handshake below HTTP/2.
pub(super) async fn serve<I, S>(
    mut stream: I,
    mut client: Option<VerifiedClient>,
    place: Place,
    service: S,
    http: Arc<http2::Builder<Tasks>>,
    stop: CancellationToken,
) where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S: Clone + Send + Sync + 'static,
    S::Future: Send,
{
    let account = Arc::clone(place.account());
    let begun = tokio::select! {
        begun = read_preface(&mut stream) => begun,
        () = tokio::time::sleep(limits::PREFACE_TIMEOUT) => return,
        () = account.cut() => return,
        () = stop.cancelled() => return,
    };
    if !matches!(begun, Ok(true)) {
        return;
    }
    let stream = Begun {
        before: PREFACE,
        stream,
    };
    let calls = Calls {
        service,
        account: Arc::clone(&account),
        certificate: client
            .as_ref()
            .map(|client| Arc::clone(client.certificate())),
    };
    let mut void = pin!(async {
        match &mut client {
            Some(client) => client.until_void().await,
            None => pending().await,
        }
    });
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), calls));
    let mut old = pin!(account.age().is_old());
    let mut past = pin!(account.age().is_past());
    let (mut is_closing, mut is_old) = (false, false);
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection failed");
                }
                return;
            }
            () = account.cut() => return,
            () = &mut past, if is_old => return,
            () = &mut old, if !is_old => is_old = true,
            () = &mut void => {
                tracing::info!("a connection was closed: its client's certificate is good no more");
                return;
            }
            () = stop.cancelled(), if !is_closing => {}
            () = until_quiet(&account), if !is_closing => {}
        }
        is_closing = true;
        connection.as_mut().graceful_shutdown();
    }
}

/// Waits until no call has been open for as long as a connection may be quiet.
async fn until_quiet(account: &Account) {
    loop {
        let quiet = account.quiet_for().unwrap_or_default();
        let Some(left) = limits::CONNECTION_QUIET_MAX.checked_sub(quiet) else {
            return;
        };
        tokio::time::sleep(left.max(limits::CONNECTION_LOOK_INTERVAL)).await;
    }
}

/// Reads what a connection begins with. Says whether it is what it should be; what is not is
/// noticed at the first wrong byte.
async fn read_preface(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<bool> {
    let mut bytes = [0; PREFACE.len()];
    let mut len = 0;
    while len < bytes.len() {
        let read = stream.read(&mut bytes[len..]).await?;
        len += read;
        if read == 0 || !PREFACE.starts_with(&bytes[..len]) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A stream of which the beginning was read already.
struct Begun<I> {
    before: &'static [u8],
    stream: I,
}

impl<I: AsyncRead + Unpin> AsyncRead for Begun<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.before.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let len = self.before.len().min(buffer.remaining());
        let (now, later) = self.before.split_at(len);
        buffer.put_slice(now);
        self.before = later;
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Begun<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}

/// The calls of one connection.
struct Calls<S> {
    service: S,
    account: Arc<Account>,
    certificate: Option<Arc<ClientCertificate>>,
}

impl<S> hyper::service::Service<Request<Incoming>> for Calls<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Sent>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Sent>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let mut service = self.service.clone();
        let account = Arc::clone(&self.account);
        let certificate = self.certificate.clone();
        let (call, pending) = (account.call(), account.begin_call());
        Box::pin(async move {
            let Some(pending) = pending else {
                let refused = Status::from(ServiceError::overloaded()).into_http();
                return Ok(refused.map(|body| Sent::new(body, account, call)));
            };
            let held = HeldMessage::default();
            let payer = Arc::<OnceLock<Payer>>::default();
            let mut request = request
                .map(|body| Received::new(body, Arc::clone(&account), held.clone()))
                .map(|body| Body::new(body.paid_by(Arc::clone(&payer))));
            request.extensions_mut().insert(Line {
                account: Arc::clone(&account),
                certificate,
                payer,
                reset: RESET.try_with(CancellationToken::clone).unwrap_or_default(),
            });
            poll_fn(|context| service.poll_ready(context)).await?;
            let response = service.call(request).await?;
            drop((held, pending));
            Ok(response.map(|body| Sent::new(body, account, call)))
        })
    }
}

/// Runs the tasks of a connection, one for each stream, each of which can be reset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tasks;

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Tasks {
    fn execute(&self, task: F) {
        let reset = CancellationToken::new();
        tokio::spawn(RESET.scope(reset.clone(), async move {
            tokio::select! {
                biased;
                () = task => {}
                () = reset.cancelled() => {}
            }
        }));
    }
}

/// How connections speak HTTP/2. What is not named here is at its default, since that is bounded:
/// the size of headers (16 KiB), of frames (16 KiB), and of their table (4 KiB).
pub(super) fn http() -> http2::Builder<Tasks> {
    let mut http = http2::Builder::new(Tasks);
    http.timer(TokioTimer::new())
        .initial_stream_window_size(limits::STREAM_WINDOW_BYTES)
        .initial_connection_window_size(limits::CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(limits::STREAM_UNSENT_BYTES_MAX)
        .max_concurrent_streams(limits::CONCURRENT_STREAMS_MAX)
        .max_header_list_size(limits::HEADER_LIST_BYTES_MAX)
        .max_pending_accept_reset_streams(limits::RESETS_PENDING_MAX)
        .max_local_error_reset_streams(limits::RESETS_FOR_ERRORS_MAX)
        .keep_alive_interval(limits::KEEPALIVE_INTERVAL)
        .keep_alive_timeout(limits::KEEPALIVE_TIMEOUT);
    http
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_that_begins_wrong_is_known_at_its_first_wrong_byte() {
        let good: &[u8] = PREFACE;
        assert!(read_preface(&mut &good[..]).await.expect("it reads"));
        for wrong in [
            &b""[..],
            b"GET / HTTP/1.1\r\n\r\n",
            &good[..23],
            b"PRI * HTTP/1.0",
        ] {
            assert!(!read_preface(&mut &wrong[..]).await.expect("it reads"));
        }
        let (mut client, mut server) = tokio::io::duplex(64);
        tokio::io::AsyncWriteExt::write_all(&mut client, b"G")
            .await
            .expect("there is room");
        assert!(
            !read_preface(&mut server).await.expect("it reads"),
            "it waits for no more"
        );
    }

    #[tokio::test]
    async fn what_was_read_already_comes_first() {
        let mut begun = Begun {
            before: PREFACE,
            stream: &b" and more"[..],
        };
        let mut text = String::new();
        begun.read_to_string(&mut text).await.expect("it reads");
        assert_eq!(text, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n and more");
    }
}
