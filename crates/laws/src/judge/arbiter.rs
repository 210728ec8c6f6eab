//! What the arbiter decides (6.10, 7, 10 to 12, guideline III).

use referee_chess::Color;

use super::draft::Draft;
use super::illegal::minutes;
use crate::action::{ClaimDecision, ClaimKind, Decision, Score};
use crate::adjudicate::is_irregular;
use crate::clock::{Bonus, ClockChange, Clocks, Time};
use crate::conduct::{PendingClaim, Phase, Sides};
use crate::counts::CaptureCount;
use crate::game::Game;
use crate::mate::has_pawn_left;
use crate::outcome::{GameResult, Outcome, Termination};
use crate::ruling::{Reason, Ruling, Verdict};

/// Moves of each side after which colors and set-up are no longer put right (7.3, A.5.1).
const MOVES_TO_CORRECT: u32 = 10;
/// What guideline III.4 gives for each move, and to the opponent at once, in milliseconds.
const QUICKPLAY_BONUS_MS: u64 = 5_000;
const QUICKPLAY_COMPENSATION_MS: u64 = 120_000;

/// Whether a decision is heard after the end of the game too.
pub(super) const fn is_last_word(decision: &Decision) -> bool {
    matches!(
        decision,
        Decision::DeclareLost { .. }
            | Decision::DeclareLostByBoth
            | Decision::SetScore { .. }
            | Decision::DeclareForfeit { .. }
            | Decision::Confirm
    )
}

impl Game {
    pub(super) fn decide_decision(&self, decision: &Decision, now: Time) -> Result<Draft, Ruling> {
        let mut draft = self.draft(now);
        match *decision {
            Decision::SetClocks { white_ms, black_ms } => {
                let (white, black) = (white_ms, black_ms);
                set_clocks(&mut draft, Sides { white, black });
            }
            Decision::PenaltyTime {
                side,
                deduct_ms,
                add_opponent_ms,
            } => {
                draft.clock(|clocks, now| clocks.penalize(side, deduct_ms, add_opponent_ms, now));
                draft.remark(&["12.9"], format!("{side} is punished with time."));
            }
            Decision::ExtraTime { side, ms } => {
                draft.clock(|clocks, now| clocks.grant(side, ms, now));
                draft.remark(&["12.5"], format!("{side} gets {} more.", minutes(ms)));
            }
            Decision::Reinstate { ply } => self.decide_reinstatement(&mut draft, ply)?,
            Decision::DeclareLost {
                side,
                opponent_score,
                device_found,
            } => {
                let article = if device_found { "11.3.2.2" } else { "11.7" };
                draft.end_saying(decided(lost_by(side, opponent_score)?, article));
            }
            Decision::DeclareLostByBoth => {
                draft.end_saying(decided(GameResult::BothLose, "11.8"));
            }
            Decision::SetScore { white, black } => {
                draft.end_saying(decided(result_of(white, black)?, "10.2"));
            }
            Decision::DeclareForfeit { side } => draft.end_saying(forfeited(side)),
            Decision::ColorsReversed => {
                self.check_early(true, "7.3")?;
                draft.end_saying(cancelled(Termination::ColorsReversed, "7.3"));
            }
            Decision::WrongInitialPosition => {
                self.check_early(self.profile().parameters.unsupervised, "A.5.1")?;
                draft.end_saying(cancelled(Termination::WrongInitialPosition, "7.2.1"));
            }
            Decision::IllegalPositionSeen {
                still_after_next_move,
            } => self.decide_illegal_position(&mut draft, still_after_next_move)?,
            Decision::PermitDrawOffer => {
                draft.conduct.offer_permitted = true;
                draft.remark(&["9.1.1"], "The arbiter permits an offer of a draw.".into());
            }
            Decision::DecideClaim(answer) => self.decide_pending(&mut draft, answer)?,
            Decision::SetCounters {
                white_illegal_moves: white,
                black_illegal_moves: black,
                plies_without_capture,
            } => self.set_counters(&mut draft, Sides { white, black }, plies_without_capture),
            Decision::Confirm => self.decide_confirmation(&mut draft),
            Decision::Warn { side } => {
                draft.remark(&["12.9"], format!("The arbiter warns {side}."));
            }
        }
        Ok(draft)
    }

