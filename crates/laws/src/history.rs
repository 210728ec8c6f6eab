//! The position on the board and how it came about: what repetition and move counts are judged
//! from.

use core::fmt;

use referee_chess::{Color, Move, MoveError, Position, PositionKey, UciMove};

/// A base position and the legal moves played from it.
#[derive(Clone, Debug)]
pub struct History {
    base: Position,
    position: Position,
    moves: Vec<UciMove>,
    /// The key of every position so far, the base first.
    keys: Vec<PositionKey>,
    /// The ply that the last capture or pawn move led to; 0 where none has been made.
    last_reset_ply: u32,
}

/// The history cannot take another move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryError {
    /// The greatest number of moves that it takes.
    pub limit: usize,
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a game has at most {} moves", self.limit)
    }
}

impl core::error::Error for HistoryError {}

impl History {
    /// The greatest number of moves of both sides in one history. It is above the longest game
    /// that the seventy-five-move rule allows.
    pub const MOVES_MAX: usize = 20_000;

    /// Begins a history.
    #[must_use]
    pub fn new(base: Position) -> History {
        let keys = vec![base.exact_key()];
        History {
            position: base.clone(),
            base,
            moves: Vec::new(),
            keys,
            last_reset_ply: 0,
        }
    }

    /// Returns the position before the first move.
    #[must_use]
    pub fn base(&self) -> &Position {
        &self.base
    }

    /// Returns the position on the board.
    #[inline]
    #[must_use]
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// Returns the moves played from the base.
    #[must_use]
    pub fn moves(&self) -> &[UciMove] {
        &self.moves
    }

    /// Returns the number of moves of both sides played from the base.
    #[must_use]
    pub fn ply(&self) -> u32 {
        // At most `MOVES_MAX`.
        self.moves.len() as u32
    }

    /// Returns whether another move fits.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.moves.len() >= Self::MOVES_MAX
    }

    /// Plays a move that is legal in the position.
    ///
    /// # Errors
    ///
    /// Where [`MOVES_MAX`](Self::MOVES_MAX) moves have been played; nothing changes.
    pub fn play(&mut self, mv: Move) -> Result<(), HistoryError> {
        if self.is_full() {
            return Err(HistoryError {
                limit: Self::MOVES_MAX,
            });
        }
        self.moves.push(self.position.uci(mv));
        self.position.play_unchecked(mv);
        self.keys.push(self.position.exact_key());
        if self.position.halfmove_clock() == 0 {
            self.last_reset_ply = self.ply();
        }
        Ok(())
    }

    /// Reads a move in the position, in UCI or SAN.
    ///
    /// # Errors
    ///
    /// Where the text is no legal move.
    pub fn read(&self, text: &str) -> Result<Move, MoveError> {
        self.position.read_move(text)
    }

    /// Returns the number of half-moves since the last capture or pawn move, those before the
    /// base included where it counts them (9.3).
    #[must_use]
    pub fn halfmove_clock(&self) -> u32 {
        self.position.halfmove_clock()
    }

    /// Returns the ply that the last capture or pawn move led to; 0 where none has been made
    /// since the base.
    #[must_use]
    pub fn last_reset_ply(&self) -> u32 {
        self.last_reset_ply
    }

    /// Returns how often the position on the board has occurred, this time included (9.2.3).
    #[must_use]
    pub fn repetitions(&self) -> u32 {
        1 + self.earlier(&self.position.exact_key(), 1).count() as u32
    }

    /// Returns the plies at which the position on the board stood, oldest first; the last is now.
    #[must_use]
    pub fn repetition_plies(&self) -> Vec<u32> {
        let mut plies: Vec<u32> = self.earlier(&self.position.exact_key(), 1).collect();
        plies.reverse();
        plies.push(self.ply());
        plies
    }

    /// Returns the plies at which the position after a legal move stood before, oldest first,
    /// and the ply after the move last.
    #[must_use]
    pub fn repetition_plies_after(&self, mv: Move) -> Vec<u32> {
        let after = self.position.after_unchecked(mv);
        let mut plies: Vec<u32> = if after.halfmove_clock() == 0 {
            Vec::new()
        } else {
            self.earlier(&after.exact_key(), 0).collect()
        };
        plies.reverse();
        plies.push(self.ply() + 1);
        plies
    }

    /// Returns whether some position since the last capture or pawn move has occurred twice with
    /// the side that is not to move having the move: only then can a move repeat a third time.
    #[must_use]
    pub fn can_move_repeat(&self) -> bool {
        let first = self
            .keys
            .len()
            .saturating_sub(self.halfmove_clock() as usize + 1);
        let window = &self.keys[first..];
        // The last key is the position on the board, so those of the other side are every second
        // one before it.
        let others: Vec<&PositionKey> = window.iter().rev().skip(1).step_by(2).collect();
        others
            .iter()
            .enumerate()
            .any(|(index, key)| others[index + 1..].contains(key))
    }

    /// The plies before now at which a key stood, latest first. `skip` is how many of the last
    /// plies cannot have it: 1 where it is that of the position on the board, 0 where it is that
    /// of a position after the next move. Positions before the last capture or pawn move are
    /// different ones, so they are not looked at.
    fn earlier<'a>(&'a self, key: &'a PositionKey, skip: usize) -> impl Iterator<Item = u32> + 'a {
        let window = self.halfmove_clock() as usize + 1;
        self.keys
            .iter()
            .enumerate()
            .rev()
            .take(window)
            .skip(skip)
            .filter(move |(_, other)| *other == key)
            .map(|(ply, _)| ply as u32)
    }

    /// Returns the number of moves that a side has made, those before the base included as its
    /// move number tells them.
    #[must_use]
    pub fn moves_made(&self, side: Color) -> u32 {
        let completed = self.position.fullmove_number() - 1;
        let is_ahead = side == Color::White && self.position.turn() == Color::Black;
        completed + u32::from(is_ahead)
    }
}
