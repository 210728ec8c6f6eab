//! The profile of a command line, by its name.

use referee_laws::{PROFILE_NAMES, Profile};

use crate::names::nearest;

/// Returns a profile; an error has the nearest of their names, and all of them once.
pub(super) fn named(name: &str) -> Result<Profile, String> {
    Profile::named(name).map_err(|_| {
        let nearest = nearest(name, PROFILE_NAMES.iter().copied());
        let nearest = nearest.map(|known| format!("; did you mean {known}?"));
        format!(
            "--profile: there is no profile {name:?}{}; there are {}",
            nearest.unwrap_or_default(),
            PROFILE_NAMES.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered() {
        let error = named("lichss").expect_err("there is none of this name");
        assert!(error.contains("did you mean lichess?"), "{error}");
        assert_eq!(error.matches("fide_standard").count(), 1, "{error}");
        let error = named("something_else").expect_err("there is none of this name");
        assert!(!error.contains("did you mean"), "{error}");
    }
}
