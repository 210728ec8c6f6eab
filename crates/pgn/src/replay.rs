//! Plays the main line of a game on a board while it is read, and makes a record of it.

use referee_chess::{CastlingMode, FenError, MoveError, Position, Tolerance, UnreadableMove};

use crate::commands::take_commands;
use crate::limits::{
    COMMENTS_LENGTH_MAX, FAULTS_MAX, NAGS_MAX, PLIES_MAX, TAG_NAME_LENGTH_MAX, TAG_VALUE_LENGTH_MAX,
};
use crate::text::{escaped_end, quote};
use crate::visitor::{Comment, Tag};
use crate::{Fault, FaultKind, Game, Outcome, Place, Severity, Tags};

/// A game that was read, with what is wrong with its text.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The game, up to the first move that could not be played.
    pub game: Game,
    /// Where it begins.
    pub place: Place,
    /// Where it ends.
    pub end: Place,
    /// What is wrong with its text, at most [`FAULTS_MAX`]. The first error is always there.
    pub faults: Vec<Fault>,
    /// Faults beyond those.
    pub faults_dropped: u64,
    /// Words of the main line in the place of moves, from the first that could not be played on.
    /// 0 means that the whole main line is in `game`.
    pub unplayed: u64,
    /// Whether a result stands at the end of the moves.
    pub has_marker: bool,
    /// Whether the position in which the game began is known.
    pub is_start_known: bool,
}

impl Reading {
    fn new() -> Reading {
        Reading {
            game: Game::new(),
            place: Place::START,
            end: Place::START,
            faults: Vec::new(),
            faults_dropped: 0,
            unplayed: 0,
            has_marker: false,
            is_start_known: true,
        }
    }

    /// Returns the first fault because of which the game could not be told, or not to its end.
    #[must_use]
    pub fn first_error(&self) -> Option<&Fault> {
        let mut faults = self.faults.iter();
        faults.find(|fault| fault.severity() == Severity::Error)
    }
}

/// What can be done with the moves that come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The start is not settled yet.
    Unsettled,
    /// Moves are played.
    Playing,
    /// A move could not be played, so that those after it cannot be, either.
    Broken,
}

#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) reading: Reading,
    pub(crate) is_in_game: bool,
    usual: Position,
    position: Position,
    state: State,
    depth: u32,
    comments_length: usize,
    has_dropped_comment: bool,
    marker: Option<Outcome>,
    /// The places of the tags that the start and the result rest on.
    fen_place: Place,
    variant_place: Place,
    result_place: Place,
    marker_place: Place,
}

impl Replay {
    pub(crate) fn new() -> Replay {
        let usual = Position::startpos();
        Replay {
            reading: Reading::new(),
            is_in_game: false,
            position: usual.clone(),
            usual,
            state: State::Unsettled,
            depth: 0,
            comments_length: 0,
            has_dropped_comment: false,
            marker: None,
            fen_place: Place::START,
            variant_place: Place::START,
            result_place: Place::START,
            marker_place: Place::START,
        }
    }

    pub(crate) fn begin_game(&mut self, place: Place) {
        let reading = &mut self.reading;
        reading.place = place;
        reading.faults.clear();
        reading.faults_dropped = 0;
        reading.unplayed = 0;
        reading.has_marker = false;
        reading.is_start_known = true;
        reading.game.tags.clear();
        reading.game.comment.clear();
        reading.game.start_clock = None;
        reading.game.moves.clear();
        reading.game.notes.clear();
        self.is_in_game = true;
        self.state = State::Unsettled;
        self.depth = 0;
        self.comments_length = 0;
        self.has_dropped_comment = false;
        self.marker = None;
    }

    pub(crate) fn fault(&mut self, fault: Fault) {
        let reading = &mut self.reading;
        if reading.faults.len() == FAULTS_MAX {
            reading.faults_dropped += 1;
            if fault.severity() == Severity::Warning || reading.first_error().is_some() {
                return;
            }
            // Any number of warnings leaves room for the first error.
            reading.faults.pop();
        }
        reading.faults.push(fault);
    }

