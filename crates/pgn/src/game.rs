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
    pub moves: Vec<PlayedMove>,
    /// The result.
    pub outcome: Outcome,
}

/// A move with what the record says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayedMove {
    /// The move.
    pub mv: Move,
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

impl PlayedMove {
    /// Returns a move without anything said about it.
    #[must_use]
    pub const fn new(mv: Move) -> PlayedMove {
        PlayedMove {
            mv,
            clock: None,
            elapsed: None,
            eval: None,
            nags: Vec::new(),
            comment: String::new(),
        }
    }
}

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
    pub fn positions(&self) -> impl Iterator<Item = (Position, &PlayedMove)> {
        let mut position = self.start.clone();
        self.moves.iter().map(move |played| {
            let before = position.clone();
            position.play_unchecked(played.mv);
            (before, played)
        })
    }

    /// Returns the position after the last move.
    #[must_use]
    pub fn final_position(&self) -> Position {
        let mut position = self.start.clone();
        for played in &self.moves {
            position.play_unchecked(played.mv);
        }
        position
    }

    /// Adds a move.
    ///
    /// # Errors
    ///
    /// Where it is not legal after the last one; nothing is added.
    pub fn play(&mut self, mv: Move) -> Result<&mut PlayedMove, NotLegalError> {
        self.final_position().play(mv)?;
        self.moves.push(PlayedMove::new(mv));
        let index = self.moves.len() - 1;
        Ok(&mut self.moves[index])
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
        let comment = match self.moves.last_mut() {
            Some(last) => &mut last.comment,
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
            && self.outcome == other.outcome
    }
}

impl Eq for Game {}
