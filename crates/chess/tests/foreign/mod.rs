//! Positions and moves of cozy-chess and shakmaty, from ours and back.

use std::num::NonZeroU32;

use referee_chess::mailbox::PlainMove;
use referee_chess::{CastlingMode, Color, Role, Setup, Square};
use shakmaty::FromSetup;

fn square(index: usize) -> Square {
    Square::new(index as u8).expect("every generator has 64 squares")
}

/// Returns the position of cozy-chess.
pub(crate) fn to_cozy(setup: &Setup) -> cozy_chess::Board {
    let mut builder = cozy_chess::BoardBuilder::empty();
    let color = |color| match color {
        Color::White => cozy_chess::Color::White,
        Color::Black => cozy_chess::Color::Black,
    };
    for (square, piece) in setup.board.iter() {
        let role = match piece.role {
            Role::Pawn => cozy_chess::Piece::Pawn,
            Role::Knight => cozy_chess::Piece::Knight,
            Role::Bishop => cozy_chess::Piece::Bishop,
            Role::Rook => cozy_chess::Piece::Rook,
            Role::Queen => cozy_chess::Piece::Queen,
            Role::King => cozy_chess::Piece::King,
        };
        builder.board[square.index()] = Some((role, color(piece.color)));
    }
    builder.side_to_move = color(setup.turn);
    for rook in setup.castling_rooks {
        let side = setup
            .board
            .color_at(rook)
            .expect("a right belongs to a rook");
        let king = setup.board.king(side).expect("a right belongs to a king");
        let file = Some(cozy_chess::File::index(rook.file().index() as usize));
        let rights = builder.castle_rights_mut(color(side));
        if rook < king {
            rights.long = file;
        } else {
            rights.short = file;
        }
    }
    let passed = setup.en_passant;
    builder.en_passant = passed.map(|square| cozy_chess::Square::index(square.index()));
    builder.halfmove_clock = setup.halfmove_clock.min(100) as u8;
    builder.fullmove_number = setup.fullmove_number as u16;
    builder
        .build()
        .unwrap_or_else(|error| panic!("cozy-chess refuses {setup:?}: {error}"))
}

/// Returns the move of cozy-chess in plain terms.
pub(crate) fn from_cozy(mv: cozy_chess::Move) -> PlainMove {
    PlainMove {
        from: square(mv.from as usize),
        to: square(mv.to as usize),
        promotion: mv.promotion.map(|piece| Role::ALL[piece as usize]),
    }
}

/// Returns the position of shakmaty.
pub(crate) fn to_shakmaty(setup: &Setup) -> shakmaty::Chess {
    let mut theirs = shakmaty::Setup::empty();
    let square = |square: Square| shakmaty::Square::new(square.index() as u32);
    for (at, piece) in setup.board.iter() {
        let piece = shakmaty::Piece::from_char(piece.to_char()).expect("both use FEN's letters");
        theirs.board.set_piece_at(square(at), piece);
    }
    theirs.turn = match setup.turn {
        Color::White => shakmaty::Color::White,
        Color::Black => shakmaty::Color::Black,
    };
    theirs.castling_rights = shakmaty::Bitboard(setup.castling_rooks.0);
    theirs.ep_square = setup.en_passant.map(square);
    theirs.halfmoves = setup.halfmove_clock;
    theirs.fullmoves = NonZeroU32::new(setup.fullmove_number).expect("moves count from 1");
    let mode = match setup.castling_mode {
        CastlingMode::Standard => shakmaty::CastlingMode::Standard,
        CastlingMode::Chess960 => shakmaty::CastlingMode::Chess960,
    };
    shakmaty::Chess::from_setup(theirs, mode)
        .unwrap_or_else(|error| panic!("shakmaty refuses {setup:?}: {error}"))
}

/// Returns the move of shakmaty in plain terms.
pub(crate) fn from_shakmaty(mv: shakmaty::Move) -> PlainMove {
    let role = |role: shakmaty::Role| Role::from_char(role.char()).expect("both use FEN's letters");
    PlainMove {
        from: square(mv.from().expect("a piece is moved, not dropped") as usize),
        to: square(mv.to() as usize),
        promotion: mv.promotion().map(role),
    }
}
