//! What is asked of the room that makes records: a key as it is written, the judgment of an action
//! by the rules, and which revision of the rules that is. All else is checked without it.

pub use referee_record::{KeyError, read_public_key};
pub(crate) use referee_record::{REVISION, Replay, VERSION};
