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
        if load.closed.load(Ordering::Acquire) {
            return Err(Fault::Closed);
        }
        let full = |queue, limit| Fault::Overloaded {
            queue,
            limit,
            retry_after: limits::OVERLOADED_RETRY_AFTER,
        };
        // It gives back what it took if it is dropped below.
        let permit = Self {
            load: load.clone(),
            bytes,
        };
        let writes = load.writes.fetch_add(1, Ordering::Relaxed) + 1;
        let bytes = load.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if writes > limits::QUEUE_WRITES_MAX {
            return Err(full("writes", limits::QUEUE_WRITES_MAX));
        }
        if bytes > limits::QUEUE_BYTES_MAX {
            return Err(full("bytes of writes", limits::QUEUE_BYTES_MAX));
        }
        Ok(permit)
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
