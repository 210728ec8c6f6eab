//! Moves that should not have been made and that nobody noticed: they stand on the board until they
//! are claimed or found (7.5, A.5.2).

use referee_chess::{Color, IllegalReason, Move, MoveError, Position, Role, UciMove};

use super::claims::not_allowed;
use super::draft::Draft;
use super::illegal::Offence;
use super::touch::squares_of;
use crate::action::MoveIntent;
use crate::clock::{Bonus, Time};
use crate::game::Game;
use crate::history::History;
use crate::ruling::{Reason, Ruling, Verdict};

/// Why a move that stands should not.
enum Flaw {
    /// It is legal, and was made with two hands (7.5.4).
    TwoHands(Move),
    /// The pawn was not replaced; so it becomes a queen (7.5.2).
    PawnLeft(UciMove),
    /// It is illegal (7.5.1).
    Illegal(Option<MoveError>),
}

impl Flaw {
    fn of(before: &Position, played: Option<UciMove>) -> Flaw {
        let Some(played) = played else {
            return Flaw::Illegal(None);
        };
        match before.resolve_uci(played) {
            Ok(mv) => Flaw::TwoHands(mv),
            Err(error) if is_promotion_missing(&error) => Flaw::PawnLeft(UciMove {
                promotion: Some(Role::Queen),
                ..played
            }),
            Err(error) => Flaw::Illegal(Some(error)),
        }
    }
}

/// Whether nothing but the piece of promotion is missing in a move.
fn is_promotion_missing(error: &MoveError) -> bool {
    matches!(error, MoveError::Illegal(it) if it.reason == IllegalReason::PromotionMissing)
}

/// Says of a move that it stands.
pub(super) fn stand(draft: &mut Draft, article: &'static str, text: &str) {
    // What is remarkable about the move otherwise, such as a flag that is down, stays said.
    let said = core::mem::take(&mut draft.ruling.text);
    let cited = core::mem::take(&mut draft.ruling.citations);
    let stands = Some(Reason::Stands);
    draft.rule(Verdict::Accepted, stands, &[article], text.into());
    draft.ruling.citations.extend(cited);
    if !said.is_empty() {
        draft.ruling.text = format!("{} {said}", draft.ruling.text);
    }
}

impl Game {
    /// An illegal move that nobody noticed is on the board until it is claimed or found; `None`
    /// where it cannot stand.
    pub(super) fn let_stand(
        &self,
        side: Color,
        named: UciMove,
        error: &MoveError,
        intent: &MoveIntent,
        now: Time,
    ) -> Result<Option<Draft>, Ruling> {
        let mut next = self.history().clone();
        if self.position().find_uci(named).is_some() || next.stand(named).is_err() {
            return Ok(None);
        }
        let mut draft = self.draft(now);
        draft.played = Some(named);
        draft.is_illegal = true;
        draft.conduct.breach = None;
        self.make(&mut draft, side, &next, intent)?;
        let article = if is_promotion_missing(error) {
            "7.5.2"
        } else {
            "7.5.1"
        };
        let text = format!(
            "The move is illegal ({error}), but nobody noticed it, and it stands until it is \
             claimed or found."
        );
        stand(&mut draft, article, &text);
        draft.ruling.illegal_move = Some(error.clone());
        Ok(Some(draft))
    }

    /// The opponent of `claimant` made an illegal move, or one with two hands, or, where it is
    /// `None`, the arbiter has found one of either side (7.5).
    pub(super) fn decide_illegal_claim(
        &self,
        claimant: Option<Color>,
        ply: Option<u32>,
        now: Time,
    ) -> Result<Draft, Ruling> {
        if !self.counts_offences() {
            let text = "Under the rules of this game illegal moves are refused, and none stands.";
            return Err(not_allowed("7.5.1", text));
        }
        let history = self.history();
        let (at, offender) = self.find_standing(claimant, ply)?;
        let before = history.up_to(at - 1);
        let flaw = Flaw::of(before.position(), history.move_to(at));
        self.check_not_lapsed(claimant, at, &flaw)?;
        let mut draft = self.draft(now);
        match flaw {
            Flaw::PawnLeft(queen) => self.replace_pawn(&mut draft, at, &before, offender, queen),
            Flaw::TwoHands(mv) => {
                let offence = Offence {
                    what: "used both hands for a move, and the position before it is reinstated"
                        .into(),
                    ..Offence::two_hands_on(squares_of(before.position(), mv))
                };
                self.undo(&mut draft, at, &before, offender, &offence);
            }
            Flaw::Illegal(error) => {
                let offence = Offence::found(before.position(), error.as_ref());
                self.undo(&mut draft, at, &before, offender, &offence);
            }
        }
        draft.ruling.verdict = Verdict::Accepted;
        draft.ruling.reason = None;
        Ok(draft)
    }

