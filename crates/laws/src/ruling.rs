//! What the referee says to an action.

use referee_chess::MoveError;

use crate::articles::{Citation, cite};
use crate::outcome::Evidence;

/// A verdict on an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The action stands.
    Accepted,
    /// The action does not stand and leaves no trace in the game.
    Refused,
    /// The action does not stand, and is recorded with a penalty or as an offence that counts.
    Penalized,
    /// The action does not stand and costs nothing, but leaves a trace, such as a touched piece.
    Noted,
}

/// Why an action does not stand, or what is remarkable about one that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The move is illegal.
    IllegalMove,
    /// A touched piece binds the player (4.3).
    TouchMove,
    /// The piece of promotion is missing (3.7.3.3).
    PromotionMissing,
    /// The piece of promotion was missing when the clock was pressed: the pawn became a queen
    /// (7.5.2).
    IllegalPromotionQueened,
    /// The move that was announced with a claim must be played (9.5.3).
    MustPlayIntended,
    /// It is the turn of the other side (1.2, 1.3).
    NotYourTurn,
    /// The game is over.
    GameOver,
    /// The clock that the action is about does not run.
    NotRunning,
    /// The rules of the game do not know this action, or not now.
    NotAllowed,
    /// The action would have been allowed earlier in the game.
    TooLate,
    /// The player arrived after the default time (6.7).
    DefaultTime,
    /// There is no offer to answer.
    NoOffer,
    /// A draw cannot be offered now (9.1.1).
    OfferNotAllowed,
    /// A draw cannot be agreed before each side has made a move (5.2.3).
    OfferTooEarly,
    /// A draw was offered before and cannot be offered again yet.
    OfferRepeat,
    /// A draw cannot be offered with conditions (9.1.2.1).
    OfferConditional,
    /// An offer cannot be withdrawn (9.1.2.1).
    OfferCannotWithdraw,
    /// What is claimed is not so (9.5.3).
    ClaimIncorrect,
    /// The claim would have been allowed earlier.
    ClaimTooLate,
    /// Only the player who has the move can claim this (9.2, 9.3).
    ClaimNotOnMove,
    /// The rules of the game do not know this claim, or not now.
    ClaimNotAllowed,
    /// The player has touched a piece and lost the claim on this move (9.4).
    ClaimAfterTouch,
    /// A claim cannot be withdrawn (9.5.1).
    ClaimCannotWithdraw,
    /// The rules of the game do not know this kind of claim.
    UnknownClaim,
    /// The points are not among those that the Laws allow (10).
    ScoreNotAllowed,
    /// The move is illegal, but nobody noticed it and it is on the board.
    Stands,
    /// This seat cannot do that.
    WrongSeat,
    /// The flag of the player had fallen before the action arrived (6.9).
    FlagFallen,
}

/// What the referee says to an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// Whether the action stands.
    pub verdict: Verdict,
    /// Why it does not.
    pub reason: Option<Reason>,
    /// Whether the action stands although it came at a moment that the Laws do not mean for it.
    pub improper: bool,
    /// Why the move is illegal: the one made, or the one announced with a claim.
    pub illegal_move: Option<MoveError>,
    /// The articles that the ruling rests on, the deciding one first.
    pub citations: Vec<Citation>,
    /// What another program needs to check it.
    pub evidence: Vec<Evidence>,
    /// Whether the ruling rests on a question that could not be decided.
    pub provisional: bool,
    /// One sentence that an arbiter could read out; empty where nothing needs to be said.
    pub text: String,
}

impl Ruling {
    /// The ruling on an action that stands.
    pub(crate) fn accepted() -> Ruling {
        Ruling {
            verdict: Verdict::Accepted,
            reason: None,
            improper: false,
            illegal_move: None,
            citations: Vec::new(),
            evidence: Vec::new(),
            provisional: false,
            text: String::new(),
        }
    }

    /// The ruling on an action that is turned down.
    pub(crate) fn refused(reason: Reason, articles: &[&'static str], text: String) -> Ruling {
        Ruling {
            verdict: Verdict::Refused,
            reason: Some(reason),
            citations: articles.iter().map(|article| cite(article)).collect(),
            text,
            ..Ruling::accepted()
        }
    }

    /// The same ruling with more to it.
    #[must_use]
    pub(crate) fn with(mut self, evidence: Evidence) -> Ruling {
        self.evidence.push(evidence);
        self
    }
}
