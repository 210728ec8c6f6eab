//! Who else may say whose a caller is: a file of issuers, with their keys and what the claims of
//! their tokens (JSON Web Tokens, RFC 7519) mean here.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::followed::{Followed, Seen};
use super::grant::Grant;
use super::principal::{Principal, is_platform};
use super::role::Role;
use super::signing::{self, ALGORITHMS, PublicKey};
use crate::files::{FileFault, read_file};
use crate::limits;

/// Why a file of issuers cannot be used.
#[derive(Debug)]
pub enum IssuersError {
    /// A file cannot be read.
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        fault: FileFault,
    },
    /// A file is not what it should be.
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
}

impl fmt::Display for IssuersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, fault } => write!(f, "{}: {fault}", path.display()),
            Self::Content { path, reason } => write!(f, "{}: {reason}", path.display()),
        }
    }
}

impl std::error::Error for IssuersError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { fault, .. } => Some(fault),
            Self::Content { .. } => None,
        }
    }
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    issuers: Vec<WrittenIssuer>,
}

/// An issuer as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenIssuer {
    issuer: String,
    audience: String,
    algorithms: Vec<String>,
    keys: PathBuf,
    #[serde(default)]
    principal_claim: Option<String>,
    #[serde(default)]
    platform: Option<String>,
    #[serde(default)]
    platform_claim: Option<String>,
    #[serde(default)]
    platforms: Vec<String>,
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    role_claim: Option<String>,
    #[serde(default)]
    roles: Vec<WrittenRole>,
}

/// What a value of the claim of roles stands for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRole {
    value: String,
    role: String,
}

/// An issuer that is trusted.
struct Issuer {
    audience: String,
    algorithms: Vec<Algorithm>,
    /// Its keys by their `kid`.
    keys: HashMap<String, PublicKey>,
    principal_claim: String,
    platform: PlatformRule,
    role: RoleRule,
}

enum PlatformRule {
    Fixed(String),
    Claim { name: String, known: Vec<String> },
}

enum RoleRule {
    Fixed(Role),
    /// The first whose value is in the claim counts.
    Claim {
        name: String,
        known: Vec<(String, Role)>,
    },
}

type Known = HashMap<String, Issuer>;

/// The issuers that are trusted, by the names that they give themselves.
#[derive(Clone)]
pub struct Issuers(Arc<Followed<Known>>);

impl fmt::Debug for Issuers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Issuers")
    }
}

/// What a token says that was checked.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) principal: Principal,
    /// Which files it was checked by.
    pub(super) generation: u64,
    /// Who signed it, with which key.
    pub(super) signer: Signer,
}

/// Who signed a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signer {
    pub(super) issuer: String,
    pub(super) key_id: String,
}

/// What says which issuer's rules are to be tried. Nothing else is taken from it.
#[derive(Deserialize)]
struct Claimed {
    iss: String,
}

impl Issuers {
    /// Reads a file of issuers, and the key sets that it names.
    ///
    /// # Errors
    ///
    /// Where a file cannot be read or makes no sense.
    pub fn open(path: &Path) -> Result<Issuers, IssuersError> {
        signing::begin();
        let path = path.to_owned();
        let followed = Followed::open("--jwt-issuers", move |seen| read(&path, seen))?;
        Ok(Issuers(Arc::new(followed)))
    }

    /// Reads the files again where they have changed.
    pub(super) fn look_again(&self) {
        self.0.look_again();
    }

    /// How often the files were replaced.
    pub(super) fn generation(&self) -> u64 {
        self.0.value_and_generation().1
    }

    /// Whether a key still counts.
    pub(super) fn has(&self, issuer: &str, key_id: &str) -> bool {
        let known = self.0.value();
        let issuer = known.get(issuer);
        issuer.is_some_and(|issuer| issuer.keys.contains_key(key_id))
    }

