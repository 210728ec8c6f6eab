//! Streams to clients: a queue each, bounded in messages and in bytes. A reader that is too slow
//! is cut, and leaves nothing behind.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use prost::Message;
use tokio::sync::Notify;
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Status;
use tracing::Instrument;

use super::caller::Caller;
use super::frame::Frame;
use super::ledger::{Account, Held, OpenStream, PendingCall, Side};
use crate::access::Hold;
use crate::clock::Clock;
use crate::error::ServiceError;
use crate::limits;

/// What opens streams.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
}

impl Streams {
    /// Streams whose readers are waited for by a clock.
    pub(crate) fn new(clock: Arc<dyn Clock>, tasks: TaskTracker) -> Streams {
        Streams { clock, tasks }
    }

    /// The clock that readers and writers are waited for by.
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Opens a stream, while there is room. What writes to it runs until it ends, or until the
    /// credential of the caller is good no more.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Overloaded`] where too many are open, and [`ServiceError::AllowanceSpent`]
    /// where the caller has too many.
    pub(crate) fn open<T, W>(
        &self,
        caller: &Caller,
        write: impl FnOnce(Sender<T>) -> W,
    ) -> Result<Outgoing<T>, ServiceError>
    where
        T: OnWire + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let line = caller.line();
        let hold = caller.hold_stream()?;
        let open = line.account.open_stream();
        let open = open.ok_or_else(ServiceError::overloaded)?;
        Ok(self.spawn(caller, hold, Slot::Open(open), write))
    }

    /// Opens a stream to which a first message must come before it takes the place of one: until
    /// [`Sender::begin`] it counts as a call that is not answered.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Overloaded`] where too many such calls wait, and
    /// [`ServiceError::AllowanceSpent`] where the caller has too many streams.
    pub(crate) fn open_pending<T, W>(
        &self,
        caller: &Caller,
        write: impl FnOnce(Sender<T>) -> W,
    ) -> Result<Outgoing<T>, ServiceError>
    where
        T: OnWire + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let hold = caller.hold_stream()?;
        let pending = caller.line().account.begin_call();
        let pending = pending.ok_or_else(ServiceError::overloaded)?;
        Ok(self.spawn(caller, hold, Slot::Pending(pending), write))
    }

    fn spawn<T, W>(
        &self,
        caller: &Caller,
        hold: Option<[Hold; 2]>,
        slot: Slot,
        write: impl FnOnce(Sender<T>) -> W,
    ) -> Outgoing<T>
    where
        T: OnWire + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let line = caller.line();
        let queue = Arc::new(Queue {
            account: Arc::clone(&line.account),
            state: Mutex::new(State {
                slot: Some(slot),
                ..State::default()
            }),
            room: Notify::new(),
            closed: CancellationToken::new(),
        });
        let sender = Sender {
            queue: Arc::clone(&queue),
            clock: Arc::clone(&self.clock),
            reset: line.reset.clone(),
        };
        let guard = Sender {
            queue: Arc::clone(&queue),
            clock: Arc::clone(&self.clock),
            reset: line.reset.clone(),
        };
        let (write, lost) = (write(sender), caller.lost());
        let written = async move {
            // The end is there before the writer goes, which would end the stream as well.
            let void = async { guard.end(lost.await) };
            tokio::select! {
                () = write => return,
                () = void => {}
            }
            guard.wait_or_reset().await;
        };
        self.tasks.spawn(written.in_current_span());
        Outgoing { queue, _hold: hold }
    }
}

/// The place that a stream takes until its reader is gone.
#[derive(Debug)]
#[expect(dead_code, reason = "held")]
enum Slot {
    /// Of a call that is not answered.
    Pending(PendingCall),
    /// Of a stream.
    Open(OpenStream),
}

/// What knows its size on the wire.
pub(crate) trait OnWire {
    /// The size in bytes.
    fn size(&self) -> usize;
}

impl OnWire for Frame {
    fn size(&self) -> usize {
        self.len()
    }
}

impl<M: Message> OnWire for M {
    fn size(&self) -> usize {
        self.encoded_len()
    }
}

/// The messages between a writer and a reader.
#[derive(Debug)]
struct Queue<T> {
    account: Arc<Account>,
    state: Mutex<State<T>>,
    /// Told when a message was taken out.
    room: Notify,
    /// Cancelled when the reader is gone.
    closed: CancellationToken,
}

#[derive(Debug)]
struct State<T> {
    messages: VecDeque<(T, usize, Option<Held>)>,
    bytes: usize,
    end: End,
    reader: Option<Waker>,
    /// None once the reader is gone.
    slot: Option<Slot>,
}

impl<T> Default for State<T> {
    fn default() -> State<T> {
        State {
            messages: VecDeque::new(),
            bytes: 0,
            end: End::Open,
            reader: None,
            slot: None,
        }
    }
}

/// How a stream ends.
#[derive(Debug)]
enum End {
    /// It goes on.
    Open,
    /// With this, after what waits.
    With(Box<Status>),
    /// After what waits, or it has ended.
    Plain,
}

