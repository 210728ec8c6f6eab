//! Moves and presses of the clock.

use referee_chess::{Color, Move, UciMove};

use super::draft::{Draft, read_clock};
use super::illegal::Offence;
use super::standing::stand;
use super::touch::squares_of;
use crate::action::MoveIntent;
use crate::adjudicate::end_on_board;
use crate::clock::{Clocks, Time};
use crate::conduct::{Bound, Breach, Conduct};
use crate::counts::THREEFOLD;
use crate::game::Game;
use crate::history::History;
use crate::outcome::{Evidence, Outcome, Termination};
use crate::profile::{OfferDeclinedBy, PressWithoutMove, TouchEnforcement};
use crate::ruling::{Reason, Ruling};

impl Game {
    pub(super) fn decide_move(
        &self,
        side: Color,
        intent: &MoveIntent,
        now: Time,
    ) -> Result<Draft, Ruling> {
        self.check_turn(side)?;
        let mv = match self.history().read(&intent.text) {
            Ok(mv) => mv,
            Err(error) => return self.decide_illegal(side, intent, &error, now),
        };
        self.check_bound(mv)?;
        let is_breach = match self.obligation().forbids(mv) {
            Some((reason, article, text)) if !self.lets_breaches_pass(intent) => {
                return Err(Ruling::refused(reason, &[article], text));
            }
            breach => breach.is_some(),
        };
        let mut next = self.history().clone();
        next.play(mv).map_err(|error| refuse_full(&error))?;
        // One hand is not among what a move has to comply with to end the game (5.1.1, 5.2).
        let is_two_handed = intent.two_hands
            && intent.completed
            && self.counts_offences()
            && self.end_after(&next, is_breach).is_none();
        let keeps_move = self.profile().parameters.two_hands_move_stands;
        if is_two_handed && !keeps_move && !intent.undetected {
            let mut draft = self.punish(side, &Offence::two_hands(self, mv), now);
            self.offer_with_offence(&mut draft, side, intent);
            return Ok(draft);
        }
        let mut draft = self.draft(now);
        draft.played = Some(self.position().uci(mv));
        if is_breach {
            draft.conduct.breach = Some(Breach {
                ply: self.history().ply(),
                touched: self.conduct().touched.clone(),
            });
        } else {
            draft.conduct.breach = None;
        }
        draft.is_illegal = is_two_handed && !keeps_move;
        self.make(&mut draft, side, &next, intent)?;
        if draft.is_illegal {
            let text = "The move was made with two hands, but nobody noticed it, and it stands \
                        until it is claimed or found.";
            stand(&mut draft, "7.5.4", text);
        } else if is_two_handed && !intent.undetected {
            // The move stands under this profile, and the offence is punished all the same.
            self.add_offence(&mut draft, &next, side, &Offence::two_hands_on(Vec::new()));
        }
        Ok(draft)
    }

    /// Whether a breach of touch-move passes until it is claimed (4.8).
    fn lets_breaches_pass(&self, intent: &MoveIntent) -> bool {
        intent.undetected
            || self.profile().parameters.touch_enforcement == TouchEnforcement::OnClaim
    }

