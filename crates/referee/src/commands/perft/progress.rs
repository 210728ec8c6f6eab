//! How far a count is: a bar on a terminal, lines elsewhere.

#![expect(
    clippy::disallowed_types,
    reason = "how long a count will take is shown"
)]

use std::io::{IsTerminal as _, stderr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use referee_perft::Progress;

use crate::exit::tell;

/// A bar moves at most this often, and a line is written at most this often.
const BAR_INTERVAL: Duration = Duration::from_millis(100);
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// The length of the bar; shares are shown in such parts.
const BAR_LENGTH: u64 = 10_000;

/// Shows progress on standard error.
pub(super) struct View {
    begin: Instant,
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

struct State {
    shown: Instant,
    /// The first progress of this process; what an earlier one counted tells nothing of speed.
    first: Option<(u128, f64)>,
}

impl View {
    /// Begins to watch a count of so many positions, of which some may be counted before.
    pub(super) fn new(before: u64, positions: u64) -> View {
        let begin = Instant::now();
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(BAR_LENGTH);
            let style = ProgressStyle::with_template("{bar:32} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message(format!("{before} of {positions} positions"));
            bar
        });
        View {
            begin,
            bar,
            state: Mutex::new(State {
                shown: begin,
                first: None,
            }),
        }
    }

    /// Shows how far the count is, if it is time to.
    pub(super) fn show(&self, progress: Progress) {
        let mut state = self
            .state
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        let (nodes, share) = *state.first.get_or_insert((progress.nodes, progress.share));
        let interval = if self.bar.is_some() {
            BAR_INTERVAL
        } else {
            LINE_INTERVAL
        };
        if state.shown.elapsed() < interval {
            return;
        }
        state.shown = Instant::now();
        let seconds = self.begin.elapsed().as_secs_f64();
        let speed = progress.nodes.saturating_sub(nodes) as f64 / seconds;
        let done = progress.share - share;
        let left = if done > 0.0 {
            format!("{:.0} s left", seconds * (1.0 - progress.share) / done)
        } else {
            "time left unknown".to_owned()
        };
        let message = format!(
            "{:.1} %, {} of {} positions, {:.0} million nodes/s, {left}",
            100.0 * progress.share,
            progress.positions_done,
            progress.positions,
            speed / 1e6,
        );
        match &self.bar {
            Some(bar) => {
                bar.set_position((progress.share * BAR_LENGTH as f64) as u64);
                bar.set_message(message);
            }
            None => tell(message),
        }
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
