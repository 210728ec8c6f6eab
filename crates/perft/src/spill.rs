//! Where a plan keeps what it has sorted: in memory, or wherever its caller can write and read.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The smallest and the largest piece of memory that is asked for at once, in bytes.
const CHUNK_MIN: usize = 4 << 10;
const CHUNK_MAX: usize = 1 << 20;

/// A place for runs of bytes, each of which is written once from begin to end.
///
/// A run is given up by dropping it, and an unfinished one by dropping its writer; the place must
/// then be free again. Writers and readers need no buffers of their own.
pub trait Spill {
    /// Writes a run.
    type Writer: Write;
    /// A run that is written.
    type Run: SpillRun;

    /// Begins a run.
    ///
    /// # Errors
    ///
    /// Where the place does not take one.
    fn create(&self) -> io::Result<Self::Writer>;

    /// Ends a run.
    ///
    /// # Errors
    ///
    /// Where the place has not taken all of it.
    fn finish(&self, writer: Self::Writer) -> io::Result<Self::Run>;
}

/// A run of bytes that can be read, as often as one likes and several times at once.
pub trait SpillRun {
    /// Reads a run.
    type Reader: Read;

    /// Begins to read at the begin of the run.
    ///
    /// # Errors
    ///
    /// Where the place does not give it back.
    fn open(&self) -> io::Result<Self::Reader>;
}

/// A place in memory, of a limited size.
///
/// ```
/// use std::io::{Read, Write};
/// use referee_perft::{MemorySpill, Spill, SpillRun};
///
/// let place = MemorySpill::new(4_096);
/// let mut writer = place.create()?;
/// writer.write_all(b"sorted")?;
/// let run = place.finish(writer)?;
/// let mut text = String::new();
/// run.open()?.read_to_string(&mut text)?;
/// assert_eq!(text, "sorted");
/// // There is no room for more.
/// assert!(place.create()?.write_all(b"sorted").is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemorySpill {
    bytes_max: usize,
    used: Arc<AtomicUsize>,
}

impl MemorySpill {
    /// Returns a place for so many bytes.
    #[must_use]
    pub fn new(bytes_max: usize) -> MemorySpill {
        MemorySpill {
            bytes_max,
            used: Arc::default(),
        }
    }

    /// Returns how many bytes are taken up.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: usize) -> io::Result<()> {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes <= self.bytes_max {
            return Ok(());
        }
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        Err(io::Error::new(
            io::ErrorKind::StorageFull,
            format!(
                "sorting needs more than the {} bytes of memory that it may take",
                self.bytes_max
            ),
        ))
    }
}

/// Writes a run into memory.
#[derive(Debug)]
pub struct MemoryWriter {
    place: MemorySpill,
    chunks: Vec<Vec<u8>>,
    taken: usize,
}

impl Drop for MemoryWriter {
    fn drop(&mut self) {
        self.place.used.fetch_sub(self.taken, Ordering::Relaxed);
    }
}

impl Write for MemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_full = |chunk: &Vec<u8>| chunk.len() == chunk.capacity();
        if self.chunks.last().is_none_or(is_full) {
            let size = self.taken.clamp(CHUNK_MIN, CHUNK_MAX);
            self.place.take(size)?;
            self.taken += size;
            let mut chunk = Vec::new();
            chunk
                .try_reserve_exact(size)
                .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
            self.chunks.push(chunk);
        }
        let Some(chunk) = self.chunks.last_mut() else {
            return Ok(0);
        };
        let length = bytes.len().min(chunk.capacity() - chunk.len());
        chunk.extend_from_slice(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A run in memory.
#[derive(Clone, Debug)]
pub struct MemoryRun(Arc<MemoryWriter>);

/// Reads a run in memory.
#[derive(Debug)]
pub struct MemoryReader {
    run: MemoryRun,
    chunk: usize,
    at: usize,
}

impl Read for MemoryReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(chunk) = self.run.0.chunks.get(self.chunk) {
            let left = &chunk[self.at..];
            if left.is_empty() {
                self.chunk += 1;
                self.at = 0;
                continue;
            }
            let length = left.len().min(into.len());
            into[..length].copy_from_slice(&left[..length]);
            self.at += length;
            return Ok(length);
        }
        Ok(0)
    }
}

impl Spill for MemorySpill {
    type Writer = MemoryWriter;
    type Run = MemoryRun;

    fn create(&self) -> io::Result<MemoryWriter> {
        Ok(MemoryWriter {
            place: self.clone(),
            chunks: Vec::new(),
            taken: 0,
        })
    }

    fn finish(&self, writer: MemoryWriter) -> io::Result<MemoryRun> {
        Ok(MemoryRun(Arc::new(writer)))
    }
}

impl SpillRun for MemoryRun {
    type Reader = MemoryReader;

    fn open(&self) -> io::Result<MemoryReader> {
        Ok(MemoryReader {
            run: self.clone(),
            chunk: 0,
            at: 0,
        })
    }
}
