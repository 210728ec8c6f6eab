//! The names that are given on the command line, or made where none is given.

/// Returns the resource name of a game, which may be given without `games/`.
pub(super) fn game(text: &str) -> String {
    match text.contains('/') {
        true => text.to_owned(),
        false => format!("games/{text}"),
    }
}

/// Returns what makes a request safe to repeat: what is given, or one that is new.
pub(super) fn request(given: Option<&str>) -> String {
    given.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned)
}
