//! Which files are opened, and by how many processes.

use std::fs;
use std::path::Path;

use referee_store::{OpenError, SqliteStore, Store};
use rusqlite::Connection;

use crate::{folder, open};

#[tokio::test]
async fn one_process_at_a_time() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let store = open(&path);
    let link = folder.path().join("link.db");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    for name in [&path, &link] {
        let error = SqliteStore::open(name).expect_err("the store is open already");
        assert!(matches!(error, OpenError::Locked { .. }), "{error}");
        assert!(
            error
                .to_string()
                .contains("referee.db is open in another process"),
            "{error}"
        );
    }
    store.close().await.expect("the store closes");
    open(&link);
}

#[test]
fn foreign_files_are_left_alone() {
    let folder = folder();
    let text = folder.path().join("text.db");
    fs::write(
        &text,
        "no database at all, and long enough to be looked at by an engine\n".repeat(20),
    )
    .expect("a file");
    let theirs = folder.path().join("theirs.db");
    let connection = Connection::open(&theirs).expect("a database");
    connection
        .execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
        .expect("sql");
    drop(connection);
    for path in [&text, &theirs] {
        let before = fs::read(path).expect("the file is readable");
        let error = SqliteStore::open(path).expect_err("it is not ours");
        assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
        assert!(
            error.to_string().contains("is not a store of this program"),
            "{error}"
        );
        assert_eq!(fs::read(path).expect("the file is readable"), before);
    }
}

/// An empty store in a file that says another schema.
async fn of_schema(path: &Path, version: u32) {
    open(path).close().await.expect("the store closes");
    let connection = Connection::open(path).expect("the database opens");
    connection
        .pragma_update(None, "user_version", version)
        .expect("sql");
}

#[tokio::test]
async fn stores_of_other_versions_are_left_alone() {
    let folder = folder();
    let newer = folder.path().join("newer.db");
    of_schema(&newer, 99).await;
    let error = SqliteStore::open(&newer).expect_err("it is newer");
    assert!(
        matches!(
            error,
            OpenError::NewerSchema {
                found: 99,
                known: 11,
                ..
            }
        ),
        "{error}"
    );

    let older = folder.path().join("older.db");
    of_schema(&older, 2).await;
    let before = fs::read(&older).expect("the file is readable");
    let error = SqliteStore::open(&older).expect_err("it is older");
    assert!(
        matches!(
            error,
            OpenError::OlderSchema {
                found: 2,
                oldest: 6,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("name another file"), "{error}");
    assert_eq!(fs::read(&older).expect("the file is readable"), before);
}

#[test]
fn a_path_that_is_no_file_is_refused() {
    let folder = folder();
    let nowhere = folder.path().join("no/such/folder/referee.db");
    let error = SqliteStore::open(nowhere).expect_err("there is no such folder");
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
    assert!(SqliteStore::open("").is_err());
    assert!(SqliteStore::open(folder.path()).is_err());
}