    fn set_counters(
        &self,
        draft: &mut Draft,
        illegal_moves: Sides<Option<u32>>,
        plies_without_capture: Option<u32>,
    ) {
        for side in Color::ALL {
            if let Some(count) = illegal_moves.of(side) {
                draft.conduct.illegal_moves.set(side, count);
            }
        }
        if let Some(count) = plies_without_capture {
            draft.conduct.capture_count = CaptureCount {
                ply: self.history().ply(),
                count,
            };
        }
        draft.remark(&["6.10.2"], "The arbiter sets what is counted.".into());
    }

    fn decide_reinstatement(&self, draft: &mut Draft, ply: u32) -> Result<(), Ruling> {
        if ply >= self.history().ply() {
            let text = format!(
                "Ply {ply} is not before the position on the board, which is that of ply {}.",
                self.history().ply()
            );
            return Err(Ruling::refused(Reason::NotAllowed, &["7.1"], text));
        }
        self.rewind(draft, ply);
        if let Phase::Adjourned { .. } = draft.conduct.phase {
            // The sealed move belongs to a position that is no longer on the board.
            draft.conduct.phase = Phase::Paused;
        }
        let text = format!("The position of ply {ply} is reinstated.");
        draft.remark(&["7.1"], text);
        Ok(())
    }

    /// Colors and set-up are put right only before ten moves of each side.
    fn check_early(&self, applies: bool, article: &'static str) -> Result<(), Ruling> {
        let fewest = Color::ALL.map(|side| self.history().moves_made(side));
        if !applies || fewest[0].min(fewest[1]) < MOVES_TO_CORRECT {
            return Ok(());
        }
        let text =
            format!("Each player has made {MOVES_TO_CORRECT} moves, so the game goes on as it is.");
        Err(Ruling::refused(Reason::TooLate, &[article], text))
    }

    fn decide_illegal_position(&self, draft: &mut Draft, still: bool) -> Result<(), Ruling> {
        let position = self.position();
        let is_shown = has_pawn_left(position) || (is_irregular(position) && position.is_check());
        if !(self.profile().parameters.unsupervised && is_shown) {
            let text = "No such illegal position is on the board, or the rules of the game have \
                        illegal moves corrected."
                .into();
            return Err(Ruling::refused(Reason::NotAllowed, &["A.5.4"], text));
        }
        if still {
            draft.end_saying(Outcome::draw(Termination::IllegalPositionDraw, "A.5.4"));
        } else {
            let text = "The arbiter waits until the next move is completed.".into();
            draft.remark(&["A.5.4"], text);
        }
        Ok(())
    }

    /// A claim of guideline III that waits.
    fn decide_pending(&self, draft: &mut Draft, answer: ClaimDecision) -> Result<(), Ruling> {
        let Some(claim) = self.conduct().pending_claim else {
            let text = "No claim waits for the arbiter.".into();
            return Err(Ruling::refused(Reason::NotAllowed, &["III.5"], text));
        };
        let (side, is_draw) = (claim.side, claim.claim == ClaimKind::QuickplayDraw);
        draft.conduct.pending_claim = None;
        let resume = |draft: &mut Draft| {
            if draft.conduct.clocks.paused && draft.conduct.phase == Phase::Playing {
                draft.clock(|clocks, now| clocks.resume(None, now));
            }
        };
        match answer {
            ClaimDecision::Accept if is_draw => {
                draft.end_saying(Outcome::draw(Termination::QuickplayClaim, "III.5"));
            }
            ClaimDecision::Accept => {
                draft.clock(fischer);
                let ms = QUICKPLAY_COMPENSATION_MS;
                draft.clock(|clocks, now| clocks.penalize(side, 0, ms, now));
                resume(draft);
                let text = format!(
                    "Each move brings five seconds more, and {} gets two minutes.",
                    !side
                );
                draft.remark(&["III.4"], text);
            }
            ClaimDecision::Postpone => {
                draft.conduct.pending_claim = Some(PendingClaim {
                    postponed: true,
                    ..claim
                });
                if !claim.flag_fallen {
                    resume(draft);
                }
                draft.remark(&["III.5"], "The arbiter decides the claim later.".into());
            }
            ClaimDecision::Reject if claim.flag_fallen => {
                let is_own = draft.conduct.clocks.side(side).flag_down;
                self.end_by_flag(draft, if is_own { side } else { !side });
            }
            ClaimDecision::Reject if !is_draw => {
                resume(draft);
                draft.remark(
                    &["III.4"],
                    "The request is rejected, and play goes on.".into(),
                );
            }
            ClaimDecision::Reject => {
                let ms = QUICKPLAY_COMPENSATION_MS;
                draft.clock(|clocks, now| clocks.penalize(side, 0, ms, now));
                resume(draft);
                let text = format!("The claim is rejected, and {} gets two minutes.", !side);
                draft.remark(&["III.5"], text);
            }
        }
        Ok(())
    }

