//! Streams to clients: a bounded queue each, a reader that is too slow is cut.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::Stream;
use tokio_util::task::TaskTracker;
use tonic::Status;
use tracing::Instrument;

use crate::clock::Clock;
use crate::error::ServiceError;
use crate::limits;

/// The streams that may be open in the whole process.
#[derive(Clone, Debug)]
pub(crate) struct StreamPermits {
    permits: Arc<Semaphore>,
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
}

impl StreamPermits {
    /// Permits for so many streams, whose readers are waited for by a clock.
    pub(crate) fn new(
        streams_max: usize,
        clock: Arc<dyn Clock>,
        tasks: TaskTracker,
    ) -> StreamPermits {
        StreamPermits {
            permits: Arc::new(Semaphore::new(streams_max)),
            clock,
            tasks,
        }
    }

    /// Opens a stream, while there is room. What writes to it runs until it ends.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Overloaded`] where too many are open.
    pub(crate) fn open<T, W>(
        &self,
        write: impl FnOnce(Sender<T>) -> W,
    ) -> Result<Outgoing<T>, ServiceError>
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let permit = Arc::clone(&self.permits)
            .try_acquire_owned()
            .map_err(|_| ServiceError::overloaded())?;
        let (queue, receiver) = mpsc::channel(limits::STREAM_QUEUE_MAX);
        let sender = Sender {
            queue,
            clock: Arc::clone(&self.clock),
        };
        self.tasks.spawn(write(sender).in_current_span());
        Ok(Outgoing {
            receiver,
            cut: None,
            _permit: permit,
        })
    }
}

/// The end of a stream that the service writes to.
pub(crate) struct Sender<T> {
    queue: mpsc::Sender<Result<T, Status>>,
    clock: Arc<dyn Clock>,
}

/// The client is gone, or has been cut off.
pub(crate) struct Gone;

impl<T: Send + 'static> Sender<T> {
    /// Sends a message, and waits for the reader for as long as the limit allows.
    pub(crate) async fn send(&self, message: T) -> Result<(), Gone> {
        let message = match self.queue.try_send(Ok(message)) {
            Ok(()) => return Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(Gone),
            Err(mpsc::error::TrySendError::Full(message)) => message,
        };
        tokio::select! {
            sent = self.queue.send(message) => sent.map_err(|_| Gone),
            () = self.clock.sleep(limits::SLOW_CONSUMER_TIMEOUT) => {
                // The queue is full, so the reason takes the place behind what waits there.
                self.fail(ServiceError::SlowConsumer).await;
                Err(Gone)
            }
        }
    }

    /// Ends the stream with an error.
    pub(crate) async fn fail(&self, error: ServiceError) {
        tokio::select! {
            _ = self.queue.send(Err(error.into())) => {}
            () = self.clock.sleep(limits::SLOW_CONSUMER_TIMEOUT) => {}
        }
    }

    /// Waits until the client is gone.
    pub(crate) async fn closed(&self) {
        self.queue.closed().await;
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
