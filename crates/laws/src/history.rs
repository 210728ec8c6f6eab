//! The position on the board and how it came about: what repetition, perpetual check and move
//! counts are judged from.

use core::fmt;

use referee_chess::{
    Bitboard, Color, File, Move, MoveError, MoveKind, Piece, Position, PositionKey, Rank, Role,
    Square, Tolerance, UciMove,
};

/// A base position and the moves played from it: legal ones, and illegal ones that nobody noticed.
#[derive(Clone, Debug)]
pub struct History {
    base: Position,
    position: Position,
    plies: Vec<Ply>,
    /// The key of every position so far, the base first.
    keys: Vec<PositionKey>,
}

/// One move of a history, and what counts from it.
#[derive(Clone, Copy, Debug)]
struct Ply {
    uci: UciMove,
    /// Whether the move is illegal and stands.
    is_illegal: bool,
    /// Whether it gave check.
    gives_check: bool,
    /// The ply that the last capture or pawn move led to; 0 where none has been made.
    last_reset_ply: u32,
    /// The ply that the last capture led to; 0 where none has been made.
    last_capture_ply: u32,
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

/// An illegal move cannot stand on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandError {
    /// The history cannot take another move.
    Full(HistoryError),
    /// No piece of the mover stands on the square of origin, or a king would be captured, or
    /// a pawn would stay on its last rank.
    Impossible,
}

impl fmt::Display for StandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(error) => error.fmt(f),
            Self::Impossible => f.write_str("the move cannot be put on the board"),
        }
    }
}

impl core::error::Error for StandError {}

