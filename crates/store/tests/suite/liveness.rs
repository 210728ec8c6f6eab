//! Signs of life, and the spans without them.

use referee_store::{Beat, Beaten, DownSpan, ReplicaId, Store};

const SILENCE_MAX_US: i64 = 5;

fn beat(replica: u128, at_us: i64) -> Beat {
    Beat {
        replica: ReplicaId(replica),
        at_us,
        silence_max_us: SILENCE_MAX_US,
        stopping: false,
    }
}

fn last_of(replica: u128, at_us: i64) -> Beat {
    Beat {
        stopping: true,
        ..beat(replica, at_us)
    }
}

/// The answer to a beat that finds nothing.
fn nothing(newest_span: i64) -> Result<Beaten, referee_store::Fault> {
    Ok(Beaten {
        newest_span,
        found: None,
    })
}

/// The answer to a beat that finds a span.
fn found(id: i64, from_us: i64, to_us: i64) -> Result<Beaten, referee_store::Fault> {
    Ok(Beaten {
        newest_span: id,
        found: Some(DownSpan { id, from_us, to_us }),
    })
}

pub(crate) async fn keeps_signs_of_life(store: &dyn Store) {
    assert_eq!(store.last_beat().await, Ok(None));
    assert_eq!(store.beat(beat(1, 100)).await, nothing(0));
    assert_eq!(store.beat(beat(1, 105)).await, nothing(0));
    assert_eq!(store.last_beat().await, Ok(Some(105)));
    assert_eq!(store.beat(beat(1, 111)).await, found(1, 105, 111));
    // One that is late finds nothing, and tells of the span all the same.
    assert_eq!(store.beat(beat(1, 111)).await, nothing(1));
    assert_eq!(store.beat(beat(1, 50)).await, nothing(1));
    assert_eq!(store.last_beat().await, Ok(Some(111)));
    assert_eq!(store.beat(beat(1, 120)).await, found(2, 111, 120));
    let spans =
        [(1, 105, 111), (2, 111, 120)].map(|(id, from_us, to_us)| DownSpan { id, from_us, to_us });
    assert_eq!(store.down_spans(110, 10).await, Ok(spans.to_vec()));
    assert_eq!(store.down_spans(110, 1).await, Ok(spans[..1].to_vec()));
    assert_eq!(store.down_spans(111, 10).await, Ok(spans[1..].to_vec()));
    assert_eq!(store.down_spans(120, 10).await, Ok(Vec::new()));
}

pub(crate) async fn finds_the_time_before_the_first_beat(store: &dyn Store) {
    // Of a replica that is alone, however short it is: nobody served in it.
    assert_eq!(store.beat(beat(1, 100)).await, nothing(0));
    assert_eq!(store.beat(last_of(1, 101)).await, nothing(0));
    assert_eq!(store.beat(last_of(1, 101)).await, nothing(0));
    assert_eq!(store.beat(beat(2, 103)).await, found(1, 101, 103));
    assert_eq!(store.beat(beat(2, 104)).await, nothing(1));
    // The other was alone as well and stopped; the one that comes again comes anew.
    assert_eq!(store.beat(last_of(2, 105)).await, nothing(1));
    assert_eq!(store.beat(beat(2, 107)).await, found(2, 105, 107));
    // A first beat that is not later than the last finds nothing, and neither does its second.
    assert_eq!(store.beat(last_of(2, 108)).await, nothing(2));
    assert_eq!(store.beat(beat(3, 108)).await, nothing(2));
    assert_eq!(store.beat(beat(3, 109)).await, nothing(2));
}

