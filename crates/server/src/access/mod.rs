//! Who calls, and what they may do: roles, tokens, and the one table of what each role allows.
//!
//! Nothing here knows statuses or headers: `transport` takes the credential from a call, [`Gate`]
//! says whose it is, and [`table`] whether that is enough.

mod allowance;
mod gate;
mod principal;
mod role;
mod secret;
mod subjects;
pub(crate) mod table;

pub use allowance::{Allowance, Allowances, Rate};
pub(crate) use allowance::{HeldThing, Hold, Payer, Payers, Taken};
pub use gate::Access;
pub(crate) use gate::{Gate, Session};
pub(crate) use principal::Principal;
pub use principal::is_platform;
pub use role::Role;
pub use secret::{OperatorToken, Secret, SecretError};
pub use subjects::{Subjects, SubjectsError};
