//! Reads a file, or standard input, as bytes: plain, gzip or Zstandard, told apart by the bytes;
//! what else it is, is named.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
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

/// The bytes at the beginning that tell what a file is: those up to the mark of a tar archive.
const HEAD_BYTES: u64 = 512;

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTANDARD: &[u8] = b"\x28\xb5\x2f\xfd";

/// Files that are none of games in text: where their mark stands, the mark, and what they are.
const OTHERS: [(usize, &[u8], &str); 18] = [
    (0, b"PK\x03\x04", "a Zip archive"),
    (0, b"PK\x05\x06", "an empty Zip archive"),
    (0, b"BZh", "compressed with bzip2"),
    (0, b"\xfd7zXZ\0", "compressed with xz"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (0, b"Rar!\x1a\x07", "a RAR archive"),
    (0, b"\x04\x22\x4d\x18", "compressed with LZ4"),
    (0, b"LZIP", "compressed with lzip"),
    (0, b"\x1f\x9d", "compressed with compress"),
    (0, b"\xff\x06\0\0sNaPpY", "compressed with Snappy"),
    (257, b"ustar", "a tar archive"),
    (0, GZIP, "compressed with gzip a second time"),
    (0, ZSTANDARD, "compressed with Zstandard a second time"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (0, b"Scid.s", "a Scid database"),
    (0, b"<!DOCTYPE", "a web page"),
    (0, b"<html", "a web page"),
];

/// Whether a file begins with a frame of Zstandard; the first may be one that is passed over (RFC
/// 8878 3.1.2), as programs write it that compress in parallel.
fn is_zstandard(head: &[u8]) -> bool {
    head.starts_with(ZSTANDARD) || matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Refuses a text that is something else, by the name of what it is.
fn refuse_others(head: &[u8]) -> io::Result<()> {
    let is_there = |&(at, mark, _): &(usize, &[u8], &str)| {
        let found = head.get(at..at + mark.len());
        found.is_some_and(|found| match mark {
            [b'<', ..] => found.eq_ignore_ascii_case(mark),
            _ => found == mark,
        })
    };
    match OTHERS.iter().find(|other| is_there(other)) {
        Some((_, _, what)) => Err(io::Error::other(format!(
            "it is {what}; give games as text, plain or compressed with gzip or Zstandard"
        ))),
        None => Ok(()),
    }
}

/// Reads the beginning, and puts it back.
fn read_head<R: BufRead>(mut reader: R) -> io::Result<(Vec<u8>, impl BufRead)> {
    let mut head = Vec::new();
    reader.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(reader)))
}

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
    /// What it is compressed with.
    packer: Option<&'static str>,
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
        let file = BufReader::with_capacity(PIECE_BYTES, Counted { inner, bytes });
        let (head, file) = read_head(file)?;
        let packer = match &head[..] {
            head if head.starts_with(GZIP) => Some("gzip"),
            head if is_zstandard(head) => Some("Zstandard"),
            _ => None,
        };
        let reader: Box<dyn Read + Send> = match packer {
            Some("gzip") => Box::new(MultiGzDecoder::new(file)),
            Some(_) => Box::new(zstd::stream::read::Decoder::with_buffer(file)?),
            None => Box::new(file),
        };
        Ok(Source {
            reader,
            file_bytes,
            text_bytes: 0,
            packer,
        })
    }

    /// Reads the next piece of the text into a buffer; the end is a piece of no bytes.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = loop {
            match self.reader.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fault(error)),
                Ok(length) => break length,
            }
        };
        if self.text_bytes == 0 {
            refuse_others(&buffer[..length])?;
        }
        self.text_bytes += length as u64;
        let bound = self
            .file_bytes
            .load(Ordering::Relaxed)
            .saturating_mul(EXPANSION_MAX);
        if self.packer.is_some() && self.text_bytes > EXPANSION_FREE_BYTES.max(bound) {
            return Err(io::Error::other(format!(
                "it expands to more than {EXPANSION_MAX} times its size; decompress it first if it \
                 is to be read all the same"
            )));
        }
        Ok(length)
    }

    /// Says in our words why nothing more can be read: a library names what it was about to do.
    fn fault(&self, error: io::Error) -> io::Error {
        // The system knows what is wrong with a file, but nothing of what is in it.
        match self.packer.filter(|_| error.raw_os_error().is_none()) {
            Some(packer) => {
                let text = format!("it is no whole {packer} file: it is cut or damaged");
                io::Error::new(error.kind(), text)
            }
            None => error,
        }
    }
}
