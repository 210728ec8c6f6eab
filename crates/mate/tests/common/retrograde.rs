//! All positions of the kings and one or two men, and for each how soon a side can mate.
//!
//! Nothing of the solver is used: the mates are found by looking at every placement, and from
//! them moves are taken back until no new position is found. What a capture or a promotion leads
//! to is looked up in the table of the men that are left.

use std::collections::HashMap;
use std::sync::Arc;

use referee_chess::rays::{between, bishop_rays, king_attacks, knight_attacks, rook_rays};
use referee_chess::{
    Bitboard, Board, CastlingMode, Color, Move, Piece, Position, Role, Setup, Square, Tolerance,
};

/// The men beside the kings: none, one or two.
pub(crate) type Class = Vec<Piece>;

/// The most men of a table.
const MEN: usize = 4;

/// What the table says of a position from which the side cannot mate.
const NEVER: u8 = u8::MAX;

/// The positions of a class, with the plies to the nearest mate by a side.
pub(crate) struct Table {
    class: Class,
    winner: Color,
    plies: Vec<u8>,
    smaller: Vec<Arc<Table>>,
}

/// The men of a class in order, and the winner.
type Key = (Vec<(Color, Role)>, Color);

/// The tables that were built so far.
#[derive(Default)]
pub(crate) struct Tables(HashMap<Key, Arc<Table>>);

impl Tables {
    /// Returns the table of a class for a side, and builds it and all that it needs.
    pub(crate) fn get(&mut self, mut class: Class, winner: Color) -> Arc<Table> {
        class.sort_by_key(|piece| (piece.color.index(), piece.role.index()));
        let key: Vec<_> = class
            .iter()
            .map(|piece| (piece.color, piece.role))
            .collect();
        if let Some(table) = self.0.get(&(key.clone(), winner)) {
            return Arc::clone(table);
        }
        let smaller = successors(&class)
            .into_iter()
            .map(|class| self.get(class, winner))
            .collect();
        let table = Arc::new(Table::new(class, winner, smaller));
        self.0.insert((key, winner), Arc::clone(&table));
        table
    }
}

/// Returns the classes that one capture or promotion leads to.
fn successors(class: &Class) -> Vec<Class> {
    let mut found = Vec::new();
    for (number, &piece) in class.iter().enumerate() {
        let mut left = class.clone();
        left.remove(number);
        found.push(left.clone());
        if piece.role != Role::Pawn {
            continue;
        }
        for role in [Role::Queen, Role::Rook, Role::Bishop, Role::Knight] {
            let promoted = Piece { role, ..piece };
            let mut whole = class.clone();
            whole[number] = promoted;
            found.push(whole);
            // A capture that promotes.
            for (other, foe) in left.iter().enumerate() {
                if foe.color != piece.color {
                    let mut fewer = left.clone();
                    fewer[other] = promoted;
                    found.push(fewer);
                }
            }
        }
    }
    found
}

/// Returns every class of so many pieces, without pawns, and without those that are another one
/// with the colors exchanged.
pub(crate) fn classes(count: usize) -> Vec<Class> {
    let roles = [Role::Queen, Role::Rook, Role::Bishop, Role::Knight];
    let piece = |color, role| Piece { color, role };
    let mut classes = Vec::new();
    for (index, &first) in roles.iter().enumerate() {
        if count == 1 {
            classes.push(vec![piece(Color::White, first)]);
            continue;
        }
        for &second in &roles[index..] {
            for color in Color::ALL {
                classes.push(vec![piece(Color::White, first), piece(color, second)]);
            }
        }
    }
    classes
}

/// Returns the name of a class, such as `KQvKN`.
pub(crate) fn name(class: &Class) -> String {
    let side = |color| {
        let pieces = class.iter().filter(|piece| piece.color == color);
        let letters = pieces.map(|piece| piece.role.to_upper_char());
        letters.collect::<String>()
    };
    format!("K{}vK{}", side(Color::White), side(Color::Black))
}

/// A board of up to four men: the white king, the black king and the men of the class.
#[derive(Clone, Copy)]
struct Placement {
    squares: [Square; MEN],
    count: usize,
    turn: Color,
}

impl Placement {
    fn squares(&self) -> &[Square] {
        &self.squares[..self.count]
    }

    fn index(&self) -> usize {
        let places = self.squares().iter().enumerate();
        places.fold(self.turn.index(), |index, (place, square)| {
            index | square.index() << (1 + 6 * place)
        })
    }

