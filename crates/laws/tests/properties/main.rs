//! What holds for every game under every profile, whatever anybody tries, in whatever order.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use referee_chess::{CastlingMode, Position, PositionKey};
use referee_laws::{
    Action, ClockChange, Conduct, Effects, Entry, Game, Intent, Ruling, Seat, Sides, Start,
    Termination, Time, Verdict, adds_up,
};

mod attempts;

use attempts::{Attempt, STARTS, attempts, intent_of, profiles, seat_of, timings};

fn keys(game: &Game) -> Vec<PositionKey> {
    game.history().keys().collect()
}

/// The whole state of a game, so that two can be compared.
fn state(game: &Game) -> (String, Conduct, String, Vec<u32>) {
    (
        game.position().to_string(),
        game.conduct().clone(),
        format!("{:?} {:?}", game.outcome(), keys(game)),
        game.history().illegal_plies().collect(),
    )
}

fn check_words(ruling: &Ruling) -> Result<(), TestCaseError> {
    let is_plain =
        ruling.verdict == Verdict::Accepted && ruling.reason.is_none() && !ruling.improper;
    if !is_plain || !ruling.text.is_empty() {
        prop_assert!(ruling.text.ends_with('.'), "{ruling:?}");
        prop_assert!(!ruling.text.contains(".."), "{}", ruling.text);
    }
    if matches!(ruling.verdict, Verdict::Noted | Verdict::Penalized) {
        prop_assert!(ruling.reason.is_some() || ruling.verdict == Verdict::Noted);
        prop_assert!(!ruling.citations.is_empty(), "{ruling:?}");
    }
    for citation in &ruling.citations {
        prop_assert!(!citation.text.is_empty(), "{}", citation.article);
    }
    Ok(())
}

fn check_outcome(game: &Game) -> Result<(), TestCaseError> {
    let Some(outcome) = game.outcome() else {
        return Ok(());
    };
    prop_assert!(!outcome.citations.is_empty(), "{outcome:?}");
    prop_assert!(
        outcome
            .citations
            .iter()
            .all(|citation| citation.text.ends_with('.'))
    );
    prop_assert!(outcome.text.ends_with('.'), "{}", outcome.text);
    let conduct = game.conduct();
    prop_assert_eq!(conduct.clocks.running, None);
    prop_assert_eq!(conduct.draw_offer, None);
    prop_assert_eq!(conduct.pending_claim, None);
    Ok(())
}

/// What an entry may change, given what it says.
fn check_entry(before: &Game, entry: &Entry, after: &Game) -> Result<(), TestCaseError> {
    let Effects {
        reinstated,
        played,
        ledger,
        ..
    } = &entry.effects;
    let change = ClockChange {
        clocks: after.conduct().clocks.clone(),
        lines: ledger.clone(),
    };
    if let Err(error) = adds_up(&before.conduct().clocks, &change) {
        return Err(TestCaseError::fail(format!(
            "{error}\n{:?}\n{:?}\n{change:?}",
            entry.action,
            before.conduct().clocks
        )));
    }
    let has_moved = reinstated.is_some() || played.is_some();
    if !has_moved {
        prop_assert_eq!(before.position().turn(), after.position().turn());
        prop_assert_eq!(keys(before), keys(after));
    }
    prop_assert!(before.conduct().time <= after.conduct().time);
    if entry.ruling.verdict == Verdict::Noted && after.outcome().is_none() {
        prop_assert!(!has_moved, "{entry:?}");
        let touches = &after.conduct().touched;
        let mut kept = before.conduct().clone();
        kept.touched.clone_from(touches);
        // To touch a piece declines an offer (9.1.2.1).
        if after.conduct().draw_offer.is_none() {
            kept.draw_offer = None;
            kept.offer_barred = after.conduct().offer_barred;
        }
        // An offer that came with the illegal move stands (9.1.2.1).
        if entry.ruling.improper {
            kept.draw_offer = after.conduct().draw_offer;
            kept.offer_ply = after.conduct().offer_ply;
        }
        kept.clocks.clone_from(&after.conduct().clocks);
        kept.time = after.conduct().time;
        prop_assert_eq!(&kept, after.conduct());
    }
    if let Some(outcome) = after.outcome()
        && before.outcome().is_none()
        && let Intent::Move(_) = entry.action.intent
        && outcome.termination == Termination::Checkmate
    {
        prop_assert!(after.position().is_checkmate());
    }
    Ok(())
}

fn check_attempt(
    game: &mut Game,
    attempt: &Attempt,
    now: Time,
) -> Result<Option<Entry>, TestCaseError> {
    let intent = intent_of(game, attempt.kind, attempt.numbers);
    let action = Action {
        seat: seat_of(game, attempt.seat, &intent),
        intent,
    };
    let before = game.clone();
    let judgment = game.judge(&action, now);
    let again = game.judge(&action, now);
    prop_assert_eq!(&judgment.ruling, &again.ruling);
    prop_assert_eq!(&judgment.entry, &again.entry);
    prop_assert_eq!(state(&before), state(game));
    check_words(&judgment.ruling)?;
    let is_refused = judgment.ruling.verdict == Verdict::Refused;
    prop_assert_eq!(is_refused, judgment.entry.is_none());
    if before.outcome().is_some() && matches!(action.seat, Seat::Player(_)) {
        prop_assert!(is_refused, "{action:?} is accepted after the end");
    }
    let Some(entry) = judgment.entry else {
        return Ok(None);
    };
    if let Err(error) = game.apply(&entry.effects) {
        return Err(TestCaseError::fail(format!("{error}: {entry:?}")));
    }
    check_entry(&before, &entry, game)?;
    check_outcome(game)?;
    // What can be known of the game can be asked at any time.
    let _ = (
        game.adjudication(),
        game.plies_without_capture(),
        game.side_on_clock(),
    );
    Ok(Some(entry))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn games_are_the_fold_of_their_records(
        (profile, is_chess960) in profiles(),
        number in 0..STARTS.len(),
        timing in timings(),
        tried in prop::collection::vec(attempts(), 1..120),
    ) {
        let mode = if is_chess960 { CastlingMode::Chess960 } else { CastlingMode::Standard };
        let base = Position::from_fen(STARTS[number], mode).expect("the test writes legal FENs");
        let start = Start {
            base,
            moves: Vec::new(),
            timing,
            illegal_moves: Sides::default(),
            plies_without_capture: None,
        };
        let mut game = Game::new(profile.clone(), &start).expect("there are no moves to refuse");
        let begun_as = game.outcome().cloned();
        let mut record: Vec<Entry> = Vec::new();
        let mut now_ms = 0u64;
        for attempt in &tried {
            now_ms = now_ms.saturating_add_signed(attempt.wait_ms);
            let now = Time::from_ms(now_ms).expect("the waits are short");
            record.extend(check_attempt(&mut game, attempt, now)?);
        }
        let mut replayed = Game::restore(profile, &start, begun_as).expect("as before");
        for entry in &record {
            replayed.apply(&entry.effects).expect("a record applies to its own game");
        }
        prop_assert_eq!(state(&game), state(&replayed));
    }
}
