//! Judging actions: what the referee says, and what comes of it.

#![expect(
    clippy::result_large_err,
    reason = "a refusal is as ordinary as an acceptance here"
)]

mod arbiter;
mod attend;
mod claims;
mod draft;
mod flags;
mod illegal;
mod loss;
mod moves;
mod offers;
mod platform;
mod sealed;
mod standing;
mod touch;

use referee_chess::Color;

use crate::action::{Action, ClaimKind, Decision, Intent, Seat};
use crate::clock::{Keeper, Time};
use crate::conduct::Phase;
use crate::game::{Entry, Game};
use crate::outcome::Evidence;
use crate::profile::FlagMode;
use crate::ruling::{Reason, Ruling, Verdict};

pub(crate) use attend::can_be_dead;
use draft::Draft;
use flags::FlagReport;
pub use loss::MATE_BUDGET_ON_END;

/// What the referee says to an action, and the entry that came of it, if any.
#[derive(Clone, Debug)]
pub struct Judgment {
    /// What the referee says.
    pub ruling: Ruling,
    /// What is to be recorded; `None` where the action leaves no trace in the game.
    pub entry: Option<Entry>,
}

impl Game {
    /// Judges an action that reached the referee at a time. The game stays as it is;
    /// [`apply`](Game::apply) does what was ruled. A time before that of the last entry counts as
    /// that.
    #[must_use]
    pub fn judge(&self, action: &Action, now: Time) -> Judgment {
        match self.decide(action, now.max(self.time())) {
            Ok(draft) => {
                let (ruling, effects) = draft.into_effects();
                Judgment {
                    entry: Some(Entry {
                        action: action.clone(),
                        ruling: ruling.clone(),
                        effects,
                    }),
                    ruling,
                }
            }
            Err(ruling) => Judgment {
                ruling,
                entry: None,
            },
        }
    }

    /// Returns whether judging an action may take the whole of the mate solver, which can take a
    /// second: where the game may end by a resignation, a flag, an illegal move or a claim.
    #[must_use]
    pub fn may_ask_for_mate(&self, action: &Action, now: Time) -> bool {
        let parameters = &self.profile().parameters;
        let clocks = &self.conduct().clocks;
        let is_late = parameters.flag_mode == FlagMode::Clock
            && clocks.deadline().is_some_and(|deadline| now > deadline);
        let side = match action.seat {
            Seat::Player(side) => side,
            Seat::Arbiter | Seat::Referee => self.position().turn(),
        };
        let is_last_offence = parameters.illegal_limit > 0
            && self.conduct().illegal_moves.of(side) + 1 >= parameters.illegal_limit;
        is_late
            || match &action.intent {
                Intent::Resign
                | Intent::Flag { .. }
                | Intent::BothFlags { .. }
                | Intent::FlagFell { .. }
                | Intent::Claim(_)
                | Intent::Resume { .. }
                | Intent::Decide(_) => true,
                Intent::Move(_) | Intent::Press { .. } => is_last_offence,
                _ => false,
            }
    }

    fn decide(&self, action: &Action, now: Time) -> Result<Draft, Ruling> {
        if self.outcome().is_some() {
            return self.decide_after_the_end(action, now);
        }
        if let Some(draft) = self.flag_before(action, now) {
            return Ok(draft);
        }
        match action.seat {
            Seat::Player(side) => self.decide_player(side, &action.intent, now),
            Seat::Arbiter => self.decide_arbiter(&action.intent, now),
            Seat::Referee => self.decide_referee(&action.intent, now),
        }
    }

    /// After the end only the arbiter is heard, who can also report what the players sign (8.7,
    /// 12.9), and what the referee itself finds; after an outcome was confirmed nobody is.
    fn decide_after_the_end(&self, action: &Action, now: Time) -> Result<Draft, Ruling> {
        if self.outcome().is_some_and(|outcome| outcome.confirmed) {
            return Err(self.refuse_over());
        }
        match (action.seat, &action.intent) {
            (Seat::Arbiter, Intent::Decide(decision)) if self::arbiter::is_last_word(decision) => {
                self.decide_decision(decision, now)
            }
            (Seat::Arbiter, Intent::SignResult { result }) => Ok(self.decide_signed(*result, now)),
            (Seat::Referee, Intent::MateDecided(finding)) => self.decide_finding(finding, now),
            (Seat::Referee, Intent::Decide(Decision::Confirm)) => self.decide_expiry(now),
            _ => Err(self.refuse_over()),
        }
    }