    /// What stands is confirmed: an outcome is final from now on.
    fn decide_confirmation(&self, draft: &mut Draft) {
        if let Some(outcome) = &mut draft.outcome {
            let text = format!("The arbiter confirms: {}", outcome.text);
            confirm(outcome);
            draft.rule(Verdict::Accepted, None, &["12.1"], text);
        } else {
            draft.remark(&["12.1"], "The arbiter confirms what stands.".into());
        }
    }

    /// The time for corrections has passed: the outcome is final from now on, unless a proof is
    /// still waited for.
    pub(super) fn decide_expiry(&self, now: Time) -> Result<Draft, Ruling> {
        let mut draft = self.draft(now);
        match &mut draft.outcome {
            Some(outcome) if !outcome.provisional => {
                let text = format!("The time for corrections has passed: {}", outcome.text);
                confirm(outcome);
                draft.rule(Verdict::Accepted, None, &["12.1"], text);
                Ok(draft)
            }
            _ => {
                let text = "There is no outcome that is not provisional.".into();
                Err(Ruling::refused(Reason::NotAllowed, &["12.1"], text))
            }
        }
    }
}

fn confirm(outcome: &mut Outcome) {
    outcome.provisional = false;
    outcome.confirmed = true;
}

fn fischer(clocks: &Clocks, now: Time) -> ClockChange {
    let unchanged = || ClockChange {
        clocks: clocks.clone(),
        lines: Vec::new(),
    };
    // Five seconds are within the limits of a bonus.
    clocks
        .change_bonus(Bonus::Fischer(QUICKPLAY_BONUS_MS), now)
        .unwrap_or_else(|_| unchanged())
}

fn set_clocks(draft: &mut Draft, left_ms: Sides<Option<u64>>) {
    for side in Color::ALL {
        if let Some(left_ms) = left_ms.of(side) {
            draft.clock(|clocks, now| clocks.set(side, left_ms, now));
        }
    }
    draft.remark(&["6.10.2"], "The arbiter sets the clocks.".into());
}

/// The forfeit of a side that was not there in time, or of both (6.7).
fn forfeited(side: Option<Color>) -> Outcome {
    let (result, termination) = match side {
        Some(side) => (GameResult::WinByForfeit(!side), Termination::DefaultForfeit),
        None => (GameResult::BothForfeit, Termination::DoubleForfeit),
    };
    Outcome::new(result, termination, "6.7")
}

fn decided(result: GameResult, article: &'static str) -> Outcome {
    Outcome::new(result, Termination::ArbiterDecision, article)
}

fn cancelled(termination: Termination, article: &'static str) -> Outcome {
    Outcome::new(GameResult::Cancelled, termination, article)
}

fn lost_by(side: Color, opponent_score: Score) -> Result<GameResult, Ruling> {
    match opponent_score {
        Score::One => Ok(GameResult::Win(!side)),
        Score::Half => Ok(GameResult::Half(!side)),
        Score::Zero => Ok(GameResult::BothLose),
        Score::Other => Err(score_not_allowed()),
    }
}

/// The results that the Laws know (10.2): together never more than a point.
fn result_of(white: Score, black: Score) -> Result<GameResult, Ruling> {
    match (white, black) {
        (Score::One, Score::Zero) => Ok(GameResult::Win(Color::White)),
        (Score::Zero, Score::One) => Ok(GameResult::Win(Color::Black)),
        (Score::Half, Score::Half) => Ok(GameResult::Draw),
        (Score::Zero, Score::Zero) => Ok(GameResult::BothLose),
        (Score::Half, Score::Zero) => Ok(GameResult::Half(Color::White)),
        (Score::Zero, Score::Half) => Ok(GameResult::Half(Color::Black)),
        _ => Err(score_not_allowed()),
    }
}

fn score_not_allowed() -> Ruling {
    let text = "The points are not among those that the Laws know: 1-0, 0-1, 1/2-1/2, 0-0, 1/2-0 \
                and 0-1/2."
        .into();
    Ruling::refused(Reason::ScoreNotAllowed, &["10.2"], text)
}
