//! What platforms know and the Laws do not: breaking games off, takebacks, lost connections.

use referee_chess::Color;

use super::draft::Draft;
use crate::clock::{Time, TimeControl};
use crate::game::Game;
use crate::outcome::{GameResult, Outcome, Termination};
use crate::profile::{AbortRule, NoStartRule, Takeback};
use crate::ruling::{Reason, Ruling};

impl Game {
    pub(super) fn decide_abort(&self, side: Color, now: Time) -> Result<Draft, Ruling> {
        let parameters = &self.profile().parameters;
        let is_early = self.history().ply() < parameters.abort_plies;
        let alone = match parameters.abort {
            AbortRule::Never => false,
            AbortRule::Early => is_early && !parameters.mandatory_pairing,
            AbortRule::EarlyThenMutual => is_early,
        };
        let agreed = parameters.abort == AbortRule::EarlyThenMutual
            && self.conduct().abort_by == Some(!side);
        if alone || agreed {
            let mut draft = self.draft(now);
            draft.end_saying(aborted());
            return Ok(draft);
        }
        if parameters.abort == AbortRule::EarlyThenMutual {
            let mut draft = self.draft(now);
            draft.conduct.abort_by = Some(side);
            let text = format!("{side} wants to break the game off, which needs both players now.");
            draft.remark(&["profile"], text);
            return Ok(draft);
        }
        let text = "Under the rules of this game it can no longer be broken off, or never could.";
        Err(Ruling::refused(
            Reason::NotAllowed,
            &["profile"],
            text.into(),
        ))
    }

    pub(super) fn decide_no_start(&self, side: Color, now: Time) -> Result<Draft, Ruling> {
        let parameters = &self.profile().parameters;
        if parameters.no_start == NoStartRule::Ignored {
            let text = "Under the rules of this game a late first move only costs time.".into();
            return Err(Ruling::refused(Reason::NotAllowed, &["profile"], text));
        }
        if self.history().moves_made(side) > 0 || self.position().turn() != side {
            let text = format!("{side} has made the first move, or does not have the move.");
            return Err(Ruling::refused(Reason::TooLate, &["profile"], text));
        }
        let mut draft = self.draft(now);
        let outcome = if parameters.mandatory_pairing {
            Outcome::new(GameResult::Win(!side), Termination::NoStart, "profile")
        } else {
            aborted()
        };
        draft.end_saying(outcome);
        Ok(draft)
    }

    pub(super) fn decide_connection(&self, side: Color, connected: bool, now: Time) -> Draft {
        let mut draft = self.draft(now);
        let since = if connected { None } else { Some(now) };
        draft.conduct.gone_since.set(side, since);
        draft.remark(
            &["profile"],
            "A lost connection does not stop the clock.".into(),
        );
        draft
    }

    pub(super) fn decide_take_back(&self, side: Color, now: Time) -> Result<Draft, Ruling> {
        let parameters = &self.profile().parameters;
        if parameters.takeback == Takeback::Never || parameters.mandatory_pairing {
            let text = "A move that was made cannot be taken back.".into();
            return Err(Ruling::refused(Reason::NotAllowed, &["4.7"], text));
        }
        if self.last_ply_of(side).is_none() {
            let text = format!("{side} has made no move that could be taken back.");
            return Err(Ruling::refused(Reason::NotAllowed, &["4.7"], text));
        }
        let mut draft = self.draft(now);
        draft.conduct.take_back_by = Some(side);
        Ok(draft)
    }

    pub(super) fn decide_take_back_answer(
        &self,
        side: Color,
        accept: bool,
        now: Time,
    ) -> Result<Draft, Ruling> {
        let wish = self.conduct().take_back_by.filter(|&by| by != side);
        let Some(ply) = wish.and_then(|by| self.last_ply_of(by)) else {
            let text = format!("{} has not asked for a move to be taken back.", !side);
            return Err(Ruling::refused(Reason::NotAllowed, &["4.7"], text));
        };
        let mut draft = self.draft(now);
        draft.conduct.take_back_by = None;
        if accept {
            self.rewind(&mut draft, ply - 1);
            draft.conduct.draw_offer = None;
        }
        Ok(draft)
    }

    /// The ply that the last move of a side led to, where it has made one since the base.
    fn last_ply_of(&self, side: Color) -> Option<u32> {
        let ply = self.history().ply();
        let behind = u32::from(self.position().turn() == side);
        (ply > behind).then(|| ply - behind)
    }

    /// Puts the position of an earlier ply back, and the clocks to it: the moves that are undone
    /// no longer count, and the side that has the move there thinks again (7.1).
    pub(super) fn rewind(&self, draft: &mut Draft, ply: u32) {
        let now_ply = self.history().ply();
        let undone = now_ply.saturating_sub(ply);
        let turn = self.position().turn();
        // The last move was made by the side not to move.
        let by_other = undone.div_ceil(2);
        let by_turn = undone / 2;
        draft.reinstated = Some(ply);
        draft.run_clock(self.side_on_clock(), draft.now);
        for (side, moves) in [(!turn, by_other), (turn, by_turn)] {
            let uncompleted = u32::from(draft.conduct.uncompleted.of(side));
            let counted = draft.conduct.clocks.side(side).moves;
            let left = counted.saturating_sub(moves.saturating_sub(uncompleted));
            if left != counted {
                let control = draft.conduct.clocks.side(side).control.as_ref();
                let credit_ms =
                    control.map_or(0, |control| time_of_periods(control, left, counted));
                if credit_ms > 0 {
                    // The moves of the period are made no longer; they bring its time again.
                    draft.clock(|clocks, now| clocks.take_back_credit(side, credit_ms, now));
                }
                draft.clock(|clocks, now| clocks.set_moves(side, left, now));
            }
            draft.conduct.uncompleted.set(side, false);
        }
        let to_move = if undone.is_multiple_of(2) {
            turn
        } else {
            !turn
        };
        draft.clock(|clocks, now| clocks.switch_to(to_move, now));
        draft.conduct.begin_move();
        draft.conduct.breach = None;
    }
}

fn aborted() -> Outcome {
    Outcome::new(GameResult::Aborted, Termination::Aborted, "profile")
}

/// The time of the periods that began while the moves made rose from one number to another.
fn time_of_periods(control: &TimeControl, from: u32, to: u32) -> u64 {
    let places = (from + 1..=to).map(|moves| control.place(moves));
    let begun = places.filter(|&(_, moves_in_period)| moves_in_period == 0);
    begun
        .map(|(number, _)| control.period(number).time_ms)
        .sum()
}