pub(crate) async fn a_replica_beside_a_live_one_finds_nothing(store: &dyn Store) {
    assert_eq!(store.beat(beat(1, 100)).await, nothing(0));
    assert_eq!(store.beat(beat(2, 103)).await, nothing(0));
    // Each keeps the other from finding its own pauses.
    assert_eq!(store.beat(beat(2, 108)).await, nothing(0));
    assert_eq!(store.beat(beat(1, 112)).await, nothing(0));
    assert_eq!(store.last_beat().await, Ok(Some(112)));
    // A clock that is behind does not turn time back.
    assert_eq!(store.beat(beat(2, 110)).await, nothing(0));
    assert_eq!(store.last_beat().await, Ok(Some(112)));
    // One stops, the other goes on: nothing was down.
    assert_eq!(store.beat(last_of(1, 113)).await, nothing(0));
    assert_eq!(store.beat(beat(2, 114)).await, nothing(0));
    assert_eq!(store.beat(beat(3, 116)).await, nothing(0));
    assert_eq!(store.down_spans(i64::MIN, 10).await, Ok(Vec::new()));
}

pub(crate) async fn finds_what_no_replica_lived_through(store: &dyn Store) {
    assert_eq!(store.beat(beat(1, 100)).await, nothing(0));
    assert_eq!(store.beat(beat(2, 102)).await, nothing(0));
    // Whoever comes first finds it, once, and the other is told.
    assert_eq!(store.beat(beat(1, 110)).await, found(1, 102, 110));
    assert_eq!(store.beat(beat(2, 111)).await, nothing(1));
    // A new one, after all others fell silent without a word.
    assert_eq!(store.beat(beat(3, 130)).await, found(2, 111, 130));
    assert_eq!(store.beat(beat(1, 131)).await, nothing(2));
    assert_eq!(store.beat(beat(2, 131)).await, nothing(2));
}

/// A clock that ran ahead leaves nothing behind when it is right again.
pub(crate) async fn a_clock_that_ran_ahead_is_set_back(store: &dyn Store) {
    assert_eq!(store.set_back(100, 10).await, Ok(Vec::new()));
    assert_eq!(store.beat(beat(1, 100)).await, nothing(0));
    assert_eq!(store.beat(last_of(1, 101)).await, nothing(0));
    // A process whose clock is 1,000 ahead: a span that never was, and one that was.
    assert_eq!(store.beat(beat(2, 1_100)).await, found(1, 101, 1_100));
    assert_eq!(store.beat(beat(2, 1_104)).await, nothing(1));
    assert_eq!(store.beat(beat(2, 1_112)).await, found(2, 1_104, 1_112));
    assert_eq!(store.beat(beat(2, 1_115)).await, nothing(2));
    // A little is no step.
    assert_eq!(store.set_back(1_105, 10).await, Ok(Vec::new()));
    assert_eq!(store.last_beat().await, Ok(Some(1_115)));
    assert_eq!(store.set_back(125, 10).await, Ok(vec![990]));
    assert_eq!(store.last_beat().await, Ok(Some(125)));
    let spans = [(1, 101, 110), (2, 114, 122)];
    let spans = spans.map(|(id, from_us, to_us)| DownSpan { id, from_us, to_us });
    assert_eq!(store.down_spans(0, 10).await, Ok(spans.to_vec()));
    // Signs of life count again, and a step is taken once.
    assert_eq!(store.set_back(126, 10).await, Ok(vec![990]));
    assert_eq!(store.beat(last_of(3, 126)).await, nothing(2));
    assert_eq!(store.beat(beat(4, 133)).await, found(3, 126, 133));
    // A second one adds to the first.
    assert_eq!(store.beat(beat(4, 500)).await, found(4, 133, 500));
    assert_eq!(store.set_back(140, 10).await, Ok(vec![360, 1_350]));
    for _ in 0..40 {
        let last_us = store
            .last_beat()
            .await
            .expect("it reads")
            .expect("it lives");
        store.beat(beat(4, last_us + 100)).await.expect("it writes");
        store.set_back(last_us + 1, 10).await.expect("it writes");
    }
    let steps = store.set_back(200, 10).await.expect("it writes");
    assert_eq!(steps.len(), referee_store::limits::CLOCK_STEPS_MAX);
    assert!(steps.is_sorted(), "{steps:?}");
}