    /// Returns the placement on a board that is turned or mirrored; `symmetry` is below 8, and
    /// below 2 it leaves the ranks as they are.
    fn seen_by(mut self, symmetry: u8) -> Placement {
        for square in &mut self.squares[..self.count] {
            let mut index = square.index() as u8;
            if symmetry & 1 != 0 {
                index ^= 7;
            }
            if symmetry & 2 != 0 {
                index ^= 56;
            }
            if symmetry & 4 != 0 {
                index = index >> 3 | (index & 7) << 3;
            }
            *square = Square::from_low_bits(index);
        }
        self
    }
}

impl Table {
    fn new(class: Class, winner: Color, smaller: Vec<Arc<Table>>) -> Table {
        let size = 2usize << (6 * (class.len() + 2));
        let mut table = Table {
            class,
            winner,
            plies: vec![NEVER; size],
            smaller,
        };
        // By the plies to the mate, positions from which moves are to be taken back.
        let mut levels: Vec<Vec<u32>> = vec![Vec::new()];
        for index in 0..size {
            if !table.is_first_of_its_kind(index) {
                continue;
            }
            let plies = table
                .position(index)
                .and_then(|it| table.plies_at_once(&it));
            if let Some(plies) = plies {
                levels.resize_with(levels.len().max(plies + 1), Vec::new);
                levels[plies].push(index as u32);
            }
        }
        let mut plies = 0;
        while plies < levels.len() {
            levels.push(Vec::new());
            for index in core::mem::take(&mut levels[plies]) {
                if table.plies[index as usize] == NEVER {
                    table.plies[index as usize] = plies as u8;
                    table.push_before(index as usize, plies, &mut levels[plies + 1]);
                }
            }
            while levels.last().is_some_and(Vec::is_empty) {
                levels.pop();
            }
            plies += 1;
        }
        table
    }

    /// Returns how many numbers positions can have.
    pub(crate) fn size(&self) -> usize {
        self.plies.len()
    }

    /// Returns the men beside the kings, in the order of the table.
    pub(crate) fn class(&self) -> &Class {
        &self.class
    }

    /// Returns the plies to the nearest mate, or `None` where there is none.
    pub(crate) fn plies(&self, index: usize) -> Option<u32> {
        let plies = self.plies[self.first_of_its_kind(index)];
        (plies != NEVER).then_some(u32::from(plies))
    }

    pub(crate) fn is_won(&self, index: usize) -> bool {
        self.plies(index).is_some()
    }

    /// Returns whether no board that is this one turned or mirrored, or with two equal men
    /// exchanged, has a lower number.
    pub(crate) fn is_first_of_its_kind(&self, index: usize) -> bool {
        self.alike(index).all(|other| index <= other)
    }

    /// Returns the lowest number of a board that is this one turned or mirrored, or with two equal
    /// men exchanged. Only for these the table is filled.
    fn first_of_its_kind(&self, index: usize) -> usize {
        self.alike(index).min().unwrap_or(index)
    }

    fn alike(&self, index: usize) -> impl Iterator<Item = usize> {
        let placement = self.placement(index);
        let has_pawns = self.class.iter().any(|piece| piece.role == Role::Pawn);
        let has_twins = self.class.len() == 2 && self.class[0] == self.class[1];
        (0..if has_pawns { 2 } else { 8 }).flat_map(move |symmetry| {
            let mut seen = placement.seen_by(symmetry);
            let first = seen.index();
            if has_twins {
                seen.squares.swap(2, 3);
            }
            [first, seen.index()]
        })
    }

    fn placement(&self, index: usize) -> Placement {
        let mut squares = [Square::from_low_bits(0); MEN];
        for (place, square) in squares.iter_mut().enumerate() {
            *square = Square::from_low_bits((index >> (1 + 6 * place)) as u8 & 63);
        }
        Placement {
            squares,
            count: self.class.len() + 2,
            turn: Color::ALL[index & 1],
        }
    }

    fn piece(&self, place: usize) -> Piece {
        match place {
            0 | 1 => Piece {
                color: Color::ALL[place],
                role: Role::King,
            },
            _ => self.class[place - 2],
        }
    }

    /// Returns the position with a number, or `None` where there is none that is legal.
    pub(crate) fn position(&self, index: usize) -> Option<Position> {
        let placement = self.placement(index);
        let mut board = Board::empty();
        for (place, &square) in placement.squares().iter().enumerate() {
            if board.occupied().contains(square) {
                return None;
            }
            board.put(square, self.piece(place));
        }
        if king_attacks(placement.squares[0]).contains(placement.squares[1]) {
            return None;
        }
        let mut setup = Setup::empty(CastlingMode::Standard);
        setup.board = board;
        setup.turn = placement.turn;
        Position::from_setup_with(&setup, Tolerance::PERFT).ok()
    }

