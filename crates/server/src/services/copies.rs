//! The folder that copies of the store go to: how many there are, and which are too old to keep.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use time::OffsetDateTime;

use crate::limits;

/// What the name of every copy begins and ends with; between them stands the time.
const PREFIX: &str = "referee-";
const SUFFIX: &str = "Z.db";

/// The folder of copies.
#[derive(Clone, Debug)]
pub(crate) struct Copies {
    folder: PathBuf,
    /// How many copies are kept; without it all are.
    keep: Option<usize>,
}

impl Copies {
    pub(crate) fn new(folder: PathBuf, keep: Option<usize>) -> Copies {
        Copies { folder, keep }
    }

    /// Returns the folder, for the log.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the file of a name.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Counts the files that are there, as far as it matters.
    pub(crate) fn count(&self) -> io::Result<usize> {
        Ok(fs::read_dir(&self.folder)?
            .take(limits::BACKUPS_MAX)
            .count())
    }

    /// Removes the oldest copies, where more are there than are kept; returns their names. Files
    /// with other names are left alone.
    pub(crate) fn prune(&self) -> io::Result<Vec<String>> {
        let Some(keep) = self.keep else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)?.take(limits::BACKUPS_MAX) {
            let name = entry?.file_name().into_string();
            names.extend(name.ok().filter(|name| is_copy(name)));
        }
        // The names sort by time.
        names.sort();
        names.truncate(names.len().saturating_sub(keep));
        for name in &names {
            fs::remove_file(self.file(name))?;
        }
        Ok(names)
    }
}

/// Returns the name of a copy that begins at a time.
pub(crate) fn name_at(time: OffsetDateTime) -> String {
    format!(
        "{PREFIX}{:04}{:02}{:02}T{:02}{:02}{:02}.{:06}{SUFFIX}",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
        time.microsecond()
    )
}

/// Whether a file has the name of a copy.
fn is_copy(name: &str) -> bool {
    let middle = name.strip_prefix(PREFIX);
    let middle = middle.and_then(|rest| rest.strip_suffix(SUFFIX));
    let form = b"00000000T000000.000000";
    middle.is_some_and(|text| {
        text.len() == form.len()
            && text.bytes().zip(form).all(|(byte, wanted)| match wanted {
                b'0' => byte.is_ascii_digit(),
                other => byte == *other,
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_again_and_others_are_not() {
        let name = name_at(OffsetDateTime::UNIX_EPOCH);
        assert_eq!(name, "referee-19700101T000000.000000Z.db");
        assert!(is_copy(&name));
        for other in [
            "referee.db",
            "referee-Z.db",
            "referee-19700101T000000.000000Z.db-wal",
            "referee-19700101 000000.000000Z.db",
            "my-referee-19700101T000000.000000Z.db",
        ] {
            assert!(!is_copy(other), "{other}");
        }
    }
}
