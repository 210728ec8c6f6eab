//! Flags that fall (6.8, 6.9, guideline III.3.1).

use referee_chess::Color;

use super::draft::{Draft, read_clock};
use super::loss::Loss;
use crate::clock::{Bonus, Keeper, Time};
use crate::game::Game;
use crate::outcome::{Evidence, Outcome, Termination};
use crate::profile::{BothFlags, FlagVsOpenOffer};
use crate::ruling::{Reason, Ruling};
use crate::standing::Phase;

/// What is said of a flag.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlagReport {
    /// Whether it was seen down, and not only known to have fallen.
    pub(super) observed: bool,
    /// The moves that the side has completed, where the arbiter counted them (6.4).
    pub(super) moves_completed: Option<u32>,
}

impl Game {
    /// Somebody says that a flag has fallen: the opponent claims it, or the arbiter, where
    /// `claimant` is `None`, observes it.
    pub(super) fn decide_flag(
        &self,
        claimant: Option<Color>,
        side: Color,
        report: FlagReport,
        now: Time,
    ) -> Result<Draft, Ruling> {
        let standing = self.standing();
        let stands_still = standing.phase != Phase::Playing || standing.clocks.paused;
        if side != self.side_on_clock() || stands_still {
            let text = format!("The clock of {side} does not run, so its flag cannot fall.");
            return Err(Ruling::refused(Reason::NotRunning, &["6.9"], text));
        }
        let mut draft = self.draft(now);
        let reading = read_clock(&draft.standing.clocks, side, now);
        if !report.observed {
            let text = format!("The flag of {side} counts when it is noticed or claimed.");
            draft.remark(&["6.8"], text);
            return Ok(draft);
        }
        let clocks = &draft.standing.clocks;
        if self.keeper() == Keeper::Referee && !clocks.is_flag_down(side, now) {
            // The indication of the clock is conclusive (6.10.1).
            let text = match clocks.left_at(side, now) {
                Some(left_ms) => format!("{side} has {left_ms} ms left."),
                None => format!("{side} plays without a clock."),
            };
            let reason = match claimant {
                Some(_) => Reason::ClaimIncorrect,
                None => Reason::NotRunning,
            };
            let refused = Ruling::refused(reason, &["6.10.1"], text);
            return Err(refused.with(Evidence::Clock(reading)));
        }
        let clock = clocks.side(side);
        let is_in_next_period = match (report.moves_completed, &clock.control) {
            (Some(moves), Some(control)) => control.place(moves).0 > clock.period,
            _ => false,
        };
        if is_in_next_period {
            let text = format!("{side} has completed the moves of the period, so play goes on.");
            draft.remark(&["6.4"], text);
            return Ok(draft);
        }
        draft.show(Evidence::Clock(reading));
        draft.clock(|clocks, now| clocks.fall(side, now));
        if let Some(claim) = &mut draft.standing.pending_claim
            && claim.side == side
            && claim.postponed
        {
            claim.flag_fallen = true;
            draft.clock(|clocks, now| clocks.pause(now));
            draft.remark(
                &["III.5"],
                "The flag has fallen, and the arbiter decides the claim that was put off.".into(),
            );
            return Ok(draft);
        }
        self.end_by_flag(&mut draft, side);
        Ok(draft)
    }

    /// The game ends by a flag: lost, unless the opponent cannot mate (6.9).
    pub(super) fn end_by_flag(&self, draft: &mut Draft, side: Color) {
        let parameters = &self.profile().parameters;
        let winner_offers = draft.standing.draw_offer == Some(!side);
        if winner_offers && parameters.flag_vs_open_offer == FlagVsOpenOffer::DrawIfWinnerOffers {
            let text = format!(
                "{side} is out of time, but {} had offered a draw, so the game is drawn.",
                !side
            );
            let outcome = Outcome::draw(Termination::Agreement, "5.2.3").saying(text);
            draft.end_saying(outcome);
            return;
        }
        let loss = Loss {
            loser: side,
            lost: Termination::TimeForfeit,
            drawn: Termination::TimeNoMate,
            article: "6.9",
            test: parameters.flag_exception,
        };
        let mut outcome = self.lose_unless_no_mate(self.history(), &loss);
        let clock = draft.ruling.evidence.iter();
        let clock: Vec<Evidence> = clock
            .filter(|evidence| matches!(evidence, Evidence::Clock(_)))
            .cloned()
            .collect();
        draft.ruling.evidence.clear();
        outcome.evidence.splice(0..0, clock);
        let (verdict, reason) = (draft.ruling.verdict, draft.ruling.reason);
        draft.end_saying(outcome);
        draft.ruling.verdict = verdict;
        draft.ruling.reason = reason;
    }

    pub(super) fn decide_both_flags(
        &self,
        first: Option<Color>,
        last_period: bool,
        now: Time,
    ) -> Result<Draft, Ruling> {
        let parameters = &self.profile().parameters;
        let mut draft = self.draft(now);
        // The guideline is for games without time for each move (III.2.2).
        let clocks = &self.standing().clocks;
        let has_bonus = Color::ALL.map(|side| clocks.side(side).bonus() != Bonus::None);
        let guideline = parameters.guideline_iii && has_bonus == [false, false];
        if parameters.both_flags != BothFlags::Draw && first.is_none() {
            if !guideline {
                let text = "The indicator of the clock decides which flag fell first; until the \
                            arbiter reports it, the game goes on.";
                draft.remark(&["6.10.1"], text.into());
                return Ok(draft);
            }
            if !last_period {
                let text = "It was not the last period, so the game goes on.";
                draft.remark(&["III.3.1"], text.into());
                return Ok(draft);
            }
        }
        for side in Color::ALL {
            draft.clock(|clocks, now| clocks.fall(side, now));
        }
        match first {
            Some(side) if parameters.both_flags == BothFlags::Indicator => {
                self.end_by_flag(&mut draft, side);
            }
            _ => draft.end_saying(Outcome::draw(Termination::BothFlags, "III.3.1")),
        }
        Ok(draft)
    }
}
