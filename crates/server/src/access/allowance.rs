//! What one principal, and one platform, may take of a server: rates as buckets that fill again, and
//! things that are held, as counts.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::error::ServiceError;
use crate::limits;

/// What may be taken in a second, and at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How much fills up again in a second.
    pub per_second: u64,
    /// For how many seconds it is kept where nothing is taken.
    pub kept_seconds: u64,
}

/// What one holder may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Calls.
    pub calls: Rate,
    /// Actions that are refused.
    pub refusals: Rate,
    /// Positions that the mate solver visits in questions.
    pub solver_nodes: Rate,
    /// Bytes of requests, as they are announced.
    pub bytes: Rate,
    /// Connections that are open.
    pub connections: usize,
    /// Streams that are open.
    pub streams: usize,
}

/// What each principal and each platform may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowances {
    /// One player or spectator of one platform, whatever the number of their credentials.
    pub guest: Allowance,
    /// One other principal of one platform.
    pub principal: Allowance,
    /// All principals of one platform together.
    pub platform: Allowance,
}

impl Default for Allowances {
    fn default() -> Allowances {
        let kept_seconds = limits::ALLOWANCE_KEPT_SECONDS;
        let of = |per_second| Rate {
            per_second,
            kept_seconds,
        };
        Allowances {
            guest: Allowance {
                calls: of(limits::GUEST_CALLS_PER_SECOND_MAX),
                refusals: of(limits::GUEST_REFUSALS_PER_SECOND_MAX),
                solver_nodes: of(limits::GUEST_SOLVER_NODES_PER_SECOND_MAX),
                bytes: of(limits::GUEST_BYTES_PER_SECOND_MAX),
                connections: limits::GUEST_CONNECTIONS_MAX,
                streams: limits::GUEST_STREAMS_MAX,
            },
            principal: Allowance {
                calls: of(limits::PRINCIPAL_CALLS_PER_SECOND_MAX),
                refusals: of(limits::PRINCIPAL_REFUSALS_PER_SECOND_MAX),
                solver_nodes: of(limits::PRINCIPAL_SOLVER_NODES_PER_SECOND_MAX),
                bytes: of(limits::PRINCIPAL_BYTES_PER_SECOND_MAX),
                connections: limits::PRINCIPAL_CONNECTIONS_MAX,
                streams: limits::PRINCIPAL_STREAMS_MAX,
            },
            platform: Allowance {
                calls: of(limits::PLATFORM_CALLS_PER_SECOND_MAX),
                refusals: of(limits::PLATFORM_REFUSALS_PER_SECOND_MAX),
                solver_nodes: of(limits::PLATFORM_SOLVER_NODES_PER_SECOND_MAX),
                bytes: of(limits::PLATFORM_BYTES_PER_SECOND_MAX),
                connections: limits::PLATFORM_CONNECTIONS_MAX,
                streams: limits::PLATFORM_STREAMS_MAX,
            },
        }
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Calls,
    Refusals,
    SolverNodes,
    Bytes,
}

/// What is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldThing {
    Connection,
    Stream,
}

/// A bucket that fills again: when it will be full, in microseconds since 1970.
#[derive(Debug)]
struct Bucket {
    rate: Rate,
    full_at_us: AtomicI64,
}

impl Bucket {
    fn new(rate: Rate) -> Bucket {
        Bucket {
            rate,
            full_at_us: AtomicI64::new(i64::MIN),
        }
    }

    /// How long it takes to fill up by so much, in microseconds.
    fn filling_us(&self, amount: u64) -> i64 {
        let us = u128::from(amount) * 1_000_000 / u128::from(self.rate.per_second.max(1));
        i64::try_from(us).unwrap_or(i64::MAX)
    }

    /// Takes some; where there is not enough it says after what time there is. What is in the bucket
    /// may be overdrawn once, so that what is larger than the bucket can be taken at all.
    fn take(&self, amount: u64, now_us: i64) -> Result<(), Duration> {
        let room_us = self.filling_us(self.rate.per_second * self.rate.kept_seconds);
        let cost_us = self.filling_us(amount);
        let taken =
            self.full_at_us
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |full_at_us| {
                    let from_us = full_at_us.max(now_us);
                    let is_empty = from_us.saturating_sub(now_us) >= room_us;
                    (!is_empty).then(|| from_us.saturating_add(cost_us))
                });
        taken.map(drop).map_err(|full_at_us| {
            let wait_us = full_at_us.saturating_sub(now_us).saturating_sub(room_us);
            let wait = Duration::from_micros(u64::try_from(wait_us).unwrap_or(0));
            wait.max(limits::RETRY_DELAY)
        })
    }

    /// Takes some whatever there is: it has been used already.
    fn charge(&self, amount: u64, now_us: i64) {
        let cost_us = self.filling_us(amount);
        let charge = |full_at_us: i64| Some(full_at_us.max(now_us).saturating_add(cost_us));
        // It always returns something.
        let _ = self
            .full_at_us
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, charge);
    }
}

