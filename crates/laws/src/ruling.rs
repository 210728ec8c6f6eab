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
    /// The action does not stand, and is recorded since the Laws keep a trace of it.
    Penalized,
}

/// Why an action does not stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The move is illegal.
    IllegalMove,
    /// The piece of promotion is missing (3.7.3.3).
    PromotionMissing,
    /// The move that was announced with a claim must be played (9.5.3).
    MustPlayIntended,
    /// It is the turn of the other side (1.2, 1.3).
    NotYourTurn,
    /// The game is over.
    GameOver,
    /// There is no offer to answer.
    NoOffer,
    /// A draw cannot be offered now (9.1.1).
    OfferNotAllowed,
    /// A draw cannot be agreed before each side has made a move (5.2.3).
    OfferTooEarly,
    /// An offer of the same player stands already.
    OfferRepeat,
    /// What is claimed is not so (9.5.3).
    ClaimIncorrect,
    /// Only the player who has the move can claim this (9.2, 9.3).
    ClaimNotOnMove,
    /// The rules of the game do not know this claim.
    ClaimNotAllowed,
    /// This seat cannot do that.
    WrongSeat,
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
