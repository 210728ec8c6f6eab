//! Who has how much of what a process is short of: connections, calls that wait, open streams, and
//! bytes that are under way.
//!
//! One rule holds for all of it: where there is no more, who has the most gives way, and who has
//! little is served. So one client that takes what it can get is in nobody's way.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ages::{Age, Ages};
use crate::access::Payers;
use crate::limits;

/// How much there is for all connections together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    pub(crate) connections: usize,
    /// Calls that are not answered yet, and streams whose first message has not come.
    pub(crate) calls: usize,
    pub(crate) streams: usize,
    pub(crate) bytes: usize,
    pub(crate) ages: Ages,
}

/// How much of a limit is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) limit: &'static str,
    pub(crate) used: usize,
    pub(crate) max: usize,
}

/// The accounts of all connections.
#[derive(Debug)]
pub(crate) struct Ledger {
    capacity: Capacity,
    /// What all accounts have together, those that were cut included until they are gone.
    bytes: AtomicUsize,
    pending: AtomicUsize,
    streams: AtomicUsize,
    accounts: Mutex<HashMap<u64, Arc<Account>>>,
    next: AtomicU64,
    start: Instant,
    /// Lines about who was turned away or cut.
    seldom: Seldom,
}

/// What one connection has.
pub(crate) struct Account {
    ledger: Arc<Ledger>,
    number: u64,
    peer: IpAddr,
    /// Bytes of requests that were announced and are not answered yet.
    received: AtomicUsize,
    /// Bytes of streams that wait for a reader.
    queued: AtomicUsize,
    /// Bytes of answers that the transport has not sent yet.
    sent: AtomicUsize,
    streams: AtomicUsize,
    calls: AtomicUsize,
    /// The calls of them that are not answered yet.
    pending: AtomicUsize,
    has_called: AtomicBool,
    /// When the last call ended, in milliseconds since the start of the ledger.
    quiet_since_ms: AtomicU64,
    /// The bodies that wait until less is unsent.
    waiting: Mutex<HashMap<u64, Waker>>,
    cut: CancellationToken,
    /// Who calls over the connection.
    payers: Payers,
    age: Age,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("number", &self.number)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

/// What bytes are held for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// A request.
    Received,
    /// A message of a stream that waits for its reader.
    Queued,
    /// A part of an answer that the transport has.
    Sent,
}

impl Ledger {
    /// A ledger of nothing.
    pub(crate) fn new(capacity: Capacity) -> Arc<Ledger> {
        Arc::new(Ledger {
            capacity,
            bytes: AtomicUsize::new(0),
            pending: AtomicUsize::new(0),
            streams: AtomicUsize::new(0),
            accounts: Mutex::default(),
            next: AtomicU64::new(0),
            start: Instant::now(),
            seldom: Seldom::default(),
        })
    }

