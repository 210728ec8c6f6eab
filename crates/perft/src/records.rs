//! Sorted positions as bytes.
//!
//! A record begins with how many bytes its key shares with that of the record before, and the
//! bytes that follow these. Then come an estimate, the number of shares, and each share as the
//! step from the owner before and the number of paths; all of these are numbers of seven bits a
//! byte, the lowest first. A start position's six plies come to about 26 bytes a record.

use std::io::{self, Read, Write};

use referee_chess::PositionKey;

use crate::key::{KEY_LENGTH, key_from_bytes, key_to_bytes};
use crate::limits::SPILL_BUFFER;

/// How many paths lead to a position from one of those who share it: from a first move of a plan,
/// or from a position of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Share {
    /// The number of the first move, or of the position.
    pub owner: u32,
    /// The number of paths.
    pub paths: u64,
}

/// Positions with their shares, without room of its own for each of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Positions {
    pub(crate) keys: Vec<PositionKey>,
    pub(crate) estimates: Vec<u64>,
    ends: Vec<usize>,
    shares: Vec<Share>,
}

impl Positions {
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.estimates.clear();
        self.ends.clear();
        self.shares.clear();
    }

    pub(crate) fn push(&mut self, key: PositionKey, estimate: u64, shares: &[Share]) {
        self.keys.push(key);
        self.estimates.push(estimate);
        self.shares.extend_from_slice(shares);
        self.ends.push(self.shares.len());
    }

    pub(crate) fn shares(&self, index: usize) -> &[Share] {
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.shares[begin..self.ends[index]]
    }
}

/// How many leading bytes two keys have in common.
#[inline]
fn shared_bytes(a: PositionKey, b: PositionKey) -> usize {
    for (index, (a, b)) in a.0.iter().zip(&b.0).enumerate() {
        if a != b {
            return index * 8 + (a ^ b).leading_zeros() as usize / 8;
        }
    }
    KEY_LENGTH
}

/// Writes records.
pub(crate) struct RecordWriter<W> {
    writer: W,
    buffer: Vec<u8>,
    last: PositionKey,
    pub(crate) written: u64,
}

impl<W: Write> RecordWriter<W> {
    pub(crate) fn new(writer: W) -> RecordWriter<W> {
        RecordWriter {
            writer,
            buffer: Vec::new(),
            last: PositionKey([0; 4]),
            written: 0,
        }
    }

    /// Writes a record; its key is above that of the record before.
    pub(crate) fn write(
        &mut self,
        key: PositionKey,
        estimate: u64,
        shares: &[Share],
    ) -> io::Result<()> {
        let same = shared_bytes(self.last, key);
        self.buffer.push(same as u8);
        self.buffer.extend_from_slice(&key_to_bytes(key)[same..]);
        self.last = key;
        self.number(estimate);
        self.number(shares.len() as u64);
        let mut before = 0;
        for share in shares {
            self.number(u64::from(share.owner - before));
            self.number(share.paths);
            before = share.owner;
        }
        self.written += 1;
        if self.buffer.len() >= SPILL_BUFFER {
            self.writer.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.writer.write_all(&self.buffer)?;
        self.writer.flush()?;
        Ok(self.writer)
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.buffer.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.buffer.push(number as u8);
    }
}

/// Reads records, one at a time.
pub(crate) struct RecordReader<R> {
    reader: R,
    buffer: Box<[u8]>,
    at: usize,
    end: usize,
    bytes: [u8; KEY_LENGTH],
    pub(crate) key: PositionKey,
    pub(crate) estimate: u64,
    pub(crate) shares: Vec<Share>,
}

impl<R: Read> RecordReader<R> {
    pub(crate) fn new(reader: R) -> RecordReader<R> {
        RecordReader {
            reader,
            buffer: vec![0; SPILL_BUFFER].into_boxed_slice(),
            at: 0,
            end: 0,
            bytes: [0; KEY_LENGTH],
            key: PositionKey([0; 4]),
            estimate: 0,
            shares: Vec::new(),
        }
    }

    /// Reads the next record into the fields; false at the end.
    pub(crate) fn next(&mut self) -> io::Result<bool> {
        if self.at == self.end && !self.fill()? {
            return Ok(false);
        }
        let same = usize::from(self.byte()?);
        if same > KEY_LENGTH {
            return Err(damaged());
        }
        let rest = KEY_LENGTH - same;
        if let Some(bytes) = self.buffer[..self.end].get(self.at..self.at + rest) {
            self.bytes[same..].copy_from_slice(bytes);
            self.at += rest;
        } else {
            for index in same..KEY_LENGTH {
                self.bytes[index] = self.byte()?;
            }
        }
        self.key = key_from_bytes(self.bytes);
        self.estimate = self.number()?;
        let shares = self.number()?;
        self.shares.clear();
        let mut owner = 0u32;
        for _ in 0..shares {
            let step = u32::try_from(self.number()?).map_err(|_| damaged())?;
            owner = owner.checked_add(step).ok_or_else(damaged)?;
            let paths = self.number()?;
            self.shares.push(Share { owner, paths });
        }
        Ok(true)
    }

    fn fill(&mut self) -> io::Result<bool> {
        self.at = 0;
        self.end = loop {
            match self.reader.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        Ok(self.end > 0)
    }

    #[inline]
    fn byte(&mut self) -> io::Result<u8> {
        if self.at == self.end && !self.fill()? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let byte = self.buffer[self.at];
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if part << shift >> shift != part {
                break;
            }
            number |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(damaged())
    }
}

/// What was written does not come back.
fn damaged() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "what was written while sorting was changed since",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_were_written() {
        let records = [
            ([1, 2, 3, 4], 0, vec![]),
            ([1, 2, 3, 5], 1, vec![(0, 1), (1, 127), (900, 128)]),
            ([1, 2, 4, 0], u64::MAX, vec![(u32::MAX, u64::MAX)]),
            ([u64::MAX; 4], 300, vec![(7, 1 << 63)]),
        ];
        let mut writer = RecordWriter::new(Vec::new());
        let shares = |shares: &[(u32, u64)]| -> Vec<Share> {
            shares
                .iter()
                .map(|&(owner, paths)| Share { owner, paths })
                .collect()
        };
        for (key, estimate, list) in &records {
            let written = writer.write(PositionKey(*key), *estimate, &shares(list));
            written.expect("memory takes it");
        }
        let bytes = writer.finish().expect("memory takes it");
        let mut reader = RecordReader::new(&bytes[..]);
        for (key, estimate, list) in &records {
            assert!(reader.next().expect("it is whole"));
            assert_eq!((reader.key.0, reader.estimate), (*key, *estimate));
            assert_eq!(reader.shares, shares(list));
        }
        assert!(!reader.next().expect("it is whole"));
        // Wherever it is cut, the end of a record is told from the middle of one.
        let mut whole = 0;
        for end in 0..bytes.len() {
            let mut reader = RecordReader::new(&bytes[..end]);
            let ended = loop {
                match reader.next() {
                    Ok(true) => {}
                    other => break other,
                }
            };
            whole += usize::from(ended.is_ok());
        }
        assert_eq!(whole, records.len());
    }
}
