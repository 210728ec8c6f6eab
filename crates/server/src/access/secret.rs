//! Secrets that clients present: drawn, read, and compared by their hashes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::limits::{OPERATOR_TOKEN_BYTES_MAX, OPERATOR_TOKEN_BYTES_MIN};

/// What tokens begin with, so that those who look for leaked secrets find them.
const PREFIX: &str = "rfr_";

/// The bytes of the id of a token, which is written in hexadecimal digits.
const ID_BYTES: usize = 8;

/// The random bytes of a secret.
const SECRET_BYTES: usize = 32;

/// The characters of a secret.
const SECRET_CHARS: usize = 43;

/// A token with its secret: `rfr_`, 16 hexadecimal digits, `_`, and 43 characters of base64.
#[derive(Clone)]
pub struct Secret {
    id: String,
    secret: String,
}

/// The system has no random bytes.
#[derive(Debug)]
pub struct SecretError(getrandom::Error);

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the system gives no random bytes: {}", self.0)
    }
}

impl std::error::Error for SecretError {}

impl fmt::Debug for Secret {
    /// Names the token and hides the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secret").field(&self.id).finish()
    }
}

impl Secret {
    /// Draws a new token: 256 random bits.
    ///
    /// # Errors
    ///
    /// Where the system has no random bytes.
    pub fn draw() -> Result<Secret, SecretError> {
        let mut bytes = [0; ID_BYTES + SECRET_BYTES];
        getrandom::fill(&mut bytes).map_err(SecretError)?;
        let (id, secret) = bytes.split_at(ID_BYTES);
        Ok(Secret {
            id: id.iter().map(|byte| format!("{byte:02x}")).collect(),
            secret: URL_SAFE_NO_PAD.encode(secret),
        })
    }

    /// Reads a token as a client presents it; none where it has another form.
    #[must_use]
    pub fn read(text: &str) -> Option<Secret> {
        let rest = text.strip_prefix(PREFIX)?;
        let (id, rest) = rest.split_at_checked(2 * ID_BYTES)?;
        let secret = rest.strip_prefix('_')?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_whole = secret.len() == SECRET_CHARS && URL_SAFE_NO_PAD.decode(secret).is_ok();
        (id.bytes().all(is_digit) && is_whole).then(|| Secret {
            id: id.to_owned(),
            secret: secret.to_owned(),
        })
    }

    /// Returns what the token is found by. It opens nothing.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the SHA-256 of the secret, which is what is kept. A secret of 256 random bits needs
    /// no slow hash.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        hash(&self.secret)
    }

    /// Returns the token as a client presents it.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}_{}", self.id, self.secret)
    }

    /// Whether the secret has a hash. How long that takes says nothing about the hash.
    pub(crate) fn has_hash(&self, hash: &[u8; 32]) -> bool {
        self.hash().ct_eq(hash).into()
    }
}

/// Returns the SHA-256 of a text.
pub(crate) fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// The token of the first operator, which a file has and no store: only its hash is kept.
#[derive(Clone, Copy)]
pub struct OperatorToken([u8; 32]);

impl fmt::Debug for OperatorToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OperatorToken")
    }
}

impl OperatorToken {
    /// Reads the token from the text of a file: from 32 to 256 printable characters without blanks,
    /// such as `openssl rand -base64 32` writes. What is shorter can be guessed.
    ///
    /// # Errors
    ///
    /// What is expected, where it is something else.
    pub fn read(text: &str) -> Result<OperatorToken, &'static str> {
        let text = text.trim_end_matches(['\n', '\r']);
        let fits = (OPERATOR_TOKEN_BYTES_MIN..=OPERATOR_TOKEN_BYTES_MAX).contains(&text.len());
        if fits && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(OperatorToken(hash(text)))
        } else {
            Err(
                "this is no token; expected is one line of 32 to 256 printable characters without \
                 blanks, such as `openssl rand -base64 32` writes",
            )
        }
    }

    /// Returns the hash of the token.
    pub(crate) fn hash(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether a text is the token, given its hash.
    pub(crate) fn has_hash(&self, hash: &[u8; 32]) -> bool {
        self.0.ct_eq(hash).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_read_and_never_comes_twice() {
        let one = Secret::draw().expect("random bytes");
        let other = Secret::draw().expect("random bytes");
        assert_ne!(one.reveal(), other.reveal());
        let read = Secret::read(&one.reveal()).expect("a token");
        assert_eq!((read.id(), read.hash()), (one.id(), one.hash()));
        assert!(read.has_hash(&one.hash()) && !read.has_hash(&other.hash()));
        assert_eq!(one.reveal().len(), 4 + 16 + 1 + 43);
        assert!(!format!("{one:?}").contains(&one.secret));
    }

    #[test]
    fn other_forms_are_no_tokens() {
        let good = Secret::draw().expect("random bytes").reveal();
        let cut = &good[..good.len() - 1];
        let wrong = [
            "",
            "rfr_",
            cut,
            &format!("{good}A"),
            &good.replace("rfr_", "xfr_"),
            &good.to_uppercase(),
            &format!("{cut}+"),
            &format!(" {good}"),
        ];
        for text in wrong {
            assert!(Secret::read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn the_token_of_a_file_is_one_long_line() {
        let text = "abcdefghijklmnopqrstuvwxyz0123456789";
        let token = OperatorToken::read(&format!("{text}\n")).expect("a token");
        assert!(token.has_hash(&hash(text)) && !token.has_hash(&hash("other")));
        for wrong in ["", "short", &text.replace('a', " "), &text.repeat(20)] {
            assert!(OperatorToken::read(wrong).is_err(), "{wrong}");
        }
    }
}
