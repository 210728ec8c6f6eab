//! A credential that was good when it was looked at last, and what it rests on.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use tokio_util::sync::CancellationToken;

use super::allowance::Payer;
use super::issuers::Signer;
use super::principal::Principal;
use super::seats::IssuedBy;
use crate::error::{Refusal, ServiceError};

/// A credential that was good when it was looked at last.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) number: u64,
    pub(crate) principal: Principal,
    /// Whose account pays; none where nobody has to say who they are.
    pub(crate) payer: Option<Payer>,
    pub(super) basis: Basis,
    /// When it was looked up last, in microseconds since 1970.
    pub(super) checked_us: AtomicI64,
    lost: CancellationToken,
    loss: OnceLock<Refusal>,
}

/// What a session rests on.
pub(super) enum Basis {
    /// Nothing that can be revoked.
    Always,
    /// The token of a file, by its hash.
    Operator([u8; 32]),
    /// A token in the store.
    Token(String),
    /// The subject of a certificate, by all its names.
    Subject(Vec<String>),
    /// A token that somebody else has signed.
    Signed {
        token: Box<str>,
        signer: Signer,
        /// Which files it was checked by.
        generation: AtomicU64,
    },
    /// A seat token: the key that signed it, and who issued it.
    Seat { key_id: String, by: IssuedBy },
}

impl fmt::Debug for Basis {
    /// Shows no token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("Always"),
            Self::Operator(_) => f.write_str("Operator"),
            Self::Token(id) => f.debug_tuple("Token").field(id).finish(),
            Self::Subject(names) => f.debug_tuple("Subject").field(names).finish(),
            Self::Signed { signer, .. } => f.debug_tuple("Signed").field(signer).finish(),
            Self::Seat { key_id, by } => f.debug_tuple("Seat").field(key_id).field(by).finish(),
        }
    }
}

impl Session {
    /// A session of somebody whose account pays; nobody's where nobody has to say who they are.
    pub(super) fn new(
        number: u64,
        principal: Principal,
        payer: Option<Payer>,
        basis: Basis,
        checked_us: i64,
    ) -> Session {
        Session {
            number,
            principal,
            payer,
            basis,
            checked_us: AtomicI64::new(checked_us),
            lost: CancellationToken::new(),
            loss: OnceLock::new(),
        }
    }

    /// Waits until the credential is good no more, and says why.
    pub(crate) async fn lost(&self) -> ServiceError {
        self.lost.cancelled().await;
        refused(*self.loss.get().unwrap_or(&Refusal::Unknown))
    }

    pub(super) fn lose(&self, refusal: Refusal) {
        // The first reason stays.
        let _ = self.loss.set(refusal);
        self.lost.cancel();
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_cancelled()
    }

    pub(super) fn is_past(&self, now_us: i64) -> bool {
        let expire_us = self.principal.expire_us;
        expire_us.is_some_and(|expire_us| expire_us <= now_us)
    }

    /// Whether it can be good no more one day.
    pub(super) fn can_end(&self) -> bool {
        !matches!(self.basis, Basis::Always) || self.principal.expire_us.is_some()
    }

    pub(super) fn is_fresh(&self, now_us: i64, for_us: i64) -> bool {
        let age_us = now_us.saturating_sub(self.checked_us.load(Ordering::Relaxed));
        age_us <= for_us && !self.is_past(now_us) && !self.is_lost()
    }
}

pub(super) fn refused(refusal: Refusal) -> ServiceError {
    ServiceError::CredentialRefused(refusal)
}