/// What one holder has taken.
#[derive(Debug)]
pub(crate) struct Usage {
    /// Whose it is, in the words of an error.
    holder: &'static str,
    allowance: Allowance,
    calls: Bucket,
    refusals: Bucket,
    solver_nodes: Bucket,
    bytes: Bucket,
    connections: AtomicUsize,
    streams: AtomicUsize,
}

impl Usage {
    fn new(holder: &'static str, allowance: Allowance) -> Usage {
        Usage {
            holder,
            allowance,
            calls: Bucket::new(allowance.calls),
            refusals: Bucket::new(allowance.refusals),
            solver_nodes: Bucket::new(allowance.solver_nodes),
            bytes: Bucket::new(allowance.bytes),
            connections: AtomicUsize::new(0),
            streams: AtomicUsize::new(0),
        }
    }

    fn bucket(&self, taken: Taken) -> (&Bucket, &'static str) {
        match taken {
            Taken::Calls => (&self.calls, "calls a second"),
            Taken::Refusals => (&self.refusals, "refused actions a second"),
            Taken::SolverNodes => (&self.solver_nodes, "positions of the solver a second"),
            Taken::Bytes => (&self.bytes, "bytes of requests a second"),
        }
    }

    fn take(&self, taken: Taken, amount: u64, now_us: i64) -> Result<(), ServiceError> {
        let (bucket, what) = self.bucket(taken);
        let fits = bucket.take(amount, now_us);
        fits.map_err(|retry_after| self.spent(what, bucket.rate.per_second, retry_after))
    }

    fn spent(&self, what: &'static str, limit: u64, retry_after: Duration) -> ServiceError {
        ServiceError::AllowanceSpent {
            holder: self.holder,
            what,
            limit,
            retry_after,
        }
    }

    fn held(&self, thing: HeldThing) -> (&AtomicUsize, usize, &'static str) {
        match thing {
            HeldThing::Connection => (
                &self.connections,
                self.allowance.connections,
                "open connections",
            ),
            HeldThing::Stream => (&self.streams, self.allowance.streams, "open streams"),
        }
    }

    fn hold(self: &Arc<Usage>, thing: HeldThing) -> Result<Hold, ServiceError> {
        let (count, limit, what) = self.held(thing);
        if count.fetch_add(1, Ordering::Relaxed) >= limit {
            count.fetch_sub(1, Ordering::Relaxed);
            let retry_after = limits::HOLD_RETRY_DELAY;
            return Err(self.spent(what, limit as u64, retry_after));
        }
        Ok(Hold {
            usage: Arc::clone(self),
            thing,
        })
    }
}

/// Something that is held. Dropped, it is given back.
#[derive(Debug)]
pub(crate) struct Hold {
    usage: Arc<Usage>,
    thing: HeldThing,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let (count, ..) = self.usage.held(self.thing);
        count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a caller takes goes to the account of the principal and of the platform.
#[derive(Clone, Debug)]
pub(crate) struct Payer {
    principal: Arc<Usage>,
    platform: Arc<Usage>,
}

impl Payer {
    /// Whether two callers have one account.
    pub(crate) fn is(&self, other: &Payer) -> bool {
        Arc::ptr_eq(&self.principal, &other.principal)
    }

    /// Takes something.
    ///
    /// # Errors
    ///
    /// [`ServiceError::AllowanceSpent`].
    pub(crate) fn take(&self, taken: Taken, amount: u64, now_us: i64) -> Result<(), ServiceError> {
        self.principal.take(taken, amount, now_us)?;
        self.platform.take(taken, amount, now_us)
    }

    /// Takes something that has been used already.
    pub(crate) fn charge(&self, taken: Taken, amount: u64, now_us: i64) {
        for usage in [&self.principal, &self.platform] {
            usage.bucket(taken).0.charge(amount, now_us);
        }
    }

