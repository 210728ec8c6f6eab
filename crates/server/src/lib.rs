//! gRPC services: read the request, ask a pure room, store, answer.
//!
//! A [`Server`] is put together from a listener, a store, a clock and options, and runs until it
//! is told to stop. Several can run over one store. An action goes down four floors, and each is
//! called once: `services` → `games` → `record` → `store`. Only `services` and `transport` know
//! gRPC statuses.

#![forbid(unsafe_code)]

mod access;
mod background;
mod clock;
mod error;
pub mod files;
mod games;
pub mod limits;
mod measures;
mod perft;
mod pool;
mod salt;
mod server;
mod services;
mod transport;

pub use access::{
    Access, Allowance, Allowances, CredentialFiles, Issuers, IssuersError, OperatorFile,
    OperatorToken, Rate, Role, SeatKeys, SeatKeysError, Secret, SecretError, Subjects,
    SubjectsError, is_platform,
};
pub use clock::{Clock, MachineClock, ManualClock, Sleep};
pub use error::{Refusal, ServiceError};
pub use server::{Reload, ServeError, Server, ServerOptions};
pub use transport::{
    DOMAIN, Inside, OriginError, Tls, TlsError, TlsFiles, TlsPart, TlsState, WebOrigins,
};
