//! Questions of who can mate that a ruling could not wait for, and their answers.

use referee_chess::{Color, Position, PositionKey, UciMove};
use referee_mate::{AutomaticDraws, Budget};

use crate::game::Game;
use crate::history::History;
use crate::judge::can_be_dead;
use crate::mate::{
    CanMate, MateFinding, SOLVER_BYTES_MAX, Tier, can_mate, has_pawn_left, translate,
};
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
    /// Returns whether a question of who can mate is open since the last entry, which
    /// [`mate_question`](Game::mate_question) puts and whose answer may change the game.
    ///
    /// It costs microseconds, and is `false` after most moves: where a move can be undone, all that
    /// can be asked has been asked of the position before, and where it cannot, a first look
    /// mostly finds a mate.
    ///
    /// ```
    /// use referee_laws::{Action, Color, Game, Profile, Start, Time};
    ///
    /// let mut game = Game::new(Profile::fide_standard(), &Start::default())?;
    /// let judgment = game.judge(&Action::play(Color::White, "Nf3"), Time::ORIGIN);
    /// game.apply(&judgment.entry.expect("the move is legal").effects)?;
    /// assert!(!game.asks_about_mate());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn asks_about_mate(&self) -> bool {
        if self.outcome().is_some() {
            return self.provisional_winner().is_some();
        }
        let (ply, position) = (self.history().ply(), self.position());
        self.is_open_at(ply)
            && can_be_dead(position)
            && !self.is_asked_before(self.history())
            && !shows_mate(position)
    }

    /// Returns the question of who can mate whose answer could change the game; `None` where no
    /// answer could, or a first look shows at once that a side can mate.
    ///
    /// While the game goes on it is that of the first position from which on every move could be
    /// undone: all positions since are dead if that one is, and the game then ended there.
    ///
    /// ```
    /// use referee_chess::{CastlingMode, Position};
    /// use referee_laws::{Action, CanMate, Color, Game, Profile, Start, Time};
    ///
    /// // The pawns will block each other, and the bishop cannot attack any.
    /// let fen = "4k3/8/8/p1p1p1p1/P1P1P1P1/8/3P4/3BK3 w - - 0 1";
    /// let base = Position::from_fen(fen, CastlingMode::Standard).expect("the FEN is right");
    /// let start = Start { base, ..Start::default() };
    /// let mut game = Game::new(Profile::fide_standard(), &start)?;
    /// // This position has not arisen by a move.
    /// assert!(game.mate_question().is_none());
    /// let judgment = game.judge(&Action::play(Color::White, "d3"), Time::ORIGIN);
    /// game.apply(&judgment.entry.expect("the move is legal").effects)?;
    /// if let Some(question) = game.mate_question() {
    ///     assert_eq!(question.ply, 1);
    ///     let found = question.answer(100_000, &|| false).expect("it can be decided");
    ///     assert!(matches!(found.white, CanMate::No(_)));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn mate_question(&self) -> Option<MateQuestion> {
        let history = self.history();
        if self.outcome().is_some() {
            let winner = self.provisional_winner()?;
            let before_draws = self.profile().parameters.mate_before_automatic_draws;
            return Some(MateQuestion {
                ply: history.ply(),
                position: history.position().clone(),
                winner: Some(winner),
                repeatable: before_draws.then(|| history.repeatable_keys()),
            });
        }
        let is_open = self.is_open_at(history.ply()) && can_be_dead(history.position());
        if !is_open || shows_mate(history.position()) {
            return None;
        }
        let mut at = history.clone();
        while self.is_asked_before(&at) {
            at.reinstate(at.ply() - 1);
        }
        Some(MateQuestion {
            ply: at.ply(),
            position: at.position().clone(),
            winner: None,
            repeatable: None,
        })
    }

    /// Who has won for the time being, where the result rests on whether that side can mate.
    fn provisional_winner(&self) -> Option<Color> {
        let outcome = self.outcome().filter(|outcome| outcome.provisional)?;
        match outcome.result {
            GameResult::Win(winner) => Some(winner),
            _ => None,
        }
    }

    /// Whether the position at the end of a history is dead exactly if the one before is, and the
    /// game could have ended with that one.
    fn is_asked_before(&self, history: &History) -> bool {
        let ply = history.ply();
        ply > 0 && self.is_open_at(ply - 1) && can_be_undone(history)
    }
}

/// The positions that the first look visits for each side.
const FIRST_LOOK_NODES: u64 = 100;
/// The moves of the opponent that are tried for a way back to the position before.
const WAYS_BACK: usize = 8;

/// Whether a first look finds a mate of either side, so that the position is not dead.
fn shows_mate(position: &Position) -> bool {
    let look = Tier::Full(Budget::of(FIRST_LOOK_NODES));
    [position.turn(), !position.turn()]
        .into_iter()
        .any(|side| matches!(can_mate(position, side, look), CanMate::Yes(_)))
}

/// Whether legal moves lead back to the position before the last move: the opponent makes a move,
/// the last move is undone, and so is that of the opponent. `false` where such a way is not found
/// soon.
fn can_be_undone(history: &History) -> bool {
    let (ply, position) = (history.ply(), history.position());
    let (Some(last), Some(before)) = (history.move_to(ply), history.key_of(ply - 1)) else {
        return false;
    };
    if history.last_reset_ply() == ply {
        return false;
    }
    let after_undoing = |position: &Position, mv: UciMove| {
        let back = UciMove {
            from: mv.to,
            to: mv.from,
            promotion: None,
        };
        let back = position.find_uci(back)?;
        Some(position.after_unchecked(back))
    };
    let replies = position.legal_moves();
    let there = (&replies).into_iter().map(|reply| {
        let there = position.after_unchecked(reply);
        (position.uci(reply), there)
    });
    let quiet = there.filter(|(_, there)| there.halfmove_clock() > 0);
    quiet.take(WAYS_BACK).any(|(reply, there)| {
        let back = after_undoing(&there, last).and_then(|it| after_undoing(&it, reply));
        back.is_some_and(|back| back.exact_key() == before)
    })
}

/// Returns whether a side can mate in the position of a game, with a budget in positions; the
/// history is asked only where the profile says that a mate must come before the automatic draws.
///
/// `cancel` is asked now and then; once it returns `true` the answer is `Unknown`.
#[must_use]
pub fn can_mate_by(game: &Game, side: Color, nodes: u64, cancel: &dyn Fn() -> bool) -> CanMate {
    let before_draws = game.profile().parameters.mate_before_automatic_draws;
    let repeatable = before_draws.then(|| game.history().repeatable_keys());
    solve(game.position(), side, repeatable.as_deref(), nodes, cancel)
}

/// Asks the whole of the solver, with the positions that can occur again where a mate must come
/// before the automatic draws.
fn solve(
    position: &Position,
    side: Color,
    repeatable: Option<&[PositionKey]>,
    nodes: u64,
    cancel: &dyn Fn() -> bool,
) -> CanMate {
    if has_pawn_left(position) {
        return CanMate::Unknown;
    }
    let budget = Budget::of(nodes).within(SOLVER_BYTES_MAX);
    let answer = match repeatable {
        Some(history) => {
            let draws = AutomaticDraws { history };
            referee_mate::can_mate_before_draws(position, side, &draws, budget, cancel)
        }
        None => referee_mate::can_mate(position, side, budget, cancel),
    };
    translate(position, side, answer)
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
        let repeatable = self.repeatable.as_deref();
        solve(&self.position, side, repeatable, nodes, cancel)
    }
}
