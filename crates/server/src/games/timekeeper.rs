//! The referee keeps time: flags that fall by themselves, down time that nobody is charged for, and
//! results that are confirmed when the time for corrections has passed.
//!
//! A flag falls at its deadline: the entry that says so is of the first millisecond after it, and
//! is written [`FLAG_SETTLING`] later, so that a move that arrived in time gets into the record
//! first. An action that comes in between waits for the same moment.
//!
//! [`FLAG_SETTLING`]: limits::FLAG_SETTLING

use std::sync::Arc;

use referee_chess::Color;
use referee_laws::Time;
use referee_record::{Finding, FoldedGame, time_us};
use referee_store::{AppendError, Deadlines, DownSpan, GameKey, Liveness, Postponement};

use super::heartbeat::Heartbeat;
use super::slot::RecordedGame;
use super::writer::{Submission, Turn, When, Writer};
use crate::clock::{Clock, us};
use crate::error::ServiceError;
use crate::limits;

/// Keeps the time of games.
pub(crate) struct Timekeeper {
    pub(crate) writer: Writer,
    clock: Arc<dyn Clock>,
    heartbeat: Arc<Heartbeat>,
    deadlines: Arc<dyn Deadlines>,
    liveness: Arc<dyn Liveness>,
}

impl Timekeeper {
    pub(crate) fn new(
        writer: Writer,
        clock: Arc<dyn Clock>,
        heartbeat: Arc<Heartbeat>,
        deadlines: Arc<dyn Deadlines>,
        liveness: Arc<dyn Liveness>,
    ) -> Timekeeper {
        Timekeeper {
            writer,
            clock,
            heartbeat,
            deadlines,
            liveness,
        }
    }

    /// The time of the service in microseconds since 1970.
    pub(crate) fn now_us(&self) -> i64 {
        self.clock.now_us()
    }

    /// By how much the time line of a game is ahead of the service; see [`Heartbeat::ahead_us`].
    pub(crate) fn ahead_us(&self, folded: &FoldedGame) -> i64 {
        self.heartbeat.ahead_us(folded.update_time_us)
    }

    /// Until when an action has to wait that reached a game after the flag fell, so that moves
    /// that came before are in the record; none where it need not wait. The arrival is on the time
    /// line of the game, the answer on that of the service.
    pub(crate) fn settles_at_us(&self, folded: &FoldedGame, arrival: Time) -> Option<i64> {
        let (_, deadline) = folded
            .game
            .deadline()
            .filter(|&(_, deadline)| arrival > deadline)?;
        let settled_us = time_us(deadline).saturating_add(us(limits::FLAG_SETTLING));
        let settled_us = settled_us.saturating_sub(self.ahead_us(folded));
        (settled_us > self.now_us()).then_some(settled_us)
    }

    /// Waits until a time of the service.
    pub(crate) async fn wait_until(&self, at_us: i64) {
        self.clock.sleep_until(at_us).await;
    }

    /// Whether a game is owed down time: whether its clock runs since before the end of some.
    /// That is a property of the game as it stands, so it does not matter who looked at it when.
    pub(crate) fn is_owed(&self, folded: &FoldedGame) -> bool {
        let newest_end_us = self.heartbeat.newest_end_us();
        let newest_end_ms = ms_of(newest_end_us.saturating_add(self.ahead_us(folded)));
        folded
            .game
            .running_since()
            .is_some_and(|since| since.ms() < newest_end_ms)
    }

    /// Records the down time that a game is owed, and returns the game after it.
    pub(crate) async fn settle_down_time(
        &self,
        turn: &Turn<'_>,
    ) -> Result<Arc<RecordedGame>, ServiceError> {
        self.heartbeat.note_silence().await?;
        for _ in 0..limits::DOWN_SPANS_SETTLED_MAX {
            let game = self.writer.registry.read_known(turn.slot).await?;
            if !self.is_owed(&game.folded) {
                return Ok(game);
            }
            match self.find_owed(&game.folded).await? {
                None => return Ok(game),
                Some(owed) => self.record_owed(turn, &game, owed).await?,
            }
        }
        // The rest comes with the next look.
        Err(ServiceError::overloaded())
    }

