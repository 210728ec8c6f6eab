//! The referee keeps time: flags that fall by themselves, and down time that nobody is charged for.
//!
//! A flag falls at its deadline: the entry that says so is of the first millisecond after it, and
//! is written [`FLAG_SETTLING`] later, so that a move that arrived in time gets into the record
//! first. An action that comes in between waits for
//! the same moment.
//!
//! [`FLAG_SETTLING`]: limits::FLAG_SETTLING

use std::sync::Arc;
use std::time::Duration;

use referee_chess::Color;
use referee_laws::{Game, Keeper, Time};
use referee_record::{Finding, deadline, deadline_us, hash_action, resource_name, time_us};
use referee_store::{AppendError, DownSpan, Postponement};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::desk::{Cell, Desk, Live, key_of};
use crate::limits;
use crate::pulse::us;
use crate::status::{ApiError, from_append};
use crate::stream::stopped;

fn ms_of(time_us: i64) -> u64 {
    u64::try_from(time_us / 1_000).unwrap_or_default()
}

/// The time that a span of down time takes from the running clock, as it was settled last; `None`
/// where no clock of the referee runs in it.
fn down_ms(game: &Game, span: DownSpan) -> Option<u64> {
    let since_ms = running_since(game)?.ms();
    let (from_ms, to_ms) = (ms_of(span.from_us), ms_of(span.to_us));
    to_ms
        .checked_sub(from_ms.max(since_ms))
        .filter(|&ms| ms > 0)
}

/// Since when a clock runs that the referee keeps.
fn running_since(game: &Game) -> Option<Time> {
    let clocks = &game.standing().clocks;
    let is_kept = game.keeper() == Keeper::Referee && game.outcome().is_none() && !clocks.paused;
    let side = clocks.running.filter(|_| is_kept)?;
    clocks.side(side).left_ms?;
    clocks.since
}

impl Desk {
    /// The time of the service in microseconds since 1970, never earlier than it was before.
    pub(crate) fn now_us(&self) -> i64 {
        self.pulse.now_us()
    }

    /// How long an action has still to wait that reached a game after the flag fell, until moves
    /// that came before are in the record.
    pub(crate) fn time_to_settle(&self, game: &Game, arrival: Time) -> Option<Duration> {
        let (_, deadline) = deadline(game).filter(|&(_, deadline)| arrival > deadline)?;
        let settled_us = time_us(deadline).saturating_add(us(limits::FLAG_SETTLING));
        let wait_us = settled_us.saturating_sub(self.now_us());
        let wait = Duration::from_micros(u64::try_from(wait_us).ok()?);
        (!wait.is_zero()).then_some(wait)
    }

    /// Records the down time that a game in memory has not been asked for yet.
    pub(crate) async fn settle_down_time(
        &self,
        cell: &Cell,
        slot: &mut Option<Live>,
        id: &str,
    ) -> Result<(), ApiError> {
        self.pulse.note_silence(self.store()).await?;
        for _ in 0..limits::DOWN_SPANS_SETTLED_MAX {
            let live = self.up_to_date(cell, slot, id).await?;
            let known = self.pulse.down_spans();
            if live.down_spans_seen == known {
                return Ok(());
            }
            let Some(since) = running_since(&live.folded.game) else {
                live.down_spans_seen = known;
                return Ok(());
            };
            let spans = self
                .store()
                .down_spans(time_us(since), limits::DOWN_SPANS_READ_MAX)
                .await?;
            let owed = spans
                .into_iter()
                .find_map(|span| Some((span, down_ms(&live.folded.game, span)?)));
            let Some((span, down_ms)) = owed else {
                live.down_spans_seen = known;
                return Ok(());
            };
            let from_us = span.to_us.saturating_sub(ms_of_us(down_ms));
            match deadline(&live.folded.game) {
                // The flag fell while the referee was there, though it was not written any more.
                Some((side, deadline)) if time_us(deadline) < from_us => {
                    self.record_flag(cell, slot, id, (side, deadline)).await?;
                }
                _ => {
                    self.record_down_time(cell, slot, id, (span, down_ms))
                        .await?
                }
            }
        }
        // The rest comes with the next look.
        Err(ApiError::Overloaded)
    }

    async fn record_down_time(
        &self,
        cell: &Cell,
        slot: &mut Option<Live>,
        id: &str,
        (span, down_ms): (DownSpan, u64),
    ) -> Result<(), ApiError> {
        let sequence = slot.as_ref().map_or(0, |live| live.folded.sequence);
        let finding = Finding::down_time(down_ms, sequence + 1);
        let to = Time::from_ms(ms_of(span.to_us)).unwrap_or_default();
        self.record_finding((cell, slot, id), finding, (to, span.to_us))
            .await
    }

