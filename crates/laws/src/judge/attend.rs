//! Being there: the start of the game, arrivals, pauses, adjournment, and what the referee finds.

use referee_chess::{Color, Position};

use super::draft::Draft;
use super::loss::{Loss, draw_for_no_mate};
use super::sealed::read_sealed;
use crate::adjudicate::{end_on_board, is_irregular};
use crate::clock::Time;
use crate::conduct::Phase;
use crate::game::Game;
use crate::mate::{CanMate, MateFinding};
use crate::outcome::{Evidence, GameResult, Outcome, Termination};
use crate::profile::MateTest;
use crate::ruling::{Reason, Ruling, Verdict};

impl Game {
    pub(super) fn decide_start(&self, now: Time) -> Result<Draft, Ruling> {
        if self.conduct().started.is_some() || self.history().ply() > 0 {
            let text = "The game has been started before.".into();
            return Err(Ruling::refused(Reason::NotAllowed, &["6.6"], text));
        }
        let mut draft = Draft::new(self, now);
        draft.conduct.started = Some(now);
        draft.run_clock(self.position().turn(), now);
        draft.remark(
            &["6.6"],
            "The clock of the player who begins is started.".into(),
        );
        Ok(draft)
    }

    pub(super) fn decide_arrival(&self, side: Color, now: Time) -> Result<Draft, Ruling> {
        let conduct = self.conduct();
        if conduct.arrived.of(side).is_some() {
            let text = format!("{side} is there already.");
            return Err(Ruling::refused(Reason::NotAllowed, &["6.7"], text));
        }
        let mut draft = Draft::new(self, now);
        let default_ms = u64::from(self.profile().parameters.default_time_ms);
        let late_ms = conduct.started.map_or(0, |started| now.since(started));
        if late_ms > default_ms {
            let outcome = forfeit_of(side, conduct.arrived.of(!side).is_some());
            draft.end_saying(outcome);
            draft.ruling.verdict = Verdict::Penalized;
            draft.ruling.reason = Some(Reason::DefaultTime);
            return Ok(draft);
        }
        draft.conduct.arrived.set(side, Some(now));
        if conduct.clocks.running == Some(side) {
            draft.clock(|clocks, now| clocks.arrive(side, now));
        }
        Ok(draft)
    }

    pub(super) fn decide_default_time(&self, now: Time) -> Result<Draft, Ruling> {
        let conduct = self.conduct();
        let default_ms = u64::from(self.profile().parameters.default_time_ms);
        let is_over = conduct
            .started
            .is_some_and(|started| now.since(started) >= default_ms);
        let absent: Vec<Color> = Color::ALL
            .into_iter()
            .filter(|&side| conduct.arrived.of(side).is_none())
            .collect();
        let (Some(&first), true) = (absent.first(), is_over) else {
            let text = "The default time is not over, or both players are there.".into();
            return Err(Ruling::refused(Reason::NotAllowed, &["6.7"], text));
        };
        let mut draft = Draft::new(self, now);
        draft.end_saying(forfeit_of(first, absent.len() == 1));
        Ok(draft)
    }

    pub(super) fn decide_pause(&self, by: Option<Color>, now: Time) -> Result<Draft, Ruling> {
        if self.conduct().phase != Phase::Playing {
            let text = "The clocks are stopped already.".into();
            return Err(Ruling::refused(Reason::NotRunning, &["6.11"], text));
        }
        let mut draft = self.draft(now);
        draft.clock(|clocks, now| clocks.pause(now));
        draft.conduct.phase = Phase::Paused;
        match by {
            Some(side) => {
                let text = format!("{side} stops the clocks; the arbiter looks at the reason.");
                draft.remark(&["6.11.4"], text);
            }
            None => draft.remark(&["6.11"], "The clocks are stopped.".into()),
        }
        Ok(draft)
    }

