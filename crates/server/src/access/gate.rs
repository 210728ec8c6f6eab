//! Whose a credential is: looked up in the store, kept for some seconds, and looked up again for as
//! long as a stream stands on it.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use lru::LruCache;
use referee_store::{Identities, TokenRow, TokenScope};
use tokio_util::sync::CancellationToken;

use super::allowance::{Accounts, Allowances};
use super::cover::Cover;
use super::principal::Principal;
use super::role::{Role, Roles};
use super::seats::{IssuedBy, Seat, SeatKeys, SignedSeat};
use super::secret::{Secret, hash};
use super::session::{Basis, Session, refused};
use super::sources::CredentialFiles;
use crate::clock::Clock;
use crate::error::{Refusal, ServiceError};
use crate::limits;
use crate::pool::Turns;

/// Whether callers have to say who they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Nobody has to: everybody may do everything, under one name. For a machine of one's own.
    #[default]
    Open,
    /// Everybody has to.
    Credentials,
}

/// The principal of every caller of an open server.
const ANYBODY: &str = "anonymous";

/// The principal of the worker in the process of the server.
const OWN_WORKER: &str = "own-worker";

/// The principal with the token of a file.
const FIRST_OPERATOR: &str = "operator-file";

/// Says whose credentials are.
pub(crate) struct Gate {
    access: Access,
    store: Arc<dyn Identities>,
    clock: Arc<dyn Clock>,
    files: CredentialFiles,
    cover: Cover,
    anybody: Arc<Session>,
    /// The session of the worker in the process of the server.
    own_worker: Arc<Session>,
    /// Sessions that were looked up, by the hash of what was presented.
    known: Mutex<LruCache<[u8; 32], Arc<Session>>>,
    /// Turns at looking up: who tries secrets is not to keep games from the store.
    lookups: Turns,
    /// Sessions that streams stand on.
    followed: Mutex<HashMap<u64, Weak<Session>>>,
    next: AtomicU64,
    accounts: Accounts,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate")
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

impl Gate {
    pub(crate) fn new(
        access: Access,
        platform: &str,
        files: CredentialFiles,
        allowances: Allowances,
        cover: Cover,
        store: Arc<dyn Identities>,
        clock: Arc<dyn Clock>,
    ) -> Gate {
        let anybody = Principal {
            id: ANYBODY.into(),
            platform: platform.into(),
            roles: Roles::ALL,
            scope: TokenScope::Platform,
            credential: "".into(),
            expire_us: None,
        };
        let own_worker = Principal {
            id: OWN_WORKER.into(),
            roles: Roles::of(&[Role::Worker]),
            ..anybody.clone()
        };
        let now_us = clock.now_us();
        let for_good =
            |principal| Arc::new(Session::new(0, principal, None, Basis::Always, now_us));
        let known = NonZeroUsize::new(limits::SESSIONS_KNOWN_MAX).unwrap_or(NonZeroUsize::MIN);
        Gate {
            access,
            store,
            files,
            cover,
            anybody: for_good(anybody),
            own_worker: for_good(own_worker),
            clock,
            known: Mutex::new(LruCache::new(known)),
            lookups: Turns::new(limits::LOOKUPS_AT_ONCE_MAX, limits::LOOKUPS_WAITING_MAX),
            followed: Mutex::default(),
            next: AtomicU64::new(1),
            accounts: Accounts::new(allowances),
        }
    }

    /// The time, in microseconds since 1970.
    pub(crate) fn now_us(&self) -> i64 {
        self.clock.now_us()
    }

    /// What places are covered by.
    pub(crate) fn cover(&self) -> &Cover {
        &self.cover
    }

    /// Whether callers have to say who they are.
    pub(crate) fn is_open(&self) -> bool {
        self.access == Access::Open
    }

    /// The session of everybody.
    pub(crate) fn anybody(&self) -> &Arc<Session> {
        &self.anybody
    }

    /// The session of the worker in the process of the server.
    pub(crate) fn own_worker(&self) -> &Arc<Session> {
        &self.own_worker
    }

    /// Says whose a credential is, as far as that is known without asking the store.
    pub(crate) fn recall(&self, presented: &str) -> Option<Arc<Session>> {
        let now_us = self.clock.now_us();
        let session = Arc::clone(self.known().get(&hash(presented))?);
        let for_us = limits::SESSION_KNOWN_TIME.as_micros() as i64;
        session.is_fresh(now_us, for_us).then_some(session)
    }

