//! What a position and its history mean for the game: ends that need no claim, claims, counts.

use referee_chess::{Color, Piece, Position, Square};

use crate::claim::{AvailableClaim, available_claims};
use crate::counts::{
    CaptureCount, FIFTY_MOVES, FIVEFOLD, SEVENTY_FIVE_MOVES, THREEFOLD, fifty_count, last_progress,
};
use crate::history::History;
use crate::mate::{CanMate, Purpose, Question, Tier, can_mate, examine, has_pawn_left};
use crate::outcome::{Evidence, Outcome, Termination};
use crate::profile::{DrawRule, FiftyReset, MateTest, Profile};

/// What a position and its history mean for the game.
#[derive(Clone, Debug)]
pub struct Adjudication {
    /// The end that needs no claim and no clock, or `None` where the game goes on.
    pub outcome: Option<Outcome>,
    /// The pieces that give check.
    pub checkers: Vec<(Square, Piece)>,
    /// The plies at which the position stood, oldest first; the last is now.
    pub repetition_plies: Vec<u32>,
    /// The number of half-moves since the last capture or pawn move.
    pub halfmove_clock: u32,
    /// The draws that the side to move can claim now: on the board first, then with a move.
    pub available_claims: Vec<AvailableClaim>,
    /// Whether White can still mate.
    pub white_can_mate: CanMate,
    /// Whether Black can still mate.
    pub black_can_mate: CanMate,
}

impl Adjudication {
    /// Judges the position on the board.
    #[must_use]
    pub(crate) fn of(history: &History, captures: CaptureCount, profile: &Profile) -> Adjudication {
        let position = history.position();
        let outcome = end_on_board(history, captures, profile);
        let available_claims = if outcome.is_some() {
            Vec::new()
        } else {
            available_claims(history, captures, profile)
        };
        Adjudication {
            outcome,
            checkers: pieces_on(position, position.checkers()),
            repetition_plies: history.repetition_plies(),
            halfmove_clock: history.halfmove_clock(),
            available_claims,
            white_can_mate: can_mate(position, Color::White, Tier::Quick),
            black_can_mate: can_mate(position, Color::Black, Tier::Quick),
        }
    }
}

/// Returns the end of the game that the position on the board and its history bring about without
/// a claim and without the clock, or `None` where the game goes on.
///
/// The order is that of the Laws: mate before all draws (5.1.1, 9.6.2), then stalemate, the dead
/// position and the counts, of which only the reported reason depends on the order. While an
/// illegal position stands on the board nothing ends by it (A.5.4).
pub(crate) fn end_on_board(
    history: &History,
    captures: CaptureCount,
    profile: &Profile,
) -> Option<Outcome> {
    let position = history.position();
    if is_irregular(position) {
        return None;
    }
    if !position.has_legal_moves() {
        return Some(end_without_moves(position));
    }
    end_by_draw(history, captures, profile)
}

/// Returns the end that the moves of a record bring about without a claim and without the clock, or
/// `None` where the game goes on. A [`Game`](crate::Game) answers that for a game in progress.
///
/// The half-moves that the first position counts are without a capture.
///
/// ```
/// use referee_chess::Position;
/// use referee_laws::{History, Profile, end_by_itself};
///
/// let mut history = History::new(Position::startpos());
/// for san in ["f3", "e5", "g4", "Qh4#"] {
///     assert_eq!(end_by_itself(&history, &Profile::fide_standard()), None);
///     history.play(history.read(san)?)?;
/// }
/// let outcome = end_by_itself(&history, &Profile::fide_standard());
/// assert!(outcome.is_some_and(|outcome| outcome.text == "Black wins by checkmate."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn end_by_itself(history: &History, profile: &Profile) -> Option<Outcome> {
    end_at_start(history, CaptureCount::at_start(history.base()), profile)
}

/// Returns the end of a game that begins, as [`end_on_board`] does.
///
/// A game is drawn when a position in which neither side can mate has arisen (5.2.2). One that the
/// game is set up with has not: such a game ends with its first move, or by a flag or a
/// resignation, which then draw.
pub(crate) fn end_at_start(
    history: &History,
    captures: CaptureCount,
    profile: &Profile,
) -> Option<Outcome> {
    let outcome = end_on_board(history, captures, profile)?;
    let is_dead = matches!(
        outcome.termination,
        Termination::DeadPosition | Termination::MaterialDraw
    );
    (history.ply() > 0 || !is_dead).then_some(outcome)
}

