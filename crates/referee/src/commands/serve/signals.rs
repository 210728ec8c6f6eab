//! The signals that a service obeys: SIGTERM and SIGINT end it, SIGHUP has it read again what can
//! be read again.

use std::io;
use std::time::Duration;

use referee_telemetry::log;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::limits::END_GRACE;

/// The signal of a file that may not grow (Linux and BSD alike).
const SIGXFSZ: i32 = 25;

/// The signals of a service.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    /// A file that may not grow is an error of the store, and no end.
    _too_large: Signal,
}

/// How long the service may take to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndTimes {
    /// How long it goes on after SIGTERM.
    pub(super) delay: Duration,
    /// How long it drains after that.
    pub(super) drain: Duration,
}

impl Signals {
    /// Begins to wait for them.
    pub(super) fn begin() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            _too_large: signal(SignalKind::from_raw(SIGXFSZ))?,
        })
    }

    /// Waits for signals: cancels `stop` with the first that ends the service, and `hurry` where
    /// nothing is to be served in between. That is so with SIGINT, since a person waits, and with
    /// each further signal.
    pub(super) async fn obey(
        mut self,
        stop: CancellationToken,
        hurry: CancellationToken,
        times: EndTimes,
        reload: impl Fn(),
    ) {
        loop {
            let name = tokio::select! {
                _ = self.terminate.recv() => "SIGTERM",
                _ = self.interrupt.recv() => "SIGINT",
                _ = self.hangup.recv() => {
                    reload();
                    continue;
                }
            };
            let goes_on = name == "SIGTERM" && !stop.is_cancelled() && !times.delay.is_zero();
            if goes_on {
                let seconds = times.delay.as_secs();
                tracing::info!(
                    signal = name,
                    seconds,
                    "not ready; draining after that time"
                );
                end_at_last(times.delay + times.drain + END_GRACE);
            } else {
                tracing::info!(signal = name, "draining");
                hurry.cancel();
                end_at_last(times.drain + END_GRACE);
            }
            stop.cancel();
        }
    }
}

/// Ends the process after some time, whatever still runs: threads that answer may be at work, and
/// a disk may not come back. What was answered is on disk.
fn end_at_last(time: Duration) {
    let ends = std::thread::Builder::new()
        .name("end".into())
        .spawn(move || {
            let (_nobody, never) = std::sync::mpsc::channel::<()>();
            let _ = never.recv_timeout(time);
            tracing::warn!("ended at the drain deadline, with work that did not stop");
            log::finish();
            std::process::exit(0);
        });
    if let Err(error) = ends {
        tracing::warn!(%error, "no thread to end the process in time");
    }
}