    /// Opens an account for a connection; `None` where there is no place and nobody who has to
    /// give way to it.
    pub(crate) fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Place> {
        let mut accounts = self.accounts();
        if accounts.len() >= self.capacity.connections && !self.make_room(&mut accounts, peer) {
            drop(accounts);
            if let Some(others) = self.seldom.now() {
                tracing::warn!(%peer, others, "a connection was turned away: all places are taken");
            }
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let account = Arc::new(Account {
            ledger: Arc::clone(self),
            number,
            peer,
            received: AtomicUsize::new(0),
            queued: AtomicUsize::new(0),
            sent: AtomicUsize::new(0),
            streams: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            pending: AtomicUsize::new(0),
            has_called: AtomicBool::new(false),
            quiet_since_ms: AtomicU64::new(self.now_ms()),
            waiting: Mutex::default(),
            cut: CancellationToken::new(),
            payers: Payers::default(),
            age: self.capacity.ages.draw(),
        });
        accounts.insert(number, Arc::clone(&account));
        Some(Place(account))
    }

    /// The number of connections.
    pub(crate) fn connections(&self) -> usize {
        self.accounts().len()
    }

    /// How much of what there is for all connections is in use.
    pub(crate) fn usage(&self) -> [Usage; 3] {
        let usage = |limit, used, max| Usage { limit, used, max };
        let (streams, bytes) = (&self.streams, &self.bytes);
        let Capacity {
            connections,
            streams: streams_max,
            bytes: bytes_max,
            calls: _,
            ages: _,
        } = self.capacity;
        [
            usage("connections", self.connections(), connections),
            usage("streams", streams.load(Ordering::Relaxed), streams_max),
            usage("under_way_bytes", bytes.load(Ordering::Relaxed), bytes_max),
        ]
    }

    /// Closes connections that are quiet, so that there are descriptors again.
    pub(crate) fn let_go_of_some(&self) {
        let mut accounts = self.accounts();
        let room = self.close_unused(&mut accounts);
        if room == 0 {
            self.close_quiet(&mut accounts);
        }
    }

    /// Makes room for a connection from an address. Says whether it could.
    fn make_room(&self, accounts: &mut HashMap<u64, Arc<Account>>, peer: IpAddr) -> bool {
        if self.close_unused(accounts) > 0 || self.close_quiet(accounts) {
            return true;
        }
        // All are at work. An address that has far more than its share gives way to others.
        let counts = count_by_peer(accounts, |_| 1);
        let Some((greedy, count)) = greediest(&counts) else {
            return false;
        };
        let own = counts.get(&peer).copied().unwrap_or_default();
        if greedy == peer || own * limits::FAIR_SHARE >= count {
            return false;
        }
        let newest = accounts.values().filter(|one| one.peer == greedy);
        let newest = newest.max_by_key(|one| one.number).cloned();
        self.close(accounts, newest)
    }

    /// Closes some of the connections that never called, those first that have been there longest.
    fn close_unused(&self, accounts: &mut HashMap<u64, Arc<Account>>) -> usize {
        let unused = accounts.values().filter(|one| !one.has_called());
        let mut unused: Vec<_> = unused.cloned().collect();
        unused.sort_unstable_by_key(|one| one.number);
        // A crowd is not looked through again for each newcomer.
        let some = accounts.len() / limits::UNUSED_CLOSED_SHARE + 1;
        unused.truncate(some);
        let closed = unused.len();
        for account in unused {
            self.close(accounts, Some(account));
        }
        closed
    }

    /// Closes the connection that has been quiet longest, of the address that has the most.
    fn close_quiet(&self, accounts: &mut HashMap<u64, Arc<Account>>) -> bool {
        let counts = count_by_peer(accounts, |_| 1);
        let quiet = accounts.values().filter(|one| !one.is_calling());
        let quiet = quiet.min_by_key(|one| {
            let count = counts.get(&one.peer).copied().unwrap_or_default();
            let since = one.quiet_since_ms.load(Ordering::Relaxed);
            (Reverse(count), since)
        });
        let quiet = quiet.cloned();
        self.close(accounts, quiet)
    }

    /// Closes a connection. Its place is free at once.
    fn close(
        &self,
        accounts: &mut HashMap<u64, Arc<Account>>,
        account: Option<Arc<Account>>,
    ) -> bool {
        let Some(account) = account else {
            return false;
        };
        account.cut.cancel();
        accounts.remove(&account.number);
        if let Some(others) = self.seldom.now() {
            let peer = account.peer;
            tracing::warn!(%peer, others, "a connection was closed to make room for others");
        }
        true
    }

    /// Closes the connections that have the most bytes under way until the rest fits.
    fn cut_largest(&self) {
        let mut accounts = self.accounts();
        let mut bytes: usize = accounts.values().map(|one| one.bytes()).sum();
        while bytes > self.capacity.bytes {
            let largest = accounts.values().max_by_key(|one| one.bytes()).cloned();
            let Some(largest) = largest else { return };
            bytes -= largest.bytes().min(bytes);
            self.close(&mut accounts, Some(largest));
        }
    }

    /// Makes room for a stream of an address that has few, where another has most of them. Says
    /// whether it could.
    fn make_room_for_stream(&self, peer: IpAddr) -> bool {
        let mut accounts = self.accounts();
        let streams = |one: &Account| one.streams.load(Ordering::Relaxed);
        // Those that were closed are on their way out.
        if accounts.values().map(|one| streams(one)).sum::<usize>() <= self.capacity.streams {
            return true;
        }
        let counts = count_by_peer(&accounts, streams);
        let Some((greedy, count)) = greediest(&counts) else {
            return false;
        };
        let own = counts.get(&peer).copied().unwrap_or_default();
        if greedy == peer || own * limits::FAIR_SHARE >= count {
            return false;
        }
        let most = accounts.values().filter(|one| one.peer == greedy);
        let most = most.max_by_key(|one| streams(one)).cloned();
        self.close(&mut accounts, most)
    }

    /// Makes room for a call of a connection with few, where another has most of them: they are
    /// short, so that who has so many waits for something else than answers. Says whether it could.
    fn make_room_for_call(&self, own: usize) -> bool {
        if own * limits::FAIR_SHARE >= limits::CONCURRENT_STREAMS_MAX as usize {
            // Nobody has more than that, and a crowd is not looked through again for each call.
            return false;
        }
        let mut accounts = self.accounts();
        let pending = |one: &Account| one.pending.load(Ordering::Relaxed);
        if accounts.values().map(|one| pending(one)).sum::<usize>() <= self.capacity.calls {
            return true;
        }
        let most = accounts.values().max_by_key(|one| pending(one)).cloned();
        match most {
            Some(most) if own * limits::FAIR_SHARE < pending(&most) => {
                self.close(&mut accounts, Some(most))
            }
            _ => false,
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn accounts(&self) -> MutexGuard<'_, HashMap<u64, Arc<Account>>> {
        // Every change is a call on a map that does not fail halfway.
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count_by_peer(
    accounts: &HashMap<u64, Arc<Account>>,
    of: impl Fn(&Account) -> usize,
) -> HashMap<IpAddr, usize> {
    let mut counts = HashMap::new();
    for account in accounts.values() {
        *counts.entry(account.peer).or_default() += of(account);
    }
    counts
}

fn greediest(counts: &HashMap<IpAddr, usize>) -> Option<(IpAddr, usize)> {
    let most = counts.iter().max_by_key(|(_, count)| **count);
    most.map(|(peer, count)| (*peer, *count))
}

/// The place of a connection, which is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place(Arc<Account>);

impl Place {
    /// The account of the connection.
    pub(crate) fn account(&self) -> &Arc<Account> {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.ledger.accounts().remove(&self.0.number);
    }
}

impl Account {
    /// Waits until the connection has to give way to others.
    pub(crate) async fn cut(&self) {
        self.cut.cancelled().await;
    }

    /// Who calls over the connection.
    pub(crate) fn payers(&self) -> &Payers {
        &self.payers
    }

    /// The time since the start of the ledger, in microseconds.
    pub(crate) fn counted_us(&self) -> i64 {
        i64::try_from(self.ledger.start.elapsed().as_micros()).unwrap_or(i64::MAX)
    }

    /// The age of the connection.
    pub(crate) fn age(&self) -> &Age {
        &self.age
    }

    /// Begins a call.
    pub(crate) fn call(self: &Arc<Self>) -> OpenCall {
        self.has_called.store(true, Ordering::Relaxed);
        self.calls.fetch_add(1, Ordering::Relaxed);
        OpenCall(Arc::clone(self))
    }

    /// How long no call has been open; none where one is.
    pub(crate) fn quiet_for(&self) -> Option<Duration> {
        let since_ms = self.quiet_since_ms.load(Ordering::Relaxed);
        let quiet_ms = self.ledger.now_ms().saturating_sub(since_ms);
        (!self.is_calling()).then(|| Duration::from_millis(quiet_ms))
    }

    /// Begins to wait: for the answer to a call, or for the first message of a stream. `None` where
    /// the process has as many of those as it takes.
    pub(crate) fn begin_call(self: &Arc<Self>) -> Option<PendingCall> {
        let own = self.pending.fetch_add(1, Ordering::Relaxed) + 1;
        let all = self.ledger.pending.fetch_add(1, Ordering::Relaxed) + 1;
        let call = PendingCall(Arc::clone(self));
        let fits = all <= self.ledger.capacity.calls || self.ledger.make_room_for_call(own);
        fits.then_some(call)
    }

    /// Opens a stream; `None` where the process has as many as it takes.
    pub(crate) fn open_stream(self: &Arc<Self>) -> Option<OpenStream> {
        self.streams.fetch_add(1, Ordering::Relaxed);
        let all = self.ledger.streams.fetch_add(1, Ordering::Relaxed) + 1;
        let stream = OpenStream(Arc::clone(self));
        let fits =
            all <= self.ledger.capacity.streams || self.ledger.make_room_for_stream(self.peer);
        fits.then_some(stream)
    }

    /// Holds bytes; `None` where the connection has as much of requests as it may. Where the
    /// process has too much, the connection that has the most is closed.
    pub(crate) fn hold(self: &Arc<Self>, side: Side, bytes: usize) -> Option<Held> {
        let before = self.side(side).fetch_add(bytes, Ordering::Relaxed);
        self.ledger.bytes.fetch_add(bytes, Ordering::Relaxed);
        let held = Held {
            account: Arc::clone(self),
            side,
            bytes,
        };
        if side == Side::Received && before + bytes > limits::CONNECTION_RECEIVED_BYTES_MAX {
            return None;
        }
        if self.ledger.bytes.load(Ordering::Relaxed) > self.ledger.capacity.bytes {
            self.ledger.cut_largest();
        }
        Some(held)
    }

    /// Waits until the transport has sent enough of what it was given; `body` says who waits.
    pub(crate) fn poll_room(&self, body: u64, context: &mut Context<'_>) -> Poll<()> {
        let is_full = || self.sent.load(Ordering::SeqCst) >= limits::CONNECTION_UNSENT_BYTES_MAX;
        if !is_full() {
            return Poll::Ready(());
        }
        self.waiting().insert(body, context.waker().clone());
        // What was sent in between has waked nobody.
        if is_full() {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }

    /// A number for a body that may wait.
    pub(crate) fn body_number(&self) -> u64 {
        self.ledger.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Forgets a body that waited.
    pub(crate) fn forget_body(&self, body: u64) {
        self.waiting().remove(&body);
    }

    fn is_calling(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > 0
    }

    fn has_called(&self) -> bool {
        self.has_called.load(Ordering::Relaxed)
    }

    fn bytes(&self) -> usize {
        let sides = [Side::Received, Side::Queued, Side::Sent];
        let held = sides.map(|side| self.side(side).load(Ordering::Relaxed));
        held.iter().sum()
    }

    fn side(&self, side: Side) -> &AtomicUsize {
        match side {
            Side::Received => &self.received,
            Side::Queued => &self.queued,
            Side::Sent => &self.sent,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, Waker>> {
        // Every change is a call on a map that does not fail halfway.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is open.
#[derive(Debug)]
pub(crate) struct OpenCall(Arc<Account>);

impl Drop for OpenCall {
    fn drop(&mut self) {
        let now_ms = self.0.ledger.now_ms();
        self.0.quiet_since_ms.store(now_ms, Ordering::Relaxed);
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A call that is not answered yet, or a stream whose first message has not come.
#[derive(Debug)]
pub(crate) struct PendingCall(Arc<Account>);

impl Drop for PendingCall {
    fn drop(&mut self) {
        self.0.pending.fetch_sub(1, Ordering::Relaxed);
        self.0.ledger.pending.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream that is open.
#[derive(Debug)]
pub(crate) struct OpenStream(Arc<Account>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
        self.0.ledger.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bytes that are held.
#[derive(Debug)]
pub(crate) struct Held {
    account: Arc<Account>,
    side: Side,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        let Held {
            account,
            side,
            bytes,
        } = self;
        account.side(*side).fetch_sub(*bytes, Ordering::SeqCst);
        account.ledger.bytes.fetch_sub(*bytes, Ordering::Relaxed);
        if *side == Side::Sent {
            let mut waiting = account.waiting();
            let is_full =
                account.sent.load(Ordering::SeqCst) >= limits::CONNECTION_UNSENT_BYTES_MAX;
            if !is_full && !waiting.is_empty() {
                let wakers = std::mem::take(&mut *waiting);
                drop(waiting);
                wakers.into_values().for_each(Waker::wake);
            }
        }
    }
}

/// Lets a line of the log through now and then, with the number of those that were not.
#[derive(Debug, Default)]
pub(crate) struct Seldom(Mutex<(Option<Instant>, u64)>);

impl Seldom {
    /// Says how many lines were kept back since the last one, where one may be written now.
    pub(crate) fn now(&self) -> Option<u64> {
        self.at(Instant::now())
    }

    fn at(&self, now: Instant) -> Option<u64> {
        // Every change is an assignment that does not fail halfway.
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0.is_some_and(|next| now < next) {
            state.1 += 1;
            return None;
        }
        state.0 = Some(now + limits::LOG_SELDOM_INTERVAL);
        Some(std::mem::take(&mut state.1))
    }
}

#[cfg(test)]
mod tests;
