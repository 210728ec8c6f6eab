//! Positions by chance, the same ones in every run.

#![allow(dead_code, reason = "each test uses what it needs")]

use referee_chess::{
    Bitboard, CastlingMode, Color, File, Piece, Position, Rank, Role, Setup, Square, Tolerance,
    chess960,
};

/// Numbers by chance (G. Marsaglia's xorshift).
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// Returns true with a chance of one in `of`.
    pub(crate) fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

/// Plays a game of random moves from one of the 960 starting positions, and visits each position.
/// Captures are taken less often than chance would, so that boards stay full for longer.
pub(crate) fn play(chance: &mut Chance, plies: usize, mut visit: impl FnMut(&Position)) {
    let number = chance.below(960) as u32;
    let start = if chance.one_in(2) { 518 } else { number };
    let mode = if start == 518 {
        CastlingMode::Standard
    } else {
        CastlingMode::Chess960
    };
    let mut position = chess960::startpos(start, mode).expect("there are 960 positions");
    for _ in 0..plies {
        visit(&position);
        let moves = position.legal_moves();
        if moves.is_empty() {
            return;
        }
        let mut mv = moves[chance.below(moves.len())];
        if position.board().occupied().contains(mv.to()) {
            mv = moves[chance.below(moves.len())];
        }
        position.play_unchecked(mv);
    }
}

/// Puts pieces on the board by chance: few or many, likely or not, with rights to castle and a
/// square for en passant where they can be. `None` where the other side would be in check.
pub(crate) fn setup(chance: &mut Chance) -> Option<Position> {
    let mut setup = Setup::empty(CastlingMode::Chess960);
    setup.turn = if chance.one_in(2) {
        Color::White
    } else {
        Color::Black
    };
    let density = 1 + chance.below(40);
    let roles: &[Role] = match chance.below(4) {
        0 => &[Role::Pawn],
        1 => &[Role::Queen, Role::Rook, Role::Bishop],
        _ => &[
            Role::Pawn,
            Role::Pawn,
            Role::Pawn,
            Role::Knight,
            Role::Bishop,
            Role::Rook,
            Role::Queen,
        ],
    };
    for color in Color::ALL {
        let rank = Rank::relative(
            color,
            if chance.one_in(2) {
                0
            } else {
                chance.below(8) as u8
            },
        );
        let file = File::new(chance.below(8) as u8).expect("there are 8 files");
        let square = Square::at(file, rank);
        if setup.board.piece_at(square).is_some() {
            return None;
        }
        setup.board.put(
            square,
            Piece {
                color,
                role: Role::King,
            },
        );
        if rank == Rank::relative(color, 0) {
            for _ in 0..2 {
                let file = File::new(chance.below(8) as u8).expect("there are 8 files");
                let square = Square::at(file, rank);
                if chance.one_in(2) && setup.board.piece_at(square).is_none() {
                    setup.board.put(
                        square,
                        Piece {
                            color,
                            role: Role::Rook,
                        },
                    );
                    setup.castling_rooks |= Bitboard::of(square);
                }
            }
        }
    }
    for _ in 0..density {
        let square = Square::from_low_bits(chance.next() as u8);
        let role = roles[chance.below(roles.len())];
        let color = if chance.one_in(2) {
            Color::White
        } else {
            Color::Black
        };
        let is_back = Bitboard::BACK_RANKS.contains(square);
        if setup.board.piece_at(square).is_none() && !(role == Role::Pawn && is_back) {
            setup.board.put(square, Piece { color, role });
        }
    }
    let file = File::new(chance.below(8) as u8).expect("there are 8 files");
    setup.en_passant = Some(Square::at(file, Rank::relative(setup.turn, 5)));
    Position::from_setup_with(&setup, Tolerance::PERFT).ok()
}
