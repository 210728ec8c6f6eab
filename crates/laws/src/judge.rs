//! Judging actions: what the referee says, and what comes of it.

#![expect(
    clippy::result_large_err,
    reason = "a refusal is as ordinary as an acceptance here"
)]

use referee_chess::{Color, IllegalReason, Move, MoveError, UciMove};

use crate::action::{Action, DrawClaim, Intent, Seat};
use crate::adjudicate::{end_on_board, examine_claim};
use crate::articles::cite;
use crate::dead::{CanMate, can_mate};
use crate::game::{Bound, Effects, Entry, Game};
use crate::outcome::{Outcome, Termination};
use crate::profile::DrawRule;
use crate::ruling::{Reason, Ruling, Verdict};

/// What the referee says to an action, and the entry that came of it, if any.
#[derive(Clone, Debug)]
pub struct Judgment {
    /// What the referee says.
    pub ruling: Ruling,
    /// What is to be recorded; `None` where the action leaves no trace in the game.
    pub entry: Option<Entry>,
}

impl Game {
    /// Judges an action. The game stays as it is; [`apply`](Game::apply) does what was ruled.
    #[must_use]
    pub fn judge(&self, action: &Action) -> Judgment {
        match self.decide(action) {
            Ok((ruling, effects)) => Judgment {
                entry: Some(Entry {
                    action: action.clone(),
                    ruling: ruling.clone(),
                    effects,
                }),
                ruling,
            },
            Err(ruling) => Judgment {
                ruling,
                entry: None,
            },
        }
    }

    fn decide(&self, action: &Action) -> Result<(Ruling, Effects), Ruling> {
        if let Some(outcome) = self.outcome() {
            let text = format!("The game is over. {}", outcome.text);
            let citations = outcome.citations.clone();
            return Err(Ruling {
                citations,
                ..Ruling::refused(Reason::GameOver, &[], text)
            });
        }
        let Seat::Player(side) = action.seat else {
            let text = "Only a player can do that.".into();
            return Err(Ruling::refused(Reason::WrongSeat, &[], text));
        };
        match &action.intent {
            Intent::Move { text, offer_draw } => self.decide_move(side, text, *offer_draw),
            Intent::OfferDraw => self.decide_offer(side),
            Intent::AcceptDraw => self.decide_acceptance(side),
            Intent::DeclineDraw => self.decide_refusal(side),
            Intent::ClaimDraw { claim, intended } => {
                self.decide_claim(side, *claim, intended.as_deref())
            }
            Intent::Resign => Ok(self.decide_resignation(side)),
        }
    }

    /// What stands before an action and goes on standing unless the action changes it.
    fn standing(&self) -> Effects {
        Effects {
            played: None,
            draw_offer: self.draw_offer(),
            bound: self.bound(),
            outcome: None,
        }
    }

    fn decide_move(
        &self,
        side: Color,
        text: &str,
        offer_draw: bool,
    ) -> Result<(Ruling, Effects), Ruling> {
        self.check_turn(side)?;
        let mv = self
            .history()
            .read(text)
            .map_err(|error| refuse_illegal(&error))?;
        self.check_bound(mv)?;
        let mut next = self.history().clone();
        next.play(mv).map_err(|error| {
            let text = format!("No further move can be recorded: {error}.");
            Ruling::refused(Reason::GameOver, &[], text)
        })?;
        let outcome = end_on_board(&next, self.profile());
        if offer_draw && outcome.is_none() {
            self.check_offer(side, next.moves_made(side))?;
        }
        // The opponent's offer is declined by the move (9.1.2.1); the mover's own goes on.
        let own_offer = self.draw_offer().filter(|&offerer| offerer == side);
        let draw_offer = if offer_draw { Some(side) } else { own_offer };
        let effects = Effects {
            played: Some(self.position().uci(mv)),
            draw_offer: if outcome.is_some() { None } else { draw_offer },
            bound: None,
            outcome,
        };
        Ok((Ruling::accepted(), effects))
    }

    fn check_turn(&self, side: Color) -> Result<(), Ruling> {
        if side == self.position().turn() {
            return Ok(());
        }
        let text = format!("It is {}'s turn to move.", !side);
        Err(Ruling::refused(Reason::NotYourTurn, &["1.3", "1.2"], text))
    }