    fn report(&mut self, place: Place, kind: FaultKind) {
        self.fault(Fault { place, kind });
    }

    pub(crate) fn tag(&mut self, tag: Tag<'_>) {
        match tag.name {
            b"FEN" => self.fen_place = tag.place,
            b"Variant" => self.variant_place = tag.place,
            b"Result" => self.result_place = tag.place,
            _ => {}
        }
        let (name, value) = (tag.name(), tag.value());
        // What was Latin-1 is longer as UTF-8, and must be short enough to be read again.
        if name.len() > TAG_NAME_LENGTH_MAX {
            self.report(tag.place, FaultKind::TagNameTooLong);
            return;
        }
        // In Latin-1 and in UTF-8 the same name has different bytes.
        if !name.is_ascii() && self.reading.game.tags.get(&name).is_some() {
            let name = quote(name.as_bytes());
            self.report(tag.place, FaultKind::DuplicateTag { name });
            return;
        }
        let end = escaped_end(&value, TAG_VALUE_LENGTH_MAX);
        if end < value.len() {
            self.report(tag.place, FaultKind::TagValueTooLong);
        }
        self.reading.game.tags.push(&name, &value[..end]);
    }

    pub(crate) fn begin_moves(&mut self) {
        self.settle_start();
    }

    #[inline]
    pub(crate) fn move_text(&mut self, text: &[u8], place: Place) {
        if self.depth > 0 {
            return;
        }
        if self.state != State::Playing || self.reading.game.moves.len() == PLIES_MAX {
            self.skip_move(place);
            return;
        }
        let mv = match self.position.find_plain_san(text) {
            Some(mv) => mv,
            None => match read_leniently(&self.position, text) {
                Ok(mv) => mv,
                Err(kind) => {
                    self.report(place, kind);
                    self.state = State::Broken;
                    self.reading.unplayed += 1;
                    return;
                }
            },
        };
        self.position.play_unchecked(mv);
        self.reading.game.moves.push(mv);
    }

    #[cold]
    fn skip_move(&mut self, place: Place) {
        if self.state == State::Playing {
            self.report(place, FaultKind::TooManyMoves);
            self.state = State::Broken;
        }
        self.reading.unplayed += 1;
    }

    /// Whether what stands here is about the last move that was played, or about the start.
    fn is_kept(&self) -> bool {
        self.depth == 0 && self.reading.unplayed == 0
    }

    pub(crate) fn nag(&mut self, nag: u8, place: Place) {
        if !self.is_kept() {
            return;
        }
        let game = &mut self.reading.game;
        let Some(last) = game.moves.len().checked_sub(1) else {
            return;
        };
        let nags = &mut game.notes.get_mut(last).nags;
        if nags.len() < NAGS_MAX {
            nags.push(nag);
        } else {
            self.report(place, FaultKind::TooManyNags);
        }
    }

    pub(crate) fn comment(&mut self, comment: Comment<'_>) {
        if !self.is_kept() {
            return;
        }
        self.comments_length += comment.raw.len();
        if self.comments_length > COMMENTS_LENGTH_MAX {
            if !self.has_dropped_comment {
                self.has_dropped_comment = true;
                self.report(comment.place, FaultKind::CommentsTooLong);
            }
            return;
        }
        let mut bad = Vec::new();
        let mut report = |command: &[u8]| {
            if bad.len() < FAULTS_MAX {
                bad.push(quote(command));
            }
        };
        let game = &mut self.reading.game;
        match game.moves.len().checked_sub(1) {
            Some(last) => {
                let note = game.notes.get_mut(last);
                let commands = take_commands(comment.raw, &mut note.comment, &mut report);
                note.clock = commands.clock.or(note.clock);
                note.elapsed = commands.elapsed.or(note.elapsed);
                note.eval = commands.eval.or(note.eval);
            }
            None => {
                let commands = take_commands(comment.raw, &mut game.comment, &mut report);
                game.start_clock = commands.clock.or(game.start_clock);
            }
        }
        for text in bad {
            self.report(comment.place, FaultKind::MalformedCommand { text });
        }
    }

