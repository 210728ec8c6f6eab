//! Reads games: a parser and a board in one, fed with pieces of any size.

use crate::replay::Replay;
use crate::visitor::{Comment, Tag};
use crate::{Fault, Outcome, Parser, Place, Reading, Visitor};

/// What a [`GameReader`] meets.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    /// A game. It is lent, so that its memory can be used for the next; clone it to keep it.
    Game(&'a Reading),
    /// Something wrong with the text between games.
    Stray(&'a Fault),
}

/// Reads games from text that comes in pieces, plays their main lines, and hands each to a
/// function as soon as it has ended.
///
/// The pieces can come from anywhere: a file, a decompressor, a stream from the network. Neither
/// their size nor where they are cut changes what is read.
///
/// ```
/// use referee_pgn::{GameReader, Item};
///
/// let mut plies = Vec::new();
/// let mut faults = Vec::new();
/// let mut take = |item: Item<'_>| match item {
///     Item::Game(reading) => {
///         plies.push(reading.game.moves.len());
///         faults.extend(reading.faults.iter().map(ToString::to_string));
///     }
///     Item::Stray(fault) => faults.push(fault.to_string()),
/// };
/// let mut reader = GameReader::new();
/// reader.push(b"1. e4 e5 2. Ke3 *\n\n1. d4 ", &mut take);
/// reader.push(b"d5 *\n", &mut take);
/// reader.finish(&mut take);
/// assert_eq!(plies, [2, 2]);
/// assert_eq!(
///     faults,
///     ["line 1, column 13: Ke3 is illegal: the king on e1 cannot go to e3: a king moves to a \
///       neighboring square, and otherwise only to castle"]
/// );
/// ```
#[derive(Debug)]
pub struct GameReader {
    parser: Parser,
    replay: Replay,
}

impl GameReader {
    /// Returns a reader at the beginning of a text.
    #[must_use]
    pub fn new() -> GameReader {
        GameReader::starting_at(Place::START)
    }

    /// Returns a reader for a text that begins at a place of a greater one, between two games.
    #[must_use]
    pub fn starting_at(place: Place) -> GameReader {
        GameReader {
            parser: Parser::starting_at(place),
            replay: Replay::new(),
        }
    }

    /// Reads the next piece of the text.
    pub fn push(&mut self, piece: &[u8], take: &mut impl FnMut(Item<'_>)) {
        let replay = &mut self.replay;
        self.parser.push(piece, &mut Teller { replay, take });
    }

    /// Ends the text, and hands out the game that it leaves open. The reader can begin with
    /// another text then.
    pub fn finish(&mut self, take: &mut impl FnMut(Item<'_>)) {
        let replay = &mut self.replay;
        core::mem::take(&mut self.parser).finish(&mut Teller { replay, take });
    }

    /// Reads a whole text.
    pub fn read_all(&mut self, text: &[u8], take: &mut impl FnMut(Item<'_>)) {
        self.push(text, take);
        self.finish(take);
    }
}

impl Default for GameReader {
    fn default() -> GameReader {
        GameReader::new()
    }
}

/// Plays what the parser tells, and hands on what comes of it.
struct Teller<'a, F> {
    replay: &'a mut Replay,
    take: &'a mut F,
}

impl<F: FnMut(Item<'_>)> Visitor for Teller<'_, F> {
    fn begin_game(&mut self, place: Place) {
        self.replay.begin_game(place);
    }

    fn tag(&mut self, tag: Tag<'_>) {
        self.replay.tag(tag);
    }

    fn begin_moves(&mut self, _place: Place) {
        self.replay.begin_moves();
    }

    #[inline]
    fn move_text(&mut self, text: &[u8], place: Place) {
        self.replay.move_text(text, place);
    }

    fn nag(&mut self, nag: u8, place: Place) {
        self.replay.nag(nag, place);
    }

    fn comment(&mut self, comment: Comment<'_>) {
        self.replay.comment(comment);
    }

    fn begin_variation(&mut self) {
        self.replay.begin_variation();
    }

    fn end_variation(&mut self) {
        self.replay.end_variation();
    }

    fn outcome(&mut self, outcome: Outcome, place: Place) {
        self.replay.outcome(outcome, place);
    }

    fn end_game(&mut self, place: Place) {
        self.replay.end_game(place);
        (self.take)(Item::Game(&self.replay.reading));
    }

    fn fault(&mut self, fault: Fault) {
        if self.replay.is_in_game {
            self.replay.fault(fault);
        } else {
            (self.take)(Item::Stray(&fault));
        }
    }
}
