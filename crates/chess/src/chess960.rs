//! The 960 starting positions of Chess960 (FIDE Laws, guidelines II), by their numbers.

use crate::{Board, CastlingMode, Color, File, Piece, Position, Rank, Role, Setup, Square};

/// How many starting positions Chess960 has.
pub const STARTING_POSITIONS: u32 = 960;

/// The two files of the knights among the five that are left, by the last part of the number.
const KNIGHTS: [(usize, usize); 10] = [
    (0, 1),
    (0, 2),
    (0, 3),
    (0, 4),
    (1, 2),
    (1, 3),
    (1, 4),
    (2, 3),
    (2, 4),
    (3, 4),
];

/// Returns the starting position with a number from 0 to 959, after R. Scharnagl's numbering;
/// `None` for a greater one. 518 is the ordinary starting position.
///
/// ```
/// use referee_chess::{CastlingMode, chess960};
///
/// let position = chess960::startpos(0, CastlingMode::Chess960).expect("0 is a number");
/// assert!(position.to_string().starts_with("bbqnnrkr/pppppppp/"));
/// ```
#[must_use]
pub fn startpos(number: u32, castling_mode: CastlingMode) -> Option<Position> {
    let rank = back_rank(number)?;
    let mut setup = Setup::empty(castling_mode);
    for (file, role) in (0..).map_while(File::new).zip(rank) {
        for color in Color::ALL {
            let place = |index| Square::at(file, Rank::relative(color, index));
            setup.board.put(place(0), Piece { color, role });
            setup.board.put(
                place(1),
                Piece {
                    color,
                    role: Role::Pawn,
                },
            );
        }
    }
    setup.castling_rooks = setup.board.role(Role::Rook);
    Position::from_setup(&setup).ok()
}

/// Returns the pieces of the back rank from the a-file to the h-file.
fn back_rank(number: u32) -> Option<[Role; 8]> {
    if number >= STARTING_POSITIONS {
        return None;
    }
    let mut rank: [Option<Role>; 8] = [None; 8];
    let (rest, light) = (number / 4, number % 4);
    rank[light as usize * 2 + 1] = Some(Role::Bishop);
    let (rest, dark) = (rest / 4, rest % 4);
    rank[dark as usize * 2] = Some(Role::Bishop);
    let (knights, queen) = (rest / 6, rest % 6);
    place(&mut rank, queen as usize, Role::Queen);
    let (first, second) = KNIGHTS[knights as usize];
    // The second is placed first, since its place is counted with the first one free.
    place(&mut rank, second, Role::Knight);
    place(&mut rank, first, Role::Knight);
    for role in [Role::Rook, Role::King, Role::Rook] {
        place(&mut rank, 0, role);
    }
    Some(rank.map(|role| role.unwrap_or(Role::Pawn)))
}

/// Puts a piece on the `index`th file that is still free.
fn place(rank: &mut [Option<Role>; 8], index: usize, role: Role) {
    if let Some(file) = rank.iter_mut().filter(|file| file.is_none()).nth(index) {
        *file = Some(role);
    }
}

/// Returns the number of a board that is a Chess960 starting position, or `None` for any other.
#[must_use]
pub fn number_of(board: &Board) -> Option<u32> {
    (0..STARTING_POSITIONS).find(|&number| {
        startpos(number, CastlingMode::Chess960).is_some_and(|start| start.board() == board)
    })
}
