//! The words of the command line for the enums of the contract, each in one table that is read and
//! written by.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use referee_api::v1;

/// Words and what they stand for.
type Table<T> = &'static [(&'static str, T)];

/// Reads one of the words of a table; completions and help know them.
fn reader<T>(table: Table<T>) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(table.iter().map(|(word, _)| *word)).map(move |read: String| {
        let known = table.iter().find(|(word, _)| *word == read);
        known.expect("no other word passes").1
    })
}

const SEATS: Table<v1::Seat> = &[
    ("white", v1::Seat::White),
    ("black", v1::Seat::Black),
    ("arbiter", v1::Seat::Arbiter),
];

pub(super) fn seat() -> impl TypedValueParser<Value = v1::Seat> {
    reader(SEATS)
}

const SIDES: Table<v1::Color> = &[("white", v1::Color::White), ("black", v1::Color::Black)];

pub(super) fn side() -> impl TypedValueParser<Value = v1::Color> {
    reader(SIDES)
}

const CLAIMS: Table<v1::ClaimKind> = &[
    ("threefold", v1::ClaimKind::Threefold),
    ("fifty", v1::ClaimKind::Fifty),
    ("perpetual-check", v1::ClaimKind::PerpetualCheck),
    ("opponent-insufficient", v1::ClaimKind::OpponentInsufficient),
    ("illegal-move", v1::ClaimKind::IllegalMove),
    ("touch-move", v1::ClaimKind::TouchMove),
    ("quickplay-increment", v1::ClaimKind::QuickplayIncrement),
    ("quickplay-draw", v1::ClaimKind::QuickplayDraw),
    ("opponent-gone", v1::ClaimKind::OpponentGone),
];

pub(super) fn claim() -> impl TypedValueParser<Value = v1::ClaimKind> {
    reader(CLAIMS)
}

const PIECES: Table<v1::PieceKind> = &[
    ("pawn", v1::PieceKind::Pawn),
    ("knight", v1::PieceKind::Knight),
    ("bishop", v1::PieceKind::Bishop),
    ("rook", v1::PieceKind::Rook),
    ("queen", v1::PieceKind::Queen),
    ("king", v1::PieceKind::King),
];

pub(super) fn piece() -> impl TypedValueParser<Value = v1::PieceKind> {
    reader(PIECES)
}

const TOUCH_INTENTS: Table<v1::TouchIntent> = &[
    ("move", v1::TouchIntent::Move),
    ("adjust", v1::TouchIntent::Adjust),
    ("accidental", v1::TouchIntent::Accidental),
];

pub(super) fn touch_intent() -> impl TypedValueParser<Value = v1::TouchIntent> {
    reader(TOUCH_INTENTS)
}

const FIRST_FLAGS: Table<v1::FirstFlag> = &[
    ("white", v1::FirstFlag::White),
    ("black", v1::FirstFlag::Black),
    ("unknown", v1::FirstFlag::Unknown),
];

pub(super) fn first_flag() -> impl TypedValueParser<Value = v1::FirstFlag> {
    reader(FIRST_FLAGS)
}

const CONNECTIONS: Table<bool> = &[("lost", false), ("back", true)];

pub(super) fn connection() -> impl TypedValueParser<Value = bool> {
    reader(CONNECTIONS)
}

const TAKE_BACKS: Table<v1::TakeBackIntent> = &[
    ("request", v1::TakeBackIntent::Request),
    ("accept", v1::TakeBackIntent::Accept),
    ("decline", v1::TakeBackIntent::Decline),
];

pub(super) fn take_back() -> impl TypedValueParser<Value = v1::TakeBackIntent> {
    reader(TAKE_BACKS)
}

const RESULTS: Table<v1::GameResult> = &[
    ("1-0", v1::GameResult::WhiteWins),
    ("0-1", v1::GameResult::BlackWins),
    ("1/2-1/2", v1::GameResult::Draw),
    ("0-0", v1::GameResult::BothLose),
    ("1/2-0", v1::GameResult::WhiteHalf),
    ("0-1/2", v1::GameResult::BlackHalf),
    ("+/-", v1::GameResult::WhiteWinsForfeit),
    ("-/+", v1::GameResult::BlackWinsForfeit),
    ("-/-", v1::GameResult::BothForfeit),
    ("cancelled", v1::GameResult::Cancelled),
    ("aborted", v1::GameResult::Aborted),
];

