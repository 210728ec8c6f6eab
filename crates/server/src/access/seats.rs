//! Seat tokens: short-lived credentials of one game, which a platform asks for and the server
//! signs, so that a browser never holds the platform's. They are kept nowhere: what they say is in
//! them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode,
};
use referee_api::v1;
use referee_record::{key_id, read_private_key};
use referee_store::TokenScope;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::followed::{Followed, Seen};
use super::principal::Principal;
use super::role::{Role, Roles};
use super::signing;
use crate::files::{FileFault, read_secret};
use crate::limits;

/// What the header of a seat token says that it is, so that nothing else is taken for one.
const KIND: &str = "referee-seat+jwt";

/// Who signs seat tokens, and whom they are for.
const ISSUER: &str = "referee";

/// What is signed to mark the token of a file, before its hash.
const MARK_TAG: &[u8] = b"referee.seat.v1.operator\n";

/// Why the keys of seat tokens cannot be used.
#[derive(Debug)]
pub struct SeatKeysError {
    path: PathBuf,
    reason: String,
}

impl fmt::Display for SeatKeysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for SeatKeysError {}

/// The keys of seat tokens: the first signs, and all of them count.
#[derive(Clone)]
pub struct SeatKeys(Arc<Followed<Vec<SeatKey>>>);

impl fmt::Debug for SeatKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SeatKeys").field(&self.ids()).finish()
    }
}

struct SeatKey {
    id: String,
    pair: Ed25519KeyPair,
    signs: EncodingKey,
    checks: DecodingKey,
}

/// Who issued a seat token: it counts no longer than what they presented for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum IssuedBy {
    /// With a token of the store, by its id.
    Token(String),
    /// With a certificate, by the subject.
    Subject(String),
    /// With the token of a file, by a mark that only the key can make.
    Operator(String),
    /// With a token of another issuer, by its issuer and the key.
    Issuer(String, String),
}

/// What a seat token is to allow.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) principal: String,
    pub(crate) platform: String,
    pub(crate) role: Role,
    pub(crate) game: String,
    pub(crate) seat: v1::Seat,
}

/// What a seat token says.
#[derive(Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: String,
    iat: i64,
    exp: i64,
    platform: String,
    role: String,
    game: String,
    #[serde(default)]
    seat: i32,
    by: IssuedBy,
}

/// What a seat token says that was checked.
#[derive(Debug)]
pub(super) struct CheckedSeat {
    pub(super) principal: Principal,
    pub(super) key_id: String,
    pub(super) by: IssuedBy,
}

/// A seat token that was signed.
#[derive(Debug)]
pub(crate) struct SignedSeat {
    pub(crate) token: String,
    pub(crate) expire_us: i64,
    pub(crate) key_id: String,
}

impl SeatKeys {
    /// Reads keys: Ed25519, as PKCS#8 in PEM or the 32 bytes of the secret in hexadecimal digits or
    /// base64, each in a file of its own that not everybody may read.
    ///
    /// # Errors
    ///
    /// Where a file cannot be read, or is no key.
    pub fn open(paths: &[PathBuf]) -> Result<SeatKeys, SeatKeysError> {
        signing::begin();
        let paths = paths.to_owned();
        let followed = Followed::open("--seat-keys", move |seen| read_all(&paths, seen))?;
        Ok(SeatKeys(Arc::new(followed)))
    }

