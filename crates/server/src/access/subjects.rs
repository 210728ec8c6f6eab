//! Whose certificates are: a file that maps subjects to principals, read again when it changes.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::followed::Followed;
use super::grant::Grant;
use super::principal::Principal;
use super::role::Role;
use crate::files::{FileFault, read_file};
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
pub struct Subjects(Arc<Followed<Rules>>);

/// What subjects stand for.
type Rules = HashMap<String, Grant>;

impl fmt::Debug for Subjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subjects")
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
        let path = path.to_owned();
        let followed = Followed::open("--client-principals", move |seen| {
            seen.note(&path);
            read(&path)
        })?;
        Ok(Subjects(Arc::new(followed)))
    }

    /// Reads the file again where what its name leads to has changed.
    pub(crate) fn look_again(&self) {
        self.0.look_again();
    }

    /// Returns who has a certificate with one of these names, such as `uri:spiffe://a/b` and
    /// `cn:hall`, of which the first that is known counts.
    pub(crate) fn principal(&self, names: &[String], expire_us: i64) -> Option<Principal> {
        let rules = self.0.value();
        let found = names.iter().find_map(|name| Some((name, rules.get(name)?)));
        let (name, grant) = found?;
        Some(grant.principal(name, Some(expire_us)))
    }
}

fn read(path: &Path) -> Result<Rules, SubjectsError> {
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
        let (subject, grant) = read_rule(&words).map_err(at)?;
        if rules.insert(subject, grant).is_some() {
            return Err(at("the subject stands there twice"));
        }
    }
    Ok(rules)
}

fn read_rule(words: &[&str]) -> Result<(String, Grant), &'static str> {
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
    let scope = match rest {
        [] => None,
        [scope] => Some(*scope),
        _ => return Err("there is more than is expected"),
    };
    let grant = Grant::read(role, platform, principal, scope)?;
    Ok((subject.to_owned(), grant))
}

#[cfg(test)]
mod tests {
    use referee_api::v1;

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