    /// Returns the plies to a mate that is on the board, or that the best capture or promotion
    /// leads to.
    fn plies_at_once(&self, position: &Position) -> Option<usize> {
        if position.is_checkmate() {
            return (position.turn() != self.winner).then_some(0);
        }
        let moves = position.legal_moves();
        let plies = moves.into_iter().filter_map(|mv| {
            let after = position.after_unchecked(mv);
            if after.en_passant().is_some() {
                return self.plies_en_passant(&after);
            }
            let is_other = mv.promotion().is_some()
                || after.board().occupied().count() < position.board().occupied().count();
            if is_other { self.look_up(&after) } else { None }
        });
        plies.min().map(|plies| plies + 1)
    }

    /// Returns the plies to a mate after the best capture en passant. Positions with and without
    /// that capture have one number; all other lines are found for the one without it.
    fn plies_en_passant(&self, position: &Position) -> Option<usize> {
        let moves = position.legal_moves();
        let taking = moves.into_iter().filter(|mv| {
            let role = position.board().role_at(mv.from());
            role == Some(Role::Pawn) && position.en_passant() == Some(mv.to())
        });
        let plies = taking.filter_map(|mv: Move| self.look_up(&position.after_unchecked(mv)));
        plies.min().map(|plies| plies + 1)
    }

    /// Returns the plies of a position with other men.
    fn look_up(&self, position: &Position) -> Option<usize> {
        let board = position.board();
        let mut found = self.smaller.iter().filter(|table| table.holds(position));
        let table = found.next()?;
        let mut squares = [Square::from_low_bits(0); MEN];
        squares[..2].copy_from_slice(&Color::ALL.map(|color| position.king(color)));
        let mut left = board.occupied() - board.role(Role::King);
        for (piece, square) in table.class.iter().zip(&mut squares[2..]) {
            let fitting = board.pieces(piece.color, piece.role) & left;
            *square = fitting.into_iter().next()?;
            left = left - Bitboard::of(*square);
        }
        let placement = Placement {
            squares,
            count: table.class.len() + 2,
            turn: position.turn(),
        };
        table.plies(placement.index()).map(|plies| plies as usize)
    }

    fn holds(&self, position: &Position) -> bool {
        let board = position.board();
        let wanted = |piece: &Piece| self.class.iter().filter(|&other| other == piece).count();
        board.occupied().count() as usize == self.class.len() + 2
            && self.class.iter().all(|piece| {
                board.pieces(piece.color, piece.role).count() as usize == wanted(piece)
            })
    }

    /// Adds the positions from which a move that captures and promotes nothing leads to one.
    fn push_before(&self, index: usize, plies: usize, found: &mut Vec<u32>) {
        let placement = self.placement(index);
        let occupied: Bitboard = placement.squares().iter().copied().collect();
        for (place, &to) in placement.squares().iter().enumerate() {
            let piece = self.piece(place);
            if piece.color == placement.turn {
                continue;
            }
            for from in sources(piece, to) - occupied {
                if (between(from, to) & occupied).any() {
                    continue;
                }
                let mut before = placement;
                before.squares[place] = from;
                before.turn = piece.color;
                let number = self.first_of_its_kind(before.index());
                if self.plies[number] != NEVER {
                    continue;
                }
                let Some(position) = self.position(before.index()) else {
                    continue;
                };
                // A capture en passant may be the answer to a double step that seems to mate.
                let is_double = piece.role == Role::Pawn && between(from, to).any();
                if plies == 0 && is_double && !is_mate_after(&position, from, to) {
                    continue;
                }
                found.push(number as u32);
            }
        }
    }
}

fn is_mate_after(position: &Position, from: Square, to: Square) -> bool {
    let moves = position.legal_moves();
    let mut made = moves
        .into_iter()
        .filter(|mv| mv.from() == from && mv.to() == to);
    made.any(|mv| position.after_unchecked(mv).is_checkmate())
}

/// Returns the squares from which a man may have come to a square on an empty board, without a
/// capture.
fn sources(piece: Piece, to: Square) -> Bitboard {
    match piece.role {
        Role::King => king_attacks(to),
        Role::Knight => knight_attacks(to),
        Role::Bishop => bishop_rays(to),
        Role::Rook => rook_rays(to),
        Role::Queen => bishop_rays(to) | rook_rays(to),
        Role::Pawn => {
            let one = Bitboard::of(to).forward(!piece.color) - Bitboard::BACK_RANKS;
            let two = one.forward(!piece.color);
            let home = match piece.color {
                Color::White => Bitboard(0xff00),
                Color::Black => Bitboard(0x00ff_0000_0000_0000),
            };
            one | (two & home)
        }
    }
}
