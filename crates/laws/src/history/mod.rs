//! The position on the board and how it came about: what repetition, perpetual check and move
//! counts are judged from.

use core::fmt;

use referee_chess::{
    Bitboard, Color, File, Move, MoveError, MoveKind, Piece, Position, PositionKey, Rank, Role,
    Square, Tolerance, UciMove,
};

mod plies;

use plies::Plies;

/// A base position and the moves played from it: legal ones, and illegal ones that nobody noticed.
///
/// A copy is cheap whatever the length, since copies share what they have in common.
#[derive(Clone, Debug)]
pub struct History {
    position: Position,
    plies: Plies,
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
    /// No piece of the mover stands on the square of origin, or a king or an own piece would be
    /// captured, or a pawn would stand on the first rank of its side.
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

/// The position after a move that should not have been made: a legal one that was made with two
/// hands, or a piece put where it could not go. Castling is put on the board where the king goes
/// two squares along its rank towards a rook in the corner, and a pawn that is not replaced stays
/// on its last rank.
fn after_irregular(position: &Position, uci: UciMove) -> Option<Position> {
    if let Ok(mv) = position.resolve_uci(uci) {
        return Some(position.after_unchecked(mv));
    }
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
    let is_back_rank = matches!(to.rank(), Rank::FIRST | Rank::EIGHTH);
    let role = match (piece.role, promotion) {
        (Role::Pawn, None) if to.rank() == Rank::relative(mover, 7) => Role::Pawn,
        (Role::Pawn, role) if is_back_rank => {
            role.filter(|role| !matches!(role, Role::Pawn | Role::King))?
        }
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
        History {
            position: base.clone(),
            plies: Plies::new(base),
        }
    }

    /// Returns the position before the first move.
    #[must_use]
    pub fn base(&self) -> &Position {
        self.plies.base()
    }

    /// Returns the position on the board.
    #[inline]
    #[must_use]
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// Returns the moves played from the base, oldest first.
    pub fn moves(&self) -> impl Iterator<Item = UciMove> + '_ {
        (1..=self.plies.moves()).filter_map(|ply| self.plies.get(ply).played)
    }

    /// Returns the move that led to a ply; `None` for the base, and ahead of the game.
    #[must_use]
    pub fn move_to(&self, ply: u32) -> Option<UciMove> {
        let is_there = ply <= self.ply();
        self.plies.get(ply as usize).played.filter(|_| is_there)
    }

    /// Returns whether an illegal move led to a ply and stands, or a legal one that was made with
    /// two hands.
    #[must_use]
    pub fn is_illegal_move_to(&self, ply: u32) -> bool {
        ply <= self.ply() && self.plies.get(ply as usize).is_illegal
    }

    /// Returns the number of moves of both sides played from the base.
    #[must_use]
    pub fn ply(&self) -> u32 {
        // Fewer than 16 bits can number.
        self.plies.moves() as u32
    }

    /// Returns the plies that illegal moves led to that stand on the board, oldest first.
    pub fn illegal_plies(&self) -> impl DoubleEndedIterator<Item = u32> {
        let mut plies: Vec<u32> = self.illegal_plies_back().collect();
        plies.reverse();
        plies.into_iter()
    }

