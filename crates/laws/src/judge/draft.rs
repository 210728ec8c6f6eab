//! What comes of an action, while it is put together: the ruling and its effects.

use referee_chess::{Color, UciMove};

use crate::articles::cite;
use crate::clock::{ClockChange, Clocks, LedgerLine, Time};
use crate::conduct::{Conduct, Phase};
use crate::game::{Effects, Game};
use crate::outcome::{ClockReading, Evidence, Outcome};
use crate::ruling::{Reason, Ruling, Verdict};

/// A ruling with all that it does to the game.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) now: Time,
    pub(crate) ruling: Ruling,
    pub(crate) reinstated: Option<u32>,
    pub(crate) played: Option<UciMove>,
    pub(crate) is_illegal: bool,
    pub(crate) conduct: Conduct,
    pub(crate) ledger: Vec<LedgerLine>,
    pub(crate) outcome: Option<Outcome>,
}

impl Draft {
    /// Begins with what stands, accepted.
    pub(crate) fn new(game: &Game, now: Time) -> Draft {
        let mut conduct = game.conduct().clone();
        conduct.time = now;
        Draft {
            now,
            ruling: Ruling::accepted(),
            reinstated: None,
            played: None,
            is_illegal: false,
            conduct,
            ledger: Vec::new(),
            outcome: game.outcome().cloned(),
        }
    }

    /// Changes the clocks.
    pub(crate) fn clock(&mut self, change: impl FnOnce(&Clocks, Time) -> ClockChange) {
        let ClockChange { clocks, lines } = change(&self.conduct.clocks, self.now);
        self.conduct.clocks = clocks;
        self.ledger.extend(lines);
    }

    /// Lets the clock of a side run where none does.
    pub(crate) fn run_clock(&mut self, side: Color, since: Time) {
        if self.conduct.clocks.running.is_none() {
            self.clock(|clocks, now| clocks.start(side, since.min(now)));
        }
    }

    /// Ends the game: the clocks stop, and what waited for an answer lapses.
    pub(crate) fn end(&mut self, outcome: Outcome) {
        if self.conduct.clocks.running.is_some() {
            self.clock(|clocks, now| clocks.stop(now));
        }
        self.conduct.begin_move();
        self.conduct.draw_offer = None;
        self.conduct.pending_claim = None;
        self.conduct.breach = None;
        self.conduct.phase = Phase::Playing;
        self.ruling.provisional |= outcome.provisional;
        self.outcome = Some(outcome);
    }

    /// Ends the game, and says of the action what is to be said of the outcome.
    pub(crate) fn end_saying(&mut self, outcome: Outcome) {
        self.ruling.citations.clone_from(&outcome.citations);
        self.ruling
            .evidence
            .extend(outcome.evidence.iter().cloned());
        self.ruling.text.clone_from(&outcome.text);
        self.end(outcome);
    }

    /// Gives the ruling a reason and words.
    pub(crate) fn rule(
        &mut self,
        verdict: Verdict,
        reason: Option<Reason>,
        articles: &[&'static str],
        text: String,
    ) {
        self.ruling.verdict = verdict;
        self.ruling.reason = reason;
        self.ruling.citations = articles.iter().map(|article| cite(article)).collect();
        self.ruling.text = text;
    }

    /// Says something about an action that stands.
    pub(crate) fn remark(&mut self, articles: &[&'static str], text: String) {
        self.rule(Verdict::Accepted, None, articles, text);
    }

    /// Says one thing more about an action.
    pub(crate) fn add_remark(&mut self, article: &'static str, text: &str) {
        self.ruling.citations.push(cite(article));
        if !self.ruling.text.is_empty() {
            self.ruling.text.push(' ');
        }
        self.ruling.text.push_str(text);
    }

    /// Adds evidence to the ruling.
    pub(crate) fn show(&mut self, evidence: Evidence) {
        self.ruling.evidence.push(evidence);
    }

    pub(crate) fn into_effects(self) -> (Ruling, Effects) {
        let effects = Effects {
            reinstated: self.reinstated,
            played: self.played,
            is_illegal: self.is_illegal,
            conduct: self.conduct,
            ledger: self.ledger,
            outcome: self.outcome,
        };
        (self.ruling, effects)
    }
}

/// Reads the clock of a side at a moment, as evidence.
pub(crate) fn read_clock(clocks: &Clocks, side: Color, now: Time) -> ClockReading {
    let runs = clocks.running == Some(side) && !clocks.paused;
    let elapsed_ms = match clocks.since {
        Some(since) if runs => now.since(since),
        _ => 0,
    };
    ClockReading {
        side,
        received: now,
        deadline: if runs { clocks.deadline() } else { None },
        left_ms: clocks.side(side).left_ms,
        elapsed_ms,
    }
}
