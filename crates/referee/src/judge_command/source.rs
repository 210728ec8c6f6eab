//! Reads a file, or standard input, as bytes: plain, gzip or Zstandard, told apart by the bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

/// The bytes that are read at once.
pub(super) const PIECE_BYTES: usize = 64 << 10;
/// How many times its size a compressed file may expand to, and from how many bytes on that is
/// looked at. Records of games shrink about tenfold, and a few hundredfold where they repeat.
const EXPANSION_MAX: u64 = 400;
const EXPANSION_FREE_BYTES: u64 = 64 << 20;

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTANDARD: &[u8] = b"\x28\xb5\x2f\xfd";

/// Counts what is read of the file itself.
struct Counted<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.bytes.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

/// The text of a file.
pub(super) struct Source {
    reader: Box<dyn Read + Send>,
    /// What was read of the file.
    file_bytes: Arc<AtomicU64>,
    /// What came out of it.
    text_bytes: u64,
    is_compressed: bool,
}

impl Source {
    /// Opens a file, or standard input where its name is `-`. `file_bytes` counts what is read.
    pub(super) fn open(path: &Path, file_bytes: Arc<AtomicU64>) -> io::Result<Source> {
        let inner: Box<dyn Read + Send> = match path.as_os_str() == "-" {
            true => Box::new(io::stdin()),
            false => Box::new(File::open(path)?),
        };
        file_bytes.store(0, Ordering::Relaxed);
        let bytes = Arc::clone(&file_bytes);
        let mut file = BufReader::with_capacity(PIECE_BYTES, Counted { inner, bytes });
        let magic = file.fill_buf()?;
        let (is_gzip, is_zstandard) = (magic.starts_with(GZIP), magic.starts_with(ZSTANDARD));
        let reader: Box<dyn Read + Send> = if is_gzip {
            Box::new(MultiGzDecoder::new(file))
        } else if is_zstandard {
            Box::new(zstd::stream::read::Decoder::with_buffer(file)?)
        } else {
            Box::new(file)
        };
        Ok(Source {
            reader,
            file_bytes,
            text_bytes: 0,
            is_compressed: is_gzip || is_zstandard,
        })
    }

    /// Reads the next piece of the text into a buffer; the end is a piece of no bytes.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = loop {
            match self.reader.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.text_bytes += length as u64;
        let bound = self
            .file_bytes
            .load(Ordering::Relaxed)
            .saturating_mul(EXPANSION_MAX);
        if self.is_compressed && self.text_bytes > EXPANSION_FREE_BYTES.max(bound) {
            return Err(io::Error::other(format!(
                "it expands to more than {EXPANSION_MAX} times its size; decompress it first if it \
                 is to be read all the same"
            )));
        }
        Ok(length)
    }
}
