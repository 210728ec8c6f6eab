//! Whether a setup can be played from, with every problem named at once.

use core::fmt;

use crate::limits::COUNTER_MAX;
use crate::rays::line;
use crate::sliders::{Sliders, WithSliders, with_sliders};
use crate::{
    Bitboard, CastlingMode, Color, File, Piece, Position, Rank, Role, Setup, Square, zobrist,
};

/// Why a setup cannot be played from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PositionIssue {
    /// A side has no king.
    MissingKing(Color),
    /// A side has more than one king.
    TooManyKings(Color),
    /// Pawns stand on the first or the eighth rank, where none can (FIDE Laws 3.7.3.3).
    PawnOnBackRank(Bitboard),
    /// Rights to castle belong to these squares, on which no rook can castle (3.8.2.1).
    CastlingRights(Bitboard),
    /// No pawn can just have passed over this square (3.7.3.1).
    EnPassantSquare(Square),
    /// The side that is not to move is in check (3.9.1).
    OpponentInCheck,
    /// These checks cannot have come about by one move.
    ImpossibleCheck(Bitboard),
    /// A side has more pieces than captures and promotions can explain.
    TooMuchMaterial(Color),
    /// A counter is out of range: the move number begins with 1, both end at [`COUNTER_MAX`],
    /// and a pawn that has just made a double step has reset the halfmove clock.
    Counter,
}

impl fmt::Display for PositionIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingKing(color) => write!(f, "{color} has no king"),
            Self::TooManyKings(color) => write!(f, "{color} has more than one king"),
            Self::PawnOnBackRank(squares) => {
                write!(
                    f,
                    "a pawn stands on {}, where no pawn can stand",
                    Listed(*squares)
                )
            }
            Self::CastlingRights(squares) => write!(
                f,
                "a right to castle names {}, where no king and rook stand ready for it",
                Listed(*squares)
            ),
            Self::EnPassantSquare(square) => {
                write!(
                    f,
                    "no pawn can just have passed over the en passant square {square}"
                )
            }
            Self::OpponentInCheck => f.write_str("the side that is not to move is in check"),
            Self::ImpossibleCheck(squares) => write!(
                f,
                "the checks from {} cannot have come about by one move",
                Listed(*squares)
            ),
            Self::TooMuchMaterial(color) => {
                write!(f, "{color} has more pieces than promotion can explain")
            }
            Self::Counter => write!(
                f,
                "a counter is out of range: moves count from 1 to {COUNTER_MAX}, halfmoves from 0 \
                 to {COUNTER_MAX}, and are 0 with an en passant square"
            ),
        }
    }
}

/// The squares of a set, by name.
struct Listed(Bitboard);

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, square) in self.0.into_iter().enumerate() {
            write!(f, "{}{square}", if index == 0 { "" } else { " and " })?;
        }
        Ok(())
    }
}

/// A setup cannot be played from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PositionError {
    /// All that is wrong with it; never empty.
    pub issues: Vec<PositionIssue>,
}

impl fmt::Display for PositionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, issue) in self.issues.iter().enumerate() {
            write!(f, "{}{issue}", if index == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl core::error::Error for PositionError {}

/// Which problems of a setup are let pass, as real files need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Tolerance {
    /// Rights to castle that cannot be are dropped.
    pub drop_castling_rights: bool,
    /// An en passant square that cannot be is dropped.
    pub drop_en_passant: bool,
    /// Checks that no move can have given are taken, and so is an en passant square next to them.
    pub impossible_check: bool,
    /// Any number of pieces is taken.
    pub too_much_material: bool,
    /// A move number of 0 becomes 1, counters too great become the greatest that is taken, and
    /// an en passant square may come with a halfmove clock that is not 0.
    pub counter: bool,
    /// The side that is not to move may be in check, as after an illegal move that nobody noticed
    /// (FIDE Laws A.5.4). No move captures its king.
    pub opponent_in_check: bool,
    /// A pawn may stand on the last rank of its side, as one that was not replaced and that nobody
    /// noticed (FIDE Laws A.5.4). It has no move.
    pub pawn_on_last_rank: bool,
}

impl Tolerance {
    /// Nothing is let pass.
    pub const STRICT: Tolerance = Tolerance {
        drop_castling_rights: false,
        drop_en_passant: false,
        impossible_check: false,
        too_much_material: false,
        counter: false,
        opponent_in_check: false,
        pawn_on_last_rank: false,
    };

