//! Whether a side can still mate, as far as the material tells.
//!
//! The answer is three-valued, and only proofs are given: a position in which the material does
//! not forbid mate is `Unknown` here, unless it is mate already.

use referee_chess::{Bitboard, Color, Position, Role};

/// Whether a side can mate by some series of legal moves of both sides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CanMate {
    /// It can.
    Yes,
    /// It cannot, and here is why.
    No(NoMate),
    /// It could not be decided.
    Unknown,
}

impl CanMate {
    /// Returns the proof that the side cannot mate, where there is one.
    #[must_use]
    pub fn no_mate(self) -> Option<NoMate> {
        match self {
            CanMate::No(no_mate) => Some(no_mate),
            CanMate::Yes | CanMate::Unknown => None,
        }
    }
}

/// A kind of proof that a side cannot mate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoMateKind {
    /// The pieces on the board do not suffice, wherever they stand.
    Material,
}

/// Why a side cannot mate by any series of legal moves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NoMate {
    /// The side that cannot mate.
    pub side: Color,
    /// The kind of the proof.
    pub kind: NoMateKind,
    /// The proof in one sentence.
    pub text: String,
}

/// Returns whether a side can mate.
///
/// The material arguments hold for every position that is not mate or stalemate: a bare king
/// cannot mate; a knight cannot where the opponent has nothing but queens to block its own king;
/// bishops of one square color cannot where every other piece on the board leaves the squares of
/// the other color alone.
#[must_use]
pub fn can_mate(position: &Position, side: Color) -> CanMate {
    // A mate on the board stands, whatever the material says of the road to it (5.1.1).
    if position.turn() != side && position.is_checkmate() {
        return CanMate::Yes;
    }
    match material_forbids(position, side) {
        Some(reason) => CanMate::No(NoMate {
            side,
            kind: NoMateKind::Material,
            text: format!("{side} {reason}."),
        }),
        None => CanMate::Unknown,
    }
}

fn material_forbids(position: &Position, side: Color) -> Option<&'static str> {
    let board = position.board();
    let own = board.color(side);
    let count = own.count();
    if count == 1 {
        return Some("has nothing but the king");
    }
    let (pawns, knights) = (board.role(Role::Pawn), board.role(Role::Knight));
    if count == 2 && (own & knights).any() {
        let others = board.color(!side) - board.role(Role::Queen) - board.role(Role::King);
        return others
            .is_empty()
            .then_some("has only a knight, and the opponent has nothing but queens to block with");
    }
    let bishops = board.role(Role::Bishop);
    let all_of_one_color =
        (bishops & Bitboard::LIGHT).is_empty() || (bishops & Bitboard::DARK).is_empty();
    let only_bishops = (own - bishops).count() == 1;
    (only_bishops && all_of_one_color && (pawns | knights).is_empty()).then_some(
        "has only bishops on squares of one color, and nothing on the board can block or guard \
         the others",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use referee_chess::CastlingMode;

    #[test]
    fn material_settles_what_the_lemmas_say() {
        // FEN, White cannot mate, Black cannot mate.
        let cases = [
            ("8/8/3k4/8/2b5/8/4B3/4K3 w - - 0 1", true, true),
            ("8/8/3k4/8/2b5/8/5B2/4K3 w - - 0 1", false, false),
            ("8/8/3k4/8/2b5/8/5N2/4K3 w - - 0 1", false, false),
            ("8/8/3k4/8/8/8/5N2/4K3 w - - 0 1", true, true),
            ("8/8/3k4/8/2q5/8/5N2/4K3 w - - 0 1", true, false),
            ("8/8/3k4/8/2r5/8/5N2/4K3 w - - 0 1", false, false),
            ("8/8/3k4/8/2r5/8/5B2/4K3 w - - 0 1", true, false),
            ("2b1k3/8/8/5b2/8/3B4/8/4K3 w - - 0 1", true, true),
            ("8/8/3k4/8/8/8/8/2B1KB2 w - - 0 1", false, true),
            ("8/8/3k4/8/8/8/8/1N2K1N1 w - - 0 1", false, true),
        ];
        for (fen, white, black) in cases {
            let position = Position::from_fen(fen, CastlingMode::Standard).expect("a legal FEN");
            for (side, expected) in [(Color::White, white), (Color::Black, black)] {
                assert_eq!(
                    can_mate(&position, side).no_mate().is_some(),
                    expected,
                    "{fen} {side}"
                );
            }
        }
    }
}
