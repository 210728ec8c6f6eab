//! Cuts a text into batches of whole games, so that they can be judged on many cores; a game that
//! is too long for a batch is judged while it is read.

use referee_pgn::{GameReader, Parser, Place, Visitor};

use super::games::{Judge, Line};

/// Batches are cut at the first end of a game beyond so many bytes.
const BATCH_BYTES: u64 = 256 << 10;
/// The bytes that are held for an end of a game. Beyond that they are judged as they come.
const HELD_BYTES_MAX: usize = 16 << 20;

/// A piece of work.
pub(super) enum Work {
    /// Whole games, to be judged.
    Batch {
        /// Where they begin in their file.
        place: Place,
        /// Their text.
        text: Vec<u8>,
    },
    /// Games that were judged while they were read.
    Judged(Vec<Line>),
}

/// Remembers where the last game ended.
#[derive(Default)]
struct LastEnd(Option<Place>);

impl Visitor for LastEnd {
    fn end_game(&mut self, place: Place) {
        self.0 = Some(place);
    }
}

/// Cuts a text that comes in pieces.
pub(super) struct Splitter<'a> {
    judge: &'a Judge,
    parser: Parser,
    last_end: LastEnd,
    /// The bytes that have come.
    offset: u64,
    /// Where the text that is held begins.
    cut: Place,
    held: Vec<u8>,
    /// A reader for a game that is too long, and what it has found.
    long: Option<(GameReader, Vec<Line>)>,
}

impl<'a> Splitter<'a> {
    pub(super) fn new(judge: &'a Judge) -> Splitter<'a> {
        Splitter {
            judge,
            parser: Parser::new(),
            last_end: LastEnd::default(),
            offset: 0,
            cut: Place::START,
            held: Vec::new(),
            long: None,
        }
    }

    /// Takes a piece, and hands on the work that it completes.
    pub(super) fn push<E>(
        &mut self,
        piece: &[u8],
        send: &mut impl FnMut(Work) -> Result<(), E>,
    ) -> Result<(), E> {
        let begin = self.offset;
        self.parser.push(piece, &mut self.last_end);
        self.offset += piece.len() as u64;
        let end = self.last_end.0;
        if let Some((mut reader, mut lines)) = self.long.take() {
            // What was pushed before cannot be taken back, so the cut is in this piece.
            let end = end.filter(|end| end.offset >= begin);
            let length = end.map_or(piece.len(), |end| (end.offset - begin) as usize);
            self.judge.read(&mut reader, &piece[..length], &mut lines);
            let Some(end) = end else {
                if !lines.is_empty() {
                    send(Work::Judged(std::mem::take(&mut lines)))?;
                }
                self.long = Some((reader, lines));
                return Ok(());
            };
            self.judge.finish(&mut reader, &mut lines);
            send(Work::Judged(lines))?;
            self.cut = end;
            self.held.extend_from_slice(&piece[length..]);
            return Ok(());
        }
        self.held.extend_from_slice(piece);
        match end {
            Some(end) if end.offset - self.cut.offset >= BATCH_BYTES => {
                let length = (end.offset - self.cut.offset) as usize;
                let rest = self.held.split_off(length);
                let text = std::mem::replace(&mut self.held, rest);
                send(Work::Batch {
                    place: self.cut,
                    text,
                })?;
                self.cut = end;
            }
            _ if self.held.len() > HELD_BYTES_MAX => {
                let mut reader = GameReader::starting_at(self.cut);
                let mut lines = Vec::new();
                let held = std::mem::take(&mut self.held);
                self.judge.read(&mut reader, &held, &mut lines);
                self.long = Some((reader, lines));
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends the text, and hands on what is left.
    pub(super) fn finish<E>(
        mut self,
        send: &mut impl FnMut(Work) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some((mut reader, mut lines)) = self.long.take() {
            self.judge.finish(&mut reader, &mut lines);
            return send(Work::Judged(lines));
        }
        if self.held.is_empty() {
            return Ok(());
        }
        send(Work::Batch {
            place: self.cut,
            text: self.held,
        })
    }
}