pub(super) fn result() -> impl TypedValueParser<Value = v1::GameResult> {
    reader(RESULTS)
}

const SCORES: Table<v1::Score> = &[
    ("0", v1::Score::Zero),
    ("1/2", v1::Score::Half),
    ("1", v1::Score::One),
    ("other", v1::Score::Other),
];

pub(super) fn score() -> impl TypedValueParser<Value = v1::Score> {
    reader(SCORES)
}

const CLAIM_DECISIONS: Table<v1::ClaimDecision> = &[
    ("accept", v1::ClaimDecision::Accept),
    ("reject", v1::ClaimDecision::Reject),
    ("postpone", v1::ClaimDecision::Postpone),
];

pub(super) fn claim_decision() -> impl TypedValueParser<Value = v1::ClaimDecision> {
    reader(CLAIM_DECISIONS)
}

const BONUS_MODES: Table<v1::BonusMode> = &[
    ("fischer", v1::BonusMode::Fischer),
    ("bronstein", v1::BonusMode::Bronstein),
    ("delay", v1::BonusMode::Delay),
];

pub(super) fn bonus_mode() -> impl TypedValueParser<Value = v1::BonusMode> {
    reader(BONUS_MODES)
}

const KEEPERS: Table<v1::ClockKeeper> = &[
    ("referee", v1::ClockKeeper::Referee),
    ("platform", v1::ClockKeeper::Platform),
];

pub(super) fn keeper() -> impl TypedValueParser<Value = v1::ClockKeeper> {
    reader(KEEPERS)
}

/// Returns the name of a side.
pub(super) fn side_name(side: v1::Color) -> &'static str {
    match side {
        v1::Color::White => "White",
        v1::Color::Black => "Black",
        v1::Color::Unspecified => "a side that is not named",
    }
}

/// Returns the name of a seat.
pub(super) fn seat_name(seat: v1::Seat) -> &'static str {
    match seat {
        v1::Seat::White => "White",
        v1::Seat::Black => "Black",
        v1::Seat::Arbiter => "the arbiter",
        v1::Seat::Referee | v1::Seat::Unspecified => "the referee",
    }
}

fn word_of<T: PartialEq + Copy>(table: Table<T>, value: T) -> Option<&'static str> {
    let known = table.iter().find(|(_, known)| *known == value);
    known.map(|(word, _)| *word)
}

/// Returns the sign of a result; `*` where there is none.
pub(super) fn result_sign(result: v1::GameResult) -> &'static str {
    word_of(RESULTS, result).unwrap_or("*")
}

/// Returns the name of a kind of piece.
pub(super) fn piece_name(piece: v1::PieceKind) -> &'static str {
    word_of(PIECES, piece).unwrap_or("piece")
}

/// Returns the sign of the points of one player.
pub(super) fn score_sign(score: v1::Score) -> &'static str {
    word_of(SCORES, score).unwrap_or("other points")
}

/// Returns what is claimed.
pub(super) fn claim_name(claim: v1::ClaimKind) -> &'static str {
    match claim {
        v1::ClaimKind::Threefold => "the third occurrence of the position",
        v1::ClaimKind::Fifty => "fifty moves without a capture or a pawn move",
        v1::ClaimKind::PerpetualCheck => "perpetual check",
        v1::ClaimKind::OpponentInsufficient => "that the opponent has nothing to mate with",
        v1::ClaimKind::IllegalMove => "an illegal move of the opponent",
        v1::ClaimKind::TouchMove => "that the opponent touched another piece",
        v1::ClaimKind::QuickplayIncrement => "five seconds more for each move",
        v1::ClaimKind::QuickplayDraw => "a draw, since the opponent does not try to win",
        v1::ClaimKind::OpponentGone => "that the opponent has left",
        v1::ClaimKind::Unspecified => "something that this version does not know",
    }
}

/// Returns the name of an enum value of the contract without its prefix, for values that need no
/// words of their own: `LEDGER_CAUSE_DOWN_TIME` is `down time`.
pub(super) fn plain(name: &str, prefix: &str) -> String {
    let name = name.strip_prefix(prefix).unwrap_or(name);
    name.to_ascii_lowercase().replace('_', " ")
}

/// Returns a text of somebody else on one line.
pub(super) fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}