    /// An announced move must be played (9.5.3).
    fn check_bound(&self, mv: Move) -> Result<(), Ruling> {
        let text = match self.bound() {
            Some(Bound::Move(bound)) if bound != self.position().uci(mv) => {
                format!("The move {bound} was announced with the claim and must be played.")
            }
            Some(Bound::Piece(square)) if square != mv.from() => format!(
                "The move announced with the claim was illegal, so another move with the piece on \
                 {square} must be played."
            ),
            _ => return Ok(()),
        };
        Err(Ruling::refused(Reason::MustPlayIntended, &["9.5.3"], text))
    }

    fn decide_offer(&self, side: Color) -> Result<(Ruling, Effects), Ruling> {
        if self.draw_offer() == Some(!side) {
            // An offer that meets an offer accepts it.
            return self.decide_acceptance(side);
        }
        self.check_offer(side, self.history().moves_made(side))?;
        let ruling = Ruling {
            improper: true,
            citations: vec![cite("9.1.2.1")],
            text: format!(
                "{side} offers a draw. The offer is valid, though its proper moment is together \
                 with a move."
            ),
            ..Ruling::accepted()
        };
        Ok((
            ruling,
            Effects {
                draw_offer: Some(side),
                ..self.standing()
            },
        ))
    }

    fn check_offer(&self, side: Color, moves_made: u32) -> Result<(), Ruling> {
        if self.draw_offer() == Some(side) {
            let text = format!("{side}'s offer of a draw still stands and needs no repetition.");
            return Err(Ruling::refused(Reason::OfferRepeat, &["9.1.2.1"], text));
        }
        let least = self.profile().parameters.min_moves_for_agreement;
        // A rule of 1 only says that each side must have moved, which 5.2.3 asks of the
        // acceptance; a greater one forbids the offer (9.1.1).
        if least > 1 && moves_made < least {
            let text = format!("A draw cannot be offered before each side has made {least} moves.");
            return Err(Ruling::refused(Reason::OfferNotAllowed, &["9.1.1"], text));
        }
        Ok(())
    }

    fn decide_acceptance(&self, side: Color) -> Result<(Ruling, Effects), Ruling> {
        self.check_offer_stands(side)?;
        let least = self.profile().parameters.min_moves_for_agreement.min(1);
        if Color::ALL
            .iter()
            .any(|&color| self.history().moves_made(color) < least)
        {
            let text = "A draw cannot be agreed before each player has made a move.".into();
            return Err(Ruling::refused(Reason::OfferTooEarly, &["5.2.3"], text));
        }
        let outcome = Outcome::draw(Termination::Agreement, "5.2.3");
        let effects = Effects {
            draw_offer: None,
            outcome: Some(outcome),
            ..self.standing()
        };
        Ok((
            Ruling {
                citations: vec![cite("5.2.3")],
                ..Ruling::accepted()
            },
            effects,
        ))
    }

    fn decide_refusal(&self, side: Color) -> Result<(Ruling, Effects), Ruling> {
        self.check_offer_stands(side)?;
        let effects = Effects {
            draw_offer: None,
            ..self.standing()
        };
        Ok((
            Ruling {
                citations: vec![cite("9.1.2.1")],
                ..Ruling::accepted()
            },
            effects,
        ))
    }

    fn check_offer_stands(&self, side: Color) -> Result<(), Ruling> {
        if self.draw_offer() == Some(!side) {
            return Ok(());
        }
        let text = format!("{} has not offered a draw that still stands.", !side);
        Err(Ruling::refused(Reason::NoOffer, &["9.1.2.1"], text))
    }

