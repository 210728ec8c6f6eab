//! Flags that fall (6.8, 6.9, guideline III.3.1).

use referee_chess::Color;

use super::draft::{Draft, read_clock};
use super::loss::Loss;
use crate::clock::{Bonus, Clocks, Keeper, Time};
use crate::conduct::Phase;
use crate::game::Game;
use crate::outcome::{Evidence, Outcome, Termination};
use crate::profile::{BothFlags, FlagVsOpenOffer};
use crate::ruling::{Reason, Ruling};

/// What is said of a flag.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlagReport {
    /// Whether it was seen down, and not only known to have fallen.
    pub(super) observed: bool,
    /// The moves that the side has completed, where the arbiter counted them (6.4).
    pub(super) moves_completed: Option<u32>,
}

/// What the clock of a side shows of its flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlagState {
    Up,
    /// The flag fell, and nothing is left. It stays down, also while the other clock runs or none
    /// does (6.8).
    Down,
    /// The flag fell, and a later period, an increment or the arbiter brought time again.
    TimeAgain,
}

fn flag_state(clocks: &Clocks, side: Color, now: Time) -> FlagState {
    match clocks.left_at(side, now) {
        _ if !clocks.is_flag_down(side, now) => FlagState::Up,
        Some(0) => FlagState::Down,
        _ => FlagState::TimeAgain,
    }
}

impl Game {
    /// Somebody says that a flag has fallen: a player claims it, or the arbiter, where
    /// `claimant` is `None`, observes it.
    pub(super) fn decide_flag(
        &self,
        claimant: Option<Color>,
        side: Color,
        report: FlagReport,
        now: Time,
    ) -> Result<Draft, Ruling> {
        let conduct = self.conduct();
        let stands_still = conduct.phase != Phase::Playing || conduct.clocks.paused;
        let mut draft = self.draft(now);
        let clocks = &draft.conduct.clocks;
        let runs = side == self.side_on_clock() && !stands_still;
        let state = flag_state(clocks, side, now);
        if !runs && state == FlagState::Up {
            let text = format!("The clock of {side} does not run, so its flag cannot fall.");
            return Err(Ruling::refused(Reason::NotRunning, &["6.9"], text));
        }
        let reading = read_clock(clocks, side, now);
        if !report.observed {
            let text = format!("The flag of {side} counts when it is noticed or claimed.");
            draft.remark(&["6.8"], text);
            return Ok(draft);
        }
        // A platform that keeps the clocks knows of one that runs whether its flag is down.
        let is_told = runs && self.keeper() == Keeper::Platform;
        if !is_told {
            self.check_flag(claimant, side, state, clocks.left_at(side, now))
                .map_err(|refused| refused.with(Evidence::Clock(reading)))?;
        }
        if claimant.is_some() && flag_state(clocks, !side, now) == FlagState::Down {
            // Who has no time left either cannot win by it.
            let is_last = Color::ALL.map(|side| clocks.side(side).is_in_last_period());
            return self.decide_both_flags(None, is_last == [true, true], now);
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
        if let Some(claim) = &mut draft.conduct.pending_claim
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

    /// Whether the indication of the clock, which is conclusive (6.10.1), bears out that a flag is
    /// down. One that fell before time was brought again is for the arbiter to find.
    fn check_flag(
        &self,
        claimant: Option<Color>,
        side: Color,
        state: FlagState,
        left_ms: Option<u64>,
    ) -> Result<(), Ruling> {
        let for_players = self.profile().parameters.flag_claim_after_new_time;
        let (reason, text) = match (state, claimant) {
            (FlagState::Down, _) | (FlagState::TimeAgain, None) => return Ok(()),
            (FlagState::TimeAgain, Some(_)) if for_players => return Ok(()),
            (FlagState::TimeAgain, Some(_)) => (
                Reason::ClaimTooLate,
                format!(
                    "The flag of {side} fell, but there has been time on the clock again since, so \
                     only the arbiter can find it."
                ),
            ),
            (FlagState::Up, _) => {
                let reason = match claimant {
                    Some(_) => Reason::ClaimIncorrect,
                    None => Reason::NotRunning,
                };
                let text = match left_ms {
                    Some(left_ms) => format!("{side} has {left_ms} ms left."),
                    None => format!("{side} plays without a clock."),
                };
                (reason, text)
            }
        };
        Err(Ruling::refused(reason, &["6.10.1"], text))
    }

    /// The game ends by a flag: lost, unless the opponent cannot mate (6.9).
    pub(super) fn end_by_flag(&self, draft: &mut Draft, side: Color) {
        let parameters = &self.profile().parameters;
        let winner_offers = draft.conduct.draw_offer == Some(!side);
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
        let clocks = &self.conduct().clocks;
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
