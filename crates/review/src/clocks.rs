//! The clocks of a recorded game: from what they show to the time that each move took.

use core::time::Duration;

use referee_chess::{Color, UciMove};
use referee_laws::{Bonus, CLOCK_MS_MAX, ClockSetup, Clocks, Time, TimeControl, TimeControlError};
use referee_pgn::{Game, Note, Tags};

/// A move with the time that it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedMove {
    /// The side that made it.
    pub side: Color,
    /// The move.
    pub uci: UciMove,
    /// The time that it took in milliseconds, 0 to [`CLOCK_MS_MAX`]; 0 where the text tells none.
    pub elapsed_ms: u64,
    /// What the clock of the side has to be set to after the move, in milliseconds, where no time
    /// that the move can have taken makes it show what the text tells: servers give time back for
    /// the delays of the network, and players give each other time.
    pub set_ms: Option<u64>,
}

/// Reads the time control of the tags; `None` where they tell none. Whether a bonus comes before
/// the first move, which the tag does not say, is told by the first clock.
///
/// # Errors
///
/// Where the tag tells a time control that cannot be read, as one in words.
///
/// ```
/// use referee_review::{read_control, read_one};
///
/// let read = |tag: &str| {
///     let text = format!("[TimeControl \"{tag}\"]\n\n1. e4 *");
///     read_one(text.as_bytes()).map(|reading| read_control(&reading.game))
/// };
/// assert!(read("180+2")?.is_ok_and(|control| control.is_some()));
/// assert_eq!(read("?")?, Ok(None));
/// assert!(read("75 min")?.is_err());
/// # Ok::<(), referee_review::ReadOneError>(())
/// ```
pub fn read_control(game: &Game) -> Result<Option<TimeControl>, TimeControlError> {
    let text = game.tags.get(Tags::TIME_CONTROL).unwrap_or("?");
    let control = match TimeControl::read_pgn(text) {
        Err(TimeControlError::Unknown) | Ok(None) => return Ok(None),
        Ok(Some(control)) => control,
        Err(error) => return Err(error),
    };
    let first = control.period(0);
    let shown = game.notes.get(0).clock.map(|clock| clock.as_millis());
    let most = u128::from(first.time_ms + first.bonus.ms());
    Ok(Some(control.with_increment_at_start(
        shown.is_some_and(|shown| shown > most),
    )))
}

/// Finds the time that each move took, so that under a time control the clock of the mover shows
/// what the text tells after it.
///
/// A move that a record has was made in time, whatever the control lets one reckon: programs put
/// the time of a period on the clock at another move, give each move its own, or write a delay as
/// an increment. So no move takes more than the clock had, and the clock is set to what is shown.
///
/// `is_over` says that the last move ended the game on the board, so that it brings no bonus.
///
/// ```
/// use referee_review::{read_control, read_one, time_moves};
///
/// let text = b"[TimeControl \"180+2\"]\n\n1. e4 {[%clk 0:02:58.5]} e5 {[%clk 0:03:10]} *";
/// let game = read_one(text)?.game;
/// let moves = time_moves(&game, read_control(&game).ok().flatten().as_ref(), false);
/// let told: Vec<_> = moves.iter().map(|mv| (mv.elapsed_ms, mv.set_ms)).collect();
/// assert_eq!(told, [(3_500, None), (0, Some(190_000))]);
/// # Ok::<(), referee_review::ReadOneError>(())
/// ```
#[must_use]
pub fn time_moves(game: &Game, control: Option<&TimeControl>, is_over: bool) -> Vec<TimedMove> {
    let mut spent = Spent::new(control);
    let last = game.moves.len().checked_sub(1).filter(|_| is_over);
    let moves = game.positions().enumerate().map(|(index, (before, mv))| {
        let side = before.turn();
        let note = game.notes.get(index);
        let (elapsed_ms, set_ms) = spent.by(side, note, last == Some(index));
        TimedMove {
            side,
            uci: before.uci(mv),
            elapsed_ms,
            set_ms,
        }
    });
    moves.collect()
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The time that a move took, from what the clock would show if it had taken none, and what it
/// shows.
fn reckon(bonus: Bonus, unspent_ms: Option<u64>, left_ms: u64) -> u64 {
    let unspent_ms = unspent_ms.unwrap_or(left_ms);
    let unsaved_ms = match bonus {
        // Of these no time is saved, so what was used of them cannot be told.
        Bonus::Delay(ms) | Bonus::Bronstein(ms) if unspent_ms > left_ms => ms,
        _ => 0,
    };
    unspent_ms.saturating_sub(left_ms) + unsaved_ms
}

/// The time that moves took, from what the clocks showed after them.
struct Spent {
    /// The clocks as the moves leave them; `None` where the game is untimed.
    clocks: Option<Clocks>,
}

impl Spent {
    fn new(control: Option<&TimeControl>) -> Spent {
        let both = control.cloned();
        let clocks = Clocks::new(both.clone(), both, ClockSetup::default()).ok();
        let clocks = clocks.filter(|_| control.is_some());
        Spent {
            clocks: clocks.map(|clocks| clocks.start(Color::White, Time::ORIGIN).clocks),
        }
    }

    /// Returns what a move took, and what the clock has to be set to after it.
    fn by(&mut self, side: Color, note: &Note, is_end: bool) -> (u64, Option<u64>) {
        let (clock_ms, elapsed_ms) = (note.clock.map(ms), note.elapsed.map(ms));
        let Some(clocks) = &self.clocks else {
            return (elapsed_ms.unwrap_or(0).min(CLOCK_MS_MAX), None);
        };
        let since = clocks.since.unwrap_or_default();
        let after = |ms: u64| {
            let at = since.checked_add_ms(ms).unwrap_or(since);
            clocks.complete_move(side, at).clocks
        };
        let before_ms = clocks.side(side).left_ms.unwrap_or_default();
        let unspent_ms = after(0).side(side).left_ms;
        let took = match clock_ms {
            None => elapsed_ms.unwrap_or(0),
            // A move that ends the game brings no bonus.
            Some(left_ms) if is_end => before_ms.saturating_sub(left_ms),
            Some(left_ms) => reckon(clocks.side(side).bonus(), unspent_ms, left_ms),
        };
        let deadline = clocks.deadline().unwrap_or(since);
        let most = deadline.since(since);
        let took = match clock_ms {
            // Nothing was put on the clock, or what was put on it hides what the move took.
            Some(left_ms) if took > most => before_ms.saturating_sub(left_ms),
            _ => took.min(most),
        };
        let mut clocks = after(took);
        let shown_ms = clocks.side(side).left_ms;
        let set_ms = clock_ms.filter(|&ms| !is_end && Some(ms) != shown_ms);
        if let Some(left_ms) = set_ms {
            let now = clocks.since.unwrap_or_default();
            clocks = clocks.set(side, left_ms, now).clocks;
        }
        self.clocks = Some(clocks);
        (took, set_ms)
    }
}
