//! JSON Web Tokens that are made for a test, good ones and others: signed here, without the library
//! of the server.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use serde_json::{Value, json};

/// A key that signs.
#[derive(Debug)]
pub enum JwtKey {
    /// EdDSA over Ed25519.
    Ed25519(Ed25519KeyPair),
    /// ECDSA over P-256.
    P256(EcdsaKeyPair),
}

impl JwtKey {
    /// The Ed25519 key of a secret.
    ///
    /// # Panics
    ///
    /// Never: every 32 bytes are a secret.
    #[must_use]
    pub fn ed25519(secret: [u8; 32]) -> JwtKey {
        JwtKey::Ed25519(Ed25519KeyPair::from_seed_unchecked(&secret).expect("a key"))
    }

    /// A new key of P-256.
    ///
    /// # Panics
    ///
    /// Where there is no randomness.
    #[must_use]
    pub fn p256() -> JwtKey {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random);
        JwtKey::P256(pair.expect("a key"))
    }

    /// The name of its algorithm.
    #[must_use]
    pub fn algorithm(&self) -> &'static str {
        match self {
            JwtKey::Ed25519(_) => "EdDSA",
            JwtKey::P256(_) => "ES256",
        }
    }

    /// Its public half, as a key of a set.
    #[must_use]
    pub fn public(&self, key_id: &str) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            JwtKey::Ed25519(pair) => json!({
                "kty": "OKP", "crv": "Ed25519", "kid": key_id,
                "x": text(pair.public_key().as_ref()),
            }),
            JwtKey::P256(pair) => {
                let point = pair.public_key().as_ref();
                json!({
                    "kty": "EC", "crv": "P-256", "kid": key_id, "use": "sig", "alg": "ES256",
                    "x": text(&point[1..33]), "y": text(&point[33..]),
                })
            }
        }
    }

    /// The bytes of its public half.
    #[must_use]
    pub fn public_bytes(&self) -> &[u8] {
        match self {
            JwtKey::Ed25519(pair) => pair.public_key().as_ref(),
            JwtKey::P256(pair) => pair.public_key().as_ref(),
        }
    }

    /// Signs claims under a header that is given whole.
    ///
    /// # Panics
    ///
    /// Where there is no randomness.
    #[must_use]
    pub fn sign_with(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        let signature = match self {
            JwtKey::Ed25519(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
            JwtKey::P256(pair) => {
                let signed = pair.sign(&SystemRandom::new(), message.as_bytes());
                signed.expect("it signs").as_ref().to_vec()
            }
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Signs claims, naming the key.
    #[must_use]
    pub fn sign(&self, key_id: &str, claims: &Value) -> String {
        let header = json!({"alg": self.algorithm(), "typ": "JWT", "kid": key_id});
        self.sign_with(&header, claims)
    }
}

/// A token that nobody has signed, under a header that says what it likes.
#[must_use]
pub fn unsigned(header: &Value, claims: &Value) -> String {
    format!("{}.", message(header, claims))
}

/// A token that is signed with a shared secret, such as a public key that is taken for one.
#[must_use]
pub fn signed_by_secret(secret: &[u8], key_id: &str, claims: &Value) -> String {
    let message = message(&json!({"alg": "HS256", "kid": key_id}), claims);
    let tag = hmac::sign(
        &hmac::Key::new(hmac::HMAC_SHA256, secret),
        message.as_bytes(),
    );
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(tag.as_ref()))
}

fn message(header: &Value, claims: &Value) -> String {
    let text = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", text(header), text(claims))
}
