//! What judges: the version of this program, the revision of its rules, and the edition of a game.

use referee_api::v1;
use referee_laws::Profile;

/// The version of this program, such as `0.1.0`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The revision of what judges: the first 12 hexadecimal digits of the SHA-256 of the sources of
/// `chess`, `mate`, `laws` and `record` and of the contract, as the build script computes it. It
/// needs no version control, and two builds with the same revision rule alike.
///
/// ```
/// let revision = referee_record::REVISION;
/// assert_eq!(revision.len(), 12);
/// assert!(revision.bytes().all(|byte| byte.is_ascii_hexdigit()));
/// ```
pub const REVISION: &str = env!("REFEREE_JUDGE_REVISION");

/// Writes what judges a game under a profile: this program, by the edition of the profile.
pub(crate) fn write_judge(profile: &Profile) -> v1::Judge {
    v1::Judge {
        referee_version: VERSION.to_owned(),
        edition: profile.edition.to_string(),
        revision: REVISION.to_owned(),
    }
}
