//! Writes games in the export format (PGN standard 3.2.1, 8.1 and 8.2).

use core::fmt::{self, Write};

use referee_chess::{CastlingMode, Color, Fen, Move, Position};

use crate::commands::ClockTime;
use crate::limits::LINE_WIDTH_MAX;
use crate::scan::ends_name;
use crate::tags::ROSTER;
use crate::{Game, Tags};

/// Writes a game in the export format: the seven tags that every game has, the others by name,
/// the moves in lines of less than 80 characters, clocks and evaluations as commands in comments,
/// and the result.
///
/// What is read of it is the game that was written, with these exceptions, for which PGN has no
/// room: runs of blanks in comments become one; control characters in the values of tags become
/// blanks; and a tag is left out if its name has blanks, quotes, brackets, braces, parentheses,
/// `;` or `%` in it. A comment with a closing brace is written as one to the
/// end of the line.
///
/// ```
/// use referee_pgn::{GameReader, Item};
///
/// let text = "[Event \"?\"]\n[Site \"?\"]\n[Date \"????.??.??\"]\n[Round \"?\"]\n[White \"A\"]\n\
///             [Black \"B\"]\n[Result \"1-0\"]\n\n1. e4 {[%clk 0:05:00] best} 1... e5 $6 1-0\n";
/// let mut written = String::new();
/// GameReader::new().read_all(text.as_bytes(), &mut |item: Item<'_>| {
///     if let Item::Game(reading) = item {
///         written.push_str(&reading.game.export().to_string());
///     }
/// });
/// assert_eq!(written, text);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Export<'a> {
    game: &'a Game,
}

impl<'a> Export<'a> {
    pub(crate) fn new(game: &'a Game) -> Export<'a> {
        Export { game }
    }

    fn write_tags(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let game = self.game;
        let is_standard = game.outcome.is_standard();
        for (name, unknown) in ROSTER {
            let value = match name {
                Tags::RESULT => game.outcome.in_standard().as_str(),
                _ => game.tags.get(name).unwrap_or(unknown),
            };
            write_tag(f, name, value)?;
        }
        let is_known = |name: &str| ROSTER.iter().any(|(known, _)| *known == name);
        let others = game.tags.iter().filter(|(name, _)| !is_known(name));
        let mut others: Vec<(&str, &str)> = others.collect();
        let fen = Fen(&game.start.to_setup()).to_string();
        let mut set = |name: &'static str, value: &'static str| {
            others.retain(|(other, _)| *other != name);
            others.push((name, value));
        };
        if !is_standard {
            set(Tags::SCORE, game.outcome.as_str());
        }
        let is_chess960 = game.start.castling_mode() == CastlingMode::Chess960;
        if is_chess960 {
            set(Tags::VARIANT, "Chess960");
        }
        if is_chess960 || !game.begins_as_usual() {
            set(Tags::SET_UP, "1");
            others.retain(|(other, _)| *other != Tags::FEN);
            others.push((Tags::FEN, &fen));
        }
        others.sort_unstable_by_key(|(name, _)| *name);
        for (name, value) in others {
            write_tag(f, name, value)?;
        }
        f.write_char('\n')
    }

    fn write_moves(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let game = self.game;
        let mut lines = Lines { f, column: 0 };
        let clock = game
            .start_clock
            .map(|clock| format!("[%clk {}]", ClockTime(clock)));
        lines.comment(clock.as_slice(), &game.comment)?;
        let mut needs_number = true;
        let mut position = game.start.clone();
        let mut commands = Vec::new();
        for (index, &mv) in game.moves.iter().enumerate() {
            let note = game.notes.get(index);
            lines.write_move(&position, mv, &note.nags, needs_number)?;
            commands.clear();
            commands.extend(note.eval.map(|eval| format!("[%eval {eval}]")));
            commands.extend(note.clock.map(|time| format!("[%clk {}]", ClockTime(time))));
            commands.extend(
                note.elapsed
                    .map(|time| format!("[%emt {}]", ClockTime(time))),
            );
            let has_comment = lines.comment(&commands, &note.comment)?;
            needs_number = has_comment || position.turn() == Color::Black;
            position.play_unchecked(mv);
        }
        lines.unit(game.outcome.in_standard().as_str())?;
        f.write_char('\n')
    }
}

impl fmt::Display for Export<'_> {
    /// Writes the game, without a blank line after it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_tags(f)?;
        self.write_moves(f)
    }
}

