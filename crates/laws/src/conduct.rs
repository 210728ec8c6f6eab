//! What stands in a game besides the position on the board: clocks, touches, offers, offences.

use referee_chess::{Color, Role, Square, UciMove};

use crate::action::ClaimKind;
use crate::clock::{Clocks, Time};
use crate::counts::CaptureCount;

/// What binds the side to move after a claim with an announced move was not correct (9.5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// The announced move must be played.
    Move(UciMove),
    /// The announced move was illegal; another move with that piece must be played.
    Piece(Square),
}

/// Pieces that the side to move has touched with the intention of moving or capturing them (4.3).
#[derive(Clone, Debug, PartialEq, Eq, Default, Hash)]
pub struct Touched {
    /// Their squares, in order.
    pub squares: Vec<Square>,
    /// Whether the order is not known (4.3.3).
    pub order_unknown: bool,
}

impl Touched {
    /// The greatest number of touches that are kept. Later ones can bind nobody: every piece on
    /// the board has been touched by then.
    pub const SQUARES_MAX: usize = 32;

    /// Returns whether nothing was touched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.squares.is_empty()
    }

    /// Adds a touch; a piece that was touched before is not touched anew.
    pub(crate) fn add(&mut self, square: Square) {
        if !self.squares.contains(&square) && self.squares.len() < Self::SQUARES_MAX {
            self.squares.push(square);
        }
    }
}

/// The stage of play.
#[derive(Clone, Debug, PartialEq, Eq, Default, Hash)]
pub enum Phase {
    /// The game is played.
    #[default]
    Playing,
    /// The clocks are stopped.
    Paused,
    /// The game is adjourned (guideline I).
    Adjourned {
        /// Who sealed the move.
        by: Color,
        /// The move as it stands in the envelope.
        text: String,
    },
}

/// A claim that waits for the arbiter (guideline III).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PendingClaim {
    /// What is claimed.
    pub claim: ClaimKind,
    /// Who claims it.
    pub side: Color,
    /// Whether the arbiter has put off the decision.
    pub postponed: bool,
    /// Whether a flag has fallen since, that of the claimant or the other.
    pub flag_fallen: bool,
}

/// A breach of touch-move that the opponent can still claim (4.8).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Breach {
    /// The ply before the move.
    pub ply: u32,
    /// What had been touched.
    pub touched: Touched,
}

/// One value for each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Sides<T> {
    /// That of White.
    pub white: T,
    /// That of Black.
    pub black: T,
}

impl<T: Copy> Sides<T> {
    /// Returns that of a side.
    #[must_use]
    pub fn of(&self, side: Color) -> T {
        match side {
            Color::White => self.white,
            Color::Black => self.black,
        }
    }

    /// Sets that of a side.
    pub fn set(&mut self, side: Color, value: T) {
        match side {
            Color::White => self.white = value,
            Color::Black => self.black = value,
        }
    }
}

/// All that stands in a game besides the position on the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conduct {
    /// Both clocks.
    pub clocks: Clocks,
    /// The time of the last entry on the time line of the game.
    pub time: Time,
    /// Who has offered a draw that stands (9.1).
    pub draw_offer: Option<Color>,
    /// What binds the side to move after a claim (9.5.3).
    pub bound: Option<Bound>,
    /// What the side to move has touched (4.3).
    pub touched: Touched,
    /// Whether the side to move has announced that it adjusts pieces (4.2.1).
    pub adjusting: bool,
    /// The move that was released on the board and binds (4.7); of castling by hand the squares of
    /// king and rook, once both were released.
    pub released: Option<(Square, Square)>,
    /// The piece of promotion that has touched its square (4.4.4).
    pub promotion: Option<(Square, Role)>,
    /// Who has made a move and not completed it (6.2.1).
    pub uncompleted: Sides<bool>,
    /// The illegal moves that count (7.5.5).
    pub illegal_moves: Sides<u32>,
    /// The half-moves without a capture, as they were last set.
    pub capture_count: CaptureCount,
    /// The stage of play.
    pub phase: Phase,
    /// When the game was started (6.6).
    pub started: Option<Time>,
    /// When the players arrived (6.7).
    pub arrived: Sides<Option<Time>>,
    /// Who may not offer a draw again yet, where offers alternate.
    pub offer_barred: Sides<bool>,
    /// The ply of the last offer of each side.
    pub offer_ply: Sides<Option<u32>>,
    /// Whether the arbiter permits an early offer (9.1.1).
    pub offer_permitted: bool,
    /// The claim that waits for the arbiter.
    pub pending_claim: Option<PendingClaim>,
    /// Who wants a move taken back.
    pub take_back_by: Option<Color>,
    /// Who wants to break the game off.
    pub abort_by: Option<Color>,
    /// When a player lost the connection.
    pub gone_since: Sides<Option<Time>>,
    /// A breach of touch-move by the last move, which the side to move can claim until it touches
    /// a piece (4.8).
    pub breach: Option<Breach>,
    /// Who has displaced pieces that are not restored (7.4).
    pub displaced_by: Option<Color>,
}

impl Conduct {
    /// Returns what stands at the beginning of a game.
    #[must_use]
    pub fn new(clocks: Clocks) -> Conduct {
        Conduct {
            clocks,
            time: Time::default(),
            draw_offer: None,
            bound: None,
            touched: Touched::default(),
            adjusting: false,
            released: None,
            promotion: None,
            uncompleted: Sides::default(),
            illegal_moves: Sides::default(),
            capture_count: CaptureCount::default(),
            phase: Phase::Playing,
            started: None,
            arrived: Sides::default(),
            offer_barred: Sides::default(),
            offer_ply: Sides::default(),
            offer_permitted: false,
            pending_claim: None,
            take_back_by: None,
            abort_by: None,
            gone_since: Sides::default(),
            breach: None,
            displaced_by: None,
        }
    }

    /// Forgets what bound the side to move, as a new position is on the board.
    pub(crate) fn begin_move(&mut self) {
        self.bound = None;
        self.touched = Touched::default();
        self.adjusting = false;
        self.released = None;
        self.promotion = None;
        self.take_back_by = None;
        self.abort_by = None;
    }
}