    pub(crate) fn begin_variation(&mut self) {
        self.depth += 1;
    }

    pub(crate) fn end_variation(&mut self) {
        self.depth -= 1;
    }

    pub(crate) fn outcome(&mut self, outcome: Outcome, place: Place) {
        self.marker = Some(outcome);
        self.marker_place = place;
    }

    pub(crate) fn end_game(&mut self, place: Place) {
        self.settle_start();
        self.settle_outcome();
        self.reading.end = place;
        self.is_in_game = false;
    }

    /// Finds the position in which the game began.
    fn settle_start(&mut self) {
        if self.state != State::Unsettled {
            return;
        }
        match self.read_start() {
            Ok(Some(position)) => {
                self.reading.game.start = position;
                self.state = State::Playing;
            }
            Ok(None) => {
                self.reading.game.start.clone_from(&self.usual);
                self.state = State::Playing;
            }
            Err(fault) => {
                self.fault(fault);
                self.reading.game.start.clone_from(&self.usual);
                self.reading.is_start_known = false;
                self.state = State::Broken;
            }
        }
        self.position.clone_from(&self.reading.game.start);
    }

    /// Returns the position of the tags, or `None` where they name none, so that it is the usual
    /// one. Tags that are understood are taken out.
    fn read_start(&mut self) -> Result<Option<Position>, Fault> {
        let tags = &self.reading.game.tags;
        let mode = match tags.get(Tags::VARIANT) {
            None => None,
            Some(name) => Some(castling_mode(name).ok_or_else(|| Fault {
                place: self.variant_place,
                kind: FaultKind::UnsupportedVariant {
                    name: quote(name.as_bytes()),
                },
            })?),
        };
        let is_empty = tags.get(Tags::FEN).is_some_and(|fen| fen.trim().is_empty());
        if is_empty && mode != Some(CastlingMode::Chess960) && tags.get(Tags::SET_UP) != Some("1") {
            let place = self.fen_place;
            self.report(place, FaultKind::EmptyFen);
            self.reading.game.tags.remove(Tags::FEN);
        }
        let tags = &self.reading.game.tags;
        let Some(fen) = tags.get(Tags::FEN) else {
            if mode == Some(CastlingMode::Chess960) {
                return Err(Fault {
                    place: self.variant_place,
                    kind: FaultKind::UnknownStart,
                });
            }
            let tags = &mut self.reading.game.tags;
            tags.remove(Tags::VARIANT);
            tags.remove(Tags::SET_UP);
            return Ok(None);
        };
        let is_contradicted = tags.get(Tags::SET_UP) == Some("0");
        let (position, oddity) = read_fen(fen, mode).map_err(|kind| Fault {
            place: self.fen_place,
            kind,
        })?;
        let place = self.fen_place;
        if is_contradicted {
            self.report(place, FaultKind::SetUpContradictsFen);
        }
        if let Some(kind) = oddity {
            self.report(place, kind);
        }
        let tags = &mut self.reading.game.tags;
        tags.remove(Tags::FEN);
        tags.remove(Tags::VARIANT);
        tags.remove(Tags::SET_UP);
        Ok(Some(position))
    }

