//! Offers of a draw and the answers to them (5.2.3, 9.1).

use referee_chess::Color;

use super::draft::Draft;
use crate::articles::cite;
use crate::clock::Time;
use crate::conduct::{Conduct, Phase};
use crate::game::Game;
use crate::history::History;
use crate::outcome::{Evidence, Outcome, Termination};
use crate::profile::{OfferRepeat, OfferWindow};
use crate::ruling::{Reason, Ruling};

impl Game {
    pub(super) fn decide_offer(
        &self,
        side: Color,
        conditional: bool,
        now: Time,
    ) -> Result<Draft, Ruling> {
        if conditional {
            let text = "No condition can be attached to an offer of a draw.".into();
            return Err(Ruling::refused(
                Reason::OfferConditional,
                &["9.1.2.1"],
                text,
            ));
        }
        if self.conduct().draw_offer == Some(!side) {
            // An offer that meets an offer accepts it.
            return self.decide_acceptance(side, now);
        }
        if self.profile().parameters.offer_claims_insufficient
            && let Some(outcome) = self.find_insufficient(side)
        {
            let mut draft = self.draft(now);
            draft.end_saying(outcome);
            return Ok(draft);
        }
        self.check_window(side)?;
        self.check_offer(self.conduct(), side, self.history())?;
        let mut draft = self.draft(now);
        self.lay_offer(&mut draft.conduct, side, self.history().ply());
        let is_remarked = self.profile().parameters.offer_window == OfferWindow::Any;
        if is_remarked && !self.is_proper_moment(side) {
            draft.ruling.improper = true;
            draft.ruling.citations = vec![cite("9.1.2.1")];
            draft.ruling.text = format!(
                "{side} offers a draw. The offer is valid, though its proper moment is after the \
                 move is made and before the clock is pressed."
            );
        }
        Ok(draft)
    }

    /// The draw of a player whose opponent cannot mate, where an offer claims it.
    fn find_insufficient(&self, side: Color) -> Option<Outcome> {
        let test = self.profile().parameters.flag_exception;
        let no_mate = self.examine_end(self.history(), test, !side).no_mate()?;
        let draw = Outcome::draw(Termination::ClaimOpponentInsufficient, "profile");
        Some(draw.with(Evidence::NoMate(no_mate)))
    }

    /// After a move is made and before the clock is pressed, or while the game is adjourned.
    fn is_proper_moment(&self, side: Color) -> bool {
        self.conduct().uncompleted.of(side)
            || matches!(self.conduct().phase, Phase::Adjourned { .. })
    }

    /// Whether a profile takes an offer at this moment at all.
    fn check_window(&self, side: Color) -> Result<(), Ruling> {
        let has_move = self.position().turn() == side;
        let (is_open, when) = match self.profile().parameters.offer_window {
            OfferWindow::Any | OfferWindow::AnyTime => return Ok(()),
            OfferWindow::WithMove => (
                self.conduct().uncompleted.of(side),
                "after the own move is made and before the clock is pressed",
            ),
            OfferWindow::AfterOwnMove => (
                !has_move && self.history().moves_made(side) > 0,
                "after the own move",
            ),
            OfferWindow::OwnTurn => (
                has_move || self.conduct().uncompleted.of(side),
                "by the player who has the move",
            ),
        };
        if is_open || self.is_proper_moment(side) {
            return Ok(());
        }
        let text = format!("Under the rules of this game a draw is offered {when}.");
        Err(Ruling::refused(Reason::OfferNotAllowed, &["9.1.2.1"], text))
    }

    /// Whether a side may offer a draw in a game with these moves (9.1.1), once more where it has
    /// done so before.
    pub(super) fn check_offer(
        &self,
        conduct: &Conduct,
        side: Color,
        history: &History,
    ) -> Result<(), Ruling> {
        if conduct.draw_offer == Some(side) {
            let text = format!("{side}'s offer of a draw still stands and needs no repetition.");
            return Err(Ruling::refused(Reason::OfferRepeat, &["9.1.2.1"], text));
        }
        let parameters = &self.profile().parameters;
        match parameters.offer_repeat {
            OfferRepeat::Free => {}
            OfferRepeat::Cooldown => {
                let next = conduct
                    .offer_ply
                    .of(side)
                    .map(|ply| ply.saturating_add(parameters.offer_cooldown_plies));
                if next.is_some_and(|next| history.ply() < next) {
                    let text = format!(
                        "{side} can offer a draw again when {} half-moves have been made since \
                         the last offer.",
                        parameters.offer_cooldown_plies
                    );
                    return Err(Ruling::refused(Reason::OfferRepeat, &["11.5"], text));
                }
            }
            OfferRepeat::Alternate => {
                if conduct.offer_barred.of(side) {
                    let text = format!(
                        "{side} was refused, and can offer a draw again after {} has offered one \
                         and was refused.",
                        !side
                    );
                    return Err(Ruling::refused(Reason::OfferRepeat, &["9.1.2.1"], text));
                }
            }
        }
        if conduct.offer_permitted {
            return Ok(());
        }
        self.check_agreement(history)
    }

