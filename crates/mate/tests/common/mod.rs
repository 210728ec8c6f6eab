//! What the suites share: where their data are, chance from a seed, and independent replay.
#![allow(dead_code, reason = "each suite uses a part of it")]

pub(crate) mod retrograde;

use std::path::{Path, PathBuf};

use referee_chess::mailbox::{Mailbox, PlainMove};
use referee_chess::{
    Board, CastlingMode, Color, File, Move, Piece, Position, Rank, Role, Setup, Square, Tolerance,
};

/// Numbers that look random and are the same in every run (xorshift64).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % bound
    }
}

/// The folder of test data that is not ours to copy, or `None` with a word about it.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder =
        std::env::var_os("REFEREE_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    println!(
        "skipped: {} is not there (set REFEREE_SHARED)",
        path.display()
    );
    None
}

pub(crate) fn read(fen: &str) -> Position {
    Position::from_fen_with(fen, CastlingMode::Standard, Tolerance::PERFT)
        .unwrap_or_else(|error| panic!("{fen}: {error}"))
}

/// Replays a line on the mailbox board, which shares no code with the generator that found it,
/// and returns whether each move is legal and the last one mates for a side.
pub(crate) fn is_mating_line(start: &Position, line: &[Move], winner: Color) -> bool {
    let mut at = Mailbox::from(&start.to_setup());
    for &mv in line {
        let mv = PlainMove::from(mv);
        if !at.is_legal(mv) {
            return false;
        }
        at = at.after_unchecked(mv);
    }
    at.is_checkmate() && at.turn() != winner
}

/// Returns a color of the crate that chasolver uses.
pub(crate) fn chess_color(color: Color) -> chess::Color {
    match color {
        Color::White => chess::Color::White,
        Color::Black => chess::Color::Black,
    }
}

/// What chasolver says: `Some(true)` for "can mate". `None` where it does not know, or cannot
/// read the position.
pub(crate) fn chasolver(position: &Position, winner: Color) -> Option<bool> {
    let board: chess::Board = position.to_string().parse().ok()?;
    chasolver::winnability(&board, chess_color(winner))
        .map(|answer| matches!(answer, chasolver::Winnability::Winnable { .. }))
}

/// Returns a position some random moves after the start of a game.
pub(crate) fn random_play(chance: &mut Chance) -> Position {
    let mut position = Position::startpos();
    for _ in 0..chance.below(200) {
        let moves = position.legal_moves();
        if moves.is_empty() {
            break;
        }
        // Captures are preferred now and then, so that endings are met, too.
        let captures: Vec<Move> = moves
            .into_iter()
            .filter(|mv| position.board().occupied().contains(mv.to()) && !mv.is_castle())
            .collect();
        let mv = if !captures.is_empty() && chance.below(3) == 0 {
            captures[chance.below(captures.len())]
        } else {
            moves[chance.below(moves.len())]
        };
        position.play_unchecked(mv);
    }
    position
}

/// Returns a position with pawns that bar each other on most files, and some pieces.
pub(crate) fn random_blocked(chance: &mut Chance) -> Position {
    const ROLES: [Role; 6] = [
        Role::Bishop,
        Role::Bishop,
        Role::Bishop,
        Role::Knight,
        Role::Rook,
        Role::Pawn,
    ];
    loop {
        let mut board = Board::empty();
        for file in (0..8).filter_map(File::new) {
            if chance.below(4) == 0 {
                continue;
            }
            let rank = 1 + chance.below(5) as u8;
            let gap = 1 + u8::from(chance.below(5) == 0);
            for (color, rank) in [(Color::White, rank), (Color::Black, rank + gap)] {
                if let Some(rank) = Rank::new(rank).filter(|rank| rank.index() < 7) {
                    let role = Role::Pawn;
                    board.put(Square::at(file, rank), Piece { color, role });
                }
            }
        }
        let mut place = |color, role, chance: &mut Chance| {
            let square = Square::from_low_bits(chance.below(64) as u8);
            let on_edge = matches!(square.rank().index(), 0 | 7);
            if board.piece_at(square).is_none() && !(role == Role::Pawn && on_edge) {
                board.put(square, Piece { color, role });
            }
        };
        place(Color::White, Role::King, chance);
        place(Color::Black, Role::King, chance);
        for _ in 0..chance.below(5) {
            let color = Color::ALL[chance.below(2)];
            place(color, ROLES[chance.below(6)], chance);
        }
        let mut setup = Setup::empty(CastlingMode::Standard);
        setup.board = board;
        setup.turn = Color::ALL[chance.below(2)];
        if let Ok(position) = Position::from_setup(&setup) {
            return position;
        }
    }
}

