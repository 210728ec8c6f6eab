//! A line to servers that stand for one service: each call goes to another of them.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http::{Request, Response};
use tonic::body::Body;
use tonic::transport::{Channel, Error};
use tower::Service;

/// Whose turn it is, for each method.
///
/// The calls of one method alternate among themselves: a test that acts and reads in turn would
/// otherwise act on one server and read from the other all the time. Methods begin at different
/// servers, in the order in which they are first called.
#[derive(Debug, Default)]
pub struct Turns(Mutex<HashMap<String, usize>>);

impl Turns {
    fn next(&self, method: &str) -> usize {
        // Every change is a call on a map that does not fail halfway.
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = turns.len();
        let turn = turns.entry(method.to_owned()).or_insert(begin);
        *turn += 1;
        *turn
    }
}

/// Channels to one or more servers, used as one: calls and streams alternate between them.
#[derive(Clone, Debug)]
pub struct Line {
    channels: Vec<Channel>,
    turns: Arc<Turns>,
}

impl Line {
    /// Returns a line over channels that takes turns together with other lines.
    ///
    /// # Panics
    ///
    /// Where there is no channel.
    #[must_use]
    pub fn new(channels: Vec<Channel>, turns: Arc<Turns>) -> Line {
        assert!(!channels.is_empty(), "a line leads somewhere");
        Line { channels, turns }
    }
}

impl Service<Request<Body>> for Line {
    type Response = Response<Body>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        // Which channel is needed is known with the call; it is waited for there.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let turn = self.turns.next(request.uri().path());
        let mut channel = self.channels[turn % self.channels.len()].clone();
        Box::pin(async move {
            poll_fn(|context| channel.poll_ready(context)).await?;
            channel.call(request).await
        })
    }
}