fn write_tag(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    // No reader could tell where such a name ends.
    let is_readable = |byte: u8| !ends_name(byte) && !byte.is_ascii_control();
    if name.is_empty() || !name.bytes().all(is_readable) {
        return Ok(());
    }
    write!(f, "[{name}")?;
    f.write_str(" \"")?;
    for c in value.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            _ if c.is_control() => f.write_char(' ')?,
            _ => f.write_char(c)?,
        }
    }
    f.write_str("\"]\n")
}

/// Breaks what is written into lines.
struct Lines<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    column: usize,
}

impl Lines<'_, '_> {
    /// Writes what must not be broken, on the next line where this one has no room.
    fn unit(&mut self, text: &str) -> fmt::Result {
        let width = text.chars().count();
        if self.column > 0 && self.column + 1 + width > LINE_WIDTH_MAX {
            self.f.write_char('\n')?;
            self.column = 0;
        } else if self.column > 0 {
            self.f.write_char(' ')?;
            self.column += 1;
        }
        self.column += width;
        self.f.write_str(text)
    }

    fn write_move(
        &mut self,
        position: &Position,
        mv: Move,
        nags: &[u8],
        needs_number: bool,
    ) -> fmt::Result {
        if needs_number || position.turn() == Color::White {
            let dots = match position.turn() {
                Color::White => ".",
                Color::Black => "...",
            };
            self.unit(&format!("{}{dots}", position.fullmove_number()))?;
        }
        self.unit(&position.san(mv).to_string())?;
        for nag in nags {
            self.unit(&format!("${nag}"))?;
        }
        Ok(())
    }

    /// Writes a comment, unless it would be empty, and returns whether it did.
    fn comment(&mut self, commands: &[String], text: &str) -> Result<bool, fmt::Error> {
        let commands = commands.iter().map(String::as_str);
        let words = text.split_ascii_whitespace();
        if text.contains('}') {
            // Not every program reads comments to the end of the line, so clocks are not in one.
            self.brace_comment(&units(commands))?;
            self.line_comment(&units(words))?;
            return Ok(true);
        }
        let units = units(commands.chain(words));
        self.brace_comment(&units)?;
        Ok(!units.is_empty())
    }

    fn brace_comment(&mut self, units: &[String]) -> fmt::Result {
        let mut glued = String::from("{");
        for (index, unit) in units.iter().enumerate() {
            glued.push_str(unit);
            match units.get(index + 1) {
                None => glued.push('}'),
                // At the beginning of a line these would be read as something else.
                Some(next) if next.starts_with(['[', '%', ';']) => {
                    glued.push(' ');
                    continue;
                }
                Some(_) => {}
            }
            self.unit(&glued)?;
            glued.clear();
        }
        Ok(())
    }

    /// Writes a comment that has a closing brace in it on lines of its own.
    fn line_comment(&mut self, units: &[String]) -> fmt::Result {
        if self.column > 0 {
            self.f.write_char('\n')?;
        }
        self.column = 0;
        for unit in units {
            let width = unit.chars().count();
            if self.column > 1 && self.column + 1 + width > LINE_WIDTH_MAX {
                self.f.write_char('\n')?;
                self.column = 0;
            }
            if self.column == 0 {
                self.f.write_char(';')?;
                self.column = 1;
            }
            write!(self.f, " {unit}")?;
            self.column += 1 + width;
        }
        self.f.write_char('\n')?;
        self.column = 0;
        Ok(())
    }
}

/// Joins the words of each command, which must not be broken.
fn units<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    for word in words {
        match units.last_mut() {
            Some(unit) if has_open_command(unit) => {
                unit.push(' ');
                unit.push_str(word);
            }
            _ => units.push(word.to_owned()),
        }
    }
    units
}

fn has_open_command(text: &str) -> bool {
    text.rfind("[%")
        .is_some_and(|start| !text[start..].contains(']'))
}
