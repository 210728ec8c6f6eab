//! Clocks in words: what each side has left at a moment, and the arithmetic of every change.

use prost_types::Timestamp;
use referee_api::v1;
use referee_api::v1::LedgerCause;
use referee_api::v1::game_time::Kind;

use super::times::{amount, exact, ms_between, ms_of, on_clock, span};
use super::words::{plain, side_name};

/// Returns the clock of a side as it stands at a moment, with what there is to say about it; `None`
/// where the side has no clock. `now` is a time of the server; without it, and where the platform
/// keeps the time, the clock is shown as it was last settled.
pub(super) fn side(
    clocks: &v1::Clocks,
    side: v1::Color,
    now: Option<&Timestamp>,
) -> Option<String> {
    let clock = match side {
        v1::Color::Black => clocks.black.as_ref()?,
        _ => clocks.white.as_ref()?,
    };
    let left = left(clocks, side, clock, now)?;
    let mut text = on_clock(left);
    let bonus = clock.bonus.as_ref().map_or(0, ms_of);
    match clock.bonus_mode() {
        v1::BonusMode::Fischer if bonus > 0 => text.push_str(&format!(" +{}", span(bonus))),
        v1::BonusMode::Bronstein | v1::BonusMode::Delay if bonus > 0 => {
            let mode = plain(clock.bonus_mode().as_str_name(), "BONUS_MODE_");
            text.push_str(&format!(" {mode} {}", span(bonus)));
        }
        _ => {}
    }
    if clock.flag_down {
        text.push_str(", flag down");
    }
    if clocks.paused {
        text.push_str(", stopped");
    } else if clocks.running() == side {
        text.push_str(if left <= 0 { ", out of time" } else { ", runs" });
    }
    Some(text)
}

/// Returns what is left of a clock at a moment, in milliseconds.
fn left(
    clocks: &v1::Clocks,
    side: v1::Color,
    clock: &v1::SideClock,
    now: Option<&Timestamp>,
) -> Option<i64> {
    let settled = ms_of(clock.time_left.as_ref()?);
    let deadline = clocks
        .deadline_time
        .as_ref()
        .and_then(|time| time.kind.as_ref());
    let (Some(now), Some(Kind::Instant(deadline))) = (now, deadline) else {
        return Some(settled);
    };
    if clocks.running() != side || clocks.paused {
        return Some(settled);
    }
    // With a delay the deadline is later than what is left would say: the clock stands still then.
    Some(ms_between(now, deadline).min(settled))
}

/// Returns both clocks on one line, as they were last settled; `None` where there are none.
pub(super) fn both(clocks: &v1::Clocks) -> Option<String> {
    let shown = |side: v1::Color, clock: &Option<v1::SideClock>| {
        let clock = clock.as_ref()?;
        let left = on_clock(ms_of(clock.time_left.as_ref()?));
        let flag = if clock.flag_down { " (flag down)" } else { "" };
        Some(format!("{} {left}{flag}", side_name(side)))
    };
    let shown = [
        shown(v1::Color::White, &clocks.white),
        shown(v1::Color::Black, &clocks.black),
    ];
    let shown: Vec<String> = shown.into_iter().flatten().collect();
    (!shown.is_empty()).then(|| shown.join("  "))
}

/// Returns a point of time in words; `None` where it is not given.
pub(super) fn moment(time: &v1::GameTime) -> Option<String> {
    Some(match time.kind.as_ref()? {
        Kind::Instant(instant) => instant.to_string(),
        Kind::PlatformTime(time) => format!("{} of the platform's time", exact(ms_of(time))),
    })
}

/// Whether a change of a clock is more than a move that was made on it.
pub(super) fn is_remarkable(line: &v1::LedgerLine) -> bool {
    let is_of_a_move = matches!(
        line.cause(),
        LedgerCause::Start | LedgerCause::Move | LedgerCause::Increment | LedgerCause::End
    );
    changes(line) && !is_of_a_move
}

/// Whether a line is about time at all: a side without a clock has lines too.
pub(super) fn changes(line: &v1::LedgerLine) -> bool {
    line.left.is_some() || line.credited.as_ref().is_some_and(|time| ms_of(time) != 0)
}