/// Whether the side that is not to move stands in check, or a pawn on its last rank, as only an
/// illegal move can bring about.
pub(crate) fn is_irregular(position: &Position) -> bool {
    let king = position.king(!position.turn());
    position.attackers(king, position.turn()).any() || has_pawn_left(position)
}

fn end_without_moves(position: &Position) -> Outcome {
    if position.is_check() {
        Outcome::checkmate(!position.turn(), check_evidence(position))
    } else {
        Outcome::draw(Termination::Stalemate, "5.2.1")
    }
}

/// The ends of [`end_on_board`] other than mate and stalemate.
pub(crate) fn end_by_draw(
    history: &History,
    captures: CaptureCount,
    profile: &Profile,
) -> Option<Outcome> {
    let parameters = &profile.parameters;
    if let Some(outcome) = end_by_dead_position(history, profile, Tier::Quick) {
        return Some(outcome);
    }
    // Fewer than four half-moves cannot bring a position back, nor fifty moves be completed.
    if history.halfmove_clock() >= 4
        && let Some(outcome) = end_by_repetition(history, profile)
    {
        return Some(outcome);
    }
    if history.halfmove_clock() >= SEVENTY_FIVE_MOVES && parameters.seventy_five {
        return Some(by_count(history, Termination::SeventyFive, "9.6.2"));
    }
    let count = fifty_count(history, captures, profile);
    if count >= FIFTY_MOVES && parameters.fifty == DrawRule::Automatic {
        let mut draw = Outcome::draw(Termination::FiftyAutomatic, "9.3.2");
        if parameters.fifty_reset == FiftyReset::Capture {
            let text = "Fifty moves of each player are completed without a capture, and the game \
                        is drawn.";
            draw = draw.saying(text.into());
        }
        return Some(draw.with(Evidence::MoveCount {
            halfmove_clock: count,
            last_reset_ply: last_progress(history, profile),
        }));
    }
    None
}

fn end_by_repetition(history: &History, profile: &Profile) -> Option<Outcome> {
    let parameters = &profile.parameters;
    let repetitions = history.repetitions();
    if repetitions < THREEFOLD {
        return None;
    }
    if parameters.perpetual_check_draw {
        // Perpetual check outranks the automatic threefold.
        let first = history.occurrence_before(THREEFOLD as usize - 1);
        let checks = first.and_then(|first| history.checks_between(first, history.ply()));
        if checks.is_some() {
            let draw = by_repetition(history, Termination::PerpetualCheck, "9.2.2");
            return Some(draw);
        }
    }
    if repetitions >= FIVEFOLD && parameters.fivefold {
        return Some(by_repetition(history, Termination::Fivefold, "9.6.1"));
    }
    (parameters.threefold == DrawRule::Automatic)
        .then(|| by_repetition(history, Termination::ThreefoldAutomatic, "9.2.2"))
}

/// Returns the draw of a position in which neither side can mate (5.2.2).
pub(crate) fn end_by_dead_position(
    history: &History,
    profile: &Profile,
    tier: Tier,
) -> Option<Outcome> {
    if profile.parameters.dead_position_claim {
        return None;
    }
    let test = profile.parameters.dead_position;
    let question = Question {
        test,
        purpose: Purpose::DeadPosition,
        tier,
    };
    let white = examine(question, history, Color::White, profile).no_mate()?;
    let black = examine(question, history, Color::Black, profile).no_mate()?;
    let termination = match test {
        MateTest::Full => Termination::DeadPosition,
        _ => Termination::MaterialDraw,
    };
    let draw = Outcome::draw(termination, "5.2.2");
    Some(
        draw.with(Evidence::NoMate(white))
            .with(Evidence::NoMate(black)),
    )
}

fn by_repetition(history: &History, termination: Termination, article: &'static str) -> Outcome {
    let evidence = Evidence::Repetition(history.repetition_plies());
    Outcome::draw(termination, article)
        .citing("9.2.3")
        .with(evidence)
}

fn by_count(history: &History, termination: Termination, article: &'static str) -> Outcome {
    Outcome::draw(termination, article).with(count_evidence(history))
}

pub(crate) fn count_evidence(history: &History) -> Evidence {
    Evidence::MoveCount {
        halfmove_clock: history.halfmove_clock(),
        last_reset_ply: history.last_reset_ply(),
    }
}

fn check_evidence(position: &Position) -> Evidence {
    Evidence::Check {
        king: position.king(position.turn()),
        attackers: pieces_on(position, position.checkers()),
    }
}

fn pieces_on(position: &Position, squares: referee_chess::Bitboard) -> Vec<(Square, Piece)> {
    squares
        .into_iter()
        .filter_map(|square| Some((square, position.board().piece_at(square)?)))
        .collect()
}
