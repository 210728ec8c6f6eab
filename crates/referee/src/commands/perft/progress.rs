//! How far a count is: a bar on a terminal, lines elsewhere.

#![expect(
    clippy::disallowed_types,
    reason = "how long a count will take is shown"
)]

use std::io::{IsTerminal as _, stderr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use referee_api::v1;
use referee_api::v1::perft_job::State as JobState;
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

    /// Begins to watch a job on a server.
    pub(super) fn of_job() -> View {
        let view = View::new(0, 0);
        if let Some(bar) = &view.bar {
            bar.set_message("waits for the server");
        }
        view
    }

    /// Shows how far a job is, if it is time to.
    pub(super) fn show_job(&self, job: &v1::PerftJob) {
        if !self.is_due() {
            return;
        }
        let progress = job.progress.clone().unwrap_or_default();
        let message = match job.state() {
            JobState::Planning => "planning".to_owned(),
            _ => describe(&progress, job.workers.len()),
        };
        self.put(progress.share, message);
    }

    /// Whether it is time to show something, which is noted.
    fn is_due(&self) -> bool {
        let mut state = self
            .state
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        let is_due = state.shown.elapsed() >= self.interval();
        if is_due {
            state.shown = Instant::now();
        }
        is_due
    }

    fn interval(&self) -> Duration {
        match &self.bar {
            Some(_) => BAR_INTERVAL,
            None => LINE_INTERVAL,
        }
    }

    fn put(&self, share: f64, message: String) {
        match &self.bar {
            Some(bar) => {
                bar.set_position((share * BAR_LENGTH as f64) as u64);
                bar.set_message(message);
            }
            None => tell(message),
        }
    }

    /// Shows how far the count is, if it is time to.
    pub(super) fn show(&self, progress: Progress) {
        let mut state = self
            .state
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        let (nodes, share) = *state.first.get_or_insert((progress.nodes, progress.share));
        if state.shown.elapsed() < self.interval() {
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
        self.put(progress.share, message);
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Says how far a job is, with as many workers in sight.
fn describe(progress: &v1::PerftProgress, workers: usize) -> String {
    let needed = progress.credentials_needed;
    let left = match &progress.remaining {
        _ if needed > 0 => {
            let what = if needed == 1 {
                "credential"
            } else {
                "credentials"
            };
            format!("needs workers of {needed} more {what}")
        }
        _ if workers == 0 => "no worker is there: start one with `referee worker`".to_owned(),
        Some(time) => format!("{} s left", time.seconds),
        None => "time left unknown".to_owned(),
    };
    format!(
        "{:.1} %, {} of {} tasks, {workers} workers, {:.0} million nodes/s, {left}",
        100.0 * progress.share,
        progress.tasks_done,
        progress.tasks,
        progress.nodes_per_second / 1e6,
    )
}
