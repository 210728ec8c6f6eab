//! The draws that end a game without a claim, for profiles that count them (FIDE Laws 9.6).

use referee_chess::{Move, Position, PositionKey};

use crate::limits::{AUTOMATIC_DRAW_APPEARANCES, AUTOMATIC_DRAW_HALFMOVES};

/// What the game so far means for the draws without a claim.
///
/// ```
/// use referee_chess::{CastlingMode, Color, Position};
/// use referee_mate::{AutomaticDraws, Budget, CanMate, Proof, can_mate_before_draws};
///
/// let fen = "k7/8/1K6/8/8/8/8/2Q5 w - - 8 90";
/// let position = Position::from_fen(fen, CastlingMode::Standard).expect("the FEN is right");
/// let ask = |history: &[_]| {
///     let draws = AutomaticDraws { history };
///     can_mate_before_draws(&position, Color::White, &draws, Budget::FULL, &|| false)
/// };
/// assert!(ask(&[position.exact_key()]).is_yes());
/// // The position is there for the fifth time: the game has ended.
/// let answer = ask(&[position.exact_key(); 5]);
/// assert_eq!(answer, CanMate::No(Proof::MoveCount));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AutomaticDraws<'a> {
    /// The keys of all positions of the game up to the one asked about, that one included; empty
    /// where the game is not known.
    pub history: &'a [PositionKey],
}

impl AutomaticDraws<'_> {
    /// Returns whether the game is drawn when a position comes up that is not mate, reached by
    /// moves of the line for the first time.
    ///
    /// A shortest line visits no position twice, so only earlier appearances count.
    #[must_use]
    pub(crate) fn end_game(&self, position: &Position) -> bool {
        if position.halfmove_clock() >= AUTOMATIC_DRAW_HALFMOVES {
            return true;
        }
        let key = position.exact_key();
        let earlier = self.history.iter().filter(|&&other| other == key).count();
        earlier as u32 + 1 >= AUTOMATIC_DRAW_APPEARANCES
    }

    /// Returns whether the game is drawn before a line ends in its mate.
    pub(crate) fn end_before_mate(&self, start: &Position, line: &[Move]) -> bool {
        let mut at = start.clone();
        let mut is_first = true;
        line.iter().any(|&mv| {
            let is_drawn = if is_first {
                is_drawn_now(&at, self.history)
            } else {
                self.end_game(&at)
            };
            is_first = false;
            at.play_unchecked(mv);
            is_drawn
        })
    }
}

/// Returns whether the game is drawn already in the position asked about.
pub(crate) fn is_drawn_now(position: &Position, history: &[PositionKey]) -> bool {
    let key = position.exact_key();
    let appearances = history.iter().filter(|&&other| other == key).count() as u32;
    position.halfmove_clock() >= AUTOMATIC_DRAW_HALFMOVES
        || appearances >= AUTOMATIC_DRAW_APPEARANCES
}
