//! Keys that sign exported records: read from text, and what is signed with them.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey};
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use referee_api::v1;
use sha2::{Digest, Sha256};

use crate::limits;

/// What the signed bytes begin with, so that a signature over a head is one over nothing else.
const HEAD_TAG: &[u8] = b"referee.record.v1.head\n";

/// As above, for the record of a perft job.
const PERFT_HEAD_TAG: &[u8] = b"referee.perft.v1.head\n";

/// The bytes of a digest that name a key.
const KEY_ID_BYTES: usize = 8;

/// A key that signs exported records (Ed25519, RFC 8032).
///
/// ```
/// use referee_record::RecordKey;
///
/// // The first test vector of RFC 8032.
/// let text = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
/// let key = RecordKey::read(text)?;
/// assert_eq!(key.id(), "21fe31dfa154a261");
/// assert!(RecordKey::read("9d61").is_err());
/// # Ok::<(), referee_record::KeyError>(())
/// ```
#[derive(Clone)]
pub struct RecordKey(SigningKey);

impl fmt::Debug for RecordKey {
    /// Names the key and hides the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecordKey").field(&self.id()).finish()
    }
}

/// A text is no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    /// What was expected.
    expected: &'static str,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is no key; expected is {}", self.expected)
    }
}

impl std::error::Error for KeyError {}

impl RecordKey {
    /// Reads a key: PKCS#8 in PEM, as `openssl genpkey -algorithm ed25519` writes it, or the 32
    /// bytes of the secret in hexadecimal digits or base64.
    ///
    /// # Errors
    ///
    /// Where the text is neither.
    pub fn read(text: &str) -> Result<RecordKey, KeyError> {
        let wrong = KeyError {
            expected: "an Ed25519 private key as PKCS#8 in PEM, or its 32 bytes in hexadecimal \
                       digits or base64",
        };
        let text = text.trim();
        let key = if text.starts_with("-----") {
            SigningKey::from_pkcs8_pem(text).ok()
        } else {
            read_32_bytes(text).map(|secret| SigningKey::from_bytes(&secret))
        };
        key.map(RecordKey).ok_or(wrong)
    }

    /// Returns the name of the key: it tells keys apart and proves nothing.
    #[must_use]
    pub fn id(&self) -> String {
        key_id(self.0.verifying_key().as_bytes())
    }

    /// Returns the public key in hexadecimal digits, for others to check signatures with.
    #[must_use]
    pub fn public_key(&self) -> String {
        hex(self.0.verifying_key().as_bytes())
    }

    /// Signs the head of a record: its game, how many entries it has, and its last link.
    #[must_use]
    pub fn sign(
        &self,
        platform: &str,
        game: &str,
        count: i64,
        head: &[u8; 32],
    ) -> v1::RecordSignature {
        self.sign_bytes(&signed_bytes(HEAD_TAG, platform, game, count, head))
    }

    /// Signs the head of the record of a perft job: its name, how many entries it has, and its last
    /// link.
    #[must_use]
    pub fn sign_perft(
        &self,
        platform: &str,
        job: &str,
        count: i64,
        head: &[u8; 32],
    ) -> v1::RecordSignature {
        self.sign_bytes(&signed_bytes(PERFT_HEAD_TAG, platform, job, count, head))
    }

    fn sign_bytes(&self, bytes: &[u8]) -> v1::RecordSignature {
        let public_key = self.0.verifying_key();
        v1::RecordSignature {
            key_id: self.id(),
            public_key: public_key.to_bytes().to_vec().into(),
            signature: self.0.sign(bytes).to_bytes().to_vec().into(),
        }
    }
}

/// Reads a public key: in PEM, as `openssl pkey -pubout` writes it, or its 32 bytes in hexadecimal
/// digits or base64.
///
/// # Errors
///
/// Where the text is neither, or the bytes are no point of the curve.
pub fn read_public_key(text: &str) -> Result<[u8; 32], KeyError> {
    let wrong = KeyError {
        expected: "an Ed25519 public key in PEM, or its 32 bytes in hexadecimal digits or base64",
    };
    let text = text.trim();
    let key = if text.starts_with("-----") {
        VerifyingKey::from_public_key_pem(text).ok()
    } else {
        read_32_bytes(text).and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok())
    };
    key.map(|key| key.to_bytes()).ok_or(wrong)
}

fn read_32_bytes(text: &str) -> Option<[u8; 32]> {
    if text.len() > limits::KEY_TEXT_BYTES_MAX {
        return None;
    }
    let bytes = if text.len() == 64 {
        let digit = |byte: &u8| (*byte as char).to_digit(16);
        let pairs = text.as_bytes().chunks_exact(2);
        let bytes = pairs.map(|pair| Some(digit(&pair[0])? * 16 + digit(&pair[1])?));
        bytes.map(|byte| byte.map(|byte| byte as u8)).collect()
    } else {
        STANDARD.decode(text).ok()
    };
    bytes?.try_into().ok()
}

fn key_id(public_key: &[u8; 32]) -> String {
    hex(&Sha256::digest(public_key)[..KEY_ID_BYTES])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is signed of a record: its game or job, its length and its last link.
fn signed_bytes(tag: &[u8], platform: &str, name: &str, count: i64, head: &[u8; 32]) -> Vec<u8> {
    let mut bytes = tag.to_vec();
    for part in [platform, name] {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(part.as_bytes());
    }
    bytes.extend(count.to_be_bytes());
    bytes.extend(head);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made for this test by `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout`.
    const PRIVATE_PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIIzGS9mucVRJYmdwKWvG5AFxZC0Vm7ThoMKQ9Dqy+aO4\n\
        -----END PRIVATE KEY-----\n";
    const PUBLIC_PEM: &str = "-----BEGIN PUBLIC KEY-----\n\
        MCowBQYDK2VwAyEAOYzQji+TYg7MgBtu1+syg+dOmKqFRK12ehB5TtVGL3o=\n\
        -----END PUBLIC KEY-----\n";

    #[test]
    fn keys_are_read_as_openssl_writes_them() {
        let key = RecordKey::read(PRIVATE_PEM).expect("a private key");
        let public_key = read_public_key(PUBLIC_PEM).expect("a public key");
        assert_eq!(key.public_key(), hex(&public_key));
        assert_eq!(read_public_key(&key.public_key()), Ok(public_key));
        assert_eq!(
            read_public_key(&STANDARD.encode(public_key)),
            Ok(public_key)
        );
        assert!(RecordKey::read(PUBLIC_PEM).is_err());
        assert!(read_public_key(PRIVATE_PEM).is_err());
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", "-----", "zz", &"é".repeat(32), &"0".repeat(63)] {
            assert!(RecordKey::read(text).is_err(), "{text}");
            assert!(read_public_key(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_debug_form_hides_the_secret() {
        let secret = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        let key = RecordKey::read(secret).expect("a key");
        assert_eq!(format!("{key:?}"), "RecordKey(\"21fe31dfa154a261\")");
    }
}
