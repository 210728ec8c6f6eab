//! The clocks of a recorded game: from what they show to the time that each move took.

use core::time::Duration;

use referee_chess::{Color, UciMove};
use referee_laws::{
    Bonus, CLOCK_MS_MAX, ClockSetup, ClockSetupError, Clocks, Time, TimeControl, TimeControlError,
};
use referee_pgn::{Game, Note, Tags};

/// A move with the time that it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedMove {
    /// The side that made it.
    pub side: Color,
    /// The move.
    pub uci: UciMove,
    /// The time that it took in milliseconds, 0 to [`CLOCK_MS_MAX`]; `None` where the text does not
    /// tell, so that no time is charged.
    pub elapsed_ms: Option<u64>,
    /// What the clock of the side has to be set to after the move, in milliseconds, where no time
    /// that the move can have taken makes it show what the text tells: servers give time back for
    /// the delays of the network, and players give each other time.
    pub set_ms: Option<u64>,
    /// Whether the text tells something of its time that has no place in a game: more than the
    /// clock had, or a clock after the end that it cannot have shown.
    pub is_left_out: bool,
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
/// Without a control the clock is set as well, and only the text itself tells what a move took.
///
/// `is_over` says that the last move ended the game on the board, so that it brings no bonus.
///
/// ```
/// use referee_review::{read_control, read_one, time_moves};
///
/// let text = b"[TimeControl \"180+2\"]\n\n1. e4 {[%clk 0:02:58.5]} e5 {[%clk 0:03:10]} *";
/// let game = read_one(text)?.game;
/// let moves = time_moves(&game, read_control(&game).ok().flatten().as_ref(), false)?;
/// let told: Vec<_> = moves.iter().map(|mv| (mv.elapsed_ms, mv.set_ms)).collect();
/// assert_eq!(told, [(Some(3_500), None), (Some(0), Some(190_000))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Where no clock can be set by the control, which none that was read is.
pub fn time_moves(
    game: &Game,
    control: Option<&TimeControl>,
    is_over: bool,
) -> Result<Vec<TimedMove>, ClockSetupError> {
    let mut spent = Spent::new(control)?;
    let last = game.moves.len().checked_sub(1).filter(|_| is_over);
    let moves = game.positions().enumerate().map(|(index, (before, mv))| {
        let side = before.turn();
        let note = game.notes.get(index);
        let uci = before.uci(mv);
        spent.by(side, uci, note, last == Some(index))
    });
    Ok(moves.collect())
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
    /// The clocks as the moves leave them.
    clocks: Clocks,
    /// Whether there is a time control to reckon with.
    is_timed: bool,
}

impl Spent {
    /// # Errors
    ///
    /// As [`Clocks::new`], which takes every control where nothing was set up.
    fn new(control: Option<&TimeControl>) -> Result<Spent, ClockSetupError> {
        let both = control.cloned();
        let clocks = Clocks::new(both.clone(), both, ClockSetup::default())?;
        Ok(Spent {
            clocks: clocks.start(Color::White, Time::ORIGIN).clocks,
            is_timed: control.is_some(),
        })
    }

    /// Returns a move with what it took, and what the clock has to be set to after it.
    fn by(&mut self, side: Color, uci: UciMove, note: &Note, is_end: bool) -> TimedMove {
        let (shown_ms, told_ms) = (note.clock.map(ms), note.elapsed.map(ms));
        let most_ms = self.most_ms(side);
        // What the text tells itself, as long as the clock had it.
        let elapsed_ms = told_ms.filter(|&ms| ms <= most_ms);
        let took_ms = match shown_ms {
            Some(shown_ms) if self.is_timed && (is_end || elapsed_ms.is_none()) => {
                Some(self.reckon(side, shown_ms, is_end).min(most_ms))
            }
            _ => elapsed_ms,
        };
        let spent_ms = took_ms.unwrap_or(0);
        let before_ms = self.clocks.side(side).left_ms;
        self.clocks = self.after(side, spent_ms);
        let left_ms = match before_ms {
            // A move that ends the game brings no bonus.
            Some(before_ms) if is_end => Some(before_ms.saturating_sub(spent_ms)),
            _ => self.clocks.side(side).left_ms,
        };
        let is_shown = shown_ms.is_none() || shown_ms == left_ms;
        let set_ms = shown_ms.filter(|_| !is_end && !is_shown);
        if let Some(left_ms) = set_ms {
            let now = self.clocks.since.unwrap_or_default();
            self.clocks = self.clocks.set(side, left_ms, now).clocks;
        }
        TimedMove {
            side,
            uci,
            elapsed_ms: took_ms,
            set_ms,
            is_left_out: told_ms != elapsed_ms || is_end && !is_shown,
        }
    }

    /// The most that a move can take; without a clock the most that can be told.
    fn most_ms(&self, side: Color) -> u64 {
        let clocks = &self.clocks;
        if clocks.side(side).left_ms.is_none() {
            return CLOCK_MS_MAX;
        }
        let since = clocks.since.unwrap_or_default();
        clocks
            .deadline()
            .map_or(0, |deadline| deadline.since(since))
    }

    /// The clocks after a move that took so long.
    fn after(&self, side: Color, ms: u64) -> Clocks {
        let since = self.clocks.since.unwrap_or_default();
        let at = since.checked_add_ms(ms).unwrap_or(since);
        self.clocks.complete_move(side, at).clocks
    }

    /// The time that a move took so that the clock shows what it shows.
    fn reckon(&self, side: Color, shown_ms: u64, is_end: bool) -> u64 {
        let before_ms = self.clocks.side(side).left_ms.unwrap_or_default();
        // A move that ends the game brings no bonus.
        if is_end {
            return before_ms.saturating_sub(shown_ms);
        }
        let unspent_ms = self.after(side, 0).side(side).left_ms;
        let took_ms = reckon(self.clocks.side(side).bonus(), unspent_ms, shown_ms);
        // Nothing was put on the clock, or what was put on it hides what the move took.
        match took_ms > self.most_ms(side) {
            true => before_ms.saturating_sub(shown_ms),
            false => took_ms,
        }
    }
}
