//! What is asked of the room that makes records: a key as it is written, and the judgment of an
//! action by the rules. All else is checked without it.

pub(crate) use referee_server::Replay;
pub use referee_server::{KeyError, read_public_key};