    /// The plies that illegal moves led to that stand on the board, latest first.
    pub(crate) fn illegal_plies_back(&self) -> impl Iterator<Item = u32> + '_ {
        let latest_up_to = |ply: u32| {
            let latest = self.plies.get(ply as usize).last_illegal;
            (latest > 0).then_some(u32::from(latest))
        };
        core::iter::successors(latest_up_to(self.ply()), move |&ply| latest_up_to(ply - 1))
    }

    /// Returns whether another move fits.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.plies.moves() >= Self::MOVES_MAX
    }

    /// Checks that another move fits below a limit.
    fn check_room(&self, limit: usize) -> Result<(), HistoryError> {
        if self.plies.moves() < limit {
            Ok(())
        } else {
            Err(HistoryError { limit })
        }
    }

    /// Plays a move that is legal in the position.
    ///
    /// # Errors
    ///
    /// Where [`MOVES_MAX`](Self::MOVES_MAX) moves have been played; nothing changes.
    pub fn play(&mut self, mv: Move) -> Result<(), HistoryError> {
        self.check_room(Self::MOVES_MAX)?;
        self.play_recorded(mv)
    }

    /// Plays a move that was played in it before, whatever the limit is today.
    pub(crate) fn play_recorded(&mut self, mv: Move) -> Result<(), HistoryError> {
        self.check_room(RECORDED_MAX)?;
        let uci = self.position.uci(mv);
        let is_capture = mv.kind() == MoveKind::EnPassant
            || (mv.kind() != MoveKind::Castle
                && self.position.board().occupied().contains(mv.to()));
        self.position.play_unchecked(mv);
        self.plies.push(uci, false, is_capture, &self.position);
        Ok(())
    }

    /// Puts a move on the board that should not have been made and that nobody noticed: the piece
    /// on the square of origin goes to the square of arrival, and the move is over. A legal move
    /// is one that was made with two hands.
    ///
    /// # Errors
    ///
    /// Where it cannot be put on the board, or no further move fits; nothing changes.
    pub fn stand(&mut self, uci: UciMove) -> Result<(), StandError> {
        self.check_room(Self::MOVES_MAX).map_err(StandError::Full)?;
        self.stand_recorded(uci)
    }

    /// Puts an illegal move on the board that stood there before, whatever the limit is today.
    pub(crate) fn stand_recorded(&mut self, uci: UciMove) -> Result<(), StandError> {
        self.check_room(RECORDED_MAX).map_err(StandError::Full)?;
        let before = self.position.board().occupied().count();
        self.position = after_irregular(&self.position, uci).ok_or(StandError::Impossible)?;
        let is_capture = self.position.board().occupied().count() < before;
        self.plies.push(uci, true, is_capture, &self.position);
        Ok(())
    }

    /// Puts back the position of an earlier ply (7.1). A later ply changes nothing.
    pub fn reinstate(&mut self, ply: u32) {
        if ply >= self.ply() {
            return;
        }
        let (mut position, moves) = self.plies.truncate(ply as usize);
        for ply in moves {
            // Each move fitted when it was first played from here, and so it does again.
            let Some(uci) = ply.played else { continue };
            if ply.is_illegal {
                position = after_irregular(&position, uci).unwrap_or(position);
            } else if let Ok(mv) = position.resolve_uci(uci) {
                position.play_unchecked(mv);
            }
        }
        self.position = position;
    }

    /// Returns the history up to a ply, or all of it where it is not that long.
    #[must_use]
    pub fn up_to(&self, ply: u32) -> History {
        let mut earlier = self.clone();
        earlier.reinstate(ply);
        earlier
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
        self.plies.last().last_reset.into()
    }

    /// Returns the ply that the last capture led to; 0 where none has been made since the base.
    #[must_use]
    pub fn last_capture_ply(&self) -> u32 {
        self.plies.last().last_capture.into()
    }

    /// Returns the keys of all positions so far, the base first.
    pub fn keys(&self) -> impl Iterator<Item = PositionKey> + '_ {
        self.keys_from(0)
    }

    /// Returns the key of the position of a ply; `None` ahead of the game.
    #[must_use]
    pub fn key_of(&self, ply: u32) -> Option<PositionKey> {
        (ply <= self.ply()).then(|| self.plies.get(ply as usize).key)
    }

    /// Returns the keys of the positions since the last capture or pawn move, oldest first: none
    /// from before can occur again.
    #[must_use]
    pub fn repeatable_keys(&self) -> Vec<PositionKey> {
        self.keys_from(self.last_reset_ply()).collect()
    }

    fn keys_from(&self, ply: u32) -> impl Iterator<Item = PositionKey> + '_ {
        (ply..=self.ply()).map(|ply| self.plies.get(ply as usize).key)
    }

    /// Returns the side whose every move between two plies gave check, the moves that led to the
    /// plies after `from` up to `to` included; `None` where there is no such side.
    #[must_use]
    pub fn checks_between(&self, from: u32, to: u32) -> Option<Color> {
        if to > self.ply() {
            return None;
        }
        // The move that led to the position on the board was made by the side not to move.
        let last = !self.position.turn();
        let behind = self.ply() - to;
        [last, !last].into_iter().find(|&side| {
            let skip = u32::from((side == last) == (behind % 2 == 1));
            let latest = to.saturating_sub(skip);
            let moves = latest.saturating_sub(from).div_ceil(2);
            moves > 0 && u32::from(self.plies.get(latest as usize).checks) >= moves
        })
    }

    /// Returns how often the position on the board has occurred, this time included (9.2.3).
    #[must_use]
    pub fn repetitions(&self) -> u32 {
        self.plies.last().occurrences()
    }

    /// Returns the plies at which the position on the board stood, oldest first; the last is now.
    #[must_use]
    pub fn repetition_plies(&self) -> Vec<u32> {
        let mut plies: Vec<u32> = self.plies.occurrences_of(&self.position).collect();
        plies.reverse();
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
            self.plies.occurrences_of(&after).collect()
        };
        plies.reverse();
        plies.push(self.ply() + 1);
        plies
    }

    /// Returns how often the position after a legal move will have occurred with it.
    #[must_use]
    pub fn repetitions_after(&self, mv: Move) -> u32 {
        let after = self.position.after_unchecked(mv);
        if after.halfmove_clock() == 0 {
            return 1;
        }
        let latest = self.plies.occurrences_of(&after).next();
        1 + latest.map_or(0, |ply| self.plies.get(ply as usize).occurrences())
    }

    /// Returns the ply at which the position on the board stood some occurrences before now, as 1
    /// for the last time before; `None` where it has not occurred so often.
    #[must_use]
    pub fn occurrence_before(&self, occurrences: usize) -> Option<u32> {
        self.plies.occurrences_of(&self.position).nth(occurrences)
    }

    /// Returns whether some position since the last capture or pawn move has occurred twice with
    /// the side that is not to move having the move: only then can a move repeat a third time.
    #[must_use]
    pub fn can_move_repeat(&self) -> bool {
        self.plies.last().has_twice(!self.position.turn())
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

/// What a history can hold: its plies are numbered in 16 bits, and the greatest stands for none.
const RECORDED_MAX: usize = u16::MAX as usize - 1;

const _: () = assert!(History::MOVES_MAX <= RECORDED_MAX);