    /// Whether enough moves are made for an agreement (9.1.1). A rule of 1 only says that each
    /// side must have moved, which 5.2.3 asks of the acceptance.
    fn check_agreement(&self, history: &History) -> Result<(), Ruling> {
        let parameters = &self.profile().parameters;
        let made = Color::ALL.map(|color| history.moves_made(color));
        let least = parameters.min_moves_for_agreement;
        if least > 1 && made[0].min(made[1]) < least {
            let text = format!("A draw cannot be agreed before each side has made {least} moves.");
            return Err(Ruling::refused(Reason::OfferNotAllowed, &["9.1.1"], text));
        }
        let least = parameters.min_plies_for_agreement;
        if made[0] + made[1] < least {
            let text = format!("A draw cannot be agreed before {least} half-moves are made.");
            return Err(Ruling::refused(Reason::OfferNotAllowed, &["9.1.1"], text));
        }
        Ok(())
    }

    pub(super) fn lay_offer(&self, conduct: &mut Conduct, side: Color, ply: u32) {
        conduct.draw_offer = Some(side);
        conduct.offer_ply.set(side, Some(ply));
    }

    /// The offer of a side is refused: where offers alternate, the right passes to the other.
    pub(super) fn refuse_offer_of(&self, conduct: &mut Conduct, side: Color) {
        conduct.draw_offer = None;
        if self.profile().parameters.offer_repeat == OfferRepeat::Alternate {
            conduct.offer_barred.set(side, true);
            conduct.offer_barred.set(!side, false);
        }
    }

    pub(super) fn decide_acceptance(&self, side: Color, now: Time) -> Result<Draft, Ruling> {
        self.check_offer_stands(side)?;
        let least = self.profile().parameters.min_moves_for_agreement.min(1);
        let is_early = Color::ALL
            .iter()
            .any(|&color| self.history().moves_made(color) < least);
        if is_early {
            let text = "A draw cannot be agreed before each player has made a move.".into();
            return Err(Ruling::refused(Reason::OfferTooEarly, &["5.2.3"], text));
        }
        if !self.conduct().offer_permitted {
            // A claim is an offer too (9.1.2.3), which such a rule does not forbid.
            self.check_agreement(self.history())?;
        }
        let mut draft = self.draft(now);
        draft.end(Outcome::draw(Termination::Agreement, "5.2.3"));
        draft.ruling.citations = vec![cite("5.2.3")];
        Ok(draft)
    }

    pub(super) fn decide_decline(&self, side: Color, now: Time) -> Result<Draft, Ruling> {
        self.check_offer_stands(side)?;
        let mut draft = self.draft(now);
        self.refuse_offer_of(&mut draft.conduct, !side);
        draft.ruling.citations = vec![cite("9.1.2.1")];
        Ok(draft)
    }

    pub(super) fn decide_withdrawal(&self, side: Color, now: Time) -> Result<Draft, Ruling> {
        if self.conduct().draw_offer != Some(side) {
            let text = format!("No offer of {side} stands.");
            return Err(Ruling::refused(Reason::NoOffer, &["9.1.2.1"], text));
        }
        if !self.profile().parameters.offer_withdrawable {
            let text = "An offer of a draw cannot be withdrawn.".into();
            return Err(Ruling::refused(
                Reason::OfferCannotWithdraw,
                &["9.1.2.1"],
                text,
            ));
        }
        let mut draft = self.draft(now);
        draft.conduct.draw_offer = None;
        Ok(draft)
    }

    fn check_offer_stands(&self, side: Color) -> Result<(), Ruling> {
        if self.conduct().draw_offer == Some(!side) {
            return Ok(());
        }
        let text = format!("{} has not offered a draw that still stands.", !side);
        Err(Ruling::refused(Reason::NoOffer, &["9.1.2.1"], text))
    }
}
