//! Whose certificates are: a file that maps subjects to principals, read again when it changes.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use referee_api::v1;
use referee_store::TokenScope;

use super::principal::{Principal, is_platform};
use super::role::{Role, Roles};
use super::table;
use crate::files::{FileFault, Stamp, read_file};
use crate::limits;

/// Why a file of subjects cannot be used.
#[derive(Debug)]
pub enum SubjectsError {
    /// It cannot be read.
    File(FileFault),
    /// A line of it makes no sense.
    Line {
        /// Its number, from 1.
        number: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl fmt::Display for SubjectsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(fault) => fault.fmt(f),
            Self::Line { number, reason } => write!(
                f,
                "line {number}: {reason}; expected is SUBJECT ROLE PLATFORM PRINCIPAL, such as \
                 uri:spiffe://example.org/club platform default club, and for arbiters and \
                 spectators perhaps a label KEY=VALUE"
            ),
        }
    }
}

impl std::error::Error for SubjectsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(fault) => Some(fault),
            Self::Line { .. } => None,
        }
    }
}

/// The principals of certificates, by their subjects.
#[derive(Clone)]
pub struct Subjects(Arc<Inner>);

struct Inner {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    stamp: Option<Stamp>,
    rules: HashMap<String, Rule>,
}

/// What a subject stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    role: Role,
    platform: String,
    principal: String,
    scope: TokenScope,
}

impl fmt::Debug for Subjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subjects").field(&self.0.path).finish()
    }
}

impl Subjects {
    /// Reads a file: a line for each subject, with its role, its platform, its principal, and
    /// perhaps what it is confined to. Lines that begin with `#` say nothing.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, or a line makes no sense.
    pub fn open(path: &Path) -> Result<Subjects, SubjectsError> {
        let stamp = Stamp::of(path);
        let rules = read(path)?;
        Ok(Subjects(Arc::new(Inner {
            path: path.to_owned(),
            state: Mutex::new(State { stamp, rules }),
        })))
    }

    /// Reads the file again where what its name leads to has changed. One that cannot be used
    /// leaves that of before in force, and says so.
    pub(crate) fn look_again(&self) {
        let stamp = Stamp::of(&self.0.path);
        if self.state().stamp == stamp {
            return;
        }
        let read = read(&self.0.path);
        let mut state = self.state();
        state.stamp = stamp;
        match read {
            Ok(rules) => {
                tracing::info!(
                    subjects = rules.len(),
                    "the file of subjects was read again"
                );
                state.rules = rules;
            }
            Err(error) => {
                let path = self.0.path.display();
                tracing::error!(%path, %error, "the file of subjects is not used; the old one is");
            }
        }
    }

