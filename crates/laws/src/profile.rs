//! Rule profiles: the parameters in which federations, sites and houses differ.

use core::fmt;

use crate::articles::EDITION;

/// The names of the profiles that are known.
pub const PROFILE_NAMES: &[&str] = &["fide_standard"];

/// Whether a draw has to be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DrawRule {
    /// A player has to claim it.
    Claim,
    /// The referee ends the game without a claim.
    Automatic,
}

/// The chess that is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Variant {
    /// Standard chess.
    #[default]
    Standard,
    /// Chess960 (guidelines II).
    Chess960,
}

/// The parameters of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// The number of moves that each side must have made before the players can agree to a draw
    /// (5.2.3, 9.1.1). At most [`Parameters::MIN_MOVES_FOR_AGREEMENT_MAX`].
    pub min_moves_for_agreement: u32,
    /// What the third occurrence of a position means (9.2).
    pub threefold: DrawRule,
    /// What fifty moves of each side without a capture or a pawn move mean (9.3).
    pub fifty: DrawRule,
    /// Whether the fifth occurrence of a position ends the game (9.6.1).
    pub fivefold: bool,
    /// Whether seventy-five moves of each side without a capture or a pawn move end it (9.6.2).
    pub seventy_five: bool,
    /// Whether a resignation draws where the opponent cannot mate (5.1.2).
    pub resign_no_mate_draw: bool,
}

impl Parameters {
    /// The greatest number of moves before which agreement can be forbidden.
    pub const MIN_MOVES_FOR_AGREEMENT_MAX: u32 = 200;
}

/// A named set of rules, as a game is played under it: changes are already made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Profile {
    /// The name of the profile, one of [`PROFILE_NAMES`].
    pub name: &'static str,
    /// The dated edition of the rules that it was read from.
    pub edition: &'static str,
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

impl Profile {
    /// Returns the competition rules of the FIDE Laws of Chess.
    #[must_use]
    pub const fn fide_standard() -> Profile {
        Profile {
            name: "fide_standard",
            edition: EDITION,
            variant: Variant::Standard,
            parameters: Parameters {
                min_moves_for_agreement: 1,
                threefold: DrawRule::Claim,
                fifty: DrawRule::Claim,
                fivefold: true,
                seventy_five: true,
                resign_no_mate_draw: true,
            },
        }
    }

    /// Returns the profile with a name; the empty name is that of `fide_standard`.
    ///
    /// # Errors
    ///
    /// Where no profile has the name.
    pub fn named(name: &str) -> Result<Profile, UnknownProfileError> {
        match name {
            "" | "fide_standard" => Ok(Profile::fide_standard()),
            _ => Err(UnknownProfileError),
        }
    }
}

impl Default for Profile {
    fn default() -> Profile {
        Profile::fide_standard()
    }
}