/// Returns a change of a clock as a sum: what was left, less what was charged, more what was
/// credited, and what is left.
pub(super) fn ledger(line: &v1::LedgerLine) -> String {
    let ms = |time: &Option<prost_types::Duration>| time.as_ref().map_or(0, ms_of);
    let (charged, credited) = (ms(&line.charged), ms(&line.credited));
    let mut text = format!("clock of {}: ", side_name(line.side()));
    match &line.left {
        Some(left) => text.push_str(&sum(ms_of(left), charged, credited)),
        None => text.push_str(&format!("untimed, {} owed", amount(credited))),
    }
    text.push_str(", ");
    text.push_str(&cause(line.cause()));
    let elapsed = ms(&line.elapsed);
    if elapsed != charged && elapsed != 0 {
        text.push_str(&format!(" ({} passed)", amount(elapsed)));
    }
    text
}

fn sum(left: i64, charged: i64, credited: i64) -> String {
    let before = left.saturating_add(charged).saturating_sub(credited);
    let mut text = exact(before);
    for (sign, time) in [(" - ", charged), (" + ", credited)] {
        if time != 0 {
            text.push_str(sign);
            text.push_str(&amount(time));
        }
    }
    if (charged, credited) != (0, 0) {
        text.push_str(" = ");
        text.push_str(&exact(left));
    }
    text
}

fn cause(cause: LedgerCause) -> String {
    let words = match cause {
        LedgerCause::Start => "for the first move",
        LedgerCause::Move => "the move",
        LedgerCause::Increment => "the bonus of the move",
        LedgerCause::NextPeriod => "the next period",
        LedgerCause::Pause => "the clocks were stopped",
        LedgerCause::Resume => "the clocks run again",
        LedgerCause::Penalty => "a penalty",
        LedgerCause::Grant => "given without an offence",
        LedgerCause::ArbiterSet => "set by the arbiter",
        LedgerCause::Flag => "the flag fell",
        LedgerCause::LateArrival => "a late arrival",
        LedgerCause::TakenBack => "the bonus of an illegal move is taken back",
        LedgerCause::DownTime => "the service was down, which is not charged",
        LedgerCause::End => "the game is over",
        other => return plain(other.as_str_name(), "LEDGER_CAUSE_"),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: i64) -> prost_types::Duration {
        prost_types::Duration {
            seconds: ms / 1_000,
            nanos: (ms % 1_000 * 1_000_000) as i32,
        }
    }

    fn instant(ms: i64) -> Timestamp {
        Timestamp {
            seconds: ms / 1_000,
            nanos: (ms % 1_000 * 1_000_000) as i32,
        }
    }

    #[test]
    fn the_running_clock_counts_down_to_its_deadline() {
        let of = |left: i64| v1::SideClock {
            time_left: Some(ms(left)),
            bonus_mode: v1::BonusMode::Delay.into(),
            bonus: Some(ms(5_000)),
            ..v1::SideClock::default()
        };
        let clocks = v1::Clocks {
            white: Some(of(300_000)),
            black: Some(of(290_000)),
            running: v1::Color::White.into(),
            deadline_time: Some(v1::GameTime {
                kind: Some(Kind::Instant(instant(1_305_000))),
            }),
            ..v1::Clocks::default()
        };
        let white = |at: i64| side(&clocks, v1::Color::White, Some(&instant(at)));
        // Begun at 1,000,000: the delay of five seconds runs first.
        assert_eq!(white(1_003_000).as_deref(), Some("5:00 delay 5 s, runs"));
        assert_eq!(white(1_015_000).as_deref(), Some("4:50 delay 5 s, runs"));
        assert_eq!(
            white(1_306_000).as_deref(),
            Some("0:00.0 delay 5 s, out of time")
        );
        let black = side(&clocks, v1::Color::Black, Some(&instant(1_015_000)));
        assert_eq!(black.as_deref(), Some("4:50 delay 5 s"));
    }

    #[test]
    fn a_change_of_a_clock_is_a_sum() {
        let line = v1::LedgerLine {
            side: v1::Color::Black.into(),
            cause: LedgerCause::Move.into(),
            elapsed: Some(ms(6_000)),
            charged: Some(ms(4_812)),
            left: Some(ms(298_188)),
            ..v1::LedgerLine::default()
        };
        let text = "clock of Black: 5:03 - 4.812 s = 4:58.188, the move (6 s passed)";
        assert_eq!(ledger(&line), text);
    }
}
