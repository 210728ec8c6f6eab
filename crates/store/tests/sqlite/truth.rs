//! Files that are taken away, replaced, cut or written to by others under an open store.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use referee_store::{
    AppendError, Appended, BackUpError, Beat, Fault, GameKey, Games, Liveness, OpenError,
    ReadError, Ready, ReplicaId, SqliteStore, Store, Upkeep, VerifyCursor, limits,
};
use rusqlite::Connection;
use tokio::time::Instant;

use crate::suite::{check_record, create, entry, new_game, store_one};
use crate::{alter, folder, open};

/// What somebody does to the files, and what is said of it.
type Mishap = (&'static str, fn(&Path), &'static str);

const MISHAPS: &[Mishap] = &[
    (
        "deleted",
        |path| fs::remove_file(path).expect("it is there"),
        "referee.db was deleted or moved away",
    ),
    (
        "log deleted",
        |path| fs::remove_file(beside(path, "-wal")).expect("it is there"),
        "referee.db-wal was deleted",
    ),
    (
        "moved",
        |path| fs::rename(path, beside(path, ".away")).expect("it is there"),
        "referee.db was deleted or moved away",
    ),
    (
        "replaced",
        |path| {
            fs::copy(path, beside(path, ".copy")).expect("it is there");
            fs::rename(beside(path, ".copy"), path).expect("it is there");
        },
        "another file was put in the place of",
    ),
    ("cut", |path| cut(path, 4_096), "was cut from"),
    (
        "log cut",
        |path| cut(&beside(path, "-wal"), 40),
        "was cut from",
    ),
    (
        "written to",
        |path| alter(path, "UPDATE games SET state = 9").expect("sql"),
        "another program has written",
    ),
    (
        "written to by a second name",
        |path| {
            let link = beside(path, ".link");
            std::os::unix::fs::symlink(path, &link).expect("a link");
            alter(&link, "UPDATE entries SET bytes = x'00'").expect("sql");
        },
        "another program has written",
    ),
];

fn beside(path: &Path, suffix: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn cut(path: &Path, bytes: u64) {
    let file = File::options().write(true).open(path);
    file.and_then(|file| file.set_len(bytes))
        .expect("it is cut");
}

async fn beat(store: &SqliteStore, at_us: i64) -> Result<(), Fault> {
    let beat = Beat {
        replica: ReplicaId(1),
        at_us,
        silence_max_us: 1_000,
        stopping: false,
    };
    store.beat(beat).await.map(|_| ())
}

/// A store with a game of so many entries, on the way into the file itself.
async fn begin(path: &Path) -> (SqliteStore, GameKey) {
    let store = open(path);
    let key = create(&store, new_game("p", "g")).await.key;
    for sequence in 0..30 {
        store_one(&store, entry(&key, sequence)).await;
    }
    store.close().await.expect("the store closes");
    let store = open(path);
    store_one(&store, entry(&key, 30)).await;
    (store, key)
}

#[tokio::test]
async fn nothing_is_acknowledged_into_a_file_that_is_not_ours_alone() {
    for (name, happens, said) in MISHAPS {
        let folder = folder();
        let path = folder.path().join("referee.db");
        let (store, key) = begin(&path).await;
        happens(&path);
        for sequence in [31, 31] {
            let answer = store.append(entry(&key, sequence)).await;
            assert!(
                matches!(
                    answer,
                    Err(AppendError::Fault(
                        Fault::Unknown | Fault::ReadOnly { .. } | Fault::Damaged { .. }
                    ))
                ),
                "{name}: {answer:?}"
            );
        }
        let refused = beat(&store, 7).await;
        let Err(Fault::ReadOnly { reason }) = &refused else {
            panic!("{name}: {refused:?}")
        };
        assert!(reason.contains(said), "{name}: {reason}");
        let ready = store.ready().await;
        assert_ne!(ready, Ok(Ready::Writable), "{name}");
        // What is there is not closed over either.
        drop(store.close().await);
    }
}

#[tokio::test]
async fn a_file_that_is_put_back_is_written_to_again() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let (store, key) = begin(&path).await;
    let away = beside(&path, ".away");
    fs::rename(&path, &away).expect("it is there");
    // The first may have been on its way.
    let first = beat(&store, 6).await;
    assert!(first.is_err(), "it is acknowledged");
    for at_us in [7, 8] {
        let refused = beat(&store, at_us).await;
        assert!(
            matches!(refused, Err(Fault::ReadOnly { .. })),
            "{refused:?}"
        );
    }
    fs::rename(&away, &path).expect("it is there");
    beat(&store, 9).await.expect("it is back");
    assert_eq!(store.ready().await, Ok(Ready::Writable));
    store_one(&store, entry(&key, 31)).await;
    assert_eq!(check_record(&store, &key).await.len(), 32);
    store.close().await.expect("the store closes");
    assert_eq!(check_record(&open(&path), &key).await.len(), 32);
}