    /// The oldest span of down time that a running clock has not been given back, and how many
    /// milliseconds of it; on the time line of the game.
    async fn find_owed(
        &self,
        folded: &FoldedGame,
    ) -> Result<Option<(DownSpan, u64)>, ServiceError> {
        let (game, ahead_us) = (&folded.game, self.ahead_us(folded));
        let Some(since) = game.running_since() else {
            return Ok(None);
        };
        let spans = self
            .liveness
            .down_spans(
                time_us(since).saturating_sub(ahead_us),
                limits::DOWN_SPANS_READ_MAX,
            )
            .await?;
        Ok(spans.into_iter().find_map(|span| {
            let span = DownSpan {
                from_us: span.from_us.saturating_add(ahead_us),
                to_us: span.to_us.saturating_add(ahead_us),
                ..span
            };
            let down_ms = game.down_ms(ms_of(span.from_us), ms_of(span.to_us))?;
            Some((span, down_ms))
        }))
    }

    async fn record_owed(
        &self,
        turn: &Turn<'_>,
        game: &Arc<RecordedGame>,
        (span, down_ms): (DownSpan, u64),
    ) -> Result<(), ServiceError> {
        let from_us = span.to_us.saturating_sub(us_of(down_ms));
        match game.folded.game.deadline() {
            // The flag fell while the referee was there, though it was not written any more.
            Some((side, deadline)) if time_us(deadline) < from_us => {
                self.record_flag(turn, game, (side, deadline)).await
            }
            _ => self.record_down_time(turn, game, (span, down_ms)).await,
        }
    }

    async fn record_down_time(
        &self,
        turn: &Turn<'_>,
        game: &Arc<RecordedGame>,
        (span, down_ms): (DownSpan, u64),
    ) -> Result<(), ServiceError> {
        let finding = Finding::down_time(down_ms, game.folded.sequence + 1);
        let when = When {
            game: Time::from_ms(ms_of(span.to_us)).unwrap_or_default(),
            event_us: span.to_us,
            ahead_us: self.ahead_us(&game.folded),
        };
        self.record_finding(turn, game, finding, when).await
    }

    async fn record_flag(
        &self,
        turn: &Turn<'_>,
        game: &Arc<RecordedGame>,
        (side, deadline): (Color, Time),
    ) -> Result<(), ServiceError> {
        let finding = Finding::flag_fallen(side, game.folded.sequence + 1);
        // A flag is down from the first moment after its deadline.
        let down = deadline.checked_add_ms(1).unwrap_or(deadline);
        let when = When {
            game: down,
            event_us: time_us(down),
            ahead_us: self.ahead_us(&game.folded),
        };
        self.record_finding(turn, game, finding, when).await
    }

    /// The time for corrections has passed: the outcome is confirmed.
    async fn record_confirmation(
        &self,
        turn: &Turn<'_>,
        game: &Arc<RecordedGame>,
        at_us: i64,
    ) -> Result<(), ServiceError> {
        let finding = Finding::confirmed(game.folded.sequence + 1);
        let when = When {
            // Nothing passes any more on the time line of the game.
            game: game.folded.game.conduct().time,
            event_us: at_us,
            ahead_us: self.ahead_us(&game.folded),
        };
        self.record_finding(turn, game, finding, when).await
    }

    /// Records a finding; where another process was faster, the game has to be read again.
    async fn record_finding(
        &self,
        turn: &Turn<'_>,
        game: &Arc<RecordedGame>,
        finding: Finding,
        when: When,
    ) -> Result<(), ServiceError> {
        let submission = Submission::of_finding(finding);
        let recorded = self.writer.write(turn, game, &submission, when).await?;
        if recorded.is_some_and(|response| response.event.is_none()) {
            let id = &submission.message.request_id;
            return Err(ServiceError::InvariantBroken {
                what: format!("the referee refused what it found: {id}"),
            });
        }
        Ok(())
    }