    pub(super) fn decide_resumption(&self, absent: &[Color], now: Time) -> Result<Draft, Ruling> {
        match &self.conduct().phase {
            Phase::Playing => {
                let text = "The game is neither stopped nor adjourned.".into();
                Err(Ruling::refused(Reason::NotRunning, &["6.11"], text))
            }
            Phase::Paused => {
                let mut draft = Draft::new(self, now);
                draft.conduct.phase = Phase::Playing;
                if !self.awaits_decision() {
                    draft.clock(|clocks, now| clocks.resume(None, now));
                }
                draft.remark(&["6.11"], "The game goes on.".into());
                Ok(draft)
            }
            Phase::Adjourned { by, text } => Ok(self.open_envelope(*by, text, absent, now)),
        }
    }

    /// The sealed move is made when the game is resumed; one that is none loses the game
    /// (guideline I).
    fn open_envelope(&self, by: Color, text: &str, absent: &[Color], now: Time) -> Draft {
        let mut draft = Draft::new(self, now);
        draft.conduct.phase = Phase::Playing;
        let mut next = self.history().clone();
        let read = read_sealed(self.position(), text);
        let Some(mv) = read.as_ref().ok().filter(|&&mv| next.play(mv).is_ok()) else {
            let loss = Loss {
                loser: by,
                lost: Termination::SealedMove,
                drawn: Termination::SealedMove,
                article: "I.8",
                test: MateTest::Full,
            };
            let outcome = self.lose_unless_no_mate(self.history(), &loss);
            draft.end_saying(outcome);
            draft.ruling.illegal_move = read.err();
            return draft;
        };
        draft.played = Some(self.position().uci(*mv));
        draft.conduct.begin_move();
        let captures = self.conduct().capture_count;
        if let Some(outcome) = end_on_board(&next, captures, self.profile()) {
            draft.end_saying(outcome);
            return draft;
        }
        draft.clock(|clocks, now| clocks.resume(Some(!by), now));
        if !absent.is_empty() {
            // The default time runs for them from now on (I.9).
            draft.conduct.started = Some(now);
            for side in Color::ALL {
                let is_there = !absent.contains(&side);
                draft.conduct.arrived.set(side, is_there.then_some(now));
            }
        }
        let who = match absent {
            [] => "The sealed move is made, and the clock of the opponent is started.".to_owned(),
            _ => "The sealed move is made, and the clock of the player on move runs.".to_owned(),
        };
        draft.remark(&["I.7"], who);
        draft
    }

    pub(super) fn decide_seal(&self, side: Color, text: &str, now: Time) -> Result<Draft, Ruling> {
        self.check_turn(side)?;
        let mut draft = self.draft(now);
        draft.run_clock(self.side_on_clock(), now);
        draft.clock(|clocks, now| clocks.complete_move(side, now));
        draft.clock(|clocks, now| clocks.pause(now));
        draft.conduct.phase = Phase::Adjourned {
            by: side,
            text: text.to_owned(),
        };
        draft.remark(&["I.1"], "The game is adjourned with a sealed move.".into());
        Ok(draft)
    }

    pub(super) fn decide_signed(&self, result: GameResult, now: Time) -> Draft {
        let mut draft = self.draft(now);
        draft.end_saying(Outcome::new(result, Termination::SignedResult, "8.7"));
        draft
    }

    /// The clocks stood still while the referee was away.
    pub(super) fn decide_down_time(&self, down_ms: u64, now: Time) -> Draft {
        let mut draft = Draft::new(self, now);
        let from = Time::from_ms(now.ms().saturating_sub(down_ms)).unwrap_or_default();
        draft.clock(|clocks, to| clocks.stand_still(from, to));
        let text = "The referee was away, and the time until now is not charged.".into();
        draft.remark(&["6.10.1"], text);
        draft
    }

