//! What stands between the network and the services: who calls, how streams are written, and how
//! errors travel. Beside `services`, the only part that knows gRPC statuses.

mod caller;
mod errors;
mod frame;
mod reflection;
mod status;
mod stream;

pub(crate) use self::caller::{Caller, CallerLayer};
pub(crate) use self::errors::{TransportErrorLayer, translate};
pub(crate) use self::frame::{Frame, FrameCodec};
pub(crate) use self::reflection::reflection;
pub use self::status::DOMAIN;
pub(crate) use self::stream::{Gone, Outgoing, Sender, StreamPermits};