    /// What cannot be is dropped or set right; the pieces must still make sense. For files of
    /// games from many programs.
    pub const LENIENT: Tolerance = Tolerance {
        drop_castling_rights: true,
        drop_en_passant: true,
        counter: true,
        ..Tolerance::STRICT
    };

    /// Positions that could not arise in play are taken as long as moves can be counted in them.
    pub const PERFT: Tolerance = Tolerance {
        impossible_check: true,
        too_much_material: true,
        ..Tolerance::LENIENT
    };

    /// Positions after illegal moves that stand on the board.
    pub const IRREGULAR: Tolerance = Tolerance {
        opponent_in_check: true,
        pawn_on_last_rank: true,
        ..Tolerance::PERFT
    };
}

impl Position {
    /// Returns the position that a setup describes.
    ///
    /// # Errors
    ///
    /// Names every problem where there is any.
    pub fn from_setup(setup: &Setup) -> Result<Position, PositionError> {
        Position::from_setup_with(setup, Tolerance::STRICT)
    }

    /// Returns the position that a setup describes, with some problems let pass.
    ///
    /// # Errors
    ///
    /// Names every problem that is not let pass.
    pub fn from_setup_with(setup: &Setup, tolerance: Tolerance) -> Result<Position, PositionError> {
        with_sliders(Validation {
            setup,
            tolerance,
            issues: Vec::new(),
        })
    }
}

struct Validation<'a> {
    setup: &'a Setup,
    tolerance: Tolerance,
    issues: Vec<PositionIssue>,
}

impl WithSliders for Validation<'_> {
    type Output = Result<Position, PositionError>;

    fn run<S: Sliders>(mut self, sliders: S) -> Self::Output {
        let setup = self.setup;
        self.check_pieces();
        let has_kings = Color::ALL
            .iter()
            .all(|&color| setup.board.pieces(color, Role::King).count() == 1);
        let castling_rooks = self.check_castling();
        let mut en_passant = self.check_en_passant(sliders, has_kings);
        let (halfmove_clock, fullmove_number) = self.check_counters(&mut en_passant);
        if has_kings {
            self.check_checks(sliders);
        }
        if !self.issues.is_empty() {
            return Err(PositionError {
                issues: self.issues,
            });
        }
        let mut position = Position {
            board: setup.board,
            castling_rooks,
            checkers: Bitboard::EMPTY,
            pinned: Bitboard::EMPTY,
            hash: 0,
            halfmove_clock,
            fullmove_number,
            turn: setup.turn,
            en_passant: None,
            passed: en_passant,
            castling_mode: setup.castling_mode,
        };
        position.hash = position.fresh_zobrist();
        position.find_checks_and_pins();
        if let Some(square) = en_passant {
            position.set_en_passant(square);
        }
        debug_assert_eq!(position.hash, position.fresh_zobrist());
        debug_assert!(zobrist::black_to_move() != 0);
        Ok(position)
    }
}

