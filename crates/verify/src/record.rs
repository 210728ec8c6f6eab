//! What is asked of the room that makes records: a key as it is written, and the judgment of an
//! action by the rules. All else is checked without it.

pub(crate) use referee_record::Replay;
pub use referee_record::{KeyError, read_public_key};
