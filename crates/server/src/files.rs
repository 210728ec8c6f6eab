//! Files that settings name: read whole, within bounds, and known again after they were replaced.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What everybody on a machine may do with a file: read, write, run it.
const EVERYBODY: u32 = 0o007;

/// Why a file cannot be used.
#[derive(Debug)]
pub enum FileFault {
    /// The system does not give it.
    Unreadable(io::Error),
    /// It is longer than such files may be.
    TooLong {
        /// The most bytes.
        limit: usize,
    },
    /// It holds a secret, and every user of the machine may use it.
    Exposed {
        /// The permissions that it has.
        mode: u32,
    },
    /// It holds bytes that are no text.
    NotText,
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => error.fmt(f),
            Self::TooLong { limit } => write!(f, "it is longer than {limit} bytes"),
            Self::Exposed { mode } => write!(
                f,
                "it holds a secret, and every user of this machine may use it (mode {mode:04o}); \
                 change that with `chmod 600`, or `chmod 640` where a group is to read it"
            ),
            Self::NotText => f.write_str("it holds bytes that are no text"),
        }
    }
}

impl std::error::Error for FileFault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for FileFault {
    fn from(error: io::Error) -> FileFault {
        FileFault::Unreadable(error)
    }
}

/// Reads a file of at most `limit` bytes.
///
/// # Errors
///
/// Where the system does not give it, or it is longer.
pub fn read_file(path: &Path, limit: usize) -> Result<Vec<u8>, FileFault> {
    read(File::open(path)?, limit)
}

/// Reads a file that holds a secret, of at most `limit` bytes.
///
/// A file that every user of the machine may read or write is refused: its secret is none. A group
/// may read it, since that is how Kubernetes gives a secret to a process that is not root (mode
/// 0440, owner root, the group of the pod).
///
/// # Errors
///
/// Where the system does not give it, it is longer, everybody may use it, or it is no text.
pub fn read_secret(path: &Path, limit: usize) -> Result<String, FileFault> {
    let file = File::open(path)?;
    let mode = file.metadata()?.mode();
    if mode & EVERYBODY != 0 {
        return Err(FileFault::Exposed {
            mode: mode & 0o7777,
        });
    }
    String::from_utf8(read(file, limit)?).map_err(|_| FileFault::NotText)
}

fn read(file: File, limit: usize) -> Result<Vec<u8>, FileFault> {
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(FileFault::TooLong { limit });
    }
    Ok(bytes)
}

/// What the name of a file leads to at a moment. Two that are equal stand for the same content.
///
/// Kubernetes replaces the files of a secret by a symbolic link on the way to them, which leaves
/// the name, and the link in its place, as they were; hence all that the name leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The file behind all symbolic links.
    path: PathBuf,
    device: u64,
    inode: u64,
    bytes: u64,
    /// When it was written, in seconds and nanoseconds.
    written: (i64, i64),
    /// When it was changed in any way, the same.
    changed: (i64, i64),
}

impl Stamp {
    /// Looks at what a name leads to; `None` where it leads to nothing.
    #[must_use]
    pub fn of(path: &Path) -> Option<Stamp> {
        let path = path.canonicalize().ok()?;
        let metadata = fs::metadata(&path).ok()?;
        Some(Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            written: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            path,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
    }

    #[test]
    fn a_secret_is_its_owners_and_a_groups_at_most() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secret");
        fs::write(&path, "s").expect("it is written");
        for mode in [0o600, 0o400, 0o440, 0o640, 0o660] {
            chmod(&path, mode);
            assert_eq!(read_secret(&path, 1).expect("it is read"), "s", "{mode:o}");
        }
        for mode in [0o644, 0o604, 0o602, 0o601, 0o777] {
            chmod(&path, mode);
            let fault = read_secret(&path, 1).expect_err("everybody may");
            let said = fault.to_string();
            assert!(said.contains(&format!("{mode:04o}")), "{said}");
            assert!(said.contains("chmod 600"), "{said}");
        }
        // What counts is the file, not the link that leads to it.
        let link = folder.path().join("link");
        symlink(&path, &link).expect("it is linked");
        chmod(&path, 0o604);
        let fault = read_secret(&link, 1).expect_err("everybody may");
        assert!(matches!(fault, FileFault::Exposed { mode: 0o604 }));
        chmod(&path, 0o400);
        assert_eq!(read_secret(&link, 1).expect("it is read"), "s");
    }

    #[test]
    fn no_more_is_read_than_the_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, "12345").expect("it is written");
        assert_eq!(read_file(&path, 5).expect("it fits"), b"12345");
        let fault = read_file(&path, 4).expect_err("it is longer");
        assert!(matches!(fault, FileFault::TooLong { limit: 4 }));
        let endless = read_file(Path::new("/dev/zero"), 4).expect_err("it has no end");
        assert!(matches!(endless, FileFault::TooLong { limit: 4 }));
        chmod(&path, 0o600);
        fs::write(&path, b"\xff").expect("it is written");
        assert!(matches!(read_secret(&path, 4), Err(FileFault::NotText)));
    }

    #[test]
    fn a_link_that_is_swapped_changes_what_its_names_lead_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["1", "2"] {
            fs::create_dir(at(name)).expect("a folder");
            fs::write(at(name).join("tls.key"), "the same").expect("it is written");
        }
        symlink("1", at("..data")).expect("it is linked");
        symlink("..data/tls.key", at("tls.key")).expect("it is linked");
        let before = Stamp::of(&at("tls.key")).expect("it is there");
        assert_eq!(Stamp::of(&at("tls.key")), Some(before.clone()));
        symlink("2", at("..new")).expect("it is linked");
        fs::rename(at("..new"), at("..data")).expect("it is swapped");
        assert_ne!(Stamp::of(&at("tls.key")), Some(before));
        fs::remove_file(at("..data")).expect("it is ours");
        assert_eq!(Stamp::of(&at("tls.key")), None);
    }
}