/// Those of this process share what they have open, so that what is acknowledged until it is
/// noticed is not lost; others would share another file.
#[tokio::test]
async fn a_store_whose_shared_memory_was_deleted_takes_nothing_more() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let (store, key) = begin(&path).await;
    fs::remove_file(beside(&path, "-shm")).expect("it is there");
    let begun = Instant::now();
    let mut sequence = 31;
    let reason = loop {
        match store.append(entry(&key, sequence)).await {
            Ok(_) => sequence += 1,
            Err(AppendError::Fault(Fault::ReadOnly { reason })) => break reason,
            Err(error) => panic!("{error:?}"),
        }
    };
    let noticed = begun.elapsed();
    assert!(noticed < 4 * limits::FILES_LOOK_INTERVAL, "{noticed:?}");
    assert!(reason.contains("referee.db-shm was deleted"), "{reason}");
    assert_ne!(store.ready().await, Ok(Ready::Writable));
    drop(store.close().await);
    let store = open(&path);
    assert_eq!(check_record(&store, &key).await.len() as i64, sequence);
}

#[tokio::test]
async fn who_only_reads_disturbs_nobody() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let (store, key) = begin(&path).await;
    for sequence in 31..40 {
        let reader = Connection::open(&path).expect("it opens");
        let count: i64 = reader
            .query_row("SELECT count(*) FROM entries", [], |row| row.get(0))
            .expect("it reads");
        assert_eq!(count, sequence);
        drop(reader);
        store_one(&store, entry(&key, sequence)).await;
    }
}

/// By other names of the file, and without the lock file.
#[tokio::test]
async fn a_second_store_on_the_file_is_refused() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let (store, key) = begin(&path).await;
    let hard = folder.path().join("hard.db");
    fs::hard_link(&path, &hard).expect("a link");
    let soft = folder.path().join("soft.db");
    std::os::unix::fs::symlink(&path, &soft).expect("a link");
    fs::remove_file(beside(&path, ".lock")).expect("it is there");
    for name in [&path, &hard, &soft] {
        let refused = SqliteStore::open(name).expect_err("it is open");
        assert!(matches!(refused, OpenError::Locked { .. }), "{refused}");
    }
    store_one(&store, entry(&key, 31)).await;
    store.close().await.expect("the store closes");
    open(&path);
}

/// What becomes of the files of a store.
type Loss = fn(&Path);

