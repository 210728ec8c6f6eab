//! The request ids of imported actions: they tell an import from play, and what the text showed of
//! the time of a move.

use referee_api::v1;

/// What they begin with. No caller can send an id with blanks.
const IMPORTED: &str = "import ";
/// Stands in the id of a move whose text shows how long the move took.
const SHOWS_ELAPSED: &str = " emt";
/// Stands there, too, where the text shows the clock after the move as well.
const SHOWS_CLOCK: &str = " clk";

/// Returns the id of a move that was imported, by its number from 0.
pub(super) fn move_id(index: usize, shows_clock: bool, shows_elapsed: bool) -> String {
    match (shows_clock, shows_elapsed) {
        // The time is told for the sake of the clock, or not at all.
        (_, false) => format!("{IMPORTED}{index}"),
        (false, true) => format!("{IMPORTED}{index}{SHOWS_ELAPSED}"),
        (true, true) => format!("{IMPORTED}{index}{SHOWS_CLOCK}{SHOWS_ELAPSED}"),
    }
}

/// Returns the id of the decision that sets the clock after a move.
pub(super) fn clock_id(index: usize) -> String {
    format!("{IMPORTED}{index} clock")
}

/// Returns the id of what ends the game.
pub(super) fn end_id() -> String {
    format!("{IMPORTED}result")
}

/// Returns whether an event came of an import, so that its time is not that of the play.
pub(super) fn is_imported(event: &v1::GameEvent) -> bool {
    let action = event.action.as_ref();
    action.is_some_and(|action| action.request_id.starts_with(IMPORTED))
}

/// Returns whether an event is an imported move whose text shows how long it took.
pub(super) fn shows_elapsed(event: &v1::GameEvent) -> bool {
    let action = event.action.as_ref();
    is_imported(event) && action.is_some_and(|action| action.request_id.ends_with(SHOWS_ELAPSED))
}

/// Returns whether a move shows what the clock says after it: not where only the time that the move
/// took was imported, from which the clock is reckoned.
pub(super) fn shows_clock(event: &v1::GameEvent) -> bool {
    let action = event.action.as_ref();
    !shows_elapsed(event) || action.is_some_and(|action| action.request_id.contains(SHOWS_CLOCK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_tell_what_was_shown() {
        let event = |request_id| v1::GameEvent {
            action: Some(v1::Action {
                request_id,
                ..v1::Action::default()
            }),
            ..v1::GameEvent::default()
        };
        for (clock, elapsed) in [(true, false), (false, true), (true, true)] {
            let event = event(move_id(7, clock, elapsed));
            assert!(is_imported(&event));
            assert_eq!(
                (shows_clock(&event), shows_elapsed(&event)),
                (clock, elapsed)
            );
        }
        for id in [clock_id(7), end_id()] {
            let event = event(id);
            assert!(is_imported(&event) && !shows_elapsed(&event));
        }
        assert!(!is_imported(&event("import-7".to_owned())));
        assert!(!is_imported(&v1::GameEvent::default()));
    }
}
