//! What is counted of calls, by method. Which methods there are is known beforehand, so that
//! nobody makes a series by asking for what is not there, and so that each series begins at 0.

use std::collections::HashMap;
use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// The bytes before each message: whether it is compressed, and its length.
const HEAD_BYTES: usize = 5;

/// The bounds of how long calls take, in seconds: those that dashboards know, and two below for
/// answers from memory.
const SECONDS: [f64; 13] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// The codes of gRPC, by number.
const CODES: [&str; 17] = [
    "OK",
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated",
];

/// What stands for every method that there is not.
const NO_METHOD: &str = "unknown";

/// Which side of a call sends many messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// None.
    Unary,
    /// The client.
    ClientStream,
    /// The server.
    ServerStream,
    /// Both.
    BidiStream,
}

impl Kind {
    fn label(self) -> &'static str {
        match self {
            Self::Unary => "unary",
            Self::ClientStream => "client_stream",
            Self::ServerStream => "server_stream",
            Self::BidiStream => "bidi_stream",
        }
    }
}

/// A method of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// The service, with its package.
    pub service: String,
    /// The method.
    pub name: String,
    /// Which side sends many messages.
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabels {
    grpc_type: &'static str,
    grpc_service: String,
    grpc_method: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeLabels {
    grpc_type: &'static str,
    grpc_service: String,
    grpc_method: String,
    grpc_code: &'static str,
}

/// All series of calls.
#[derive(Debug)]
pub(crate) struct CallFamilies {
    started: Family<MethodLabels, Counter>,
    handled: Family<CodeLabels, Counter>,
    seconds: Family<MethodLabels, Histogram, fn() -> Histogram>,
    received: Family<MethodLabels, Counter>,
    sent: Family<MethodLabels, Counter>,
}

impl Default for CallFamilies {
    fn default() -> CallFamilies {
        CallFamilies {
            started: Family::default(),
            handled: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            received: Family::default(),
            sent: Family::default(),
        }
    }
}

impl CallFamilies {
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "grpc_server_started",
            "Calls that began",
            self.started.clone(),
        );
        registry.register(
            "grpc_server_handled",
            "Calls that ended, by the code that they ended with",
            self.handled.clone(),
        );
        registry.register(
            "grpc_server_handling_seconds",
            "How long calls took, from their head to the end of the answer",
            self.seconds.clone(),
        );
        registry.register(
            "grpc_server_msg_received",
            "Messages that were received",
            self.received.clone(),
        );
        registry.register(
            "grpc_server_msg_sent",
            "Messages that were sent",
            self.sent.clone(),
        );
    }

    /// Returns the counts of some methods, with one more for all others.
    pub(crate) fn counts(&self, methods: &[Method]) -> CallCounts {
        let counts = methods.iter().map(|method| {
            let Method {
                service,
                name,
                kind,
            } = method;
            let counts = self.counts_of(service, name, kind.label());
            (format!("/{service}/{name}"), Arc::new(counts))
        });
        CallCounts {
            known: counts.collect(),
            unknown: Arc::new(self.counts_of(NO_METHOD, NO_METHOD, NO_METHOD)),
        }
    }

    fn counts_of(&self, service: &str, method: &str, grpc_type: &'static str) -> MethodCounts {
        let labels = MethodLabels {
            grpc_type,
            grpc_service: service.to_owned(),
            grpc_method: method.to_owned(),
        };
        let handled = CODES.map(|grpc_code| {
            self.handled.get_or_create_owned(&CodeLabels {
                grpc_type,
                grpc_service: service.to_owned(),
                grpc_method: method.to_owned(),
                grpc_code,
            })
        });
        MethodCounts {
            name: format!("{service}/{method}"),
            started: self.started.get_or_create_owned(&labels),
            handled,
            seconds: self.seconds.get_or_create_owned(&labels),
            received: self.received.get_or_create_owned(&labels),
            sent: self.sent.get_or_create_owned(&labels),
        }
    }
}

/// The counts of all methods, by path.
#[derive(Debug)]
pub(crate) struct CallCounts {
    known: HashMap<String, Arc<MethodCounts>>,
    unknown: Arc<MethodCounts>,
}

impl CallCounts {
    /// Returns the counts of a path.
    pub(crate) fn find(&self, path: &str) -> Arc<MethodCounts> {
        Arc::clone(self.known.get(path).unwrap_or(&self.unknown))
    }
}

/// The counts of one method.
#[derive(Debug)]
pub(crate) struct MethodCounts {
    name: String,
    pub(crate) started: Counter,
    handled: [Counter; CODES.len()],
    pub(crate) seconds: Histogram,
    pub(crate) received: Counter,
    pub(crate) sent: Counter,
}

impl MethodCounts {
    /// Returns the name, such as `package.Service/Method`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the counter of the calls that ended with a code; a code that there is not counts as
    /// unknown.
    pub(crate) fn handled(&self, code: u16) -> &Counter {
        let [_, _, unknown, ..] = &self.handled;
        self.handled.get(usize::from(code)).unwrap_or(unknown)
    }
}

/// Where the messages of a body end.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    head: [u8; HEAD_BYTES],
    /// The bytes of the head that have passed.
    head_len: usize,
    /// The bytes of the message that have not.
    left: usize,
}

impl Messages {
    /// Goes on by some bytes; returns how many messages ended in them.
    pub(crate) fn advance(&mut self, mut bytes: &[u8]) -> u64 {
        let mut ended = 0;
        while !bytes.is_empty() {
            if self.left > 0 {
                let passed = self.left.min(bytes.len());
                self.left -= passed;
                bytes = &bytes[passed..];
                ended += u64::from(self.left == 0);
                continue;
            }
            let taken = bytes.len().min(HEAD_BYTES - self.head_len);
            self.head[self.head_len..][..taken].copy_from_slice(&bytes[..taken]);
            self.head_len += taken;
            bytes = &bytes[taken..];
            if self.head_len == HEAD_BYTES {
                let [_, length @ ..] = self.head;
                self.left = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
                self.head_len = 0;
                ended += u64::from(self.left == 0);
            }
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_however_they_are_cut() {
        let mut bytes = Vec::new();
        for length in [3u8, 0, 200, 0] {
            bytes.extend([0, 0, 0, 0, length]);
            bytes.resize(bytes.len() + usize::from(length), 7);
        }
        for size in 1..=bytes.len() {
            let mut messages = Messages::default();
            let ended: u64 = bytes.chunks(size).map(|it| messages.advance(it)).sum();
            assert_eq!(ended, 4, "pieces of {size}");
        }
        let mut messages = Messages::default();
        assert_eq!(messages.advance(&bytes[..7]), 0, "it has not ended");
    }

    #[test]
    fn a_code_that_there_is_not_is_unknown_and_so_is_a_method() {
        let method = Method {
            service: "a.B".into(),
            name: "C".into(),
            kind: Kind::Unary,
        };
        let counts = CallFamilies::default().counts(&[method]);
        let found = counts.find("/a.B/C");
        found.handled(2).inc();
        found.handled(17).inc();
        assert_eq!((found.handled(2).get(), found.handled(0).get()), (2, 0));
        for path in ["/a.B/c", "a.B/C", "/a.B/C/", "", "/x.Y/Z"] {
            assert!(Arc::ptr_eq(&counts.find(path), &counts.unknown), "{path}");
        }
    }
}