    /// Who can mate was found out after a ruling that could not wait for it.
    pub(super) fn decide_finding(&self, found: &MateFinding, now: Time) -> Result<Draft, Ruling> {
        let ply = self.history().ply();
        if let (CanMate::No(white), CanMate::No(black)) = (&found.white, &found.black)
            && found.ply <= ply
            && self.is_open_at(found.ply)
            && can_be_dead(self.history().up_to(found.ply).position())
        {
            // The game ended on the ply at which the position arose (5.2.2).
            let text = format!(
                "The game was drawn with the position of ply {}, since neither player can mate by \
                 any series of legal moves.",
                found.ply
            );
            let outcome = Outcome::draw(Termination::DeadPosition, "5.2.2")
                .saying(text)
                .with(Evidence::NoMate(white.clone()))
                .with(Evidence::NoMate(black.clone()));
            let mut draft = Draft::new(self, now);
            if found.ply < ply {
                self.rewind(&mut draft, found.ply);
            }
            draft.end_saying(outcome);
            return Ok(draft);
        }
        let refused = || {
            let text = "What was found changes nothing in this game.".into();
            Err(Ruling::refused(Reason::NotAllowed, &["5.2.2"], text))
        };
        let Some(outcome) = self.outcome().filter(|outcome| outcome.provisional) else {
            return refused();
        };
        let GameResult::Win(winner) = outcome.result else {
            return refused();
        };
        let article = match outcome.termination {
            Termination::Resignation => ("5.1.2", Termination::ResignationNoMate),
            Termination::IllegalMoves => ("7.5.5", Termination::IllegalMovesNoMate),
            _ => ("6.9", Termination::TimeNoMate),
        };
        let answer = match winner {
            Color::White => &found.white,
            Color::Black => &found.black,
        };
        let settled = match answer {
            _ if found.ply != ply => return refused(),
            CanMate::Unknown => return refused(),
            CanMate::No(no_mate) => draw_for_no_mate(winner, article.1, article.0, no_mate.clone()),
            CanMate::Yes(moves) => Outcome {
                provisional: false,
                ..Outcome::new(outcome.result, outcome.termination, article.0)
            }
            .with(Evidence::MatingLine {
                side: winner,
                moves: moves.clone(),
            }),
        };
        let mut draft = Draft::new(self, now);
        draft.end_saying(settled);
        Ok(draft)
    }

    /// Whether a dead position of a ply may still end the game: where the game goes on, or ended
    /// after it by something that comes second to it (5.2.2).
    pub(crate) fn is_open_at(&self, ply: u32) -> bool {
        let parameters = &self.profile().parameters;
        if parameters.dead_position != MateTest::Full || parameters.dead_position_claim {
            // The profile goes by a table of material, or by a claim.
            return false;
        }
        let breach = self.conduct().breach.as_ref();
        let is_in_breach = breach.is_some_and(|breach| breach.ply + 1 == ply);
        if is_in_breach || self.history().is_illegal_move_to(ply) {
            // The move has to comply with the Laws to end the game.
            return false;
        }
        // The position that the game was set up with did not arise by a move.
        if ply == 0 {
            return false;
        }
        match self.outcome() {
            None => true,
            Some(outcome) => {
                let by_arbiter = matches!(
                    outcome.termination,
                    Termination::ArbiterDecision | Termination::DeadPosition
                );
                !by_arbiter
                    && !outcome.confirmed
                    && (ply < self.history().ply() || outcome.provisional)
            }
        }
    }
}

/// Whether a position can be dead: not where the game ends on it by other means, or where an
/// illegal one stands, by which nothing ends (A.5.4).
pub(crate) fn can_be_dead(position: &Position) -> bool {
    !is_irregular(position) && position.has_legal_moves()
}

/// The forfeit of a side that is not there in time, or of both (6.7).
fn forfeit_of(side: Color, opponent_is_there: bool) -> Outcome {
    if opponent_is_there {
        let result = GameResult::WinByForfeit(!side);
        Outcome::new(result, Termination::DefaultForfeit, "6.7")
    } else {
        Outcome::new(GameResult::BothForfeit, Termination::DoubleForfeit, "6.7")
    }
}
