//! The record of a game: tags, moves with clocks and comments, and the result.

use core::time::Duration;

use referee_chess::{CastlingMode, Move, NotLegalError, Position};

use crate::text::append_folded;
use crate::{Eval, Export, Outcome, Tags};

/// A game as a record keeps it. Its moves are legal one after the other from its start, if they
/// were [read](crate::GameReader) or [played](Game::play).
///
/// Some tags say what the record knows otherwise: `Result`, `Score`, `SetUp`, `FEN` and `Variant`.
/// The reader takes them out of `tags` where it has understood them, and [`Export`] writes them
/// from the record.
///
/// ```
/// use referee_pgn::{Game, Outcome, Tags};
///
/// let mut game = Game::new();
/// game.tags.set(Tags::WHITE, "Anna");
/// for san in ["f3", "e5", "g4", "Qh4#"] {
///     let mv = game.final_position().read_san(san)?;
///     game.play(mv)?;
/// }
/// game.outcome = Outcome::BlackWins;
/// assert!(game.export().to_string().ends_with("\n\n1. f3 e5 2. g4 Qh4# 0-1\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Game {
    /// The tags.
    pub tags: Tags,
    /// The position before the first move. It has the castling mode of the game.
    pub start: Position,
    /// The comment before the first move.
    pub comment: String,
    /// What the clock of White shows before the first move, where a comment says so.
    pub start_clock: Option<Duration>,
    /// The moves of the main line.
    pub moves: Vec<Move>,
    /// What is said about them.
    pub notes: Notes,
    /// The result.
    pub outcome: Outcome,
}

/// What a record says about a move, besides the move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// What the clock of the player shows after the move: the time that is left.
    pub clock: Option<Duration>,
    /// The time that the player took for the move.
    pub elapsed: Option<Duration>,
    /// What an engine thinks of the position after the move.
    pub eval: Option<Eval>,
    /// Numeric annotation glyphs (PGN standard 10).
    pub nags: Vec<u8>,
    /// The comment after the move, without line ends, and without the commands that stand in the
    /// other fields.
    pub comment: String,
}

impl Note {
    /// A note that says nothing.
    pub const EMPTY: Note = Note {
        clock: None,
        elapsed: None,
        eval: None,
        nags: Vec::new(),
        comment: String::new(),
    };

    /// Returns whether the note says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Note::EMPTY
    }
}

/// The notes of a game: few games have one for every move.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// By the index of the move, going up.
    notes: Vec<(usize, Note)>,
}

impl Notes {
    /// Returns the note of a move, counted from 0. It is [empty](Note::EMPTY) where nothing is
    /// said.
    #[must_use]
    pub fn get(&self, index: usize) -> &Note {
        static EMPTY: Note = Note::EMPTY;
        match self.notes.binary_search_by_key(&index, |(index, _)| *index) {
            Ok(at) => &self.notes[at].1,
            Err(_) => &EMPTY,
        }
    }

    /// Returns the note of a move, counted from 0, to be written into.
    pub fn get_mut(&mut self, index: usize) -> &mut Note {
        // Notes come in the order of the moves, so that this one is most often the last.
        let at = match self.notes.last() {
            Some((last, _)) if *last == index => self.notes.len() - 1,
            Some((last, _)) if *last > index => {
                match self.notes.binary_search_by_key(&index, |(index, _)| *index) {
                    Ok(at) => at,
                    Err(at) => {
                        self.notes.insert(at, (index, Note::EMPTY));
                        at
                    }
                }
            }
            _ => {
                self.notes.push((index, Note::EMPTY));
                self.notes.len() - 1
            }
        };
        &mut self.notes[at].1
    }

    /// Returns the notes that say something, with the index of the move of each.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Note)> {
        let notes = self.notes.iter().map(|(index, note)| (*index, note));
        notes.filter(|(_, note)| !note.is_empty())
    }

    /// Removes all notes, and keeps the memory.
    pub fn clear(&mut self) {
        self.notes.clear();
    }
}

impl PartialEq for Notes {
    fn eq(&self, other: &Notes) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Notes {}

impl Game {
    /// Returns a game without moves from the initial position of standard chess.
    #[must_use]
    pub fn new() -> Game {
        Game::from_position(Position::startpos())
    }

    /// Returns a game without moves from a position.
    #[must_use]
    pub fn from_position(start: Position) -> Game {
        Game {
            tags: Tags::new(),
            start,
            comment: String::new(),
            start_clock: None,
            moves: Vec::new(),
            notes: Notes::default(),
            outcome: Outcome::Unknown,
        }
    }

    /// Returns whether the game began in the initial position of standard chess, so that no `FEN`
    /// is needed.
    #[must_use]
    pub fn begins_as_usual(&self) -> bool {
        let usual = Position::startpos();
        self.start == usual
            && self.start.castling_mode() == CastlingMode::Standard
            && self.start.halfmove_clock() == usual.halfmove_clock()
            && self.start.fullmove_number() == usual.fullmove_number()
    }

    /// Returns the position before each move, with the move. The moves are taken as they are.
    pub fn positions(&self) -> impl Iterator<Item = (Position, Move)> {
        let mut position = self.start.clone();
        self.moves.iter().map(move |&mv| {
            let before = position.clone();
            position.play_unchecked(mv);
            (before, mv)
        })
    }

    /// Returns the position after the last move.
    #[must_use]
    pub fn final_position(&self) -> Position {
        let mut position = self.start.clone();
        for &mv in &self.moves {
            position.play_unchecked(mv);
        }
        position
    }

    /// Adds a move, and returns its note.
    ///
    /// # Errors
    ///
    /// Where it is not legal after the last one; nothing is added.
    pub fn play(&mut self, mv: Move) -> Result<&mut Note, NotLegalError> {
        self.final_position().play(mv)?;
        self.moves.push(mv);
        Ok(self.notes.get_mut(self.moves.len() - 1))
    }

    /// Adds a sentence to the comment after the last move, which stands just before the result:
    /// such as the article that a disputed ruling rests on.
    ///
    /// ```
    /// use referee_pgn::{Game, Outcome};
    ///
    /// let mut game = Game::new();
    /// game.outcome = Outcome::Draw;
    /// game.comment_end("FIDE-E01-2023 5.2.2: neither side can mate.");
    /// let text = game.export().to_string();
    /// assert!(text.ends_with("\n{FIDE-E01-2023 5.2.2: neither side can mate.} 1/2-1/2\n"));
    /// ```
    pub fn comment_end(&mut self, sentence: &str) {
        let comment = match self.moves.len().checked_sub(1) {
            Some(last) => &mut self.notes.get_mut(last).comment,
            None => &mut self.comment,
        };
        append_folded(comment, sentence);
    }

    /// Returns something that writes the game in the export format.
    #[must_use]
    pub fn export(&self) -> Export<'_> {
        Export::new(self)
    }
}

impl Default for Game {
    fn default() -> Game {
        Game::new()
    }
}

impl PartialEq for Game {
    /// Two games are equal if all of them is, counters of the first position included.
    fn eq(&self, other: &Game) -> bool {
        self.start == other.start
            && self.start.castling_mode() == other.start.castling_mode()
            && self.start.halfmove_clock() == other.start.halfmove_clock()
            && self.start.fullmove_number() == other.start.fullmove_number()
            && self.tags == other.tags
            && self.comment == other.comment
            && self.start_clock == other.start_clock
            && self.moves == other.moves
            && self.notes == other.notes
            && self.outcome == other.outcome
    }
}

impl Eq for Game {}
