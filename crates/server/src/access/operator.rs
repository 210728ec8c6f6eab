//! The token of the first operator, in a file that is read again when it changes.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::followed::Followed;
use super::secret::OperatorToken;
use crate::files::read_secret;
use crate::limits;

/// The token of the first operator, beside those in the store. Another one in the file revokes it.
#[derive(Clone)]
pub struct OperatorFile(Arc<Followed<OperatorToken>>);

impl fmt::Debug for OperatorFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OperatorFile")
    }
}

impl OperatorFile {
    /// Reads a file that not everybody may read.
    ///
    /// # Errors
    ///
    /// What is wrong with it, where it cannot be read or is no token.
    pub fn open(path: &Path) -> Result<OperatorFile, String> {
        let path = path.to_owned();
        let followed = Followed::open("--operator-token-file", move |seen| {
            seen.note(&path);
            let text = read_secret(&path, limits::KEY_FILE_BYTES_MAX);
            let text = text.map_err(|error| error.to_string())?;
            OperatorToken::read(&text).map_err(str::to_owned)
        })?;
        Ok(OperatorFile(Arc::new(followed)))
    }

    /// Reads the file again where it has changed.
    pub(super) fn look_again(&self) {
        self.0.look_again();
    }

    /// Returns the token in force.
    pub(super) fn token(&self) -> OperatorToken {
        *self.0.value()
    }
}
