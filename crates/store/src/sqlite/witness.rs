//! A small file beside the database that says how far the log had come: what tells, at the next
//! start, that entries are gone which were acknowledged.
//!
//! A write-ahead log with a flipped bit ends there for the engine, and all after it is gone without
//! a word. The witness is written after the commits that it speaks of, about each second, so that
//! it never promises what a power cut may still take; and it is written into two slots in turn, so
//! that a cut leaves one of them whole.
//!
//! A slot is: 8 bytes `refwit1\n`, a counter (8 bytes, big-endian), the newest position of the log
//! (8 bytes, big-endian), the link of the chain there (32 bytes, zero where there is none), and the
//! first 8 bytes of the SHA-256 over all of that. The second slot begins at byte 4,096.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::connection::beside;
use super::log;
use crate::error::OpenError;
use crate::limits::WITNESS_INTERVAL;

const SUFFIX: &str = ".witness";
const MAGIC: &[u8; 8] = b"refwit1\n";
const SLOT_BYTES: usize = 64;
const CHECK_BYTES: usize = 8;
/// Where the second slot begins: no sector has both.
const SLOT_OFFSET: u64 = 4_096;

/// How far the log had come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Statement {
    counter: u64,
    position: i64,
    chain: [u8; 32],
}

/// The file, and what it says.
#[derive(Debug)]
pub(super) struct Witness {
    file: File,
    path: PathBuf,
    last: Statement,
    /// When it was written by this process.
    written: Option<Instant>,
    is_failing: bool,
}

/// Refuses to begin a new store where a witness says that there was one.
pub(super) fn refuse_lost(path: &Path) -> Result<(), OpenError> {
    let witness = beside(path, SUFFIX);
    let file = match File::open(&witness) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error(&witness, &error)),
    };
    match read(&file) {
        Some(said) if said.position > 0 => Err(lost(path, &witness, said.position, 0)),
        _ => Ok(()),
    }
}

impl Witness {
    /// Opens the witness of a database, and compares what it says with what is there.
    ///
    /// # Errors
    ///
    /// [`OpenError::Lost`] where something is gone, and where the file cannot be opened.
    pub(super) fn open(path: &Path, connection: &Connection) -> Result<Self, OpenError> {
        let name = beside(path, SUFFIX);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&name)
            .map_err(|error| io_error(&name, &error))?;
        let last = read(&file).unwrap_or_default();
        let engine = |error: rusqlite::Error| OpenError::Io {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let newest = log::newest_position(connection).map_err(engine)?;
        let is_other = match chain_at(connection, last.position).map_err(engine)? {
            Some(chain) => last.chain != [0; 32] && chain != last.chain,
            // The game was deleted since.
            None => false,
        };
        if newest < last.position || is_other {
            let found = newest.min(last.position - 1);
            return Err(lost(path, &name, last.position, found));
        }
        Ok(Self {
            file,
            path: name,
            last,
            written: None,
            is_failing: false,
        })
    }

    /// Writes how far the log has come, where that is more than it says and its time has come, or
    /// `now` where nobody comes later. What cannot be written is tried again.
    pub(super) fn write_if_due(&mut self, connection: &Connection, position: i64, now: bool) {
        let is_early = |written: Instant| written.elapsed() < WITNESS_INTERVAL;
        if position <= self.last.position || (!now && self.written.is_some_and(is_early)) {
            return;
        }
        self.written = Some(Instant::now());
        let result = self.write(connection, position);
        if let Err(error) = &result
            && !self.is_failing
        {
            let file = self.path.display();
            tracing::error!(%file, error, "the witness of the log cannot be written");
        }
        self.is_failing = result.is_err();
    }

    fn write(&mut self, connection: &Connection, position: i64) -> Result<(), String> {
        let chain = chain_at(connection, position).map_err(|error| error.to_string())?;
        let next = Statement {
            counter: self.last.counter + 1,
            position,
            chain: chain.unwrap_or_default(),
        };
        let offset = SLOT_OFFSET * (next.counter % 2);
        self.file
            .write_all_at(&next.bytes(), offset)
            .and_then(|()| self.file.sync_data())
            .map_err(|error| error.to_string())?;
        self.last = next;
        Ok(())
    }
}