/// What was acknowledged, and is gone at the next start.
#[tokio::test]
async fn entries_that_are_gone_are_told_of_at_the_next_start() {
    let losses: [(&str, Loss); 4] = [
        ("the log is gone", |path| {
            fs::remove_file(beside(path, "-wal")).expect("it is there");
        }),
        ("the log is cut", |path| {
            let log = beside(path, "-wal");
            let bytes = log.metadata().expect("it is there").len();
            cut(&log, bytes / 2);
        }),
        ("a bit of the log is flipped", |path| {
            let log = beside(path, "-wal");
            let mut bytes = fs::read(&log).expect("it is there");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(&log, bytes).expect("it is written");
        }),
        ("all is gone", |path| {
            for suffix in ["", "-wal", "-shm"] {
                fs::remove_file(beside(path, suffix)).expect("it is there");
            }
        }),
    ];
    for (name, loses) in losses {
        let folder = folder();
        let (alive, dead) = (folder.path().join("referee.db"), folder.path().join("dead"));
        fs::create_dir(&dead).expect("a folder");
        let dead = dead.join("referee.db");
        let store = open(&alive);
        let key = create(&store, new_game("p", "g")).await.key;
        for sequence in 0..40 {
            store_one(&store, entry(&key, sequence)).await;
        }
        // The witness follows within two seconds, as signs of life come.
        tokio::time::sleep(std::time::Duration::from_millis(900)).await;
        beat(&store, 5).await.expect("it is kept");
        let answer = store.append(entry(&key, 40)).await;
        assert!(matches!(answer, Ok(Appended::Stored { .. })), "{answer:?}");
        // The process dies: what is on disk now is all that is left.
        for suffix in ["", "-wal", "-shm", ".witness"] {
            fs::copy(beside(&alive, suffix), beside(&dead, suffix)).expect("it is there");
        }
        // Nothing is told of an ordinary death, wherever it left the witness.
        let whole = open(&dead);
        assert_eq!(check_record(&whole, &key).await.len(), 41, "{name}");
        whole.close().await.expect("the store closes");
        for suffix in ["", "-wal", "-shm", ".witness"] {
            fs::copy(beside(&alive, suffix), beside(&dead, suffix)).expect("it is there");
        }
        loses(&dead);
        let lost = SqliteStore::open(&dead).expect_err(name);
        let OpenError::Lost {
            acknowledged,
            found,
            ..
        } = &lost
        else {
            panic!("{name}: {lost}")
        };
        assert!(acknowledged > found, "{name}: {lost}");
        let again = SqliteStore::open(&dead).expect_err(name);
        assert!(matches!(again, OpenError::Lost { .. }), "{name}: {again}");
        // The way out that the message names.
        fs::remove_file(beside(&dead, ".witness")).expect("it is there");
        open(&dead);
    }
}

#[tokio::test]
async fn a_new_store_has_its_name_when_it_is_whole() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    // What a process has left that died while it made the store.
    fs::write(beside(&path, ".new"), b"half").expect("a file");
    fs::write(beside(&path, ".new-journal"), b"half").expect("a file");
    let store = open(&path);
    let key = create(&store, new_game("p", "g")).await.key;
    store_one(&store, entry(&key, 0)).await;
    for suffix in [".new", ".new-journal", "-journal"] {
        assert!(!beside(&path, suffix).exists(), "{suffix}");
    }
    store.close().await.expect("the store closes");
    // An empty file may become one as well.
    let empty = folder.path().join("empty.db");
    fs::write(&empty, b"").expect("a file");
    let store = open(&empty);
    create(&store, new_game("p", "g")).await;
    assert!(!beside(&empty, "-journal").exists());
}

/// Verified and copied is what is open, and nothing that was put in its place.
#[tokio::test]
async fn another_file_of_that_name_is_neither_verified_nor_copied() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let other = folder.path().join("other.db");
    drop(begin(&other).await);
    let (store, _) = begin(&path).await;
    let from = VerifyCursor::default();
    let page = store.verify(&from, Arc::default()).await;
    assert_eq!(page.expect("it is read").findings, []);
    fs::rename(&other, &path).expect("it is there");
    let page = store.verify(&from, Arc::default()).await;
    let Err(ReadError::Fault(Fault::Unavailable { reason })) = &page else {
        panic!("{page:?}")
    };
    assert!(reason.contains("in the place of"), "{reason}");
    let target = folder.path().join("copy.db");
    let copied = store.back_up(target.clone(), Arc::default()).await;
    let Err(BackUpError::Io { reason, .. }) = &copied else {
        panic!("{copied:?}")
    };
    assert!(reason.contains("in the place of"), "{reason}");
    assert!(!target.exists());
}