    /// Finds the result, from the end of the moves and from the tags.
    fn settle_outcome(&mut self) {
        self.reading.has_marker = self.marker.is_some();
        let tags = &self.reading.game.tags;
        let read = |name: &str| Outcome::read_tag(tags.get(name)?);
        let tag = read(Tags::RESULT);
        let score = read(Tags::SCORE).filter(|outcome| !outcome.is_standard());
        let unread = tags
            .get(Tags::RESULT)
            .filter(|text| tag.is_none() && *text != "?");
        if let Some(text) = unread.map(|text| quote(text.as_bytes())) {
            self.report(self.result_place, FaultKind::UnreadableOutcome { text });
        }
        let outcome = match (tag, self.marker) {
            (None | Some(Outcome::Unknown), marker) => marker.unwrap_or_default(),
            (Some(tag), _) => tag,
        };
        // The score says more than the result, as long as it does not say something else.
        let more = score.filter(|score| score.in_standard() == outcome);
        self.reading.game.outcome = more.unwrap_or(outcome);
        if let (Some(tag), Some(marker)) = (tag, self.marker) {
            // What the standard does not have is rightly followed by what it has for it.
            let is_same = tag == marker || !tag.is_standard() && marker == tag.in_standard();
            if !is_same {
                self.report(
                    self.marker_place,
                    FaultKind::OutcomeMismatch { tag, marker },
                );
            }
        }
        let tags = &mut self.reading.game.tags;
        if tag.is_some() {
            tags.remove(Tags::RESULT);
        }
        if score.is_some_and(|score| score == self.reading.game.outcome) {
            tags.remove(Tags::SCORE);
        }
    }
}

/// Reads a move in any notation that is known.
#[cold]
fn read_leniently(position: &Position, text: &[u8]) -> Result<referee_chess::Move, FaultKind> {
    let quoted = quote(text);
    let text = str::from_utf8(text).unwrap_or(&quoted);
    position.read_move(text).map_err(|error| match error {
        MoveError::Unreadable(UnreadableMove::NullMove) => FaultKind::NullMove { text: quoted },
        MoveError::Unreadable(reason) => FaultKind::UnreadableMove {
            text: quoted,
            reason,
        },
        MoveError::Ambiguous { candidates } => FaultKind::AmbiguousMove {
            text: quoted,
            candidates: candidates.into(),
        },
        MoveError::Illegal(illegal) => FaultKind::IllegalMove {
            text: quoted,
            illegal: Box::new(illegal),
        },
    })
}

/// Returns the rules that a `Variant` tag names, in the spelling of any program.
fn castling_mode(name: &str) -> Option<CastlingMode> {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let plain: String = letters.map(|c| c.to_ascii_lowercase()).take(32).collect();
    match &*plain {
        "" | "standard" | "regular" | "normal" | "chess" | "classical" | "fromposition" => {
            Some(CastlingMode::Standard)
        }
        "chess960" | "960" | "frc" | "fischerandom" | "fischerrandom" | "fischerandomchess"
        | "fischerrandomchess" | "freestyle" | "freestylechess" | "chess9lx" | "fischer" => {
            Some(CastlingMode::Chess960)
        }
        _ => None,
    }
}

/// What a game can begin with: everything that can be played from.
const TOLERANCE: Tolerance = Tolerance {
    impossible_check: true,
    too_much_material: true,
    ..Tolerance::LENIENT
};

/// Reads a FEN, and says what is odd about it.
fn read_fen(
    fen: &str,
    mode: Option<CastlingMode>,
) -> Result<(Position, Option<FaultKind>), FaultKind> {
    let boxed = |error: FenError| FaultKind::InvalidFen {
        error: Box::new(error),
    };
    let given = mode.unwrap_or_default();
    let strict = match Position::from_fen(fen, given) {
        Ok(position) => return Ok((position, None)),
        Err(error) => error,
    };
    // Some programs write the rights of Chess960 and leave out the variant, or call it standard.
    if let Ok(position) = Position::from_fen(fen, CastlingMode::Chess960) {
        return Ok((position, Some(FaultKind::UnnamedChess960)));
    }
    let position = Position::from_fen_with(fen, given, TOLERANCE).map_err(boxed)?;
    let error = Box::new(strict);
    Ok((position, Some(FaultKind::FenRepaired { error })))
}