impl Statement {
    fn bytes(&self) -> [u8; SLOT_BYTES] {
        let mut bytes = [0; SLOT_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..16].copy_from_slice(&self.counter.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.position.to_be_bytes());
        bytes[24..56].copy_from_slice(&self.chain);
        let check = check(&bytes[..56]);
        bytes[56..].copy_from_slice(&check);
        bytes
    }

    fn read(bytes: &[u8; SLOT_BYTES]) -> Option<Self> {
        let said = Self {
            counter: u64::from_be_bytes(bytes[8..16].try_into().ok()?),
            position: i64::from_be_bytes(bytes[16..24].try_into().ok()?),
            chain: bytes[24..56].try_into().ok()?,
        };
        (said.bytes() == *bytes).then_some(said)
    }
}

fn check(bytes: &[u8]) -> [u8; CHECK_BYTES] {
    let hash: [u8; 32] = Sha256::digest(bytes).into();
    let mut check = [0; CHECK_BYTES];
    check.copy_from_slice(&hash[..CHECK_BYTES]);
    check
}

/// Reads the newer of the slots that are whole.
fn read(file: &File) -> Option<Statement> {
    let slot = |offset| {
        let mut bytes = [0; SLOT_BYTES];
        file.read_exact_at(&mut bytes, offset).ok()?;
        Statement::read(&bytes)
    };
    let slots = [slot(0), slot(SLOT_OFFSET)];
    slots.into_iter().flatten().max_by_key(|said| said.counter)
}

/// The link of the entry or the creation at a position; none where it is no more.
fn chain_at(connection: &Connection, position: i64) -> rusqlite::Result<Option<[u8; 32]>> {
    connection
        .prepare_cached(
            "SELECT chain FROM entries WHERE position = ?1 AND length(chain) = 32 \
             UNION ALL SELECT chain FROM games WHERE log_position = ?1 AND length(chain) = 32",
        )?
        .query_row([position], |row| row.get(0))
        .optional()
}

fn lost(path: &Path, witness: &Path, acknowledged: i64, found: i64) -> OpenError {
    OpenError::Lost {
        path: path.to_owned(),
        witness: witness.to_owned(),
        acknowledged,
        found,
    }
}

fn io_error(path: &Path, error: &io::Error) -> OpenError {
    OpenError::Io {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

/// The interval is far from the two seconds after which everything must be on record.
const _: () = assert!(WITNESS_INTERVAL.as_millis() < Duration::from_secs(1).as_millis());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_read_as_it_was_written_and_not_when_a_bit_is_flipped() {
        let said = Statement {
            counter: 7,
            position: 1_000,
            chain: [3; 32],
        };
        let bytes = said.bytes();
        assert_eq!(Statement::read(&bytes), Some(said));
        for index in 0..SLOT_BYTES {
            let mut flipped = bytes;
            flipped[index] ^= 1;
            assert_eq!(Statement::read(&flipped), None, "byte {index}");
        }
        assert_eq!(Statement::read(&[0; SLOT_BYTES]), None);
    }

    #[test]
    fn a_torn_slot_leaves_the_one_before() {
        let file = tempfile::tempfile().expect("a file");
        assert_eq!(read(&file), None);
        for counter in 1..6 {
            let said = Statement {
                counter,
                position: counter as i64 * 10,
                chain: [counter as u8; 32],
            };
            let offset = SLOT_OFFSET * (counter % 2);
            let before = read(&file);
            file.write_all_at(&said.bytes()[..20], offset)
                .expect("written");
            assert_eq!(read(&file), before, "a part of slot {counter}");
            file.write_all_at(&said.bytes(), offset).expect("written");
            assert_eq!(read(&file), Some(said));
        }
    }
}