    fn decide_claim(
        &self,
        side: Color,
        claim: DrawClaim,
        intended: Option<&str>,
    ) -> Result<(Ruling, Effects), Ruling> {
        let parameters = &self.profile().parameters;
        let (article, rule) = match claim {
            DrawClaim::Threefold => ("9.2", parameters.threefold),
            DrawClaim::Fifty => ("9.3", parameters.fifty),
        };
        if rule == DrawRule::Automatic {
            let text = "Under the rules of this game the draw needs no claim.".into();
            return Err(Ruling::refused(Reason::ClaimNotAllowed, &[article], text));
        }
        if side != self.position().turn() {
            let text = "Only the player who has the move can claim a draw.".into();
            return Err(Ruling::refused(Reason::ClaimNotOnMove, &[article], text));
        }
        let intended = match intended.map(|text| self.history().read(text)) {
            None => None,
            Some(Ok(mv)) => {
                self.check_bound(mv)?;
                Some(mv)
            }
            Some(Err(error @ MoveError::Illegal(_))) => {
                return Ok(self.punish_claim(side, Err(error)));
            }
            Some(Err(error)) => return Err(refuse_illegal(&error)),
        };
        let finding = examine_claim(self.history(), claim, intended);
        if !finding.holds {
            let announced = intended.map(|mv| self.position().uci(mv));
            let (ruling, effects) = self.punish_claim(side, Ok(announced));
            return Ok((ruling.with(finding.evidence), effects));
        }
        let termination = match claim {
            DrawClaim::Threefold => Termination::ThreefoldClaim,
            DrawClaim::Fifty => Termination::FiftyClaim,
        };
        let mut outcome = Outcome::draw(termination, finding.article).with(finding.evidence);
        if claim == DrawClaim::Threefold {
            outcome = outcome.citing("9.2.3");
        }
        let ruling = Ruling {
            citations: outcome.citations.clone(),
            evidence: outcome.evidence.clone(),
            text: outcome.text.clone(),
            ..Ruling::accepted()
        };
        let effects = Effects {
            draw_offer: None,
            outcome: Some(outcome),
            ..self.standing()
        };
        Ok((ruling, effects))
    }

    /// A claim that is not correct is kept in the record: it is an offer of a draw (9.1.2.3), and
    /// an announced move binds (9.5.3).
    fn punish_claim(
        &self,
        side: Color,
        announced: Result<Option<UciMove>, MoveError>,
    ) -> (Ruling, Effects) {
        let (bound, illegal_move) = match announced {
            Ok(announced) => (announced.map(Bound::Move), None),
            Err(error) => (self.bound_by_illegal(&error), Some(error)),
        };
        let what = match (&illegal_move, &bound) {
            (Some(error), _) => format!("The announced move is illegal: {error}."),
            (None, Some(_)) => "The announced move does not bring about what is claimed.".into(),
            (None, None) => "What is claimed is not so on the board.".into(),
        };
        let ruling = Ruling {
            verdict: Verdict::Penalized,
            reason: Some(Reason::ClaimIncorrect),
            illegal_move,
            citations: vec![cite("9.5.3"), cite("9.1.2.3")],
            text: format!("The claim is not correct. {what} The game goes on."),
            ..Ruling::accepted()
        };
        let offer = self.draw_offer().unwrap_or(side);
        let effects = Effects {
            draw_offer: Some(offer),
            bound: bound.or(self.bound()),
            ..self.standing()
        };
        (ruling, effects)
    }

    /// The piece whose announced move was illegal, where it has a legal move.
    fn bound_by_illegal(&self, error: &MoveError) -> Option<Bound> {
        let MoveError::Illegal(illegal) = error else {
            return None;
        };
        let square = illegal.from?;
        let moves = self.position().legal_moves_from(square.into());
        (!moves.is_empty()).then_some(Bound::Piece(square))
    }

    fn decide_resignation(&self, side: Color) -> (Ruling, Effects) {
        let winner = !side;
        let (no_mate, provisional) = if self.profile().parameters.resign_no_mate_draw {
            match can_mate(self.position(), winner) {
                CanMate::No(no_mate) => (Some(no_mate), false),
                CanMate::Yes => (None, false),
                CanMate::Unknown => (None, true),
            }
        } else {
            (None, false)
        };
        let outcome = Outcome::resignation(winner, no_mate, provisional);
        let ruling = Ruling {
            citations: outcome.citations.clone(),
            evidence: outcome.evidence.clone(),
            provisional,
            text: outcome.text.clone(),
            ..Ruling::accepted()
        };
        (
            ruling,
            Effects {
                draw_offer: None,
                outcome: Some(outcome),
                ..self.standing()
            },
        )
    }
}

/// The ruling on a text that is no legal move.
fn refuse_illegal(error: &MoveError) -> Ruling {
    let (reason, article) = match error {
        MoveError::Illegal(illegal) => {
            let reason = match illegal.reason {
                IllegalReason::PromotionMissing => Reason::PromotionMissing,
                _ => Reason::IllegalMove,
            };
            (reason, Some(illegal.article()))
        }
        _ => (Reason::IllegalMove, None),
    };
    let text = format!("The move is illegal: {error}.");
    let ruling = Ruling::refused(reason, article.as_slice(), text);
    Ruling {
        illegal_move: Some(error.clone()),
        ..ruling
    }
}
