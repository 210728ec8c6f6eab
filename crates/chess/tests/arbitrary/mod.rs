//! Positions and setups that nobody would think of.

use proptest::collection::vec;
use proptest::prelude::*;
use referee_chess::{
    Bitboard, CastlingMode, Color, Piece, Position, Role, Setup, Square, chess960,
};

pub(crate) fn any_square() -> impl Strategy<Value = Square> {
    (0u8..64).prop_map(Square::from_low_bits)
}

pub(crate) fn any_color() -> impl Strategy<Value = Color> {
    prop_oneof![Just(Color::White), Just(Color::Black)]
}

pub(crate) fn any_role() -> impl Strategy<Value = Role> {
    // Pawns are the likeliest, since most of the rules are about them.
    prop_oneof![
        4 => Just(Role::Pawn),
        1 => Just(Role::Knight),
        1 => Just(Role::Bishop),
        2 => Just(Role::Rook),
        1 => Just(Role::Queen),
    ]
}

pub(crate) fn any_mode() -> impl Strategy<Value = CastlingMode> {
    prop_oneof![Just(CastlingMode::Standard), Just(CastlingMode::Chess960)]
}

/// A position out of a game: a start and numbers that choose the moves.
pub(crate) fn played() -> impl Strategy<Value = Position> {
    let start = prop_oneof![
        3 => (0..chess960::STARTING_POSITIONS).prop_map(|number| {
            chess960::startpos(number, CastlingMode::Chess960).expect("the number is below 960")
        }),
        2 => Just(Position::startpos()),
    ];
    (start, vec(any::<u16>(), 0..150)).prop_map(|(mut position, choices)| {
        for choice in choices {
            let moves = position.legal_moves();
            if moves.is_empty() {
                break;
            }
            position.play_unchecked(moves[usize::from(choice) % moves.len()]);
        }
        position
    })
}
/// A setup with one king of each side and other pieces anywhere, any rights to castle, and any
/// en passant square.
pub(crate) fn with_kings() -> impl Strategy<Value = Setup> {
    let king = prop_oneof![
        3 => any_square(),
        1 => (0u8..8).prop_map(Square::from_low_bits),
        1 => (56u8..64).prop_map(Square::from_low_bits),
        1 => prop_oneof![Just("e1"), Just("e8")].prop_map(|name| name.parse().expect("a square")),
    ];
    let pieces = vec((any_square(), any_color(), any_role()), 0..40);
    let en_passant = prop_oneof![
        1 => Just(None),
        1 => (16u8..24).prop_map(Square::new),
        1 => (40u8..48).prop_map(Square::new),
        1 => any_square().prop_map(Some),
    ];
    let rights = prop_oneof![Just(0), Just(u64::MAX), any::<u64>()];
    let rest = (any_color(), any_mode(), any::<u32>(), any::<u32>());
    ([king.clone(), king], pieces, en_passant, rights, rest).prop_map(
        |([white, black], pieces, en_passant, rights, (turn, mode, halfmoves, fullmoves))| {
            let mut setup = Setup::empty(mode);
            for (square, color, role) in pieces {
                let is_stranded = role == Role::Pawn && Bitboard::BACK_RANKS.contains(square);
                // Pawns on the last ranks are refused, so there are fewer of them.
                if !is_stranded {
                    setup.board.put(square, Piece { color, role });
                }
            }
            for (square, color) in [(white, Color::White), (black, Color::Black)] {
                let role = Role::King;
                setup.board.put(square, Piece { color, role });
            }
            setup.turn = turn;
            setup.en_passant = en_passant;
            setup.castling_rooks = Bitboard(rights);
            setup.halfmove_clock = halfmoves;
            setup.fullmove_number = fullmoves;
            setup
        },
    )
}

/// A setup without any sense: every square holds anything.
pub(crate) fn anything() -> impl Strategy<Value = Setup> {
    let piece = prop_oneof![
        3 => Just(None),
        1 => (any_color(), 0..6usize).prop_map(|(color, role)| {
            Some(Piece { color, role: Role::ALL[role] })
        }),
    ];
    (vec(piece, 64), with_kings()).prop_map(|(pieces, mut setup)| {
        for (square, piece) in Square::all().zip(pieces) {
            setup.board.take(square);
            if let Some(piece) = piece {
                setup.board.put(square, piece);
            }
        }
        setup
    })
}
