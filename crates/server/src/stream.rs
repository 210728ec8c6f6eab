//! Streams to clients: a bounded queue each, a reader that is too slow is cut.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio_stream::Stream;
use tonic::Status;

use crate::limits;
use crate::status::ApiError;

/// The number of streams that may be open in the whole process.
#[derive(Clone)]
pub(crate) struct Openings(Arc<Semaphore>);

impl Openings {
    pub(crate) fn new() -> Openings {
        Openings(Arc::new(Semaphore::new(limits::OPEN_STREAMS_MAX)))
    }

    /// Opens a stream, while there is room.
    pub(crate) fn open<T>(&self) -> Result<(Sender<T>, Outgoing<T>), ApiError> {
        let permit = Arc::clone(&self.0)
            .try_acquire_owned()
            .map_err(|_| ApiError::Overloaded)?;
        let (queue, receiver) = mpsc::channel(limits::STREAM_QUEUE_MAX);
        Ok((
            Sender(queue),
            Outgoing {
                receiver,
                cut: None,
                _permit: permit,
            },
        ))
    }
}

/// The end of a stream that the service writes to.
pub(crate) struct Sender<T>(mpsc::Sender<Result<T, Status>>);

/// The client is gone, or has been cut off.
pub(crate) struct Gone;

impl<T: Send + 'static> Sender<T> {
    /// Sends a message, and waits for the reader for as long as the limit allows.
    pub(crate) async fn send(&self, message: T) -> Result<(), Gone> {
        let waited =
            tokio::time::timeout(limits::SLOW_CONSUMER_TIMEOUT, self.0.send(Ok(message))).await;
        match waited {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Gone),
            Err(_) => {
                // The queue is full, so the reason takes the place behind what waits there.
                let queue = self.0.clone();
                tokio::spawn(async move {
                    let end = queue.send(Err(ApiError::SlowConsumer.into()));
                    let _ = tokio::time::timeout(limits::SLOW_CONSUMER_TIMEOUT, end).await;
                });
                Err(Gone)
            }
        }
    }

    /// Ends the stream with an error.
    pub(crate) async fn fail(&self, error: ApiError) {
        let end = self.0.send(Err(error.into()));
        let _ = tokio::time::timeout(limits::SLOW_CONSUMER_TIMEOUT, end).await;
    }

    /// Waits until the client is gone.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }
}

/// The end of a stream that the transport reads from.
pub(crate) struct Outgoing<T> {
    receiver: mpsc::Receiver<Result<T, Status>>,
    cut: Option<()>,
    _permit: OwnedSemaphorePermit,
}

impl<T> Stream for Outgoing<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.cut.is_some() {
            return Poll::Ready(None);
        }
        let next = self.receiver.poll_recv(context);
        if let Poll::Ready(Some(Err(_))) = &next {
            self.cut = Some(());
        }
        next
    }
}

/// Waits until the server is told to stop.
pub(crate) async fn stopped(is_stopping: &mut watch::Receiver<bool>) {
    // An error means that the server is gone, which is a stop as well.
    let _ = is_stopping.wait_for(|stopping| *stopping).await;
}