    /// An announced move must be played (9.5.3).
    pub(super) fn check_bound(&self, mv: Move) -> Result<(), Ruling> {
        let text = match self.conduct().bound {
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

    /// What a move that is on the board in `next` does to what stands: it ends the game, or it is
    /// made, and completed where the clock is pressed (6.2.1).
    pub(super) fn make(
        &self,
        draft: &mut Draft,
        side: Color,
        next: &History,
        intent: &MoveIntent,
    ) -> Result<(), Ruling> {
        // A move that is illegal ends nothing as long as it can be claimed: it is not made (4.7,
        // 9.6).
        let outcome = if draft.is_illegal {
            None
        } else {
            self.end_after(next, draft.conduct.breach.is_some())
        };
        let conduct = &mut draft.conduct;
        conduct.begin_move();
        if declines(conduct, side, self.profile().parameters.offer_declined_by) {
            self.refuse_offer_of(conduct, !side);
        }
        // An own offer that stands needs no repetition, and the move is none the worse for it.
        let offers = intent.offer_draw && conduct.draw_offer != Some(side) && outcome.is_none();
        if offers {
            self.check_offer(conduct, side, next)?;
        }
        if conduct.started.is_some() && conduct.arrived.of(side).is_none() {
            // Who moves is there (6.7).
            conduct.arrived.set(side, Some(draft.now));
        }
        draft.run_clock(self.side_on_clock(), draft.now);
        if draft.conduct.uncompleted.of(side) {
            // The move before was not pressed, and is completed by this one (6.2.1.2).
            draft.clock(|clocks, now| clocks.complete_unpressed(side, now));
        }
        let is_completed = intent.completed || outcome.is_some();
        if let Some(outcome) = outcome {
            // A move that ends the game is completed by that (6.2.1.1).
            draft.conduct.uncompleted.set(side, false);
            draft.end(outcome);
            return Ok(());
        }
        if offers {
            self.lay_offer(&mut draft.conduct, side, next.ply());
        }
        draft.conduct.uncompleted.set(side, !is_completed);
        if is_completed {
            complete(draft, side);
        }
        if draft.conduct.displaced_by == Some(side) && is_completed {
            let text =
                format!("{side} has displaced pieces and has to restore them in the own time.");
            draft.add_remark("7.4", &text);
        }
        Ok(())
    }

    /// The end of the game by a legal move that is on the board in `next`. One in breach of
    /// touch-move does not end it by what it brings on the board (5.1.1, 5.2.1, 5.2.2).
    pub(super) fn end_after(&self, next: &History, is_breach: bool) -> Option<Outcome> {
        let captures = self.conduct().capture_count;
        end_on_board(next, captures, self.profile())
            .filter(|outcome| !(is_breach && is_by_position(outcome.termination)))
            .or_else(|| self.end_after_offer(next))
    }

    /// Where the profile has it so, the third occurrence of a position is claimed for players of
    /// whom one has offered a draw not long ago.
    fn end_after_offer(&self, next: &History) -> Option<Outcome> {
        let plies = self.profile().parameters.threefold_after_offer_plies;
        let offered = Color::ALL.map(|side| self.conduct().offer_ply.of(side));
        let last = offered.into_iter().flatten().max()?;
        if next.ply().saturating_sub(last) > plies || next.repetitions() < THREEFOLD {
            return None;
        }
        let evidence = Evidence::Repetition(next.repetition_plies());
        let draw = Outcome::draw(Termination::ThreefoldAutomatic, "profile");
        Some(draw.citing("9.2.3").with(evidence))
    }

    pub(super) fn decide_press(
        &self,
        side: Color,
        two_hands: bool,
        now: Time,
    ) -> Result<Draft, Ruling> {
        if self.conduct().uncompleted.of(side) {
            if two_hands && self.counts_offences() && self.position().turn() != side {
                return Ok(self.punish_press(side, now));
            }
            let mut draft = self.draft(now);
            draft.conduct.uncompleted.set(side, false);
            complete(&mut draft, side);
            return Ok(draft);
        }
        let released = self.released_move();
        let runs = self.side_on_clock() == side || released.is_some();
        if self.position().turn() != side || !runs {
            let text = format!("The clock of {side} does not run, so it cannot be pressed.");
            return Err(Ruling::refused(Reason::NotRunning, &["6.2.1"], text));
        }
        if let Some(text) = released {
            // The piece was released, so that this completes its move (4.7, 6.2.1).
            let intent = MoveIntent {
                two_hands,
                ..MoveIntent::completed(&text)
            };
            return self.decide_move(side, &intent, now);
        }
        if self.profile().parameters.press_without_move == PressWithoutMove::Refuse {
            let text = "Under the rules of this game the clock is pressed by the move.".into();
            return Err(Ruling::refused(Reason::NotAllowed, &["7.5.3"], text));
        }
        Ok(self.punish(side, &Offence::press_without_move(), now))
    }

    /// The move of the piece that was released and not taken up again, in UCI.
    fn released_move(&self) -> Option<String> {
        let (from, to) = self.conduct().released?;
        if let [mv] = self.made_by_release(from, to)?[..] {
            return Some(self.position().uci(mv).to_string());
        }
        let promotion = self.conduct().promotion.filter(|&(square, _)| square == to);
        let mv = UciMove {
            from,
            to,
            promotion: promotion.map(|(_, role)| role),
        };
        Some(mv.to_string())
    }

    /// Two hands were used for a move that is on the board when the clock is pressed (7.5.4).
    fn punish_press(&self, side: Color, now: Time) -> Draft {
        let ply = self.history().ply() - 1;
        let last = self.history().move_to(ply + 1);
        let before = self.history().up_to(ply);
        let mut draft = self.draft(now);
        if self.profile().parameters.two_hands_move_stands {
            draft.conduct.uncompleted.set(side, false);
            complete(&mut draft, side);
            let offence = Offence::two_hands_on(Vec::new());
            self.add_offence(&mut draft, self.history(), side, &offence);
            return draft;
        }
        let mv = last.and_then(|uci| before.position().find_uci(uci));
        let touched = mv.map(|mv| squares_of(before.position(), mv));
        let offence = Offence::two_hands_on(touched.unwrap_or_default());
        draft.reinstated = Some(ply);
        draft.conduct.begin_move();
        draft.conduct.uncompleted.set(side, false);
        self.add_offence(&mut draft, &before, side, &offence);
        draft
    }
}

/// Whether a game ends by the position alone, and not by how it came about.
fn is_by_position(termination: Termination) -> bool {
    matches!(
        termination,
        Termination::Checkmate
            | Termination::Stalemate
            | Termination::DeadPosition
            | Termination::MaterialDraw
    )
}

/// Whether the offer of the opponent is declined by a move. A move touches a piece, so it declines
/// wherever touching does.
fn declines(conduct: &Conduct, side: Color, declined_by: OfferDeclinedBy) -> bool {
    conduct.draw_offer == Some(!side)
        && matches!(
            declined_by,
            OfferDeclinedBy::ReplyOrTouch | OfferDeclinedBy::ReplyOrMove | OfferDeclinedBy::Reply
        )
}

/// Completes a move by a press of the clock. Where the opponent had not pressed before, that move
/// is completed with it (6.2.1.2).
fn complete(draft: &mut Draft, side: Color) {
    draft.run_clock(side, draft.now);
    let was_open = draft.conduct.uncompleted.of(!side);
    let runs = draft.conduct.clocks.running == Some(side);
    let reading = read_clock(&draft.conduct.clocks, side, draft.now);
    let was_down = draft.conduct.clocks.side(side).flag_down;
    draft.clock(|clocks, now| clocks.complete_move(side, now));
    if draft.conduct.clocks.side(side).flag_down && !was_down {
        // The move is completed all the same, since nobody had observed the flag.
        let text = format!(
            "The time of {side} was used up before the move was completed, so the flag is down."
        );
        draft.add_remark("6.8", &text);
        draft.show(Evidence::Clock(reading));
    }
    if was_open && !runs {
        draft.conduct.uncompleted.set(!side, false);
        draft.clock(|clocks: &Clocks, now| clocks.complete_unpressed(!side, now));
    }
}

fn refuse_full(error: &crate::history::HistoryError) -> Ruling {
    let text = format!("No further move can be recorded: {error}.");
    Ruling::refused(Reason::NotAllowed, &[], text)
}