impl<T> Queue<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        // Every change is a call on a queue that does not fail halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn has_room(&self, size: usize) -> bool {
        let is_short = self.messages.len() < limits::STREAM_QUEUE_MAX
            && self.bytes + size <= limits::STREAM_QUEUE_BYTES_MAX;
        is_short || self.messages.is_empty()
    }

    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

/// The end of a stream that the service writes to.
pub(crate) struct Sender<T> {
    queue: Arc<Queue<T>>,
    clock: Arc<dyn Clock>,
    reset: CancellationToken,
}

/// The client is gone, or has been cut off.
pub(crate) struct Gone;

impl<T: OnWire + Send + 'static> Sender<T> {
    /// Takes the place of a stream, now that its first message has come.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Overloaded`] where too many are open.
    pub(crate) fn begin(&self) -> Result<(), ServiceError> {
        let open = self.queue.account.open_stream();
        let open = open.ok_or_else(ServiceError::overloaded)?;
        let mut state = self.queue.state();
        // Of a reader that is gone nothing is held.
        if state.slot.is_some() {
            state.slot = Some(Slot::Open(open));
        }
        Ok(())
    }

    /// Sends a message, and waits for the reader for as long as the limit allows.
    pub(crate) async fn send(&self, message: T) -> Result<(), Gone> {
        let size = message.size();
        let Err(message) = self.push(message, size)? else {
            return Ok(());
        };
        let mut message = Some(message);
        let pushed = async {
            while let Some(next) = message.take() {
                self.queue.room.notified().await;
                message = self.push(next, size)?.err();
            }
            Ok(())
        };
        tokio::select! {
            pushed = pushed => pushed,
            () = self.queue.closed.cancelled() => Err(Gone),
            () = self.clock.sleep(limits::SLOW_CONSUMER_TIMEOUT) => {
                self.cut(ServiceError::SlowConsumer).await;
                Err(Gone)
            }
        }
    }

    /// Puts a message at the end of the queue; gives it back where there is no room.
    fn push(&self, message: T, size: usize) -> Result<Result<(), T>, Gone> {
        if self.queue.closed.is_cancelled() {
            return Err(Gone);
        }
        let mut state = self.queue.state();
        if !state.has_room(size) {
            return Ok(Err(message));
        }
        // What a reader is about to take does not wait.
        let waits = !state.messages.is_empty();
        let held = waits.then(|| self.queue.account.hold(Side::Queued, size));
        state.messages.push_back((message, size, held.flatten()));
        state.bytes += size;
        state.wake();
        Ok(Ok(()))
    }

    /// Drops what waits for a reader, and tells it why as soon as it reads. One that does not even
    /// then is reset: the transport has things that wait for it as well.
    async fn cut(&self, error: ServiceError) {
        self.end(error);
        self.wait_or_reset().await;
    }

    /// Drops what waits for a reader, and ends the stream with an error.
    fn end(&self, error: ServiceError) {
        let mut state = self.queue.state();
        state.messages = VecDeque::new();
        state.bytes = 0;
        if let End::Open = state.end {
            state.end = End::With(Box::new(error.into()));
        }
        state.wake();
    }

    /// Waits until the reader has seen the end of the stream, but not for long.
    async fn wait_or_reset(&self) {
        tokio::select! {
            () = self.queue.closed.cancelled() => {}
            () = self.clock.sleep(limits::SLOW_CONSUMER_TIMEOUT) => self.reset.cancel(),
        }
    }

    /// Ends the stream with an error, after what waits.
    pub(crate) async fn fail(&self, error: ServiceError) {
        let mut state = self.queue.state();
        if let End::Open = state.end {
            state.end = End::With(Box::new(error.into()));
        }
        state.wake();
    }

    /// Holds bytes that what writes to the stream keeps for its reader.
    pub(crate) fn hold(&self, bytes: usize) -> Option<Held> {
        self.queue.account.hold(Side::Queued, bytes)
    }

    /// Waits until the client is gone.
    pub(crate) async fn closed(&self) {
        self.queue.closed.cancelled().await;
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        if let End::Open = state.end {
            state.end = End::Plain;
        }
        state.wake();
    }
}

/// The end of a stream that the transport reads from.
pub(crate) struct Outgoing<T> {
    queue: Arc<Queue<T>>,
    _hold: Option<[Hold; 2]>,
}

impl<T> Stream for Outgoing<T> {
    type Item = Result<T, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = self.queue.state();
        if let Some((message, size, _)) = state.messages.pop_front() {
            state.bytes -= size;
            drop(state);
            self.queue.room.notify_one();
            return Poll::Ready(Some(Ok(message)));
        }
        match std::mem::replace(&mut state.end, End::Plain) {
            End::With(status) => Poll::Ready(Some(Err(*status))),
            End::Plain => Poll::Ready(None),
            End::Open => {
                state.end = End::Open;
                state.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Outgoing<T> {
    fn drop(&mut self) {
        self.queue.closed.cancel();
        let mut state = self.queue.state();
        state.messages = VecDeque::new();
        state.slot = None;
    }
}
