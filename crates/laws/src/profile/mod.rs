//! Rule profiles: named sets of the parameters in which federations, sites and houses differ.

mod choices;
mod limits;
mod parameters;
mod table;
mod value;

use core::fmt;
use std::borrow::Cow;

pub use choices::{
    AbortRule, BothFlags, DisconnectRule, DrawRule, FiftyReset, FlagMode, FlagVsOpenOffer,
    IllegalCounts, IllegalPolicy, MateTest, NoStartRule, OfferDeclinedBy, OfferRepeat, OfferWindow,
    PressWithoutMove, PromotionMissing, RapidArticle, RookFirstCastling, Takeback,
    TouchEnforcement, UndeterminedPolicy,
};
pub use parameters::{ParameterError, Parameters};
pub use table::{Origin, PROFILE_NAMES};
pub use value::{Allowed, Points};

/// The chess that is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Variant {
    /// Standard chess.
    #[default]
    Standard,
    /// Chess960 (guidelines II).
    Chess960,
}

/// A named set of rules, as a game is played under it: changes are already made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Profile {
    /// The name of the profile: one of [`PROFILE_NAMES`] where it was resolved today. A game keeps
    /// the name that it was created with, which may be none of them by now.
    pub name: Cow<'static, str>,
    /// The dated edition of the rules that it was read from, when it was resolved.
    pub edition: Cow<'static, str>,
    /// The chess that is played.
    pub variant: Variant,
    /// The parameters in force.
    pub parameters: Parameters,
}

/// No profile has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownProfileError;

impl fmt::Display for UnknownProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no such profile; the profiles are {}",
            PROFILE_NAMES.join(", ")
        )
    }
}

impl core::error::Error for UnknownProfileError {}

/// Why no profile can be made of a name and changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileError {
    /// No profile has the name.
    Name(UnknownProfileError),
    /// Changes that cannot be made, all of them: the place of each in the list, from 0 up, and
    /// what is wrong with it.
    Overrides(Vec<(usize, ParameterError)>),
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileError::Name(error) => error.fmt(f),
            ProfileError::Overrides(errors) => {
                for (number, (index, error)) in errors.iter().enumerate() {
                    let separator = if number == 0 { "" } else { "; " };
                    write!(f, "{separator}change {index}: {error}")?;
                }
                Ok(())
            }
        }
    }
}

impl core::error::Error for ProfileError {}

impl Profile {
    /// Returns the competition rules of the FIDE Laws of Chess.
    #[must_use]
    pub fn fide_standard() -> Profile {
        Profile::named("fide_standard").expect("the table has every profile that is named here")
    }

    /// Returns the profile with a name; the empty name is that of `fide_standard`.
    ///
    /// # Errors
    ///
    /// Where no profile has the name.
    pub fn named(name: &str) -> Result<Profile, UnknownProfileError> {
        let section = find(name)?;
        Ok(Profile {
            name: section.name.into(),
            edition: section.edition.into(),
            variant: Variant::Standard,
            parameters: section.parameters,
        })
    }

    /// Returns the profile with a name, played as `variant` and with parameters changed. Where the
    /// same parameter is changed twice, the later change holds.
    ///
    /// In `fide_rapid` and `fide_blitz` other parameters depend on `rapid_article`, such as the
    /// time in which an illegal move can be corrected (A.5.2). Changing it changes those as well,
    /// except for those that are among the changes themselves; so a full list of changes, as
    /// [`Parameters::get`] gives it, brings back exactly the same parameters.
    ///
    /// ```
    /// use referee_laws::{Profile, Variant};
    ///
    /// let supervised = [("rapid_article", "A.4")];
    /// let blitz = Profile::resolve("fide_blitz", Variant::Standard, &supervised)?;
    /// assert_eq!(blitz.parameters.illegal_window_moves, 0);
    /// assert_eq!(blitz.parameters.illegal_penalty_ms, 120_000);
    /// # Ok::<(), referee_laws::ProfileError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where no profile has the name, or changes name no parameter, no value that it can have, or
    /// one that the profile does not let be changed; all such changes are listed.
    pub fn resolve(
        name: &str,
        variant: Variant,
        overrides: &[(&str, &str)],
    ) -> Result<Profile, ProfileError> {
        let section = find(name).map_err(ProfileError::Name)?;
        let rapid_article = overrides
            .iter()
            .rev()
            .find(|(parameter, _)| *parameter == "rapid_article");
        let mut parameters = match rapid_article {
            Some((_, article)) => section.parameters_under(article),
            None => section.parameters,
        };
        let mut errors = Vec::new();
        for (index, (parameter, value)) in overrides.iter().enumerate() {
            let set = parameters.set(parameter, value);
            let checked = set.and_then(|()| section.check_fixed(parameter, &parameters));
            if let Err(error) = checked {
                errors.push((index, error));
            }
        }
        if !errors.is_empty() {
            return Err(ProfileError::Overrides(errors));
        }
        Ok(Profile {
            name: section.name.into(),
            edition: section.edition.into(),
            variant,
            parameters,
        })
    }

    /// Returns where each parameter of the profile with a name comes from, in the order of
    /// [`Parameters::NAMES`].
    ///
    /// ```
    /// use referee_laws::Profile;
    ///
    /// let origins = Profile::origins("lichess")?;
    /// let fifty = origins.iter().find(|origin| origin.parameter == "fifty");
    /// assert_eq!(fifty.map(|origin| origin.value), Some("automatic"));
    /// # Ok::<(), referee_laws::UnknownProfileError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where no profile has the name.
    pub fn origins(name: &str) -> Result<&'static [Origin], UnknownProfileError> {
        Ok(&find(name)?.origins)
    }
}

impl Default for Profile {
    fn default() -> Profile {
        Profile::fide_standard()
    }
}

fn find(name: &str) -> Result<&'static table::Section, UnknownProfileError> {
    let name = if name.is_empty() {
        "fide_standard"
    } else {
        name
    };
    table::section(name).ok_or(UnknownProfileError)
}