/// The position after a piece was put where it could not go. Castling is put on the board where
/// the king goes two squares along its rank towards a rook in the corner.
fn after_illegal(position: &Position, uci: UciMove) -> Option<Position> {
    let UciMove {
        from,
        to,
        promotion,
    } = uci;
    let mover = position.turn();
    let mut setup = position.to_setup();
    let piece = setup
        .board
        .piece_at(from)
        .filter(|piece| piece.color == mover)?;
    let target = setup.board.piece_at(to);
    if from == to || target.is_some_and(|target| target.color == mover || target.role == Role::King)
    {
        return None;
    }
    let is_last_rank = matches!(to.rank(), Rank::FIRST | Rank::EIGHTH);
    let role = match (piece.role, is_last_rank) {
        (Role::Pawn, true) => promotion.filter(|role| !matches!(role, Role::Pawn | Role::King))?,
        (role, _) => role,
    };
    setup.board.take(from);
    setup.board.take(to);
    setup.board.put(to, Piece { color: mover, role });
    let is_castling =
        piece.role == Role::King && from.rank() == to.rank() && from.file() == File::E;
    if is_castling && matches!(to.file(), File::C | File::G) {
        let (corner, beside) = if to.file() == File::G {
            (File::H, File::F)
        } else {
            (File::A, File::D)
        };
        let corner = Square::at(corner, from.rank());
        let rook = Piece {
            color: mover,
            role: Role::Rook,
        };
        let beside = Square::at(beside, from.rank());
        if setup.board.piece_at(corner) == Some(rook) && setup.board.piece_at(beside).is_none() {
            setup.board.take(corner);
            setup.board.put(beside, rook);
        }
    }
    let touched = Bitboard::of(from) | Bitboard::of(to);
    setup.castling_rooks = setup.castling_rooks - touched;
    if piece.role == Role::King {
        setup.castling_rooks = setup.castling_rooks - position.board().color(mover);
    }
    setup.en_passant = None;
    let resets = piece.role == Role::Pawn || target.is_some();
    setup.halfmove_clock = if resets { 0 } else { setup.halfmove_clock + 1 };
    setup.fullmove_number += u32::from(mover == Color::Black);
    setup.turn = !mover;
    Position::from_setup_with(&setup, Tolerance::IRREGULAR).ok()
}

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
            plies: Vec::new(),
            keys,
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

    /// Returns the moves played from the base, oldest first.
    pub fn moves(&self) -> impl ExactSizeIterator<Item = UciMove> + '_ {
        self.plies.iter().map(|ply| ply.uci)
    }

    /// Returns the number of moves of both sides played from the base.
    #[must_use]
    pub fn ply(&self) -> u32 {
        // At most `MOVES_MAX`.
        self.plies.len() as u32
    }

    /// Returns the plies that illegal moves led to that stand on the board, oldest first.
    pub fn illegal_plies(&self) -> impl Iterator<Item = u32> + '_ {
        let plies = (1..).zip(&self.plies);
        plies.filter_map(|(number, ply)| ply.is_illegal.then_some(number))
    }

    /// Returns whether another move fits.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.plies.len() >= Self::MOVES_MAX
    }

    fn check_room(&self) -> Result<(), HistoryError> {
        if self.is_full() {
            return Err(HistoryError {
                limit: Self::MOVES_MAX,
            });
        }
        Ok(())
    }

    /// Plays a move that is legal in the position.
    ///
    /// # Errors
    ///
    /// Where [`MOVES_MAX`](Self::MOVES_MAX) moves have been played; nothing changes.
    pub fn play(&mut self, mv: Move) -> Result<(), HistoryError> {
        self.check_room()?;
        let uci = self.position.uci(mv);
        let is_capture = mv.kind() == MoveKind::EnPassant
            || (mv.kind() != MoveKind::Castle
                && self.position.board().occupied().contains(mv.to()));
        self.position.play_unchecked(mv);
        self.push(uci, false, is_capture);
        Ok(())
    }

    /// Puts an illegal move on the board that nobody noticed: the piece on the square of origin
    /// goes to the square of arrival, and the move is over.
    ///
    /// # Errors
    ///
    /// Where it cannot be put on the board, or no further move fits; nothing changes.
    pub fn stand(&mut self, uci: UciMove) -> Result<(), StandError> {
        self.check_room().map_err(StandError::Full)?;
        let before = self.position.board().occupied().count();
        self.position = after_illegal(&self.position, uci).ok_or(StandError::Impossible)?;
        let is_capture = self.position.board().occupied().count() < before;
        self.push(uci, true, is_capture);
        Ok(())
    }

    fn push(&mut self, uci: UciMove, is_illegal: bool, is_capture: bool) {
        let ply = self.ply() + 1;
        let last = self.plies.last();
        let (reset, capture) =
            last.map_or((0, 0), |last| (last.last_reset_ply, last.last_capture_ply));
        self.plies.push(Ply {
            uci,
            is_illegal,
            gives_check: self.position.is_check(),
            last_reset_ply: if self.position.halfmove_clock() == 0 {
                ply
            } else {
                reset
            },
            last_capture_ply: if is_capture { ply } else { capture },
        });
        self.keys.push(self.position.exact_key());
    }

    /// Puts back the position of an earlier ply (7.1). A later ply changes nothing.
    pub fn reinstate(&mut self, ply: u32) {
        let ply = ply as usize;
        if ply >= self.plies.len() {
            return;
        }
        let plies = core::mem::take(&mut self.plies);
        self.position = self.base.clone();
        self.keys.truncate(1);
        for played in plies.into_iter().take(ply) {
            // Each move fitted when it was first played from here, and so it does again.
            if played.is_illegal {
                let _ = self.stand(played.uci);
            } else if let Ok(mv) = self.position.resolve_uci(played.uci) {
                let _ = self.play(mv);
            }
        }
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
        self.plies.last().map_or(0, |ply| ply.last_reset_ply)
    }

    /// Returns the ply that the last capture led to; 0 where none has been made since the base.
    #[must_use]
    pub fn last_capture_ply(&self) -> u32 {
        self.plies.last().map_or(0, |ply| ply.last_capture_ply)
    }

    /// Returns the keys of all positions so far, the base first.
    #[must_use]
    pub fn keys(&self) -> &[PositionKey] {
        &self.keys
    }

    /// Returns the side whose every move between two plies gave check, the moves that led to the
    /// plies after `from` up to `to` included; `None` where there is no such side.
    #[must_use]
    pub fn checks_between(&self, from: u32, to: u32) -> Option<Color> {
        let moves = self.plies.get(from as usize..to as usize)?;
        // The move that led to the position on the board was made by the side not to move.
        let last = !self.position.turn();
        [last, !last].into_iter().find(|&side| {
            let behind = self.ply() - to;
            let skip = usize::from((side == last) == (behind % 2 == 1));
            let mut own = moves.iter().rev().skip(skip).step_by(2).peekable();
            own.peek().is_some() && own.all(|ply| ply.gives_check)
        })
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