    /// Says whose a credential is.
    ///
    /// # Errors
    ///
    /// [`ServiceError::CredentialRefused`], and those of the store.
    pub(crate) async fn admit(&self, presented: &str) -> Result<Arc<Session>, ServiceError> {
        if let Some(session) = self.recall(presented) {
            return Ok(session);
        }
        let key = hash(presented);
        let checked_us = self.clock.now_us();
        let (principal, basis) = self.look_up(presented, &key, checked_us).await?;
        Ok(self.keep(key, principal, basis, checked_us))
    }

    /// Says who has a certificate with these names; nobody where no file says so.
    pub(crate) fn recognize(&self, names: &[String], expire_us: i64) -> Option<Arc<Session>> {
        // No credential begins so: what is sent in a header is one line.
        let presented = format!("certificate\n{expire_us}\n{}", names.join("\n"));
        if let Some(session) = self.recall(&presented) {
            return Some(session);
        }
        let now_us = self.clock.now_us();
        let principal = self.files.subjects.as_ref()?.principal(names, expire_us)?;
        let basis = Basis::Subject(names.to_vec());
        let session = self.keep(hash(&presented), principal, basis, now_us);
        (!session.is_past(now_us)).then_some(session)
    }

    /// Remembers whose a credential is.
    fn keep(
        &self,
        key: [u8; 32],
        principal: Principal,
        basis: Basis,
        checked_us: i64,
    ) -> Arc<Session> {
        let mut known = self.known();
        // Streams stand on the session that is there.
        if let Some(session) = known.get(&key)
            && session.principal == principal
            && !session.is_lost()
        {
            session.checked_us.fetch_max(checked_us, Ordering::Relaxed);
            return Arc::clone(session);
        }
        let guests = Roles::of(&[Role::Player, Role::Spectator]);
        let is_guest = principal.roles.meets(guests);
        let payer = self
            .accounts
            .payer(&principal.platform, &principal.id, is_guest);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let session = Session::new(number, principal, Some(payer), basis, checked_us);
        let session = Arc::new(session);
        known.put(key, Arc::clone(&session));
        session
    }

    /// Looks a session up again and again from now on, as long as somebody has it.
    pub(crate) fn follow(&self, session: &Arc<Session>) {
        if session.can_end() {
            let mut followed = self.followed();
            followed
                .entry(session.number)
                .or_insert_with(|| Arc::downgrade(session));
        }
    }