    /// Looks at the clock of a game that may be due: records the flag that has fallen, or puts off
    /// the next look to when one may.
    async fn look_at_clock(&self, key: &GameKey) -> Result<(), ServiceError> {
        let slot = self.writer.registry.place(key);
        for _ in 0..limits::JUDGE_ATTEMPTS_MAX {
            let turn = Turn::wait(&slot).await;
            // The time comes first: a process that stands still behind it lets no flag fall.
            let now_us = self.now_us();
            let game = self.settle_down_time(&turn).await?;
            let ahead_us = self.ahead_us(&game.folded);
            let now_us = now_us.saturating_add(ahead_us);
            let fallen = game.folded.game.deadline().filter(|&(_, deadline)| {
                let settled_us = time_us(deadline).saturating_add(us(limits::FLAG_SETTLING));
                now_us > settled_us
            });
            if let Some(fallen) = fallen {
                self.record_flag(&turn, &game, fallen).await?;
                self.count_flag(fallen.1, ahead_us);
                continue;
            }
            if let Some(at_us) = game
                .folded
                .confirmation_us()
                .filter(|&at_us| now_us >= at_us)
            {
                self.record_confirmation(&turn, &game, at_us).await?;
                continue;
            }
            let postponement = Postponement {
                key: key.clone(),
                expected_sequence: game.folded.sequence,
                deadline_us: (game.folded.deadline_us()).map(|it| it.saturating_sub(ahead_us)),
            };
            match self.deadlines.postpone(postponement).await {
                Ok(()) => return Ok(()),
                Err(AppendError::Moved { actual, .. }) => {
                    slot.found_at(game.folded.sequence, actual);
                }
                Err(error) => return Err(ServiceError::from_append(error, key, ("", 0))),
            }
        }
        Err(ServiceError::overloaded())
    }

    /// Counts by how much later than it could be a flag was on record that fell at a deadline.
    fn count_flag(&self, deadline: Time, ahead_us: i64) {
        let settled_us = time_us(deadline).saturating_add(us(limits::FLAG_SETTLING));
        let late_us = self.now_us().saturating_add(ahead_us) - settled_us;
        self.writer.metrics.count_flag(late_us as f64 / 1e6);
    }

    /// Looks at a clock, and again later where that fails, so that one game does not stand in the
    /// way of others.
    pub(crate) async fn look_or_retry(&self, key: &GameKey) {
        let error = match self.look_at_clock(key).await {
            // A game that was deleted is due no more.
            Ok(()) | Err(ServiceError::GameDeleted { .. }) => return,
            Err(error) => error,
        };
        tracing::error!(
            platform = key.platform,
            game = key.game,
            %error,
            "the clock of a game could not be looked at"
        );
        let Ok(Some(head)) = self.writer.registry.records().head(key).await else {
            return;
        };
        let postponement = Postponement {
            key: key.clone(),
            expected_sequence: head.sequence,
            deadline_us: Some(self.now_us().saturating_add(us(limits::FLAG_RETRY))),
        };
        if let Err(error) = self.deadlines.postpone(postponement).await {
            tracing::error!(game = key.game, %error, "its next look could not be put off");
        }
    }

    /// Takes the games that are due, for as long as it may take to look at them.
    pub(crate) async fn claim_due(
        &self,
    ) -> Result<Vec<referee_store::DueGame>, referee_store::Fault> {
        let now_us = self.now_us();
        let until_us = now_us.saturating_sub(us(limits::FLAG_SETTLING));
        let hold_us = us(limits::FLAG_HOLD);
        let limit = limits::FLAGS_PER_ROUND_MAX;
        self.deadlines
            .claim_due(now_us, until_us, hold_us, limit)
            .await
    }
}

/// Milliseconds in microseconds. The time line ends long before that overflows.
fn us_of(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000)
}

fn ms_of(time_us: i64) -> u64 {
    u64::try_from(time_us / 1_000).unwrap_or_default()
}