    async fn record_flag(
        &self,
        cell: &Cell,
        slot: &mut Option<Live>,
        id: &str,
        (side, deadline): (Color, Time),
    ) -> Result<(), ApiError> {
        let sequence = slot.as_ref().map_or(0, |live| live.folded.sequence);
        let finding = Finding::flag_fallen(side, sequence + 1);
        // A flag is down from the first moment after its deadline.
        let down = deadline.checked_add_ms(1).unwrap_or(deadline);
        self.record_finding((cell, slot, id), finding, (down, time_us(down)))
            .await
    }

    /// Records a finding; where another writer was faster, the copy in memory is gone.
    async fn record_finding(
        &self,
        place: (&Cell, &mut Option<Live>, &str),
        finding: Finding,
        times: (Time, i64),
    ) -> Result<(), ApiError> {
        let (message, action) = finding.into_action();
        let recorded = self
            .record(place, (&message, hash_action(&message)), &action, times)
            .await?;
        if recorded.is_some_and(|response| response.event.is_none()) {
            return Err(ApiError::InvariantBroken {
                what: format!("the referee refused what it found: {}", message.request_id),
            });
        }
        Ok(())
    }

    /// Looks at the clock of a game that may be due: records the flag that has fallen, or puts off
    /// the next look to when one may.
    async fn look_at_clock(&self, id: &str) -> Result<(), ApiError> {
        let cell = self.cell(id);
        for _ in 0..limits::JUDGE_ATTEMPTS_MAX {
            let mut slot = cell.live.lock().await;
            self.settle_down_time(&cell, &mut slot, id).await?;
            let live = self.up_to_date(&cell, &mut slot, id).await?;
            let fallen = deadline(&live.folded.game).filter(|&(_, deadline)| {
                let settled_us = time_us(deadline).saturating_add(us(limits::FLAG_SETTLING));
                self.now_us() > settled_us
            });
            if let Some(fallen) = fallen {
                self.record_flag(&cell, &mut slot, id, fallen).await?;
                continue;
            }
            let postponement = Postponement {
                key: key_of(id),
                expected_sequence: live.folded.sequence,
                deadline_us: deadline_us(&live.folded.game),
            };
            match self.store().postpone(postponement).await {
                Ok(()) => return Ok(()),
                Err(AppendError::SequenceMismatch { .. }) => *slot = None,
                Err(error) => return Err(from_append(error, &resource_name(id), ("", 0))),
            }
        }
        Err(ApiError::Overloaded)
    }

    /// Looks at a clock, and again later where that fails, so that one game does not stand in the
    /// way of others.
    async fn look_or_retry(&self, id: &str) {
        let Err(error) = self.look_at_clock(id).await else {
            return;
        };
        tracing::error!(
            game = id,
            ?error,
            "the clock of a game could not be looked at"
        );
        let Ok(Some(row)) = self.store().game(&key_of(id)).await else {
            return;
        };
        let postponement = Postponement {
            key: row.key,
            expected_sequence: row.sequence,
            deadline_us: Some(self.now_us().saturating_add(us(limits::FLAG_RETRY))),
        };
        if let Err(error) = self.store().postpone(postponement).await {
            tracing::error!(game = id, %error, "its next look could not be put off");
        }
    }
}

fn ms_of_us(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000)
}

/// Lets flags fall until the service stops.
pub(crate) async fn keep_time(desk: Arc<Desk>, mut is_stopping: watch::Receiver<bool>) {
    let mut ticks = tokio::time::interval(limits::FLAG_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stopped(&mut is_stopping) => return,
        }
        // What has begun is finished, so that nothing is written after the service has stopped.
        while look_at_due(&desk, &is_stopping).await {}
    }
}

/// Looks at the games that are due, as many as one round takes; returns whether there may be more.
async fn look_at_due(desk: &Arc<Desk>, is_stopping: &watch::Receiver<bool>) -> bool {
    let until_us = desk.now_us().saturating_sub(us(limits::FLAG_SETTLING));
    let due = match desk
        .store()
        .due(until_us, limits::FLAGS_PER_ROUND_MAX)
        .await
    {
        Ok(due) => due,
        Err(error) => {
            tracing::error!(%error, "the games that are due could not be read");
            return false;
        }
    };
    let is_full = due.len() == limits::FLAGS_PER_ROUND_MAX;
    let mut looks = JoinSet::new();
    for game in due {
        if looks.len() >= limits::FLAGS_AT_ONCE_MAX {
            let _ = looks.join_next().await;
        }
        if *is_stopping.borrow() {
            break;
        }
        let desk = Arc::clone(desk);
        looks.spawn(async move { desk.look_or_retry(&game.key.game).await });
    }
    while looks.join_next().await.is_some() {}
    is_full && !*is_stopping.borrow()
}

#[cfg(test)]
mod tests;