impl Validation<'_> {
    fn check_pieces(&mut self) {
        let board = &self.setup.board;
        for color in Color::ALL {
            match board.pieces(color, Role::King).count() {
                0 => self.issues.push(PositionIssue::MissingKing(color)),
                1 => {}
                _ => self.issues.push(PositionIssue::TooManyKings(color)),
            }
        }
        let mut stranded = board.role(Role::Pawn) & Bitboard::BACK_RANKS;
        if self.tolerance.pawn_on_last_rank {
            for color in Color::ALL {
                let last = Bitboard::rank(Rank::relative(color, 7));
                stranded = stranded - (board.pieces(color, Role::Pawn) & last);
            }
        }
        if stranded.any() {
            self.issues.push(PositionIssue::PawnOnBackRank(stranded));
        }
        if self.tolerance.too_much_material {
            return;
        }
        for color in Color::ALL {
            let count = |role| board.pieces(color, role).count();
            let bishops = board.pieces(color, Role::Bishop);
            let promoted = count(Role::Knight).saturating_sub(2)
                + (bishops & Bitboard::LIGHT).count().saturating_sub(1)
                + (bishops & Bitboard::DARK).count().saturating_sub(1)
                + count(Role::Rook).saturating_sub(2)
                + count(Role::Queen).saturating_sub(1);
            if count(Role::Pawn) + promoted > 8 {
                self.issues.push(PositionIssue::TooMuchMaterial(color));
            }
        }
    }

    /// Returns the rooks that can have the right to castle.
    fn check_castling(&mut self) -> Bitboard {
        let setup = self.setup;
        let mut able = Bitboard::EMPTY;
        for color in Color::ALL {
            let home = Rank::relative(color, 0);
            let Some(king) = setup.board.pieces(color, Role::King).only() else {
                continue;
            };
            let king_ready = king.rank() == home
                && (setup.castling_mode == CastlingMode::Chess960 || king.file() == File::E);
            if !king_ready {
                continue;
            }
            let rooks =
                setup.castling_rooks & setup.board.pieces(color, Role::Rook) & Bitboard::rank(home);
            let corners = Bitboard::file(File::A) | Bitboard::file(File::H);
            let rooks = match setup.castling_mode {
                CastlingMode::Standard => rooks & corners,
                CastlingMode::Chess960 => rooks,
            };
            let below = Bitboard(Bitboard::of(king).0 - 1);
            for side in [rooks & below, rooks - below] {
                able |= side.only().map_or(Bitboard::EMPTY, Bitboard::of);
            }
        }
        let unable = setup.castling_rooks - able;
        if unable.any() && !self.tolerance.drop_castling_rights {
            self.issues.push(PositionIssue::CastlingRights(unable));
        }
        able
    }

    /// Returns the en passant square where a pawn can just have passed over it.
    fn check_en_passant<S: Sliders>(&mut self, sliders: S, has_kings: bool) -> Option<Square> {
        let square = self.setup.en_passant?;
        if self.is_en_passant_possible(sliders, square, has_kings) {
            return Some(square);
        }
        if !self.tolerance.drop_en_passant {
            self.issues.push(PositionIssue::EnPassantSquare(square));
        }
        None
    }

    fn is_en_passant_possible<S: Sliders>(
        &self,
        sliders: S,
        square: Square,
        has_kings: bool,
    ) -> bool {
        let setup = self.setup;
        let them = !setup.turn;
        let step = if them == Color::White { 1 } else { -1 };
        if square.rank() != Rank::relative(them, 2) {
            return false;
        }
        let (Some(pawn), Some(origin)) = (square.offset(0, step), square.offset(0, -step)) else {
            return false;
        };
        let occupied = setup.board.occupied();
        if occupied.contains(square)
            || occupied.contains(origin)
            || !setup.board.pieces(them, Role::Pawn).contains(pawn)
        {
            return false;
        }
        if self.tolerance.impossible_check || !has_kings {
            return true;
        }
        // Before the double step the side that is now to move cannot have been in check.
        let mut before = setup.board;
        before.take(pawn);
        before.put(
            origin,
            Piece {
                color: them,
                role: Role::Pawn,
            },
        );
        before.king(setup.turn).is_some_and(|king| {
            before
                .attackers(sliders, king, them, before.occupied())
                .is_empty()
        })
    }

    /// Returns the halfmove clock and the move number.
    fn check_counters(&mut self, en_passant: &mut Option<Square>) -> (u32, u32) {
        let (halfmoves, fullmoves) = (self.setup.halfmove_clock, self.setup.fullmove_number);
        let is_wrong = halfmoves > COUNTER_MAX
            || !(1..=COUNTER_MAX).contains(&fullmoves)
            || (en_passant.is_some() && halfmoves != 0);
        if is_wrong && !self.tolerance.counter {
            self.issues.push(PositionIssue::Counter);
        }
        (halfmoves.min(COUNTER_MAX), fullmoves.clamp(1, COUNTER_MAX))
    }

    fn check_checks<S: Sliders>(&mut self, sliders: S) {
        let setup = self.setup;
        let board = &setup.board;
        let (us, them) = (setup.turn, !setup.turn);
        let attackers = |color: Color| {
            board.king(color).map_or(Bitboard::EMPTY, |king| {
                board.attackers(sliders, king, !color, board.occupied())
            })
        };
        if attackers(them).any() && !self.tolerance.opponent_in_check {
            self.issues.push(PositionIssue::OpponentInCheck);
        }
        let checkers = attackers(us);
        if self.tolerance.impossible_check || !checkers.more_than_one() {
            return;
        }
        // Of two checks one at least comes from a slider that the moved piece has uncovered, and
        // the moved piece cannot give the other one along the same line.
        let pair: Vec<Square> = checkers.into_iter().collect();
        let leapers = board.role(Role::Pawn) | board.role(Role::Knight);
        let possible = match (pair.as_slice(), board.king(us)) {
            (&[a, b], Some(king)) => {
                let slides = (checkers - leapers).any();
                slides && !line(king, a).contains(b)
            }
            _ => false,
        };
        if !possible {
            self.issues.push(PositionIssue::ImpossibleCheck(checkers));
        }
    }
}
