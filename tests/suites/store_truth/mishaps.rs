//! Files that are deleted, replaced, cut or written to under the service.

use std::fs::{self, File};
use std::path::Path;

use referee_tests::process::Referee;
use referee_tests::wire::details;
use rusqlite::Connection;
use tonic::Code;
use tonic_health::pb::health_check_response::ServingStatus;

use super::{begin, beside, health, play, read, ready, refused, settled};

/// What happens to the files in a folder, and what the log says then.
type Mishap = (&'static str, fn(&Path), &'static str);

const MISHAPS: &[Mishap] = &[
    ("rm", |folder| remove(folder, &["", "-wal"]), "was deleted"),
    (
        "rm of the log",
        |folder| remove(folder, &["-wal"]),
        "was deleted",
    ),
    (
        "mv",
        |folder| rename(folder, "", ".away"),
        "was deleted or moved away",
    ),
    (
        "mv of a copy over it",
        |folder| {
            fs::copy(beside(folder, ""), beside(folder, ".copy")).expect("it is there");
            rename(folder, ".copy", "");
        },
        "another file was put in the place",
    ),
    ("truncate", |folder| cut(folder, "", 8_192), "was cut"),
    (
        "truncate of the log",
        |folder| cut(folder, "-wal", 32),
        "was cut",
    ),
    (
        "a client of the engine, without the lock file",
        |folder| {
            remove(folder, &[".lock"]);
            write(&beside(folder, ""));
        },
        "another program has written",
    ),
    (
        "the same by a second name",
        |folder| {
            let name = folder.join("second.db");
            std::os::unix::fs::symlink(beside(folder, ""), &name).expect("a link");
            write(&name);
        },
        "another program has written",
    ),
];

fn remove(folder: &Path, suffixes: &[&str]) {
    for suffix in suffixes {
        fs::remove_file(beside(folder, suffix)).expect("it is there");
    }
}

fn rename(folder: &Path, from: &str, to: &str) {
    fs::rename(beside(folder, from), beside(folder, to)).expect("it is there");
}

fn cut(folder: &Path, suffix: &str, bytes: u64) {
    let file = File::options().write(true).open(beside(folder, suffix));
    file.and_then(|file| file.set_len(bytes))
        .expect("it is cut");
}

fn write(path: &Path) {
    let connection = Connection::open(path).expect("it opens");
    let statement = "UPDATE games SET state = 9 WHERE game_id = 1";
    connection.execute(statement, []).expect("it writes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mishap_is_noticed_and_nothing_more_is_acknowledged() {
    for (name, happens, said) in MISHAPS {
        let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
        settled(folder.path(), &["old"]).await;
        let referee = Referee::start_in(folder.path());
        let (channel, mut games) = (referee.connect().await, referee.games().await);
        begin(&mut games, "new", 8).await;
        assert_eq!(health(&channel, "readiness").await, ServingStatus::Serving);
        happens(folder.path());
        for ply in 8..12 {
            let refused = play(&mut games, "new", ply).await;
            let refused = refused.expect_err("it would not be there");
            // A page of what was cut off is no page any more.
            let codes = [Code::Unavailable, Code::DataLoss];
            assert!(codes.contains(&refused.code()), "{name}: {refused:?}");
            let reasons = ["STORE_UNAVAILABLE", "RECORD_DAMAGED"];
            assert!(reasons.contains(&&*details(&refused).reason), "{name}");
        }
        ready(&channel, ServingStatus::NotServing).await;
        for (service, expected) in [
            ("", ServingStatus::NotServing),
            ("referee.v1.GameService", ServingStatus::NotServing),
            ("referee.v1.RulesService", ServingStatus::Serving),
            ("liveness", ServingStatus::Serving),
        ] {
            assert_eq!(
                health(&channel, service).await,
                expected,
                "{name}: {service}"
            );
        }
        assert!(referee.log().contains(said), "{name}: {}", referee.log());
    }
}

/// Nobody acts: the signs of life notice it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_moved_away_and_is_put_back_serves_again() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let referee = Referee::start_in(folder.path());
    let (channel, mut games) = (referee.connect().await, referee.games().await);
    begin(&mut games, "away", 4).await;
    rename(folder.path(), "", ".away");
    ready(&channel, ServingStatus::NotServing).await;
    // What is in memory was acknowledged, and is shown.
    assert_eq!(read(&mut games, "away").await.expect("it is known"), 4);
    rename(folder.path(), ".away", "");
    ready(&channel, ServingStatus::Serving).await;
    let played = play(&mut games, "away", 4).await.expect("judged");
    assert_eq!(played.sequence, 5);
    drop(referee);
    let referee = Referee::start_in(folder.path());
    let mut games = referee.games().await;
    assert_eq!(read(&mut games, "away").await.expect("it is there"), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_service_on_the_file_does_not_start() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let referee = Referee::start_in(folder.path());
    let mut games = referee.games().await;
    begin(&mut games, "one", 4).await;
    let (hard, soft) = (folder.path().join("hard.db"), folder.path().join("soft.db"));
    fs::hard_link(beside(folder.path(), ""), &hard).expect("a link");
    std::os::unix::fs::symlink(beside(folder.path(), ""), &soft).expect("a link");
    remove(folder.path(), &[".lock"]);
    for name in [beside(folder.path(), ""), hard, soft] {
        let said = tokio::task::block_in_place(|| refused(&name));
        assert!(said.contains("is open in another process"), "{said}");
    }
    let played = play(&mut games, "one", 4).await.expect("judged");
    assert_eq!(played.sequence, 5);
}