    /// Returns the names of the keys, that which signs first.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        self.0.value().iter().map(|key| key.id.clone()).collect()
    }

    /// Reads the files again where they have changed.
    pub(super) fn look_again(&self) {
        self.0.look_again();
    }

    /// Whether a key counts.
    pub(super) fn has(&self, key_id: &str) -> bool {
        self.0.value().iter().any(|key| key.id == key_id)
    }

    /// Whether a text says that it is a seat token.
    pub(super) fn is_meant(text: &str) -> bool {
        let header = decode_header(text);
        header.is_ok_and(|header| header.typ.as_deref() == Some(KIND))
    }

    /// Returns the mark of a token of a file, given its hash: none without the key can make it or
    /// try tokens by it.
    pub(super) fn mark(&self, key_id: &str, hash: &[u8; 32]) -> Option<String> {
        let keys = self.0.value();
        let key = keys.iter().find(|key| key.id == key_id)?;
        let signature = key.pair.sign(&[MARK_TAG, hash].concat());
        let digest = Sha256::digest(signature.as_ref());
        Some(
            digest[..16]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        )
    }

    /// Returns the name of the key that signs.
    pub(super) fn newest(&self) -> String {
        self.0
            .value()
            .first()
            .map_or_else(String::new, |key| key.id.clone())
    }

    /// Signs a seat token with a key, from now to a time, in microseconds since 1970.
    pub(super) fn sign(
        &self,
        key_id: &str,
        seat: Seat,
        by: IssuedBy,
        (now_us, expire_us): (i64, i64),
    ) -> Option<SignedSeat> {
        let keys = self.0.value();
        let key = keys.iter().find(|key| key.id == key_id)?;
        // Whole seconds, rounded up.
        let exp = expire_us.saturating_add(999_999).div_euclid(1_000_000);
        let claims = Claims {
            iss: ISSUER.into(),
            aud: ISSUER.into(),
            sub: seat.principal,
            iat: now_us.div_euclid(1_000_000),
            exp,
            platform: seat.platform,
            role: seat.role.word().into(),
            game: seat.game,
            seat: seat.seat.into(),
            by,
        };
        let header = Header {
            typ: Some(KIND.into()),
            kid: Some(key.id.clone()),
            ..Header::new(Algorithm::EdDSA)
        };
        Some(SignedSeat {
            token: encode(&header, &claims, &key.signs).ok()?,
            expire_us: exp.saturating_mul(1_000_000),
            key_id: key.id.clone(),
        })
    }

    /// Checks a seat token, but for its time and for who issued it. The reason why it does not
    /// count is for the log of the server alone.
    pub(super) fn check(&self, token: &str) -> Result<CheckedSeat, &'static str> {
        let keys = self.0.value();
        let header = decode_header(token).map_err(|_| "the header makes no sense")?;
        let key_id = header.kid.ok_or("it names no key")?;
        let key = keys.iter().find(|key| key.id == key_id);
        let key = key.ok_or("nobody knows the key")?;
        let mut rules = Validation::new(Algorithm::EdDSA);
        rules.set_required_spec_claims(&["exp", "iss", "aud"]);
        rules.set_issuer(&[ISSUER]);
        rules.set_audience(&[ISSUER]);
        // What time it is the clock of the service says.
        (rules.validate_exp, rules.validate_nbf) = (false, false);
        let checked = decode::<Claims>(token, &key.checks, &rules);
        let claims = checked.map_err(|_| "the signature is wrong")?.claims;
        let role = Role::named(&claims.role).ok_or("nobody knows the role")?;
        Ok(CheckedSeat {
            principal: Principal {
                id: claims.sub.into(),
                platform: claims.platform.into(),
                roles: Roles::of(&[role]),
                scope: TokenScope::Game {
                    game: claims.game,
                    seat: claims.seat.into(),
                },
                credential: format!("seat {key_id}").into(),
                expire_us: Some(claims.exp.saturating_mul(1_000_000)),
            },
            key_id,
            by: claims.by,
        })
    }
}

fn read_all(paths: &[PathBuf], seen: &mut Seen) -> Result<Vec<SeatKey>, SeatKeysError> {
    let fault = |path: &Path, reason: String| SeatKeysError {
        path: path.to_owned(),
        reason,
    };
    let mut keys: Vec<SeatKey> = Vec::new();
    for path in paths {
        seen.note(path);
        let text = read_secret(path, limits::KEY_FILE_BYTES_MAX);
        let text = text.map_err(|error: FileFault| fault(path, error.to_string()))?;
        let secret = read_private_key(&text).map_err(|error| fault(path, error.to_string()))?;
        let key = SeatKey::new(&secret).ok_or_else(|| fault(path, "this is no key".into()))?;
        if keys.iter().any(|known| known.id == key.id) {
            return Err(fault(path, "the key is that of another file".into()));
        }
        keys.push(key);
    }
    if keys.is_empty() || keys.len() > limits::SEAT_KEYS_MAX {
        let at = paths.first().cloned().unwrap_or_default();
        let reason = format!("from 1 to {} keys are expected", limits::SEAT_KEYS_MAX);
        return Err(fault(&at, reason));
    }
    Ok(keys)
}

impl SeatKey {
    fn new(secret: &[u8; 32]) -> Option<SeatKey> {
        let pair = Ed25519KeyPair::from_seed_unchecked(secret).ok()?;
        let public: [u8; 32] = pair.public_key().as_ref().try_into().ok()?;
        Some(SeatKey {
            id: key_id(&public),
            pair,
            signs: EncodingKey::from_ed_der(secret),
            checks: DecodingKey::from_ed_der(&public),
        })
    }
}
