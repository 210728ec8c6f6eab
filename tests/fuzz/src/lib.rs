//! The laws that every fuzz target holds, and the shape of their inputs.

pub mod games;

use std::collections::BTreeSet;

use referee_chess::mailbox::{Mailbox, PlainMove};
use referee_chess::{CastlingMode, Position};

/// The moves that a target plays from one input; what follows them is not read. `seed.py` cuts
/// its records to the same number.
pub const MOVES_MAX: usize = 12;

/// Both ways to castle; every input is read in both.
pub const CASTLING_MODES: [CastlingMode; 2] = [CastlingMode::Standard, CastlingMode::Chess960];

/// Cuts an input into a FEN and the words after its line feed.
///
/// Returns `None` where the input is not text or has no line feed.
#[must_use]
pub fn fen_and_words(data: &[u8]) -> Option<(&str, impl Iterator<Item = &str>)> {
    let (fen, words) = str::from_utf8(data).ok()?.split_once('\n')?;
    Some((fen, words.split(' ').take(MOVES_MAX)))
}

/// Returns the legal moves in the form that they share with the oracle.
#[must_use]
pub fn plain_moves(position: &Position) -> BTreeSet<PlainMove> {
    position.legal_moves().into_iter().map(Into::into).collect()
}

/// Holds what is true of every position, however it came about: both generators agree on its
/// moves and on what each makes of it, none is listed twice, check, mate and stalemate are what
/// the oracle says, and the hash that moves keep up to date is the hash of the position.
///
/// # Panics
///
/// Where one of these does not hold.
pub fn check_position(position: &Position) {
    let oracle = Mailbox::from(&position.to_setup());
    let moves = plain_moves(position);
    let expected: BTreeSet<PlainMove> = oracle.legal_moves().into_iter().collect();
    assert_eq!(moves, expected, "the generators differ in {position}");
    let listed = position.legal_moves().len();
    assert_eq!(moves.len(), listed, "a move is listed twice in {position}");
    assert_eq!(
        position.count_legal_moves() as usize,
        listed,
        "the count of moves is not that of the list in {position}"
    );
    assert_eq!(
        position.is_check(),
        oracle.is_check(),
        "check in {position}"
    );
    assert_eq!(
        position.is_checkmate(),
        oracle.is_checkmate(),
        "mate in {position}"
    );
    assert_eq!(
        position.is_stalemate(),
        oracle.is_stalemate(),
        "stalemate in {position}"
    );
    assert_eq!(
        position.zobrist(),
        position.fresh_zobrist(),
        "the hash of {position} is stale"
    );
    assert_eq!(
        position.to_setup(),
        oracle.to_setup(),
        "the setup of {position} is not that of the oracle"
    );
    for mv in position.legal_moves().as_slice() {
        let next = position.after_unchecked(*mv);
        let expected = oracle.after_unchecked((*mv).into());
        assert_eq!(
            next.to_setup(),
            expected.to_setup(),
            "the boards differ after {mv:?} in {position}"
        );
        assert_eq!(
            next.zobrist(),
            next.fresh_zobrist(),
            "the hash is stale after {mv:?} in {position}"
        );
    }
}

/// Plays a legal move.
///
/// # Panics
///
/// Where it is refused, or the position that it leads to does not hold.
pub fn play(position: &mut Position, mv: referee_chess::Move) {
    let before = position.to_string();
    if let Err(error) = position.play(mv) {
        panic!("a legal move is refused in {before}: {error}");
    }
    check_position(position);
}
