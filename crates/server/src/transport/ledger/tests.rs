//! Who gives way, and who is served.

use super::*;

fn ledger(connections: usize, bytes: usize) -> Arc<Ledger> {
    Ledger::new(Capacity {
        connections,
        calls: 16,
        streams: 16,
        bytes,
        ages: Ages::default(),
    })
}

fn address(number: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, number])
}

fn is_cut(place: &Place) -> bool {
    place.account().cut.is_cancelled()
}

#[test]
fn who_never_called_gives_way_first_and_who_was_quiet_longest_next() {
    let ledger = ledger(3, usize::MAX);
    let called = ledger.admit(address(1)).expect("a place");
    drop(called.account().call());
    let silent = ledger.admit(address(1)).expect("a place");
    called.account().quiet_since_ms.store(1, Ordering::Relaxed);
    let busy = ledger.admit(address(1)).expect("a place");
    let call = busy.account().call();
    let fourth = ledger.admit(address(1)).expect("a place");
    assert!(is_cut(&silent) && !is_cut(&called) && !is_cut(&busy));
    drop(fourth.account().call());
    fourth.account().quiet_since_ms.store(2, Ordering::Relaxed);
    let fifth = ledger.admit(address(1)).expect("a place");
    assert!(is_cut(&called) && !is_cut(&fourth) && !is_cut(&busy));
    let calls = [fourth.account().call(), fifth.account().call()];
    assert!(ledger.admit(address(1)).is_none(), "all are at work");
    let other = ledger
        .admit(address(2))
        .expect("an address that has little");
    assert!(is_cut(&fifth) && !is_cut(&busy), "the newest of the other");
    drop((call, calls, other));
    assert_eq!(ledger.connections(), 2);
}

#[test]
fn the_connection_with_most_bytes_gives_way() {
    let ledger = ledger(9, 1_000);
    let small = ledger.admit(address(1)).expect("a place");
    let large = ledger.admit(address(1)).expect("a place");
    let a = small.account().hold(Side::Received, 300);
    let b = large.account().hold(Side::Sent, 600);
    assert!(!is_cut(&large));
    let c = small.account().hold(Side::Queued, 200);
    assert!(is_cut(&large) && !is_cut(&small));
    drop((a, b, c));
    assert_eq!(ledger.bytes.load(Ordering::Relaxed), 0);
}

#[test]
fn requests_of_a_connection_are_bounded() {
    let ledger = ledger(9, usize::MAX);
    let place = ledger.admit(address(1)).expect("a place");
    let max = limits::CONNECTION_RECEIVED_BYTES_MAX;
    let first = place.account().hold(Side::Received, max);
    assert!(first.is_some());
    assert!(place.account().hold(Side::Received, 1).is_none());
    drop(first);
    assert!(place.account().hold(Side::Received, max).is_some());
    assert_eq!(place.account().bytes(), 0, "what was refused holds nothing");
}

#[test]
fn an_address_with_most_streams_gives_way_to_one_with_few() {
    let ledger = ledger(9, usize::MAX);
    let greedy = ledger.admit(address(1)).expect("a place");
    let streams: Vec<_> = (0..16).map(|_| greedy.account().open_stream()).collect();
    assert!(streams.iter().all(Option::is_some));
    assert!(greedy.account().open_stream().is_none());
    assert!(!is_cut(&greedy), "nobody else asks");
    let other = ledger.admit(address(2)).expect("a place");
    let first = other.account().open_stream();
    assert!(first.is_some() && is_cut(&greedy));
    let second = other.account().open_stream();
    assert!(second.is_some(), "what was cut is on its way out");
    drop((streams, first, second));
    assert_eq!(ledger.streams.load(Ordering::Relaxed), 0);
}

#[test]
fn a_connection_with_most_calls_that_wait_gives_way_to_one_with_few() {
    let ledger = ledger(9, usize::MAX);
    let greedy = ledger.admit(address(1)).expect("a place");
    let calls: Vec<_> = (0..16).map(|_| greedy.account().begin_call()).collect();
    assert!(calls.iter().all(Option::is_some));
    assert!(greedy.account().begin_call().is_none());
    assert!(!is_cut(&greedy), "nobody else asks");
    // Who comes from the same address is somebody else all the same.
    let other = ledger.admit(address(1)).expect("a place");
    let call = other.account().begin_call();
    assert!(call.is_some() && is_cut(&greedy));
    drop((calls, call));
    assert_eq!(ledger.pending.load(Ordering::Relaxed), 0);
}

#[test]
fn a_line_is_written_now_and_then() {
    let (seldom, start) = (Seldom::default(), Instant::now());
    assert_eq!(seldom.at(start), Some(0));
    assert_eq!((seldom.at(start), seldom.at(start)), (None, None));
    assert_eq!(seldom.at(start + limits::LOG_SELDOM_INTERVAL), Some(2));
}