    /// Looks up the sessions that streams stand on, until `stop`. What cannot be looked up now is
    /// looked up the next time; games go on while the store does not answer.
    pub(crate) async fn run(self: Arc<Gate>, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = self.clock.sleep(limits::SESSION_LOOK_INTERVAL) => {}
                () = stop.cancelled() => return,
            }
            let look = async {
                self.files.look_again().await;
                self.look_again().await;
            };
            tokio::select! {
                () = look => {}
                () = stop.cancelled() => return,
            }
        }
    }

    async fn look_again(&self) {
        let sessions: Vec<Arc<Session>> = {
            let mut followed = self.followed();
            followed.retain(|_, session| session.strong_count() > 0);
            followed.values().filter_map(Weak::upgrade).collect()
        };
        // Many seats can stand on one token.
        let mut found: HashMap<&str, Result<(), Refusal>> = HashMap::new();
        for session in &sessions {
            let now_us = self.clock.now_us();
            if session.is_past(now_us) {
                session.lose(Refusal::Expired);
                continue;
            }
            let (basis, principal) = (&session.basis, &session.principal);
            if let Err(refusal) = self.files.standing(basis, principal, now_us) {
                session.lose(refusal);
                continue;
            }
            let Some(id) = token_id(basis) else {
                continue;
            };
            if !found.contains_key(id) {
                match self.store.token(id).await {
                    Ok(row) => drop(found.insert(id, standing(row.as_ref(), now_us))),
                    Err(error) => {
                        tracing::warn!(%error, "a credential could not be looked up again");
                        continue;
                    }
                }
            }
            if let Some(Err(refusal)) = found.get(id) {
                session.lose(*refusal);
            }
        }
    }

    async fn look_up(
        &self,
        presented: &str,
        key: &[u8; 32],
        now_us: i64,
    ) -> Result<(Principal, Basis), ServiceError> {
        if self.files.is_operator(key) {
            let principal = Principal {
                id: FIRST_OPERATOR.into(),
                credential: FIRST_OPERATOR.into(),
                roles: Roles::of(&[Role::Operator]),
                ..self.anybody.principal.clone()
            };
            return Ok((principal, Basis::Operator(*key)));
        }
        // No token of the store has a dot, and each that is signed has two.
        if presented.contains('.') {
            return self.check_signed(presented, now_us).await;
        }
        let Some(secret) = Secret::read(presented) else {
            return Err(refused(Refusal::Malformed));
        };
        let _turn = self.lookups.wait().await?;
        let row = self.store.token(secret.id()).await?;
        // Only who has the secret learns what became of the token.
        let row = row.filter(|row| secret.has_hash(&row.token.secret_hash));
        standing(row.as_ref(), now_us).map_err(refused)?;
        let Some(TokenRow { token, .. }) = row else {
            return Err(refused(Refusal::Unknown));
        };
        let role = Role::of(token.role).map(|role| Roles::of(&[role]));
        let principal = Principal {
            id: token.principal.into(),
            platform: token.platform.into(),
            // A role of another version allows nothing here.
            roles: role.unwrap_or(Roles::NONE),
            scope: token.scope,
            credential: token.id.as_str().into(),
            expire_us: token.expire_time_us,
        };
        Ok((principal, Basis::Token(token.id)))
    }

    /// Says whose a credential is that is signed. Few are checked at once, and why one does not
    /// count is for the log alone.
    async fn check_signed(
        &self,
        presented: &str,
        now_us: i64,
    ) -> Result<(Principal, Basis), ServiceError> {
        let _turn = self.lookups.wait().await?;
        let unknown = |reason: &'static str| {
            tracing::debug!(reason, "a signed credential does not count");
            refused(Refusal::Unknown)
        };
        if !SeatKeys::is_meant(presented) {
            let issuers = self.files.issuers.as_ref();
            let issuers = issuers.ok_or_else(|| unknown("there are no issuers"))?;
            let checked = issuers.check(presented, now_us).map_err(unknown)?;
            let basis = Basis::Signed {
                token: presented.into(),
                signer: checked.signer,
                generation: AtomicU64::new(checked.generation),
            };
            return Ok((checked.principal, basis));
        }
        let keys = self.files.seat_keys.as_ref();
        let keys = keys.ok_or_else(|| unknown("there are no keys of seat tokens"))?;
        let checked = keys.check(presented).map_err(unknown)?;
        let principal = checked.principal;
        // Only who has a token that was signed here learns what became of it.
        if principal
            .expire_us
            .is_none_or(|expire_us| expire_us <= now_us)
        {
            return Err(refused(Refusal::Expired));
        }
        let basis = Basis::Seat {
            key_id: checked.key_id,
            by: checked.by,
        };
        let standing_of_files = self.files.standing(&basis, &principal, now_us);
        standing_of_files.map_err(refused)?;
        if let Some(id) = token_id(&basis) {
            let row = self.store.token(id).await?;
            // What the issuer could present no more counts no more.
            standing(row.as_ref(), now_us).map_err(|_| refused(Refusal::Revoked))?;
        }
        Ok((principal, basis))
    }

    /// Signs a seat token, which counts for a time, but no longer than the credential by which it
    /// is issued.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SeatTokensOff`].
    pub(crate) fn sign_seat(
        &self,
        session: &Session,
        seat: Seat,
        lifetime: Duration,
    ) -> Result<SignedSeat, ServiceError> {
        let keys = self.files.seat_keys.as_ref();
        let keys = keys.ok_or(ServiceError::SeatTokensOff)?;
        let key_id = keys.newest();
        let credential = &session.principal.credential;
        let by = self.files.issued_by(&session.basis, &key_id, credential);
        let by = by.ok_or(ServiceError::SeatTokensOff)?;
        let now_us = self.clock.now_us();
        let wanted_us = i64::try_from(lifetime.as_micros()).unwrap_or(i64::MAX);
        let expire_us = now_us.saturating_add(wanted_us);
        let expire_us = expire_us.min(session.principal.expire_us.unwrap_or(i64::MAX));
        let signed = keys.sign(&key_id, seat, by, (now_us, expire_us));
        signed.ok_or_else(|| ServiceError::InvariantBroken {
            what: "a seat token could not be signed".into(),
        })
    }

    fn known(&self) -> MutexGuard<'_, LruCache<[u8; 32], Arc<Session>>> {
        // Every change is a call on a map that does not fail halfway.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn followed(&self) -> MutexGuard<'_, HashMap<u64, Weak<Session>>> {
        // As above.
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says whether a token counts.
fn standing(row: Option<&TokenRow>, now_us: i64) -> Result<(), Refusal> {
    let row = row.ok_or(Refusal::Unknown)?;
    if row.revoke_time_us.is_some() {
        return Err(Refusal::Revoked);
    }
    let is_past = |expire_us: i64| expire_us <= now_us;
    if row.token.expire_time_us.is_some_and(is_past) {
        return Err(Refusal::Expired);
    }
    Ok(())
}

/// The token of the store that a session rests on, if it does.
fn token_id(basis: &Basis) -> Option<&str> {
    match basis {
        Basis::Token(id)
        | Basis::Seat {
            by: IssuedBy::Token(id),
            ..
        } => Some(id),
        _ => None,
    }
}