    /// Holds something until both parts are dropped.
    ///
    /// # Errors
    ///
    /// [`ServiceError::AllowanceSpent`].
    pub(crate) fn hold(&self, thing: HeldThing) -> Result<[Hold; 2], ServiceError> {
        let by_principal = self.principal.hold(thing)?;
        Ok([by_principal, self.platform.hold(thing)?])
    }
}

/// Who calls over one connection, each of whom holds it.
#[derive(Debug, Default)]
pub(crate) struct Payers(Mutex<Vec<(Payer, [Hold; 2])>>);

impl Payers {
    /// Notes that somebody calls over the connection.
    ///
    /// # Errors
    ///
    /// [`ServiceError::AllowanceSpent`] where they have as many connections as they may. A gateway
    /// that brings many has the connection on the accounts of the first of them.
    pub(crate) fn note(&self, payer: &Payer) -> Result<(), ServiceError> {
        let mut payers = lock(&self.0);
        let is_noted = payers.iter().any(|(known, _)| known.is(payer));
        if !is_noted && payers.len() < limits::CONNECTION_PAYERS_MAX {
            let hold = payer.hold(HeldThing::Connection)?;
            payers.push((payer.clone(), hold));
        }
        Ok(())
    }
}

/// The accounts of all principals and platforms that somebody uses.
#[derive(Debug)]
pub(crate) struct Accounts {
    allowances: Allowances,
    principals: Mutex<Usages<(bool, String, String)>>,
    platforms: Mutex<Usages<String>>,
}

#[derive(Debug)]
struct Usages<K> {
    usages: HashMap<K, Weak<Usage>>,
    /// How many there may be before those that nobody uses are forgotten.
    forget_at: usize,
}

impl<K: std::hash::Hash + Eq> Usages<K> {
    fn new() -> Usages<K> {
        Usages {
            usages: HashMap::new(),
            forget_at: limits::SESSIONS_KNOWN_MAX,
        }
    }

    fn find(&mut self, key: K, holder: &'static str, allowance: Allowance) -> Arc<Usage> {
        if let Some(usage) = self.usages.get(&key).and_then(Weak::upgrade) {
            return usage;
        }
        if self.usages.len() >= self.forget_at {
            self.usages.retain(|_, usage| usage.strong_count() > 0);
            self.forget_at = limits::SESSIONS_KNOWN_MAX.max(2 * self.usages.len());
        }
        let usage = Arc::new(Usage::new(holder, allowance));
        self.usages.insert(key, Arc::downgrade(&usage));
        usage
    }
}

impl Accounts {
    pub(crate) fn new(allowances: Allowances) -> Accounts {
        Accounts {
            allowances,
            principals: Mutex::new(Usages::new()),
            platforms: Mutex::new(Usages::new()),
        }
    }

    /// The account of a principal of a platform.
    pub(crate) fn payer(&self, platform: &str, principal: &str, is_guest: bool) -> Payer {
        let key = (is_guest, platform.to_owned(), principal.to_owned());
        let Allowances {
            guest,
            principal,
            platform: shared,
        } = self.allowances;
        let own = if is_guest { guest } else { principal };
        let principal = lock(&self.principals).find(key, "principal", own);
        let platform = lock(&self.platforms).find(platform.to_owned(), "platform", shared);
        Payer {
            principal,
            platform,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is a call on a map that does not fail halfway.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket() -> Bucket {
        Bucket::new(Rate {
            per_second: 10,
            kept_seconds: 2,
        })
    }

    #[test]
    fn a_bucket_gives_what_it_holds_and_fills_again() {
        let bucket = bucket();
        let second = 1_000_000;
        for _ in 0..20 {
            assert_eq!(bucket.take(1, 0), Ok(()));
        }
        assert_eq!(bucket.take(1, 0), Err(limits::RETRY_DELAY));
        assert_eq!(bucket.take(1, second / 10), Ok(()));
        assert!(bucket.take(1, second / 10).is_err());
        for _ in 0..20 {
            assert_eq!(bucket.take(1, 100 * second), Ok(()));
        }
        assert!(bucket.take(1, 100 * second).is_err(), "it holds no more");
    }

    #[test]
    fn what_is_large_is_paid_for_by_waiting() {
        let bucket = bucket();
        assert_eq!(bucket.take(100, 0), Ok(()), "once");
        assert_eq!(bucket.take(1, 0), Err(Duration::from_secs(8)));
        assert_eq!(bucket.take(1, 8_100_000), Ok(()));
        bucket.charge(100, 8_100_000);
        assert!(bucket.take(1, 9_000_000).is_err());
    }

    #[test]
    fn principals_have_accounts_of_their_own_and_share_that_of_the_platform() {
        let mut allowances = Allowances::default();
        allowances.principal.streams = 2;
        allowances.platform.streams = 3;
        let accounts = Accounts::new(allowances);
        let payer = |platform, principal| accounts.payer(platform, principal, false);
        let (one, other) = (payer("club", "a"), payer("club", "b"));
        assert!(one.is(&payer("club", "a")) && !one.is(&other));
        assert!(!one.is(&payer("team", "a")));
        let held: Vec<_> = (0..2).map(|_| one.hold(HeldThing::Stream)).collect();
        assert!(held.iter().all(Result::is_ok));
        let holder = |error: ServiceError| match error {
            ServiceError::AllowanceSpent { holder, .. } => holder,
            error => panic!("{error:?}"),
        };
        let of = |payer: &Payer| payer.hold(HeldThing::Stream).map(drop).map_err(holder);
        assert_eq!(of(&one), Err("principal"));
        let third = other.hold(HeldThing::Stream).expect("it has room");
        assert_eq!(of(&other), Err("platform"));
        drop((held, third));
        assert_eq!((of(&one), of(&other)), (Ok(()), Ok(())));
    }
}
