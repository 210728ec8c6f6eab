//! Signs of life, from a thread of their own: a service that is busy is not down.

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio_util::sync::CancellationToken;

use crate::games::Heartbeat;

/// The thread that gives signs of life.
pub(crate) struct Thread(JoinHandle<()>);

impl Thread {
    /// Starts the thread.
    pub(crate) fn start(
        heartbeat: Arc<Heartbeat>,
        stop: CancellationToken,
    ) -> std::io::Result<Thread> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        let thread = std::thread::Builder::new()
            .name("heartbeat".into())
            .spawn(move || runtime.block_on(run(heartbeat, stop)))?;
        Ok(Thread(thread))
    }

    /// Waits until the last sign of life is given.
    pub(crate) async fn join(self) {
        let joined = tokio::task::spawn_blocking(|| self.0.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!("the thread of the signs of life did not end well");
        }
    }
}

/// Gives signs of life until the service stops, and a last one then; meanwhile it looks whether the
/// process gets its turns.
async fn run(heartbeat: Arc<Heartbeat>, stop: CancellationToken) {
    tokio::select! {
        () = beat(&heartbeat, stop) => {}
        () = look(&heartbeat) => {}
    }
}

/// Looks whether the process stood still, without an end. It does not wait for the store, unless
/// something has to be put on record.
async fn look(heartbeat: &Heartbeat) {
    loop {
        heartbeat.wait_to_look().await;
        if let Err(error) = heartbeat.look().await {
            tracing::error!(%error, "a time in which the process stood still could not be stored");
        }
    }
}

async fn beat(heartbeat: &Heartbeat, stop: CancellationToken) {
    loop {
        let stopping = tokio::select! {
            () = heartbeat.wait() => false,
            () = stop.cancelled() => true,
        };
        if let Err(error) = heartbeat.beat(stopping).await {
            tracing::error!(%error, "the sign of life could not be stored");
        }
        if stopping {
            return;
        }
    }
}
