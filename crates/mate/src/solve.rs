//! The two tiers: which argument is tried when.

use referee_chess::{Bitboard, Color, File, Move, Position, Role};

use crate::attempts::{Pruner, Solver};
use crate::captures::analyze;
use crate::draws::AutomaticDraws;
use crate::guide::PLANS;
use crate::limits::{
    DRAWS_ATTEMPT_NODES, FORCED_PLIES, PROBE_MOVES, PROBE_NODES, PROBE_PLIES, QUICK_CAPTURES,
    QUICK_STEPS,
};
use crate::material;
use crate::search::{Cut, Found, Search};
use crate::shorten::shorten;
use crate::verdict::{Budget, CanMate, Proof};

/// Returns whether a side can mate by any legal series of moves, with a line or a proof.
///
/// The position is read for itself: draws by claim, by fivefold repetition or by seventy-five
/// moves do not end the series ([`can_mate_before_draws`] minds the latter two). `cancel` is asked
/// now and then; once it returns `true` the answer is `Unknown`.
///
/// ```
/// use referee_chess::{CastlingMode, Color, Position};
/// use referee_mate::{Budget, CanMate, Proof, can_mate};
///
/// let fen = "4k3/8/8/p1p1p1p1/P1P1P1P1/8/8/3BK3 w - - 0 1";
/// let position = Position::from_fen(fen, CastlingMode::Standard).expect("the FEN is right");
/// let answer = can_mate(&position, Color::White, Budget::FULL, &|| false);
/// assert_eq!(answer, CanMate::No(Proof::BlockedStructure));
/// ```
#[must_use]
pub fn can_mate(
    position: &Position,
    winner: Color,
    budget: Budget,
    cancel: &dyn Fn() -> bool,
) -> CanMate {
    decide(position, winner, budget, cancel).0
}

/// Returns the answer, and the positions that it cost.
fn decide(
    position: &Position,
    winner: Color,
    budget: Budget,
    cancel: &dyn Fn() -> bool,
) -> (CanMate, u64) {
    let (start, prefix) = match begin(position, winner) {
        Begin::Answer(answer) => return (answer, 1),
        Begin::Go(start, prefix) => (start, prefix),
    };
    let mut solver = Solver::new(winner, budget, cancel);
    let answer = solver.solve(&start);
    let spent = solver.spent();
    match answer {
        CanMate::Yes(line) => {
            let line = shorten(&start, line);
            (CanMate::Yes([prefix, line].concat()), spent)
        }
        other => (other, spent),
    }
}

/// Returns whether a side can mate before the game is drawn without a claim, by seventy-five
/// moves (FIDE Laws 9.6.2) or fivefold repetition (9.6.1). A mate takes precedence over the
/// seventy-five moves that it completes.
///
/// Where the side could mate but for these draws, the answer is `No` with [`Proof::MoveCount`].
/// The game may be drawn already: then the answer is that, too, unless the mate is on the board.
///
/// ```
/// use referee_chess::{CastlingMode, Color, Position};
/// use referee_mate::{AutomaticDraws, Budget, CanMate, Proof, can_mate_before_draws};
///
/// let ask = |fen| {
///     let position = Position::from_fen(fen, CastlingMode::Standard).expect("the FEN is right");
///     let draws = AutomaticDraws { history: &[] };
///     can_mate_before_draws(&position, Color::White, &draws, Budget::FULL, &|| false)
/// };
/// // The queen mates on c8 with the last move that is left.
/// assert!(ask("k7/8/1K6/8/8/8/8/2Q5 w - - 149 120").is_yes());
/// // One move later it is too late.
/// let answer = ask("1k6/8/1K6/8/8/8/8/2Q5 b - - 149 120");
/// assert_eq!(answer, CanMate::No(Proof::MoveCount));
/// ```
#[must_use]
pub fn can_mate_before_draws(
    position: &Position,
    winner: Color,
    draws: &AutomaticDraws<'_>,
    budget: Budget,
    cancel: &dyn Fn() -> bool,
) -> CanMate {
    let (plain, mut spent) = decide(position, winner, budget, cancel);
    match &plain {
        CanMate::Yes(line) if draws.end_before_mate(position, line) => {}
        _ => return plain,
    }
    for attempt in 0..=PLANS.len() {
        let is_last = attempt == PLANS.len();
        let left = budget.nodes().saturating_sub(spent);
        let room = if is_last {
            left
        } else {
            left.min(DRAWS_ATTEMPT_NODES)
        };
        let mut pruner = Pruner::new(winner);
        let mut prune = |position: &Position, is_capture: bool| {
            if is_last {
                pruner.cut(position, is_capture)
            } else {
                Cut::NONE
            }
        };
        let search = Search::new(winner, attempt, room, cancel, &mut prune, Some(draws));
        let mut search = search.within(budget.bytes());
        if is_last {
            search = search.by_clock();
        }
        match search.run(position) {
            Found::Mate(line) => return CanMate::Yes(line),
            Found::Exhausted => return CanMate::No(Proof::MoveCount),
            Found::Interrupted => spent += search.spent(),
        }
    }
    CanMate::Unknown { nodes: spent }
}