/// Returns a position with the kings, pawns that stand head to head, and sometimes a bishop: few
/// positions can arise from it, unless a king gets through.
pub(crate) fn random_wall(chance: &mut Chance) -> Position {
    loop {
        let mut board = Board::empty();
        let first = chance.below(2);
        for file in 0..8 {
            if file % 2 != first && chance.below(6) != 0 {
                continue;
            }
            let rank = 2 + chance.below(2) as u8;
            for (color, rank) in [(Color::White, rank), (Color::Black, rank + 1)] {
                let (file, rank) = (File::new(file as u8), Rank::new(rank));
                let (Some(file), Some(rank)) = (file, rank) else {
                    continue;
                };
                let role = Role::Pawn;
                board.put(Square::at(file, rank), Piece { color, role });
            }
        }
        let mut place = |color, role, chance: &mut Chance| {
            let square = Square::from_low_bits(chance.below(64) as u8);
            if board.piece_at(square).is_none() {
                board.put(square, Piece { color, role });
            }
        };
        place(Color::White, Role::King, chance);
        place(Color::Black, Role::King, chance);
        if chance.below(2) == 0 {
            place(Color::ALL[chance.below(2)], Role::Bishop, chance);
        }
        let mut setup = Setup::empty(CastlingMode::Standard);
        setup.board = board;
        setup.turn = Color::ALL[chance.below(2)];
        if let Ok(position) = Position::from_setup(&setup) {
            return position;
        }
    }
}

/// Returns a position in which pawns bar each other from edge to edge, with bishops and knights
/// on either side: in many of them a side, or both, can never mate.
pub(crate) fn random_fortress(chance: &mut Chance) -> Position {
    const ROLES: [Role; 4] = [Role::Bishop, Role::Bishop, Role::Bishop, Role::Knight];
    loop {
        let mut board = Board::empty();
        let first = chance.below(2) as u8;
        let mut rank = 2 + chance.below(3) as u8;
        for file in (first..8).step_by(2).filter_map(File::new) {
            if chance.below(5) == 0 {
                rank = 2 + chance.below(3) as u8;
            }
            for (color, rank) in [(Color::White, rank), (Color::Black, rank + 1)] {
                if let Some(rank) = Rank::new(rank) {
                    let role = Role::Pawn;
                    board.put(Square::at(file, rank), Piece { color, role });
                }
            }
        }
        let mut place = |color, role, chance: &mut Chance| {
            // Mostly on its own side of the wall.
            let half = chance.below(24) as u8 + if color == Color::White { 0 } else { 40 };
            let any = chance.below(64) as u8;
            let square = if chance.below(6) == 0 { any } else { half };
            let square = Square::from_low_bits(square);
            if board.piece_at(square).is_none() {
                board.put(square, Piece { color, role });
            }
        };
        for color in Color::ALL {
            place(color, Role::King, chance);
        }
        for _ in 0..chance.below(5) {
            place(Color::ALL[chance.below(2)], ROLES[chance.below(4)], chance);
        }
        let mut setup = Setup::empty(CastlingMode::Standard);
        setup.board = board;
        setup.turn = Color::ALL[chance.below(2)];
        if let Ok(position) = Position::from_setup(&setup) {
            return position;
        }
    }
}
