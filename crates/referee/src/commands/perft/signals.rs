//! Stopping a count from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Exit;

/// Stops counting at SIGINT or SIGTERM; a second signal ends the process at once.
pub(super) fn cancel_on_signal(cancelled: Arc<AtomicBool>) -> Result<(), String> {
    let no_signal = |error| format!("cannot wait for signals: {error}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(no_signal)?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::interrupt()).map_err(no_signal)?,
            signal(SignalKind::terminate()).map_err(no_signal)?,
        )
    };
    std::thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if cancelled.swap(true, Ordering::Relaxed) {
                    std::process::exit(Exit::Interrupted as i32);
                }
            }
        });
    });
    Ok(())
}
