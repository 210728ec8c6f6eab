//! How much waits before an engine, within its bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::Fault;
use crate::limits;

/// What the queue holds, and what is being written.
#[derive(Debug, Default)]
pub(crate) struct Load {
    writes: AtomicUsize,
    bytes: AtomicUsize,
    closed: AtomicBool,
}

impl Load {
    /// Lets nothing more in.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Returns how many writes wait, or are being written.
    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }

    /// Returns the bytes of these writes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The room in the queue that a write takes until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    load: Arc<Load>,
    bytes: usize,
}

impl Permit {
    /// Takes room in the queue, or says that it is full.
    pub(crate) fn take(load: &Arc<Load>, bytes: usize) -> Result<Self, Fault> {
        let permit = Self::take_always(load, bytes)?;
        let full = |queue, limit| Fault::Overloaded {
            queue,
            limit,
            retry_after: limits::OVERLOADED_RETRY_AFTER,
        };
        // What it took is given back if it is dropped here.
        if load.writes() > limits::QUEUE_WRITES_MAX {
            return Err(full("writes", limits::QUEUE_WRITES_MAX));
        }
        if load.bytes() > limits::QUEUE_BYTES_MAX {
            return Err(full("bytes of writes", limits::QUEUE_BYTES_MAX));
        }
        Ok(permit)
    }

    /// Takes room in the queue however full it is, unless it is closed: for signs of life, which
    /// must not look like silence because there is much to write.
    pub(crate) fn take_always(load: &Arc<Load>, bytes: usize) -> Result<Self, Fault> {
        if load.closed.load(Ordering::Acquire) {
            return Err(Fault::Closed);
        }
        load.writes.fetch_add(1, Ordering::Relaxed);
        load.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(Self {
            load: load.clone(),
            bytes,
        })
    }

    /// Returns the bytes that it was taken for.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.load.writes.fetch_sub(1, Ordering::Relaxed);
        self.load.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_still_has_room_for_a_sign_of_life() {
        let load = Arc::new(Load::default());
        let take = || Permit::take(&load, 1);
        let held: Result<Vec<Permit>, Fault> =
            (0..limits::QUEUE_WRITES_MAX).map(|_| take()).collect();
        let held = held.expect("there is room for as many");
        assert!(matches!(take(), Err(Fault::Overloaded { .. })));
        assert_eq!(load.writes(), held.len(), "what is refused takes no room");
        let always = Permit::take_always(&load, 1).expect("it is not closed");
        drop((held, always));
        assert_eq!((load.writes(), load.bytes()), (0, 0));
        load.close();
        assert!(matches!(take(), Err(Fault::Closed)));
        assert!(matches!(Permit::take_always(&load, 1), Err(Fault::Closed)));
    }
}