    fn refuse_over(&self) -> Ruling {
        let (text, citations) = match self.outcome() {
            Some(outcome) => (outcome.text.as_str(), outcome.citations.clone()),
            None => ("", Vec::new()),
        };
        let is_final = self.outcome().is_some_and(|outcome| outcome.confirmed);
        let stands = if is_final {
            ", and its result is final"
        } else {
            ""
        };
        let text = format!("The game is over{stands}. {text}");
        Ruling {
            citations,
            ..Ruling::refused(Reason::GameOver, &[], text)
        }
    }

    /// Where the clock decides, a flag that fell before the action arrived ends the game first.
    fn flag_before(&self, action: &Action, now: Time) -> Option<Draft> {
        if self.profile().parameters.flag_mode != FlagMode::Clock
            || matches!(action.intent, Intent::WasDown { .. })
        {
            return None;
        }
        let comes_before = matches!(
            action.intent,
            Intent::Start | Intent::Arrive | Intent::DefaultTime
        );
        if self.conduct().clocks.running.is_none() && comes_before {
            return None;
        }
        // A platform's clock that nobody has started has run since the last entry, so it can have
        // fallen before the first move.
        let mut draft = self.draft(now);
        let clocks = &draft.conduct.clocks.clone();
        let (side, deadline) = (clocks.running?, clocks.deadline()?);
        if now <= deadline {
            return None;
        }
        draft.rule(
            Verdict::Noted,
            Some(Reason::FlagFallen),
            &["6.9"],
            format!("The flag of {side} had fallen before the action arrived."),
        );
        let reading = draft::read_clock(clocks, side, now);
        draft.show(Evidence::Clock(reading));
        draft.clock(|clocks, _| clocks.fall(side, deadline));
        self.end_by_flag(&mut draft, side);
        let is_flag = match action.intent {
            Intent::FlagFell { side: fallen } => action.seat == Seat::Referee && fallen == side,
            Intent::Flag { side: fallen, .. } => {
                fallen == side && action.seat != Seat::Player(side)
            }
            _ => false,
        };
        if is_flag {
            draft.ruling.verdict = Verdict::Accepted;
            draft.ruling.reason = None;
        }
        Some(draft)
    }

    fn decide_player(&self, side: Color, intent: &Intent, now: Time) -> Result<Draft, Ruling> {
        self.check_phase(intent)?;
        match intent {
            Intent::Move(intent) => self.decide_move(side, intent, now),
            Intent::Press { two_hands } => self.decide_press(side, *two_hands, now),
            Intent::Touch {
                squares,
                order_unknown,
                intent,
            } => self.decide_touch(side, squares, *order_unknown, *intent, now),
            Intent::Adjust => self.decide_adjust(side, now),
            Intent::Release { from, to } => self.decide_release(side, *from, *to, now),
            Intent::PlacePromotion { square, role } => {
                self.decide_promotion(side, *square, *role, now)
            }
            Intent::Displace => Ok(self.decide_displacing(side, now)),
            Intent::Restore => self.decide_restoring(side, now),
            Intent::OfferDraw { conditional } => self.decide_offer(side, *conditional, now),
            Intent::AcceptDraw => self.decide_acceptance(side, now),
            Intent::DeclineDraw => self.decide_decline(side, now),
            Intent::WithdrawOffer => self.decide_withdrawal(side, now),
            Intent::Claim(claim) => self.decide_claim(side, claim, now),
            Intent::WithdrawClaim => {
                let text = "A claim cannot be withdrawn.".into();
                Err(Ruling::refused(
                    Reason::ClaimCannotWithdraw,
                    &["9.5.1"],
                    text,
                ))
            }
            Intent::Flag {
                side: fallen,
                observed,
                moves_completed,
            } => {
                if *fallen == side && self.profile().parameters.flag_mode == FlagMode::Claimed {
                    return Err(refuse_seat(
                        "Under the rules of this game a flag is for the opponent to claim.",
                    ));
                }
                self.decide_flag(
                    Some(side),
                    *fallen,
                    FlagReport {
                        observed: *observed,
                        moves_completed: *moves_completed,
                    },
                    now,
                )
            }
            Intent::Arrive => self.decide_arrival(side, now),
            Intent::Pause => self.decide_pause(Some(side), now),
            Intent::Resign => Ok(self.decide_resignation(side, now)),
            Intent::Abort => self.decide_abort(side, now),
            Intent::TakeBack => self.decide_take_back(side, now),
            Intent::AnswerTakeBack { accept } => self.decide_take_back_answer(side, *accept, now),
            Intent::Seal { text } => self.decide_seal(side, text, now),
            _ => Err(refuse_seat("Only the arbiter can do that.")),
        }
    }

