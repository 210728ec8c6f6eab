//! Questions of who can mate that a ruling could not wait for, and their answers.

use referee_chess::{Color, Position, PositionKey};
use referee_mate::{AutomaticDraws, Budget};

use crate::game::Game;
use crate::mate::{CanMate, MateFinding, Tier, can_mate, translate};
use crate::outcome::GameResult;

/// A question of who can mate that may change what was ruled: whether a position that has arisen
/// is dead (5.2.2), or whether the winner of a provisional result can mate.
///
/// It holds all that its answer needs, so it can be answered elsewhere while the game goes on.
#[derive(Clone, Debug)]
pub struct MateQuestion {
    /// The ply of the position.
    pub ply: u32,
    /// The position asked about.
    pub position: Position,
    /// Who has won for the time being, where the result rests on this question.
    pub winner: Option<Color>,
    /// The positions that can occur again, where a mate must come before the automatic draws.
    repeatable: Option<Vec<PositionKey>>,
}

impl Game {
    /// Returns the question about the position on the board whose answer could change the game;
    /// `None` where no answer could, or a first look shows at once that a side can mate. It costs
    /// microseconds.
    ///
    /// ```
    /// use referee_chess::{CastlingMode, Position};
    /// use referee_laws::{Action, CanMate, Color, Game, Profile, Start, Time};
    ///
    /// // The rook's pawns will block each other, and the bishop is of the wrong color.
    /// let fen = "4k3/8/8/p1p1p1p1/P1P1P1P1/8/3P4/3BK3 w - - 0 1";
    /// let base = Position::from_fen(fen, CastlingMode::Standard).expect("the FEN is right");
    /// let start = Start { base, ..Start::default() };
    /// let mut game = Game::new(Profile::fide_standard(), &start)?;
    /// // The position has not arisen by a move.
    /// assert!(game.mate_question().is_none());
    /// let judgment = game.judge(&Action::play(Color::White, "d3"), Time::ORIGIN);
    /// game.apply(&judgment.entry.expect("the move is legal").effects)?;
    /// if let Some(question) = game.mate_question() {
    ///     let found = question.answer(100_000, &|| false).expect("it can be decided");
    ///     assert!(matches!(found.white, CanMate::No(_)));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn mate_question(&self) -> Option<MateQuestion> {
        let ply = self.history().ply();
        let position = self.position();
        let winner = match self.outcome() {
            None if !self.can_end_at(ply) || shows_mate(position) => return None,
            None => None,
            Some(outcome) => match outcome.result {
                GameResult::Win(winner) if outcome.provisional => Some(winner),
                _ => return None,
            },
        };
        let before_draws = self.profile().parameters.mate_before_automatic_draws;
        Some(MateQuestion {
            ply,
            position: position.clone(),
            winner,
            repeatable: (winner.is_some() && before_draws)
                .then(|| self.history().repeatable_keys()),
        })
    }
}

/// The positions that the first look visits for each side.
const FIRST_LOOK_NODES: u64 = 100;

/// Whether a first look finds a mate of either side: the game goes on then, and nothing needs to
/// be asked.
fn shows_mate(position: &Position) -> bool {
    let budget = Tier::Full(Budget::of(FIRST_LOOK_NODES));
    [position.turn(), !position.turn()]
        .into_iter()
        .any(|side| matches!(can_mate(position, side, budget), CanMate::Yes(_)))
}

impl MateQuestion {
    /// Returns what was found with a budget in positions for each side that is asked about; `None`
    /// where it changes nothing, as where a side can mate, or where it was not decided. `cancel` is
    /// asked now and then; once it returns `true` nothing more is decided.
    #[must_use]
    pub fn answer(&self, nodes: u64, cancel: &dyn Fn() -> bool) -> Option<MateFinding> {
        let finding = |white, black| MateFinding {
            ply: self.ply,
            white,
            black,
            nodes,
        };
        let ordered = |side, of_side, of_other| match side {
            Color::White => finding(of_side, of_other),
            Color::Black => finding(of_other, of_side),
        };
        if let Some(winner) = self.winner {
            let answer = self.ask(winner, nodes, cancel);
            return (answer != CanMate::Unknown).then(|| ordered(winner, answer, CanMate::Unknown));
        }
        // One side that can mate is enough for the game to go on.
        let cannot = |answer: &CanMate| matches!(answer, CanMate::No(_));
        let mover = self.position.turn();
        let of_mover = Some(self.ask(mover, nodes, cancel)).filter(cannot)?;
        let of_other = Some(self.ask(!mover, nodes, cancel)).filter(cannot)?;
        Some(ordered(mover, of_mover, of_other))
    }

    fn ask(&self, side: Color, nodes: u64, cancel: &dyn Fn() -> bool) -> CanMate {
        let (position, budget) = (&self.position, Budget::of(nodes));
        let answer = match &self.repeatable {
            Some(history) => {
                let draws = AutomaticDraws { history };
                referee_mate::can_mate_before_draws(position, side, &draws, budget, cancel)
            }
            None => referee_mate::can_mate(position, side, budget, cancel),
        };
        translate(position, side, answer)
    }
}