    /// Returns who has a certificate with one of these names, such as `uri:spiffe://a/b` and
    /// `cn:hall`, of which the first that is known counts.
    pub(crate) fn principal(&self, names: &[String], expire_us: i64) -> Option<Principal> {
        let state = self.state();
        let found = names
            .iter()
            .find_map(|name| Some((name, state.rules.get(name)?)));
        let (name, rule) = found?;
        Some(Principal {
            id: rule.principal.as_str().into(),
            platform: rule.platform.as_str().into(),
            roles: Roles::of(&[rule.role]),
            scope: rule.scope.clone(),
            credential: name.as_str().into(),
            expire_us: Some(expire_us),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is an assignment that does not fail halfway.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &Path) -> Result<HashMap<String, Rule>, SubjectsError> {
    let bytes = read_file(path, limits::SUBJECTS_FILE_BYTES_MAX).map_err(SubjectsError::File)?;
    let text = String::from_utf8(bytes).map_err(|_| SubjectsError::File(FileFault::NotText))?;
    let mut rules = HashMap::new();
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first().is_none_or(|word| word.starts_with('#')) {
            continue;
        }
        let at = |reason| SubjectsError::Line {
            number: index + 1,
            reason,
        };
        let (subject, rule) = read_rule(&words).map_err(at)?;
        if rules.insert(subject, rule).is_some() {
            return Err(at("the subject stands there twice"));
        }
    }
    Ok(rules)
}

fn read_rule(words: &[&str]) -> Result<(String, Rule), &'static str> {
    let (&[subject, role, platform, principal], rest) = words
        .split_first_chunk::<4>()
        .ok_or("something is missing")?;
    let is_subject = ["uri:", "dns:", "cn:"]
        .iter()
        .any(|kind| subject.len() > kind.len() && subject.starts_with(kind));
    if !is_subject {
        return Err("the subject begins with none of uri:, dns: and cn:");
    }
    let role = Role::named(role).ok_or("there is no such role")?;
    if !is_platform(platform) {
        return Err("that is no name of a platform");
    }
    let is_name = principal.len() <= limits::PRINCIPAL_BYTES_MAX
        && principal.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_name {
        return Err("that is no name of a principal");
    }
    let scope = match rest {
        [] if role != Role::Player => TokenScope::Platform,
        [scope] if table::is_confined(role) => read_scope(role, scope)?,
        _ => return Err("what it is confined to does not fit the role"),
    };
    let rule = Rule {
        role,
        platform: platform.to_owned(),
        principal: principal.to_owned(),
        scope,
    };
    Ok((subject.to_owned(), rule))
}

/// Reads what a subject is confined to: `KEY=VALUE`, `games/ID`, or for a player `games/ID:white`.
fn read_scope(role: Role, text: &str) -> Result<TokenScope, &'static str> {
    let wrong = "what it is confined to is none of KEY=VALUE, games/ID and, for players, \
                 games/ID:white and games/ID:black";
    let Some(name) = text.strip_prefix("games/") else {
        let (key, value) = text.split_once('=').ok_or(wrong)?;
        let fits = role != Role::Player
            && (1..=limits::LABEL_KEY_BYTES_MAX).contains(&key.len())
            && value.len() <= limits::LABEL_VALUE_BYTES_MAX;
        return fits
            .then(|| TokenScope::Label {
                key: key.to_owned(),
                value: value.to_owned(),
            })
            .ok_or(wrong);
    };
    let (game, seat) = match (role, name.split_once(':')) {
        (Role::Player, Some((game, "white"))) => (game, v1::Seat::White),
        (Role::Player, Some((game, "black"))) => (game, v1::Seat::Black),
        (Role::Player, _) | (_, Some(_)) => return Err(wrong),
        (_, None) => (name, v1::Seat::Unspecified),
    };
    if game.is_empty() || game.len() > limits::GAME_ID_BYTES_MAX {
        return Err(wrong);
    }
    Ok(TokenScope::Game {
        game: game.to_owned(),
        seat: i64::from(seat as i32),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# who\n\
        uri:spiffe://example.org/club platform default club\n\
        \n\
        cn:hall arbiter default hall event=open\n\
        cn:anna player default anna games/board-1:white\n";

    #[test]
    fn subjects_stand_for_principals() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("subjects");
        std::fs::write(&path, TEXT).expect("it is written");
        let subjects = Subjects::open(&path).expect("it is read");
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let find = |list: &[&str]| {
            let names: Vec<String> = names(list);
            subjects.principal(&names, 7)
        };
        let club = find(&["uri:spiffe://example.org/club", "cn:hall"]).expect("it is known");
        assert_eq!((&*club.id, club.expire_us), ("club", Some(7)));
        assert!(club.roles.has(Role::Platform) && !club.roles.has(Role::Operator));
        let anna = find(&["uri:spiffe://nobody", "cn:anna"]).expect("it is known");
        assert_eq!(anna.seat(), Some(v1::Seat::White));
        assert!(find(&["cn:boris", "dns:hall"]).is_none());
        // What is changed counts, and what is broken does not.
        std::fs::write(&path, "cn:boris platform default boris\n").expect("it is written");
        subjects.look_again();
        assert!(find(&["cn:boris"]).is_some() && find(&["cn:hall"]).is_none());
        std::fs::write(&path, "cn:boris king default boris now\n").expect("it is written");
        subjects.look_again();
        assert!(find(&["cn:boris"]).is_some());
    }

    #[test]
    fn lines_that_make_no_sense_are_named() {
        for line in [
            "cn:a platform default",
            "a platform default a",
            "cn: platform default a",
            "cn:a king default a",
            "cn:a platform Default a",
            "cn:a platform default a event=open",
            "cn:a player default a",
            "cn:a player default a games/b",
            "cn:a player default a event=open",
            "cn:a arbiter default a games/b:white",
            "cn:a arbiter default a open",
            "cn:a arbiter default a =open",
            "cn:a arbiter default a event=open more",
        ] {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert!(read_rule(&words).is_err(), "{line}");
        }
    }
}
