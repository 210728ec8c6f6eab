//! Bodies of requests and answers, whose bytes are held in the account of their connection.
//!
//! A message of a request counts from its head on, with the size that it announces, until the call
//! is answered or the next message of the stream begins. A part of an answer counts until the
//! transport has sent it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Sleep;
use tonic::Status;
use tonic::body::Body;

use super::ledger::{Account, Held, OpenCall, Side};
use crate::access::{Payer, Taken};
use crate::error::ServiceError;
use crate::limits;

/// The bytes before each message: whether it is compressed, and its length.
const HEAD_BYTES: usize = 5;

/// What the newest message of a request holds. The body and the call share it: whoever ends last
/// gives it back.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldMessage(Arc<Mutex<Option<Held>>>);

impl HeldMessage {
    fn replace(&self, held: Option<Held>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = held;
    }
}

/// The body of a request.
#[derive(Debug)]
pub(super) struct Received<B = Incoming> {
    inner: B,
    account: Arc<Account>,
    messages: Messages,
    held: HeldMessage,
    /// Whose account the bytes go to, where that is known.
    payer: Arc<OnceLock<Payer>>,
    /// When the message that has begun must have come to its end.
    due: Option<Pin<Box<Sleep>>>,
}

impl<B> Received<B> {
    pub(super) fn new(inner: B, account: Arc<Account>, held: HeldMessage) -> Received<B> {
        Received {
            inner,
            account,
            messages: Messages::default(),
            held,
            payer: Arc::default(),
            due: None,
        }
    }

    /// Puts the bytes on the account of who calls, as soon as that is known.
    pub(super) fn paid_by(mut self, payer: Arc<OnceLock<Payer>>) -> Received<B> {
        self.payer = payer;
        self
    }

    /// Looks at bytes that have arrived.
    fn take(&mut self, bytes: &[u8]) -> Result<(), ServiceError> {
        if let Some(size) = self.messages.advance(bytes) {
            // The account of what was before goes first, so that a stream holds one message.
            self.held.replace(None);
            if let Some(payer) = self.payer.get() {
                payer.take(Taken::Bytes, size as u64, self.account.counted_us())?;
            }
            let held = self.account.hold(Side::Received, size);
            let held = held.ok_or_else(ServiceError::overloaded)?;
            self.held.replace(Some(held));
            self.due = None;
        }
        if self.messages.is_between() {
            self.due = None;
        } else if self.due.is_none() {
            self.due = Some(Box::pin(tokio::time::sleep(limits::MESSAGE_TIMEOUT)));
        }
        Ok(())
    }
}

