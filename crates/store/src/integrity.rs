//! Whether what is stored is what was written: the facet [`Integrity`].

use std::fmt;

use crate::ack::Read;
use crate::games::GameKey;

/// Looks for damage, a part at a time.
pub trait Integrity: Send + Sync {
    /// Checks the next part of the store, behind [`CheckedPart::next`] of the part before, or from
    /// the beginning on with [`CheckFrom::default`]: of every game the chain, the place of each
    /// entry, the index of requests and the counts; then what belongs to no game.
    ///
    /// A part looks at about `entries` entries, at most
    /// [`PAGE_ROWS_MAX`](crate::limits::PAGE_ROWS_MAX), sees one state, and takes memory for one
    /// game's genesis and one entry. What is written meanwhile is no damage.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read; what makes no sense is a finding.
    fn check<'a>(&'a self, from: &'a CheckFrom, entries: usize) -> Read<'a, CheckedPart>;

    /// Lets the engine check its own pages and indexes, and returns at most `limit` of the problems
    /// that it names. It takes as long as reading the whole store, and sees one state.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn check_engine(&self, limit: usize) -> Read<'_, Vec<String>>;
}

/// Where a check goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckFrom {
    /// The games, and then each table of which rows may belong to no game.
    pub(crate) stage: usize,
    /// The last key that was done with.
    pub(crate) after: i64,
    /// How far the game after that was checked.
    pub(crate) within: Option<CheckedUpTo>,
}

/// How far a game was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CheckedUpTo {
    pub(crate) game_id: i64,
    pub(crate) sequence: i64,
    pub(crate) position: i64,
    pub(crate) chain: [u8; 32],
}

/// What a part of a check came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedPart {
    /// The games that were checked to their end.
    pub games: Vec<CheckedGame>,
    /// The entries that were looked at.
    pub entries: u64,
    /// What is wrong.
    pub findings: Vec<DamageFound>,
    /// Where to go on; none at the end.
    pub next: Option<CheckFrom>,
}

/// A game that was checked, with what only its caller can judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedGame {
    /// The game.
    pub key: GameKey,
    /// The sequence of its last entry.
    pub sequence: i64,
    /// Its state for filters.
    pub state: i32,
    /// When it is looked at next, in microseconds since 1970-01-01T00:00:00Z: no later than its
    /// deadline.
    pub due_us: Option<i64>,
}

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamageFound {
    /// The game, where it is one of a game.
    pub key: Option<GameKey>,
    /// What it is.
    pub damage: Damage,
}

/// What can be damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// The genesis is not the one that was stored.
    Genesis,
    /// An entry was changed, or does not follow the one before it.
    Entry {
        /// Its sequence.
        sequence: i64,
    },
    /// An entry is not there, or not where its game has it.
    MissingEntry {
        /// Its sequence.
        sequence: i64,
    },
    /// The request of an entry is not in the index, or leads elsewhere.
    Request {
        /// The sequence of the entry.
        sequence: i64,
    },
    /// The log of the platform does not lead to an entry.
    Unlisted {
        /// The sequence of the entry.
        sequence: i64,
    },
    /// The row of where the game stands is missing or contradicts the entries.
    Head {
        /// What of it.
        what: &'static str,
    },
    /// A count differs from what is there.
    Count {
        /// What is counted.
        what: &'static str,
        /// What the count says.
        counted: i64,
        /// What is there.
        found: i64,
    },
    /// An open question names an entry that did not ask it.
    Question,
    /// A row belongs to nothing.
    Orphan {
        /// The table.
        table: &'static str,
        /// The number of the row or of its game.
        id: i64,
    },
    /// Something cannot be read.
    Unreadable {
        /// What the engine said.
        what: String,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Genesis => f.write_str("the genesis is not the one that was stored"),
            Self::Entry { sequence } => write!(
                f,
                "entry {sequence} was changed, or does not follow the one before it"
            ),
            Self::MissingEntry { sequence } => write!(f, "entry {sequence} is missing"),
            Self::Request { sequence } => {
                write!(f, "the request of entry {sequence} is not where it must be")
            }
            Self::Unlisted { sequence } => {
                write!(f, "the log does not lead to entry {sequence}")
            }
            Self::Head { what } => write!(f, "where the game stands is damaged: {what}"),
            Self::Count {
                what,
                counted,
                found,
            } => write!(
                f,
                "the count of {what} says {counted}, and there are {found}"
            ),
            Self::Question => f.write_str("the open question is of no entry"),
            Self::Orphan { table, id } => write!(f, "row {id} of {table} belongs to nothing"),
            Self::Unreadable { what } => write!(f, "it cannot be read: {what}"),
        }
    }
}

impl fmt::Display for DamageFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{}/{}: {}", key.platform, key.game, self.damage),
            None => self.damage.fmt(f),
        }
    }
}
