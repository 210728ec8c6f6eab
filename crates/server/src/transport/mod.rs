//! What stands between the network and the services: connections and what each of them takes, who
//! calls, how streams are written, and how errors travel. Beside `services`, the only part that
//! knows gRPC statuses.

mod accept;
mod ages;
mod caller;
mod connection;
mod errors;
mod frame;
mod inside;
mod ledger;
mod metered;
mod methods;
mod reflection;
mod status;
mod stream;
mod tls;
mod web;

pub(crate) use self::accept::serve;
pub(crate) use self::ages::Ages;
pub(crate) use self::caller::{Caller, CallerLayer};
pub(crate) use self::errors::{TransportErrorLayer, read_fault};
pub(crate) use self::frame::{Frame, FrameCodec};
pub use self::inside::Inside;
pub(crate) use self::inside::{InsideDoor, inside, serve_inside};
pub(crate) use self::ledger::{Capacity, Ledger};
pub(crate) use self::methods::methods;
pub(crate) use self::reflection::reflection;
pub use self::status::DOMAIN;
pub(crate) use self::stream::{Gone, Outgoing, Sender, Streams};
pub use self::tls::{Tls, TlsError, TlsFiles, TlsPart, TlsState};
pub use self::web::{OriginError, WebOrigins};
