//! The tags of a game.

use core::fmt;
use core::ops::Range;

/// The seven tags that every game has, in their order (PGN standard 8.1.1), with what is written
/// where one is not known.
pub(crate) const ROSTER: [(&str, &str); 7] = [
    ("Event", "?"),
    ("Site", "?"),
    ("Date", "????.??.??"),
    ("Round", "?"),
    ("White", "?"),
    ("Black", "?"),
    ("Result", "*"),
];

/// The tags of a game, in the order in which they came. Each name is there once.
///
/// ```
/// use referee_pgn::Tags;
///
/// let mut tags = Tags::new();
/// tags.set(Tags::WHITE, "Anna");
/// tags.set(Tags::WHITE, "Boris");
/// assert_eq!(tags.get("White"), Some("Boris"));
/// assert_eq!(tags.iter().collect::<Vec<_>>(), [("White", "Boris")]);
/// ```
#[derive(Clone, Default)]
pub struct Tags {
    /// All names and values, one after the other, so that a game needs one piece of memory.
    text: String,
    pairs: Vec<Pair>,
}

#[derive(Clone)]
struct Pair {
    name: Range<usize>,
    value: Range<usize>,
}

impl Tags {
    /// The name of the tournament or match.
    pub const EVENT: &'static str = "Event";
    /// Where it was played.
    pub const SITE: &'static str = "Site";
    /// When the game began, `YYYY.MM.DD`, with question marks for what is not known.
    pub const DATE: &'static str = "Date";
    /// The round.
    pub const ROUND: &'static str = "Round";
    /// The player of White.
    pub const WHITE: &'static str = "White";
    /// The player of Black.
    pub const BLACK: &'static str = "Black";
    /// The result.
    pub const RESULT: &'static str = "Result";
    /// A score that the PGN standard does not have, such as `0-0` or `+/-`; `Result` is what it has
    /// for that, `*` or `1-0`.
    pub const SCORE: &'static str = "Score";
    /// `1` where the game began in the position of `FEN`.
    pub const SET_UP: &'static str = "SetUp";
    /// The position in which the game began.
    pub const FEN: &'static str = "FEN";
    /// The rules, where they are not those of standard chess.
    pub const VARIANT: &'static str = "Variant";
    /// How the game ended: `normal`, `time forfeit`, `adjudication`, ... (PGN standard 9.8.1).
    pub const TERMINATION: &'static str = "Termination";
    /// The time control (PGN standard 9.6.1).
    pub const TIME_CONTROL: &'static str = "TimeControl";

    /// Returns no tags.
    #[must_use]
    pub fn new() -> Tags {
        Tags::default()
    }

    /// Returns the value of a tag.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let pair = self
            .pairs
            .iter()
            .find(|pair| &self.text[pair.name.clone()] == name)?;
        Some(&self.text[pair.value.clone()])
    }

    /// Sets the value of a tag, in the place of the one that is there.
    pub fn set(&mut self, name: &str, value: &str) {
        let start = self.text.len();
        self.text.push_str(value);
        let value = start..self.text.len();
        let text = &self.text;
        match self
            .pairs
            .iter_mut()
            .find(|pair| &text[pair.name.clone()] == name)
        {
            Some(pair) => pair.value = value,
            None => {
                let start = self.text.len();
                self.text.push_str(name);
                let name = start..self.text.len();
                self.pairs.push(Pair { name, value });
            }
        }
    }

    /// Removes a tag, and returns whether it was there.
    pub fn remove(&mut self, name: &str) -> bool {
        let text = &self.text;
        let before = self.pairs.len();
        self.pairs.retain(|pair| &text[pair.name.clone()] != name);
        self.pairs.len() < before
    }

    /// Removes all tags, and keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.pairs.clear();
    }

    /// Returns the number of tags.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Returns the tags with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|pair| {
            (
                &self.text[pair.name.clone()],
                &self.text[pair.value.clone()],
            )
        })
    }

    /// Adds a tag that is not there yet.
    pub(crate) fn push(&mut self, name: &str, value: &str) {
        let start = self.text.len();
        self.text.push_str(name);
        let middle = self.text.len();
        self.text.push_str(value);
        self.pairs.push(Pair {
            name: start..middle,
            value: middle..self.text.len(),
        });
    }
}

impl PartialEq for Tags {
    /// The order of tags carries no meaning (PGN standard 8.1).
    fn eq(&self, other: &Tags) -> bool {
        let has_same = |(name, value)| other.get(name) == Some(value);
        self.len() == other.len() && self.iter().all(has_same)
    }
}

impl Eq for Tags {}

impl fmt::Debug for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