impl<B> HttpBody for Received<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        if let Some(due) = &mut this.due
            && due.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Some(Err(ServiceError::DeadlineExceeded.into())));
        }
        let frame = match ready!(Pin::new(&mut this.inner).poll_frame(context)) {
            None => return Poll::Ready(None),
            Some(Err(error)) => return Poll::Ready(Some(Err(Status::from_error(error.into())))),
            Some(Ok(frame)) => frame,
        };
        if let Some(bytes) = frame.data_ref()
            && let Err(error) = this.take(bytes)
        {
            return Poll::Ready(Some(Err(error.into())));
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Where the messages of a request begin and end.
#[derive(Debug, Default)]
struct Messages {
    head: [u8; HEAD_BYTES],
    /// The bytes of the head that have arrived.
    head_len: usize,
    /// The bytes of the message that have not.
    left: usize,
}

impl Messages {
    /// Goes on by some bytes; returns what the last message that began in them will take.
    fn advance(&mut self, mut bytes: &[u8]) -> Option<usize> {
        let mut begun = None;
        while !bytes.is_empty() {
            let skipped = self.left.min(bytes.len());
            self.left -= skipped;
            bytes = &bytes[skipped..];
            let taken = bytes.len().min(HEAD_BYTES - self.head_len);
            self.head[self.head_len..][..taken].copy_from_slice(&bytes[..taken]);
            self.head_len += taken;
            bytes = &bytes[taken..];
            if self.head_len == HEAD_BYTES {
                let [flag, length @ ..] = self.head;
                self.left = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
                self.head_len = 0;
                begun = Some(cost(flag != 0, self.left));
            }
        }
        begun
    }

    /// Whether no message has begun that has not come to its end.
    fn is_between(&self) -> bool {
        self.left == 0 && self.head_len == 0
    }
}

/// What a message of some length takes; one that is too long is not read.
fn cost(is_compressed: bool, length: usize) -> usize {
    let factor = if is_compressed {
        limits::COMPRESSION_COST
    } else {
        1
    };
    match length {
        0..=limits::MESSAGE_BYTES_MAX => {
            length.saturating_mul(factor).min(limits::MESSAGE_BYTES_MAX) + HEAD_BYTES
        }
        _ => HEAD_BYTES,
    }
}

/// The body of an answer.
#[derive(Debug)]
pub(super) struct Sent {
    inner: Body,
    account: Arc<Account>,
    number: u64,
    is_waiting: bool,
    _call: OpenCall,
}

impl Sent {
    pub(super) fn new(inner: Body, account: Arc<Account>, call: OpenCall) -> Sent {
        Sent {
            number: account.body_number(),
            inner,
            account,
            is_waiting: false,
            _call: call,
        }
    }
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        this.is_waiting = true;
        ready!(this.account.poll_room(this.number, context));
        this.is_waiting = false;
        let frame = ready!(Pin::new(&mut this.inner).poll_frame(context));
        Poll::Ready(frame.map(|frame| {
            frame.map(|frame| {
                frame.map_data(|bytes| {
                    let held = this.account.hold(Side::Sent, bytes.len());
                    Bytes::from_owner(SentBytes { bytes, _held: held })
                })
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        if self.is_waiting {
            self.account.forget_body(self.number);
        }
    }
}

/// A part of an answer, which is held until the transport drops it.
struct SentBytes {
    bytes: Bytes,
    _held: Option<Held>,
}

impl AsRef<[u8]> for SentBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::future::poll_fn;
    use std::net::IpAddr;

    use tonic::Code;

    use super::super::ledger::{Capacity, Ledger, Place};
    use super::*;

    /// A body of pieces, which never ends.
    struct Pieces(VecDeque<Bytes>);

    impl HttpBody for Pieces {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            match self.0.pop_front() {
                Some(piece) => Poll::Ready(Some(Ok(Frame::data(piece)))),
                None => Poll::Pending,
            }
        }
    }

    fn place() -> Place {
        let capacity = Capacity {
            calls: 9,
            connections: 1,
            streams: 1,
            bytes: usize::MAX,
            ages: Default::default(),
        };
        let ledger = Ledger::new(capacity);
        ledger.admit(IpAddr::from([127, 0, 0, 1])).expect("a place")
    }

    fn message(length: usize) -> Vec<u8> {
        let mut bytes = vec![0];
        bytes.extend(u32::try_from(length).expect("it is short").to_be_bytes());
        bytes.resize(HEAD_BYTES + length, 7);
        bytes
    }

    async fn next<B>(body: &mut Received<B>) -> Result<Frame<Bytes>, Status>
    where
        B: HttpBody<Data = Bytes> + Unpin,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let next = poll_fn(|context| Pin::new(&mut *body).poll_frame(context));
        next.await.expect("it goes on")
    }

    #[test]
    fn messages_are_found_however_they_are_cut() {
        let bytes: Vec<u8> = [message(3), message(0), message(300)].concat();
        for size in 1..bytes.len() {
            let mut messages = Messages::default();
            let begun: Vec<usize> = bytes
                .chunks(size)
                .filter_map(|piece| messages.advance(piece))
                .collect();
            assert_eq!(begun.last(), Some(&305), "pieces of {size}");
            assert!(messages.is_between(), "pieces of {size}");
        }
        let mut messages = Messages::default();
        assert_eq!(messages.advance(&[0, 0, 0]), None);
        assert!(!messages.is_between());
        assert_eq!(messages.advance(&[0, 9, 1]), Some(14));
        assert!(!messages.is_between());
    }

    #[test]
    fn what_is_compressed_costs_more_and_what_is_too_long_is_not_read() {
        assert_eq!(cost(false, 100), 105);
        assert_eq!(cost(true, 100), 100 * limits::COMPRESSION_COST + 5);
        let max = limits::MESSAGE_BYTES_MAX;
        assert_eq!(cost(true, max), max + 5);
        assert_eq!(cost(false, max + 1), 5);
    }

    #[tokio::test]
    async fn a_message_that_does_not_end_is_given_up() {
        let (place, held) = (place(), HeldMessage::default());
        let pieces = VecDeque::from([Bytes::from(message(9)), Bytes::from(vec![0, 0, 0, 0, 9])]);
        let account = Arc::clone(place.account());
        let mut body = Received::new(Pieces(pieces), account, held.clone());
        assert!(next(&mut body).await.is_ok());
        assert!(body.due.is_none(), "it came to its end");
        assert!(next(&mut body).await.is_ok());
        let due = body.due.as_mut().expect("it is waited for");
        due.as_mut().reset(tokio::time::Instant::now());
        let late = next(&mut body).await.expect_err("nothing more comes");
        assert_eq!(late.code(), Code::DeadlineExceeded);
    }

    #[tokio::test]
    async fn a_connection_that_has_too_much_under_way_is_refused_more() {
        let place = place();
        let account = place.account();
        let most = account.hold(Side::Received, limits::CONNECTION_RECEIVED_BYTES_MAX - 10);
        let body = |length| {
            let pieces = VecDeque::from([Bytes::from(message(length))]);
            Received::new(Pieces(pieces), Arc::clone(account), HeldMessage::default())
        };
        assert!(next(&mut body(5)).await.is_ok());
        let refused = next(&mut body(6)).await.expect_err("it is too much");
        assert_eq!(refused.code(), Code::ResourceExhausted);
        drop(most);
        assert!(next(&mut body(6)).await.is_ok());
    }
}
