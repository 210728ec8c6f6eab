//! Reading the one game of a text.

use core::fmt;

use referee_pgn::{Fault, GameReader, Item, Reading};

/// Why a text is not one game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadOneError {
    /// There is no game in the text.
    NoGame {
        /// The first fault of the text, where it has one.
        stray: Option<Fault>,
    },
    /// There is more than one.
    SeveralGames,
}

impl fmt::Display for ReadOneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGame { stray: None } => f.write_str("has no game in it"),
            Self::NoGame { stray: Some(fault) } => write!(f, "has no game in it; {fault}"),
            Self::SeveralGames => f.write_str("has more than one game; give one at a time"),
        }
    }
}

impl core::error::Error for ReadOneError {}

/// Reads a text that is to be one game. What is wrong with the game stands in its faults.
///
/// # Errors
///
/// Where the text has no game, or more than one.
///
/// ```
/// use referee_review::{ReadOneError, read_one};
///
/// assert!(matches!(read_one(b"1. e4 *\n\n1. d4 *"), Err(ReadOneError::SeveralGames)));
/// assert!(read_one(b"1. e4 *").is_ok_and(|reading| reading.game.moves.len() == 1));
/// ```
pub fn read_one(text: &[u8]) -> Result<Reading, ReadOneError> {
    let mut only: Option<Reading> = None;
    let mut has_more = false;
    let mut stray = None;
    GameReader::new().read_all(text, &mut |item: Item<'_>| match item {
        Item::Game(_) if only.is_some() => has_more = true,
        Item::Game(reading) => only = Some(reading.clone()),
        Item::Stray(fault) => stray = stray.take().or_else(|| Some(fault.clone())),
    });
    match only {
        Some(_) if has_more => Err(ReadOneError::SeveralGames),
        Some(reading) => Ok(reading),
        None => Err(ReadOneError::NoGame { stray }),
    }
}
