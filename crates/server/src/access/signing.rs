//! How signed credentials are signed and checked: by `ring`, which encrypts connections as well.
//! There are no shared secrets among the algorithms, so that nothing public can be taken for one.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::signature::{self, Signer, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::signature as ring_signature;
use ring::signature::{Ed25519KeyPair, RsaPublicKeyComponents, UnparsedPublicKey};

/// The algorithms, by their names in headers and lists.
pub(super) const ALGORITHMS: [(&str, Algorithm); 9] = [
    ("EdDSA", Algorithm::EdDSA),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
];

/// The fewest and the most bytes of the modulus of a key of RSA: 2,048 to 8,192 bits.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1_024;

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    // Nothing here makes key sets.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Has the library sign and check by what is here. It must have been called before it does.
pub(super) fn begin() {
    // Whoever comes later finds it done.
    let _ = PROVIDER.install_default();
}

/// Signs with the secret of an Ed25519 key.
struct Ed25519Signer(Ed25519KeyPair);

fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    if *algorithm != Algorithm::EdDSA || key.family() != AlgorithmFamily::Ed {
        return Err(ErrorKind::UnsupportedAlgorithm.into());
    }
    let pair = Ed25519KeyPair::from_seed_unchecked(key.as_bytes());
    let pair = pair.map_err(|_| ErrorKind::InvalidEddsaKey)?;
    Ok(Box::new(Ed25519Signer(pair)))
}

impl Signer<Vec<u8>> for Ed25519Signer {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, signature::Error> {
        Ok(self.0.sign(message).as_ref().to_vec())
    }
}

impl JwtSigner for Ed25519Signer {
    fn algorithm(&self) -> Algorithm {
        Algorithm::EdDSA
    }
}

/// Checks by a public key, with one algorithm.
struct Check {
    algorithm: Algorithm,
    key: DecodingKey,
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    let is_known = ALGORITHMS.iter().any(|(_, known)| known == algorithm);
    if !is_known || key.family() != algorithm.family() {
        return Err(ErrorKind::UnsupportedAlgorithm.into());
    }
    Ok(Box::new(Check {
        algorithm: *algorithm,
        key: key.clone(),
    }))
}

impl Verifier<Vec<u8>> for Check {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let checked = match self.key.kind() {
            DecodingKeyKind::RsaModulusExponent { n, e } => {
                let parameters = match self.algorithm {
                    Algorithm::RS256 => &ring_signature::RSA_PKCS1_2048_8192_SHA256,
                    Algorithm::RS384 => &ring_signature::RSA_PKCS1_2048_8192_SHA384,
                    Algorithm::RS512 => &ring_signature::RSA_PKCS1_2048_8192_SHA512,
                    Algorithm::PS256 => &ring_signature::RSA_PSS_2048_8192_SHA256,
                    Algorithm::PS384 => &ring_signature::RSA_PSS_2048_8192_SHA384,
                    Algorithm::PS512 => &ring_signature::RSA_PSS_2048_8192_SHA512,
                    _ => return Err(signature::Error::new()),
                };
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            DecodingKeyKind::SecretOrDer(bytes) => {
                let algorithm: &'static dyn ring_signature::VerificationAlgorithm =
                    match self.algorithm {
                        Algorithm::EdDSA => &ring_signature::ED25519,
                        Algorithm::ES256 => &ring_signature::ECDSA_P256_SHA256_FIXED,
                        Algorithm::ES384 => &ring_signature::ECDSA_P384_SHA384_FIXED,
                        _ => return Err(signature::Error::new()),
                    };
                UnparsedPublicKey::new(algorithm, bytes).verify(message, signature)
            }
        };
        checked.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for Check {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

/// A public key of a set, and the algorithms that it is for.
#[derive(Clone, Debug)]
pub(super) struct PublicKey {
    pub(super) key: DecodingKey,
    pub(super) algorithms: Vec<Algorithm>,
}

/// Reads a key of a set; none where it is for something other than these algorithms.
///
/// # Errors
///
/// What is wrong with a key that is meant for them.
pub(super) fn read_key(jwk: &Jwk) -> Result<Option<PublicKey>, &'static str> {
    if matches!(jwk.common.public_key_use, Some(PublicKeyUse::Encryption)) {
        return Ok(None);
    }
    let (algorithms, bytes) = match &jwk.algorithm {
        AlgorithmParameters::OctetKey(_) => {
            return Err("it is a shared secret, with which everybody who checks can sign");
        }
        AlgorithmParameters::EllipticCurve(parameters) => match parameters.curve {
            EllipticCurve::P256 => (vec![Algorithm::ES256], 65),
            EllipticCurve::P384 => (vec![Algorithm::ES384], 97),
            _ => return Ok(None),
        },
        AlgorithmParameters::OctetKeyPair(parameters) => match parameters.curve {
            EllipticCurve::Ed25519 => (vec![Algorithm::EdDSA], 32),
            _ => return Ok(None),
        },
        AlgorithmParameters::RSA(_) => (AlgorithmFamily::Rsa.algorithms().to_vec(), 0),
        _ => return Ok(None),
    };
    let key = DecodingKey::from_jwk(jwk).map_err(|_| "its numbers are no base64url")?;
    let is_whole = match key.kind() {
        DecodingKeyKind::SecretOrDer(found) => found.len() == bytes,
        DecodingKeyKind::RsaModulusExponent { n, .. } => RSA_BYTES.contains(&n.len()),
    };
    if !is_whole {
        return Err("its numbers have the wrong length");
    }
    let named = jwk.common.key_algorithm;
    let named = named.map(|named| Algorithm::try_from(named).ok());
    let algorithms: Vec<_> = algorithms
        .into_iter()
        .filter(|algorithm| named.is_none_or(|named| named == Some(*algorithm)))
        .collect();
    Ok((!algorithms.is_empty()).then_some(PublicKey { key, algorithms }))
}
