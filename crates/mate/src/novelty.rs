//! How new a position is among those with the same men and pawns.
//!
//! Captures and moves of pawns cannot be taken back; between them the men walk about. A search
//! that first makes every man come to each square once, and the kings to each pair of squares,
//! finds what can be captured and which pawns can go on, without trying all places of the men
//! that do not matter (the width of a planning problem: Lipovetzky and Geffner, "Width and
//! Serialization of Classical Planning Problems", ECAI 2012).

use std::collections::HashMap;

use referee_chess::{Bitboard, Color, Move, Position, Role};

use crate::limits::NOVELTY_STAGES;

/// What the positions with the same men and pawns have shown.
struct Stage {
    /// By color and role, where one has come to.
    men: [[Bitboard; 6]; 2],
    /// By the square of the white king, those of the black one.
    kings: [Bitboard; 64],
    count: u32,
}

/// The stages of a search; there is a limit to them, so that memory is bounded.
#[derive(Default)]
pub(crate) struct Novelty {
    stages: Vec<Stage>,
    numbers: HashMap<u64, usize>,
}

/// What each man on the board counts: the fewer, the more room there is.
const MAN: i32 = 4;

/// Positions of one stage after which another one is preferred as much as by a step.
const CROWD: u32 = 50;

/// The most that a crowded stage counts.
const CROWD_MAX: u32 = 100;

/// What a position counts that shows a new pair of kings, but no man on a new square.
const NEW_PAIR: i32 = 10;

/// What a position counts that shows nothing new.
const NOTHING_NEW: i32 = 60;

impl Novelty {
    /// Returns how late the moves of a position are to be tried, which another move has led to.
    pub(crate) fn note(&mut self, position: &Position, last: Option<Move>) -> i32 {
        let board = position.board();
        let number = self.stage_of(stage_key(position));
        let stage = &mut self.stages[number];
        stage.count += 1;
        let crowd = (stage.count / CROWD).min(CROWD_MAX) as i32;
        let men = board.occupied().count() as i32;
        let base = men * MAN + crowd;
        let kings = &mut stage.kings[position.king(Color::White).index()];
        let king = position.king(Color::Black);
        let shows_pair = !kings.contains(king);
        *kings |= Bitboard::of(king);
        let Some(mv) = last else {
            return base;
        };
        let role = board.role_at(mv.to()).unwrap_or(Role::King);
        let squares = &mut stage.men[(!position.turn()).index()][role.index()];
        let shows_square = !squares.contains(mv.to());
        *squares |= Bitboard::of(mv.to());
        if shows_square {
            base
        } else if shows_pair {
            base + NEW_PAIR
        } else {
            base + NOTHING_NEW
        }
    }

    /// Returns the number of a stage, which is that of another one where there are too many.
    fn stage_of(&mut self, key: u64) -> usize {
        if let Some(&number) = self.numbers.get(&key) {
            return number;
        }
        if self.stages.len() == NOVELTY_STAGES {
            return key as usize % NOVELTY_STAGES;
        }
        self.stages.push(Stage {
            men: [[Bitboard::EMPTY; 6]; 2],
            kings: [Bitboard::EMPTY; 64],
            count: 0,
        });
        self.numbers.insert(key, self.stages.len() - 1);
        self.stages.len() - 1
    }
}

/// Returns a hash of the pawns and the number of the other men. Two stages that share one are
/// taken for the same, which only changes the order of the search.
fn stage_key(position: &Position) -> u64 {
    let board = position.board();
    let mut key = 0u64;
    for color in Color::ALL {
        key = mix(key, board.pieces(color, Role::Pawn).0);
        for role in Role::ALL {
            key = mix(key, u64::from(board.pieces(color, role).count()));
        }
    }
    key
}

fn mix(key: u64, value: u64) -> u64 {
    let mixed = (key ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}