    /// Checks a token, and says who presents it. The reason why it does not count is for the log of
    /// the server alone: who tries tokens learns nothing.
    pub(super) fn check(&self, token: &str, now_us: i64) -> Result<Checked, &'static str> {
        let (known, generation) = self.0.value_and_generation();
        let header = decode_header(token).map_err(|_| "the header makes no sense")?;
        let Claimed { iss } =
            insecure_decode_claims(token).map_err(|_| "the claims have no issuer")?;
        let issuer = known.get(&iss).ok_or("nobody knows the issuer")?;
        let key_id = header.kid.ok_or("it names no key")?;
        let key = issuer.keys.get(&key_id).ok_or("nobody knows the key")?;
        let is_listed = issuer.algorithms.contains(&header.alg);
        if !is_listed || !key.algorithms.contains(&header.alg) {
            return Err("the algorithm is not that of the key, or not on the list");
        }
        let mut rules = Validation::new(header.alg);
        rules.set_required_spec_claims(&["exp", "iss", "aud"]);
        rules.set_issuer(&[&iss]);
        rules.set_audience(&[&issuer.audience]);
        // What time it is the clock of the service says.
        (rules.validate_exp, rules.validate_nbf) = (false, false);
        let token = decode::<Map<String, Value>>(token, &key.key, &rules)
            .map_err(|_| "the signature, the issuer or the audience is wrong")?;
        let expire_us = check_times(&token.claims, now_us)?;
        let grant = issuer.grant(&token.claims)?;
        let credential = format!("{iss} {key_id}");
        Ok(Checked {
            principal: grant.principal(&credential, Some(expire_us)),
            generation,
            signer: Signer {
                issuer: iss,
                key_id,
            },
        })
    }
}

/// Returns until when a token counts, in microseconds since 1970; the clocks of two machines may
/// differ a little.
fn check_times(claims: &Map<String, Value>, now_us: i64) -> Result<i64, &'static str> {
    let moment_us = |value: &Value| {
        let seconds = value.as_f64().filter(|seconds| seconds.is_finite());
        seconds.map(|seconds| (seconds * 1e6) as i64)
    };
    let leeway_us = limits::JWT_LEEWAY.as_micros() as i64;
    let exp_us = claims.get("exp").and_then(moment_us);
    let exp_us = exp_us.ok_or("the end of its time makes no sense")?;
    let expire_us = exp_us.saturating_add(leeway_us);
    if expire_us <= now_us {
        return Err("its time is over");
    }
    let left_us = exp_us.saturating_sub(now_us).saturating_sub(leeway_us);
    if left_us > limits::JWT_LIFETIME_MAX.as_micros() as i64 {
        return Err("it would count for too long");
    }
    if let Some(nbf) = claims.get("nbf") {
        let nbf_us = moment_us(nbf).ok_or("the begin of its time makes no sense")?;
        if nbf_us.saturating_sub(leeway_us) > now_us {
            return Err("its time has not come");
        }
    }
    Ok(expire_us)
}

impl Issuer {
    /// Says what the claims of a token mean.
    fn grant(&self, claims: &Map<String, Value>) -> Result<Grant, &'static str> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let principal = text(&self.principal_claim).ok_or("the claims name no principal")?;
        let platform = match &self.platform {
            PlatformRule::Fixed(platform) => platform,
            PlatformRule::Claim { name, known } => {
                let claimed = text(name).ok_or("the claims name no platform")?;
                let found = known.iter().find(|platform| *platform == claimed);
                found.ok_or("the platform is not on the list")?
            }
        };
        let role = match &self.role {
            RoleRule::Fixed(role) => *role,
            RoleRule::Claim { name, known } => {
                let claimed = claims.get(name).ok_or("the claims name no role")?;
                let has = |value: &String| match claimed {
                    Value::String(one) => one == value,
                    Value::Array(many) => many.iter().any(|one| one == value.as_str()),
                    _ => false,
                };
                let found = known.iter().find(|(value, _)| has(value));
                found.ok_or("the role is not on the list")?.1
            }
        };
        // What narrows a credential and is not understood must not leave it wide.
        let narrow = |name: &str| match claims.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err("what it is confined to is no text"),
        };
        let (game, seat, label) = (narrow("game")?, narrow("seat")?, narrow("label")?);
        let scope = match (game, seat, label) {
            (None, None, None) => None,
            (Some(game), None, None) => Some(game.to_owned()),
            (Some(game), Some(seat), None) => Some(format!("{game}:{seat}")),
            (None, None, Some(label)) => Some(label.to_owned()),
            _ => return Err("what it is confined to does not fit together"),
        };
        let is_of_its_kind = match label {
            Some(label) => !label.starts_with("games/"),
            None => game.is_none_or(|game| game.starts_with("games/")),
        };
        if !is_of_its_kind {
            return Err("what it is confined to is of another kind");
        }
        Grant::read(role, platform, principal, scope.as_deref())
    }
}