    /// The ply that the latest move led to that stands and is meant, and who made it.
    fn find_standing(
        &self,
        claimant: Option<Color>,
        ply: Option<u32>,
    ) -> Result<(u32, Color), Ruling> {
        let (history, turn) = (self.history(), self.position().turn());
        let mover = |ply: u32| {
            if (history.ply() - ply).is_multiple_of(2) {
                !turn
            } else {
                turn
            }
        };
        let found = history
            .illegal_plies_back()
            .filter(|&at| ply.is_none_or(|ply| ply == at))
            .find(|&at| claimant != Some(mover(at)));
        if let Some(at) = found {
            return Ok((at, mover(at)));
        }
        let text = match ply {
            Some(ply) => {
                format!("The move of ply {ply} is not an illegal one that could be found.")
            }
            None => "No illegal move of the opponent stands on the board.".into(),
        };
        let reason = match claimant {
            Some(_) => Reason::ClaimIncorrect,
            None => Reason::NotAllowed,
        };
        Err(Ruling::refused(reason, &["7.5.1"], text))
    }

    /// Whether a move that stands can still be corrected.
    fn check_not_lapsed(
        &self,
        claimant: Option<Color>,
        at: u32,
        flaw: &Flaw,
    ) -> Result<(), Ruling> {
        let window = self.profile().parameters.illegal_window_moves;
        // The moves that the other side has made since.
        let since = (self.history().ply() - at).div_ceil(2);
        if window > 0 && since >= window {
            let text = "The illegal move can no longer be corrected, so it stands.".into();
            let reason = match claimant {
                Some(_) => Reason::ClaimTooLate,
                None => Reason::TooLate,
            };
            return Err(Ruling::refused(reason, &["A.5.2"], text));
        }
        // Two hands are a breach of 4.1, and the right to claim one ends with touching a piece;
        // where there is a window, that is what counts.
        let has_touched = since > 0 || self.has_touched();
        if window == 0
            && claimant.is_some()
            && has_touched
            && let Flaw::TwoHands(_) = flaw
        {
            let text = "The claimant has touched a piece since, and lost the claim.".into();
            return Err(Ruling::refused(Reason::ClaimTooLate, &["4.8"], text));
        }
        Ok(())
    }

    /// Puts back the position before a move, and punishes it. What the press of the clock brought
    /// is taken back.
    fn undo(
        &self,
        draft: &mut Draft,
        at: u32,
        before: &History,
        offender: Color,
        offence: &Offence,
    ) {
        let bonus_ms = match draft.conduct.clocks.side(offender).bonus() {
            Bonus::Fischer(ms) => ms,
            _ => 0,
        };
        if bonus_ms > 0 && !draft.conduct.uncompleted.of(offender) {
            draft.clock(|clocks, now| clocks.take_back_credit(offender, bonus_ms, now));
        }
        self.rewind(draft, at - 1);
        self.add_offence(draft, before, offender, offence);
    }

    /// A pawn that was left on the last rank becomes a queen, and what was played since is undone
    /// (7.5.2).
    fn replace_pawn(
        &self,
        draft: &mut Draft,
        at: u32,
        before: &History,
        offender: Color,
        queen: UciMove,
    ) {
        // The clocks are those after the move of the pawn, which the queen completes.
        self.rewind(draft, at);
        draft.reinstated = Some(at - 1);
        if self.is_last_offence(offender, &Offence::pawn_left()) {
            self.lose_by_promotion(draft, before, offender, queen);
            return;
        }
        draft.played = Some(queen);
        let mut next = before.clone();
        if let Some(mv) = before.position().find_uci(queen) {
            // The pawn stood there a moment ago, so there is room for the move.
            let _ = next.play(mv);
        }
        if let Some(outcome) = self.end_after(&next, false) {
            draft.end(outcome);
        }
        self.add_offence(draft, &next, offender, &Offence::pawn_left());
    }
}
