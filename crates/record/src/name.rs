//! The resource names of games.

use crate::error::Error;
use crate::fields::Fields;
use crate::limits;

/// What the resource name of a game begins with.
const COLLECTION: &str = "games/";

/// Returns the resource name of a game.
///
/// ```
/// assert_eq!(referee_record::resource_name("board-1"), "games/board-1");
/// ```
#[must_use]
pub fn resource_name(id: &str) -> String {
    format!("{COLLECTION}{id}")
}

/// Returns the id in the resource name of a game; `None` where the name is of something else.
pub(crate) fn id_of(name: &str) -> Option<&str> {
    name.strip_prefix(COLLECTION)
}

/// Reads the resource name of a game, and returns its id.
///
/// ```
/// use referee_record::read_name;
///
/// assert_eq!(read_name("name", "games/board-1")?, "board-1");
/// assert!(read_name("name", "players/board-1").is_err());
/// # Ok::<(), referee_record::Error>(())
/// ```
///
/// # Errors
///
/// Where it is no such name.
pub fn read_name(field: &str, name: &str) -> Result<String, Error> {
    let mut fields = Fields::default();
    fields.length(field, name, limits::GAME_NAME_BYTES_MAX);
    let id = id_of(name).filter(|id| {
        !id.is_empty()
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    });
    if id.is_none() {
        fields.refuse(
            field,
            "must be the resource name of a game, such as games/board-1",
        );
    }
    fields.finish()?;
    Ok(id.unwrap_or_default().to_owned())
}

/// Checks the id that a game is to be created with.
pub(crate) fn check_game_id(id: &str, fields: &mut Fields) {
    fields.length("game_id", id, limits::GAME_ID_BYTES_MAX);
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = id.bytes().all(|byte| is_letter(byte) || byte == b'-')
        && !id.starts_with('-')
        && !id.ends_with('-');
    if !fits {
        fields.refuse(
            "game_id",
            "must be of lower-case letters, digits and hyphens, and begin and end with a letter \
             or digit",
        );
    }
}
