//! Who calls, and what they may do: roles, tokens, and the one table of what each role allows.
//!
//! Nothing here knows statuses or headers: `transport` takes the credential from a call, [`Gate`]
//! says whose it is, and [`table`] whether that is enough.

mod allowance;
mod cover;
mod followed;
mod gate;
mod grant;
mod issuers;
mod operator;
mod principal;
mod role;
mod seats;
mod secret;
mod session;
mod signing;
mod sources;
mod subjects;
pub(crate) mod table;

pub use allowance::{Allowance, Allowances, Rate};
pub(crate) use allowance::{HeldThing, Hold, Payer, Payers, Taken};
pub(crate) use cover::Cover;
pub use gate::Access;
pub(crate) use gate::Gate;
pub use issuers::{Issuers, IssuersError};
pub use operator::OperatorFile;
pub(crate) use principal::Principal;
pub use principal::is_platform;
pub use role::Role;
pub(crate) use seats::{Seat, SignedSeat};
pub use seats::{SeatKeys, SeatKeysError};
pub use secret::{OperatorToken, Secret, SecretError};
pub(crate) use session::Session;
pub use sources::CredentialFiles;
pub use subjects::{Subjects, SubjectsError};
