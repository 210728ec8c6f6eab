//! The signals that a service obeys.

use std::io;
use std::time::Duration;

use referee_server::Reload;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::limits::END_GRACE;
use crate::log;

/// The signal of a file that may not grow (Linux and BSD alike).
const SIGXFSZ: i32 = 25;

/// The signals that are waited for.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    /// A file that may not grow is an error of the store, and no end.
    _too_large: Signal,
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

    /// Obeys them: cancels `stop` at the first that ends the service, and sees to it that the
    /// process ends soon after the drain time. SIGHUP asks for a reload where there are files to
    /// read again, and ends the service else, as when its terminal is closed.
    pub(super) async fn obey(
        mut self,
        reload: Option<Reload>,
        drain_time: Duration,
        stop: CancellationToken,
    ) {
        let name = loop {
            tokio::select! {
                _ = self.terminate.recv() => break "SIGTERM",
                _ = self.interrupt.recv() => break "SIGINT",
                _ = self.hangup.recv() => match &reload {
                    Some(reload) => reload.ask(),
                    None => break "SIGHUP",
                }
            }
        };
        tracing::info!(signal = name, "draining");
        end_at_last(drain_time + END_GRACE);
        stop.cancel();
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