/// Returns what can be said about a position within microseconds: `No` with its proof, `Yes` where
/// the mate is on the board, and `Unknown` for nearly all others. It never says `Yes` for a guess,
/// and it visits at most [`QUICK_NODES`](crate::limits::QUICK_NODES) positions.
///
/// ```
/// use referee_chess::{Color, Position};
///
/// let answer = referee_mate::quick(&Position::startpos(), Color::White);
/// assert!(!answer.is_no());
/// ```
#[must_use]
pub fn quick(position: &Position, winner: Color) -> CanMate {
    let start = match begin(position, winner) {
        Begin::Answer(answer) => return answer,
        Begin::Go(start, _) => start,
    };
    if looks_blocked(&start, winner)
        && analyze(&start, winner, QUICK_CAPTURES, QUICK_STEPS).is_unwinnable
    {
        return CanMate::No(Proof::BlockedStructure);
    }
    CanMate::Unknown { nodes: 1 }
}

/// Returns whether the quick tier proves that neither side can mate: a dead position (FIDE Laws
/// 5.2.2). `false` says nothing; [`can_mate`] decides.
///
/// A position that is mate or stalemate is the end of the game, and not called dead.
///
/// ```
/// use referee_chess::{CastlingMode, Position};
///
/// let read = |fen| Position::from_fen(fen, CastlingMode::Standard).expect("the FEN is right");
/// assert!(referee_mate::is_dead_quick(&read("8/8/8/4k3/8/8/3B4/4K3 w - - 0 1")));
/// assert!(!referee_mate::is_dead_quick(&read("8/8/8/4k3/8/8/3R4/4K3 w - - 0 1")));
/// ```
#[must_use]
pub fn is_dead_quick(position: &Position) -> bool {
    let mut proofs = Color::ALL.map(|color| quick(position, color)).into_iter();
    proofs.all(|answer| answer.is_no()) && position.has_legal_moves()
}

/// What the first look finds.
enum Begin {
    Answer(CanMate),
    /// The position after the forced moves, and these.
    Go(Position, Vec<Move>),
}

/// Applies what costs next to nothing: the end of the game, the material, forced moves, and lines
/// that end within a few plies.
fn begin(position: &Position, winner: Color) -> Begin {
    let mut at = position.clone();
    let mut prefix = Vec::new();
    let mut seen: Vec<Position> = Vec::new();
    loop {
        let moves = at.legal_moves();
        let is_start = prefix.is_empty();
        let no = |proof| {
            Begin::Answer(CanMate::No(if is_start {
                proof
            } else {
                Proof::ForcedLine
            }))
        };
        if moves.is_empty() {
            return if at.is_check() && at.turn() != winner {
                Begin::Answer(CanMate::Yes(prefix))
            } else {
                no(Proof::GameOver)
            };
        }
        if material::is_hopeless(at.board(), winner) {
            return no(Proof::Material);
        }
        if moves.len() > 1 || prefix.len() as u32 >= FORCED_PLIES {
            let mut nodes = PROBE_NODES;
            if moves.len() <= PROBE_MOVES && ends_soon(&at, &moves, winner, PROBE_PLIES, &mut nodes)
            {
                return no(Proof::ForcedLine);
            }
            return Begin::Go(at, prefix);
        }
        if seen.contains(&at) {
            return Begin::Answer(CanMate::No(Proof::ForcedLine));
        }
        seen.push(at.clone());
        prefix.push(moves[0]);
        at.play_unchecked(moves[0]);
    }
}

/// Returns whether all lines end within some plies without a mate of the loser. The first line
/// that does not settles it, so the price is that of one line for nearly all positions.
fn ends_soon(
    position: &Position,
    moves: &[Move],
    winner: Color,
    plies: u32,
    nodes: &mut u32,
) -> bool {
    moves.iter().all(|&mv| {
        if *nodes == 0 {
            return false;
        }
        *nodes -= 1;
        let after = position.after_unchecked(mv);
        if plies == 1 {
            if material::is_hopeless(after.board(), winner) {
                return !after.is_checkmate() || after.turn() == winner;
            }
            return !after.has_legal_moves() && (!after.is_check() || after.turn() == winner);
        }
        let replies = after.legal_moves();
        if replies.is_empty() {
            return !after.is_check() || after.turn() == winner;
        }
        material::is_hopeless(after.board(), winner)
            || ends_soon(&after, &replies, winner, plies - 1, nodes)
    })
}

/// Pairs of pawns that need not bar each other where most do.
const OPEN_PAIRS: u32 = 2;

/// Returns whether the pawns bar each other in a way that makes it worth asking where the men can
/// ever go: no pawn has its file for itself.
fn looks_blocked(position: &Position, winner: Color) -> bool {
    let board = position.board();
    let pawns = board.role(Role::Pawn);
    let blocked =
        board.pieces(Color::White, Role::Pawn).up() & board.pieces(Color::Black, Role::Pawn);
    if blocked.is_empty() {
        return false;
    }
    let mut files = (0..8).filter_map(File::new).map(Bitboard::file);
    let is_shared = files.all(|file| {
        let own = pawns & file;
        own.is_empty()
            || ((own & board.color(Color::White)).any() && (own & board.color(Color::Black)).any())
    });
    let heavy = board.role(Role::Queen) | board.role(Role::Rook);
    let is_closed = 2 * (blocked.count() + OPEN_PAIRS) >= pawns.count();
    is_shared && is_closed && (blocked.more_than_one() || (heavy & board.color(winner)).is_empty())
}
