//! What files say about callers, all together.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::issuers::Issuers;
use super::operator::OperatorFile;
use super::principal::Principal;
use super::seats::{IssuedBy, SeatKeys};
use super::session::Basis;
use super::subjects::Subjects;
use super::table;
use crate::error::Refusal;

/// What files say about callers, beside what is in the store. Each is read again when it changes.
#[derive(Clone, Debug, Default)]
pub struct CredentialFiles {
    /// The token of the first operator.
    pub operator: Option<OperatorFile>,
    /// Whose the certificates of clients are; without it they say nothing.
    pub subjects: Option<Subjects>,
    /// Who else may sign tokens.
    pub issuers: Option<Issuers>,
    /// What seat tokens are signed with; without it there are none.
    pub seat_keys: Option<SeatKeys>,
}

impl CredentialFiles {
    /// Reads what has changed.
    pub(super) async fn look_again(&self) {
        let files = self.clone();
        let looking = tokio::task::spawn_blocking(move || {
            if let Some(operator) = &files.operator {
                operator.look_again();
            }
            if let Some(subjects) = &files.subjects {
                subjects.look_again();
            }
            if let Some(issuers) = &files.issuers {
                issuers.look_again();
            }
            if let Some(seat_keys) = &files.seat_keys {
                seat_keys.look_again();
            }
        });
        // The task does not panic, and is not cancelled before the runtime is.
        let _ = looking.await;
    }

    /// Whether a token, given its hash, is that of the first operator.
    pub(super) fn is_operator(&self, hash: &[u8; 32]) -> bool {
        let operator = self.operator.as_ref();
        operator.is_some_and(|operator| operator.token().has_hash(hash))
    }

    /// Says what has become of a credential by what files say; nothing where they are silent, and
    /// the store is to be asked.
    pub(super) fn standing(
        &self,
        basis: &Basis,
        principal: &Principal,
        now_us: i64,
    ) -> Result<(), Refusal> {
        let holds = match basis {
            Basis::Always | Basis::Token(_) => true,
            Basis::Operator(hash) => self.is_operator(hash),
            Basis::Subject(names) => {
                let expire_us = principal.expire_us.unwrap_or(i64::MAX);
                let subjects = self.subjects.as_ref();
                let is = subjects.and_then(|known| known.principal(names, expire_us));
                is.as_ref() == Some(principal)
            }
            Basis::Signed {
                token, generation, ..
            } => self.issuers.as_ref().is_some_and(|issuers| {
                // What was checked by these very files needs no second look.
                if issuers.generation() == generation.load(Relaxed) {
                    return true;
                }
                let checked = issuers.check(token, now_us);
                checked.is_ok_and(|checked| {
                    generation.store(checked.generation, Relaxed);
                    checked.principal == *principal
                })
            }),
            Basis::Seat { key_id, by } => {
                let seat_keys = self.seat_keys.as_ref();
                seat_keys.is_some_and(|keys| keys.has(key_id)) && self.stands(key_id, by)
            }
        };
        if holds { Ok(()) } else { Err(Refusal::Revoked) }
    }

    /// Whether who issued a seat token may still do so, as far as files say.
    fn stands(&self, key_id: &str, by: &IssuedBy) -> bool {
        match by {
            IssuedBy::Token(_) => true,
            IssuedBy::Subject(name) => {
                let names = [name.clone()];
                let subjects = self.subjects.as_ref();
                let found = subjects.and_then(|known| known.principal(&names, i64::MAX));
                found.is_some_and(|principal| table::issues_seats(principal.roles))
            }
            IssuedBy::Operator(mark) => {
                let operator = self.operator.as_ref().map(OperatorFile::token);
                let keys = self.seat_keys.as_ref();
                let now = operator.and_then(|token| keys?.mark(key_id, token.hash()));
                now.as_ref() == Some(mark)
            }
            IssuedBy::Issuer(issuer, key) => {
                let issuers = self.issuers.as_ref();
                issuers.is_some_and(|issuers| issuers.has(issuer, key))
            }
        }
    }

    /// Says who issues seat tokens by a credential, as they carry it; nothing where the credential
    /// is of a kind that issues none.
    pub(super) fn issued_by(
        &self,
        basis: &Basis,
        key_id: &str,
        credential: &Arc<str>,
    ) -> Option<IssuedBy> {
        match basis {
            Basis::Always | Basis::Seat { .. } => None,
            Basis::Operator(hash) => {
                let mark = self.seat_keys.as_ref()?.mark(key_id, hash)?;
                Some(IssuedBy::Operator(mark))
            }
            Basis::Token(id) => Some(IssuedBy::Token(id.clone())),
            Basis::Subject(_) => Some(IssuedBy::Subject(credential.to_string())),
            Basis::Signed { signer, .. } => Some(IssuedBy::Issuer(
                signer.issuer.clone(),
                signer.key_id.clone(),
            )),
        }
    }
}
