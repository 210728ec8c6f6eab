//! Names that were typed wrong, and those that were meant.

use crate::limits::NAME_CHANGES_MAX;

/// Returns the known name that is nearest to what was typed, if any is near.
pub(crate) fn nearest<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let known = known.into_iter();
    let nearest = known.map(|known| (distance(typed, known), known)).min()?;
    (nearest.0 <= NAME_CHANGES_MAX).then_some(nearest.1)
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
    fn distances_are_those_of_single_letters() {
        assert_eq!(distance("", "fide"), 4);
        assert_eq!(distance("fide", "fide"), 0);
        assert_eq!(distance("fdie", "fide"), 2);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("lichss", "lichess"), 1);
    }

    #[test]
    fn a_name_that_is_near_none_has_none() {
        let known = ["REFEREE_LISTEN", "REFEREE_STORE"];
        assert_eq!(nearest("REFEREE_LISTN", known), Some("REFEREE_LISTEN"));
        assert_eq!(nearest("REFEREE_ELEPHANT", known), None);
        assert_eq!(nearest("REFEREE_LISTEN", []), None);
    }
}
