//! What files say, read again when they change. What cannot be used leaves that of before in force.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::files::Stamp;

/// The files that were read, and what their names led to.
#[derive(Debug, Default)]
pub(super) struct Seen(Vec<(PathBuf, Option<Stamp>)>);

impl Seen {
    /// Notes a file that is about to be read: one that is replaced meanwhile is read again.
    pub(super) fn note(&mut self, path: &Path) {
        self.0.push((path.to_owned(), Stamp::of(path)));
    }

    fn has_changed(&self) -> bool {
        self.0.iter().any(|(path, stamp)| Stamp::of(path) != *stamp)
    }
}

type Reader<T> = Box<dyn Fn(&mut Seen) -> Result<T, String> + Send + Sync>;

/// What files say.
pub(super) struct Followed<T> {
    /// What the files are, for the log.
    what: &'static str,
    read: Reader<T>,
    state: Mutex<State<T>>,
}

struct State<T> {
    seen: Seen,
    value: Arc<T>,
    /// How often what the files say was replaced.
    generation: u64,
}

impl<T> Followed<T> {
    /// Reads files by a function that notes each of them before it reads it.
    ///
    /// # Errors
    ///
    /// Those of the function.
    pub(super) fn open<E: Display + 'static>(
        what: &'static str,
        read: impl Fn(&mut Seen) -> Result<T, E> + Send + Sync + 'static,
    ) -> Result<Followed<T>, E> {
        let mut seen = Seen::default();
        let value = Arc::new(read(&mut seen)?);
        Ok(Followed {
            what,
            read: Box::new(move |seen| read(seen).map_err(|error| error.to_string())),
            state: Mutex::new(State {
                seen,
                value,
                generation: 0,
            }),
        })
    }

    /// Returns what the files say.
    pub(super) fn value(&self) -> Arc<T> {
        Arc::clone(&self.state().value)
    }

    /// Returns what the files say, and how often that was replaced.
    pub(super) fn value_and_generation(&self) -> (Arc<T>, u64) {
        let state = self.state();
        (Arc::clone(&state.value), state.generation)
    }

    /// Reads the files again where what their names lead to has changed, which blocks. What cannot
    /// be used leaves that of before in force, and the log says so.
    pub(super) fn look_again(&self) {
        if !self.state().seen.has_changed() {
            return;
        }
        let mut seen = Seen::default();
        let read = (self.read)(&mut seen);
        let what = self.what;
        let mut state = self.state();
        state.seen = seen;
        match read {
            Ok(value) => {
                state.value = Arc::new(value);
                state.generation += 1;
                tracing::info!(what, "files were read again, and count from now on");
            }
            Err(error) => tracing::error!(
                what,
                error,
                "files changed and cannot be used: what was read before stays in force"
            ),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        // Every change is an assignment that does not fail halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_changes_counts_and_what_is_broken_does_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        fs::write(&one, "1").expect("it is written");
        fs::write(&other, "2").expect("it is written");
        let paths = [one.clone(), other.clone()];
        let followed = Followed::open("numbers", move |seen| {
            paths.iter().try_fold(0, |sum, path| {
                seen.note(path);
                let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
                let number = text.parse::<u32>().map_err(|error| error.to_string())?;
                Ok::<_, String>(sum + number)
            })
        });
        let followed = followed.expect("they are read");
        followed.look_again();
        assert_eq!(followed.value_and_generation(), (Arc::new(3), 0));
        fs::write(&other, "20").expect("it is written");
        followed.look_again();
        assert_eq!(followed.value_and_generation(), (Arc::new(21), 1));
        fs::write(&one, "no").expect("it is written");
        followed.look_again();
        assert_eq!(followed.value_and_generation(), (Arc::new(21), 1));
        fs::write(&one, "10").expect("it is written");
        followed.look_again();
        assert_eq!(followed.value_and_generation(), (Arc::new(30), 2));
        fs::remove_file(&other).expect("it is ours");
        followed.look_again();
        assert_eq!(*followed.value(), 30);
    }
}
