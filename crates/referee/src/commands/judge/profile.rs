//! The profile of a command line, by its name.

use referee_laws::{PROFILE_NAMES, Profile};

use crate::limits::NAME_CHANGES_MAX;

/// Returns a profile; an error has the nearest of their names, and all of them once.
pub(super) fn named(name: &str) -> Result<Profile, String> {
    Profile::named(name).map_err(|_| {
        let nearest = PROFILE_NAMES
            .iter()
            .map(|known| (distance(name, known), known))
            .min()
            .filter(|&(distance, _)| distance <= NAME_CHANGES_MAX)
            .map(|(_, known)| format!("; did you mean {known}?"));
        format!(
            "--profile: there is no profile {name:?}{}; there are {}",
            nearest.unwrap_or_default(),
            PROFILE_NAMES.join(", ")
        )
    })
}

/// Returns how many letters have to be put in, taken out or changed to make one text of another.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (at, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = changed.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("lichss", "lichess"), 1);
        let error = named("lichss").expect_err("there is none of this name");
        assert!(error.contains("did you mean lichess?"), "{error}");
        assert_eq!(error.matches("fide_standard").count(), 1, "{error}");
        let error = named("something_else").expect_err("there is none of this name");
        assert!(!error.contains("did you mean"), "{error}");
    }
}