fn read(path: &Path, seen: &mut Seen) -> Result<Known, IssuersError> {
    let written: Written = read_json(path, seen)?;
    if written.issuers.len() > limits::JWT_ISSUERS_MAX {
        let reason = format!("there are more than {} issuers", limits::JWT_ISSUERS_MAX);
        return Err(content(path, reason));
    }
    let mut known = Known::new();
    for (index, entry) in written.issuers.into_iter().enumerate() {
        let at = |reason: String| content(path, format!("issuers[{index}]: {reason}"));
        let (name, keys) = (entry.issuer.clone(), entry.keys.clone());
        let mut issuer = read_issuer(entry).map_err(at)?;
        // A relative name is one beside the file.
        let keys = path
            .parent()
            .map_or_else(|| keys.clone(), |at| at.join(&keys));
        issuer.keys = read_keys(&keys, seen, &issuer.algorithms)?;
        if known.insert(name, issuer).is_some() {
            return Err(at("the issuer stands there twice".into()));
        }
    }
    Ok(known)
}

/// Reads an issuer, all but its keys.
fn read_issuer(written: WrittenIssuer) -> Result<Issuer, String> {
    if written.issuer.is_empty() || written.audience.is_empty() {
        return Err("issuer and audience are required".into());
    }
    let mut algorithms = Vec::new();
    for name in &written.algorithms {
        let found = ALGORITHMS.iter().find(|(known, _)| known == name);
        let known = || ALGORITHMS.map(|(name, _)| name).join(", ");
        let (_, algorithm) = found.ok_or_else(|| {
            format!(
                "algorithms: {name} is none that is taken; those are {}",
                known()
            )
        })?;
        algorithms.push(*algorithm);
    }
    if algorithms.is_empty() {
        return Err("algorithms: name at least one".into());
    }
    let platform = match (written.platform, written.platform_claim) {
        (Some(platform), None) if written.platforms.is_empty() => PlatformRule::Fixed(platform),
        (None, Some(name)) if !written.platforms.is_empty() => PlatformRule::Claim {
            name,
            known: written.platforms,
        },
        _ => return Err("expected is platform, or platform_claim with platforms".into()),
    };
    let named: &[String] = match &platform {
        PlatformRule::Fixed(platform) => std::slice::from_ref(platform),
        PlatformRule::Claim { known, .. } => known,
    };
    if let Some(wrong) = named.iter().find(|platform| !is_platform(platform)) {
        return Err(format!("{wrong} is no name of a platform"));
    }
    let role_of =
        |word: &str| Role::named(word).ok_or_else(|| format!("{word} is the name of no role"));
    let role = match (written.role, written.role_claim) {
        (Some(role), None) if written.roles.is_empty() => RoleRule::Fixed(role_of(&role)?),
        (None, Some(name)) if !written.roles.is_empty() => {
            let known = written.roles.into_iter();
            let known = known.map(|rule| Ok((rule.value, role_of(&rule.role)?)));
            RoleRule::Claim {
                name,
                known: known.collect::<Result<_, String>>()?,
            }
        }
        _ => return Err("expected is role, or role_claim with roles".into()),
    };
    Ok(Issuer {
        audience: written.audience,
        algorithms,
        keys: HashMap::new(),
        principal_claim: written.principal_claim.unwrap_or_else(|| "sub".into()),
        platform,
        role,
    })
}

/// Reads a key set: those of its keys that are for the algorithms of the list.
fn read_keys(
    path: &Path,
    seen: &mut Seen,
    algorithms: &[Algorithm],
) -> Result<HashMap<String, PublicKey>, IssuersError> {
    let set: JwkSet = read_json(path, seen)?;
    let mut keys = HashMap::new();
    for (index, jwk) in set.keys.iter().enumerate() {
        let at = |reason: &str| content(path, format!("keys[{index}]: {reason}"));
        let Some(key) = signing::read_key(jwk).map_err(at)? else {
            continue;
        };
        if !key.algorithms.iter().any(|one| algorithms.contains(one)) {
            continue;
        }
        let key_id = jwk.common.key_id.clone();
        let key_id = key_id.filter(|id| !id.is_empty());
        let key_id = key_id.ok_or_else(|| at("it has no kid, by which tokens name it"))?;
        if keys.insert(key_id, key).is_some() {
            return Err(at("its kid stands there twice"));
        }
    }
    if keys.is_empty() {
        return Err(content(
            path,
            "it has no key for the algorithms of the list".into(),
        ));
    }
    Ok(keys)
}

fn read_json<T: for<'de> Deserialize<'de>>(
    path: &Path,
    seen: &mut Seen,
) -> Result<T, IssuersError> {
    seen.note(path);
    let bytes = read_file(path, limits::JWT_FILE_BYTES_MAX);
    let bytes = bytes.map_err(|fault| IssuersError::File {
        path: path.to_owned(),
        fault,
    })?;
    serde_json::from_slice(&bytes).map_err(|error| content(path, error.to_string()))
}

fn content(path: &Path, reason: String) -> IssuersError {
    IssuersError::Content {
        path: path.to_owned(),
        reason,
    }
}
