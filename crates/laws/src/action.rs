//! What a player or the arbiter wants.

use referee_chess::Color;

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seat {
    /// The player of one side.
    Player(Color),
    /// The arbiter.
    Arbiter,
}

/// A draw that has to be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DrawClaim {
    /// The position occurs for at least the third time (9.2).
    Threefold,
    /// Fifty moves of each side without a capture or a pawn move (9.3).
    Fifty,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Intent {
    /// Make a move and complete it.
    Move {
        /// The move in UCI or SAN.
        text: String,
        /// Whether a draw is offered with it, which is the proper moment (9.1.2.1).
        offer_draw: bool,
    },
    /// Offer a draw.
    OfferDraw,
    /// Accept the draw that the opponent has offered.
    AcceptDraw,
    /// Decline it.
    DeclineDraw,
    /// Claim a draw.
    ClaimDraw {
        /// What is claimed.
        claim: DrawClaim,
        /// The announced move that would make the claim hold, in UCI or SAN.
        intended: Option<String>,
    },
    /// Resign.
    Resign,
}

/// An action: who wants what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Action {
    /// Who acts.
    pub seat: Seat,
    /// What is wanted.
    pub intent: Intent,
}

impl Action {
    /// Returns the action of a player.
    #[must_use]
    pub const fn player(side: Color, intent: Intent) -> Action {
        Action {
            seat: Seat::Player(side),
            intent,
        }
    }
}