    fn decide_arbiter(&self, intent: &Intent, now: Time) -> Result<Draft, Ruling> {
        match intent {
            Intent::Decide(decision) => self.decide_decision(decision, now),
            Intent::Claim(claim) if claim.claim == ClaimKind::IllegalMove => {
                self.decide_illegal_claim(None, claim.ply, now)
            }
            Intent::Flag {
                side,
                observed,
                moves_completed,
            } => self.decide_flag(
                None,
                *side,
                FlagReport {
                    observed: *observed,
                    moves_completed: *moves_completed,
                },
                now,
            ),
            Intent::BothFlags { first, last_period } => {
                self.decide_both_flags(*first, *last_period, now)
            }
            Intent::Start => self.decide_start(now),
            Intent::DefaultTime => self.decide_default_time(now),
            Intent::Pause => self.decide_pause(None, now),
            Intent::Resume { absent } => self.decide_resumption(absent, now),
            Intent::NoStart { side } => self.decide_no_start(*side, now),
            Intent::Connection { side, connected } => {
                Ok(self.decide_connection(*side, *connected, now))
            }
            Intent::SignResult { result } => Ok(self.decide_signed(*result, now)),
            _ => Err(refuse_seat("Only a player can do that.")),
        }
    }

    fn decide_referee(&self, intent: &Intent, now: Time) -> Result<Draft, Ruling> {
        match intent {
            Intent::FlagFell { side } => {
                let text = format!("The flag of {side} has not fallen.");
                Err(Ruling::refused(Reason::NotRunning, &["6.8"], text))
            }
            Intent::MateDecided(finding) => self.decide_finding(finding, now),
            Intent::WasDown { down_ms } => Ok(self.decide_down_time(*down_ms, now)),
            _ => Err(refuse_seat("The referee itself does not do that.")),
        }
    }

    /// While the clocks are stopped nothing is played; words go on.
    fn check_phase(&self, intent: &Intent) -> Result<(), Ruling> {
        let is_play = matches!(
            intent,
            Intent::Move(_)
                | Intent::Press { .. }
                | Intent::Touch { .. }
                | Intent::Adjust
                | Intent::Release { .. }
                | Intent::PlacePromotion { .. }
                | Intent::Seal { .. }
        );
        let (article, text) = match self.conduct().phase {
            Phase::Playing if is_play && self.awaits_decision() => (
                "III.4",
                "The clocks are stopped until the arbiter has decided the claim.",
            ),
            Phase::Paused if is_play => ("6.11", "The clocks are stopped, and nothing is played."),
            Phase::Adjourned { .. } if is_play => (
                "I.1",
                "The game is adjourned and goes on when it is resumed.",
            ),
            _ => return Ok(()),
        };
        Err(Ruling::refused(Reason::NotRunning, &[article], text.into()))
    }

    /// Whether a claim stops the clocks until the arbiter has decided it (9.5.1, guideline III).
    fn awaits_decision(&self) -> bool {
        let claim = self.conduct().pending_claim;
        claim.is_some_and(|claim| !claim.postponed || claim.flag_fallen)
    }

    /// Begins a draft. A platform's clock that nobody has started has run since the last entry.
    fn draft(&self, now: Time) -> Draft {
        let mut draft = Draft::new(self, now);
        let is_playing = matches!(draft.conduct.phase, Phase::Playing);
        if is_playing && self.outcome().is_none() && self.keeper() == Keeper::Platform {
            draft.run_clock(self.side_on_clock(), self.time());
        }
        draft
    }

    /// Returns the side whose clock runs, or would run if there were one: that of the side to
    /// move, unless the opponent has not completed the move before (6.2.1).
    #[must_use]
    pub fn side_on_clock(&self) -> Color {
        let conduct = self.conduct();
        let turn = self.position().turn();
        let is_late = conduct.uncompleted.of(!turn) && !conduct.uncompleted.of(turn);
        conduct
            .clocks
            .running
            .unwrap_or(if is_late { !turn } else { turn })
    }

    fn check_turn(&self, side: Color) -> Result<(), Ruling> {
        if side == self.position().turn() {
            return Ok(());
        }
        let text = format!("It is {}'s turn to move.", !side);
        Err(Ruling::refused(Reason::NotYourTurn, &["1.3", "1.2"], text))
    }
}

fn refuse_seat(text: &str) -> Ruling {
    Ruling::refused(Reason::WrongSeat, &[], text.into())
}
