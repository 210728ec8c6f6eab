//! How a store answers: the futures of writes and of reads.

use std::pin::Pin;

use crate::error::ReadError;

/// A write: it is queued when the call returns, in the order of the calls, and the future waits
/// for the disk. Dropping the future does not undo the write.
pub type Ack<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'static>>;

/// A read: it begins when the future is first polled.
pub type Read<'a, T> = Pin<Box<dyn Future<Output = Result<T, ReadError>> + Send + 'a>>;
