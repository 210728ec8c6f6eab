//! A log that lost what was acknowledged, between two lives of the service.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use referee_tests::process::Referee;

use super::{begin, beside, play, read, refused, soon};

/// What happens to the files between two lives.
type Loss = (&'static str, fn(&Path));

const LOSSES: &[Loss] = &[
    ("the log is cut in half", |folder| {
        let log = beside(folder, "-wal");
        let bytes = log.metadata().expect("it is there").len();
        let file = File::options().write(true).open(log);
        file.and_then(|it| it.set_len(bytes / 2))
            .expect("it is cut");
    }),
    ("a bit of the log is flipped", |folder| {
        let log = beside(folder, "-wal");
        let mut bytes = fs::read(&log).expect("it is there");
        let at = bytes.len() / 2;
        bytes[at] ^= 1;
        fs::write(&log, bytes).expect("it is written");
    }),
    ("the log is removed", |folder| {
        fs::remove_file(beside(folder, "-wal")).expect("it is there");
    }),
    ("all is removed", |folder| {
        for suffix in ["", "-wal", "-shm"] {
            fs::remove_file(beside(folder, suffix)).expect("it is there");
        }
    }),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_and_is_gone_is_told_at_the_next_start() {
    for (name, loses) in LOSSES {
        let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
        let referee = Referee::start_in(folder.path());
        begin(&mut referee.games().await, "lost", 40).await;
        // Two seconds, by which everything is on record.
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        referee.kill();
        loses(folder.path());
        for _ in 0..2 {
            let said = tokio::task::block_in_place(|| refused(&beside(folder.path(), "")));
            assert!(
                said.contains("has lost what was acknowledged"),
                "{name}: {said}"
            );
        }
        // The way out that is named.
        fs::remove_file(beside(folder.path(), ".witness")).expect("it is there");
        let _referee = Referee::start_in(folder.path());
    }
}

/// Killed at any moment, nothing is told of.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ordinary_death_is_told_of_never() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let mut plies = 0;
    for life in 0..6 {
        let referee = Referee::start_in(folder.path());
        let mut games = referee.games().await;
        if life == 0 {
            begin(&mut games, "lives", 0).await;
        }
        assert_eq!(read(&mut games, "lives").await.expect("it is there"), plies);
        for _ in 0..2 {
            let played = play(&mut games, "lives", plies as usize).await;
            plies = played.expect("judged").sequence;
        }
        let witness = beside(folder.path(), ".witness");
        if life % 2 == 0 {
            // In the middle of its work, and when the witness has just been written.
            soon("the witness is written", || async {
                fs::metadata(&witness).is_ok_and(|it| it.len() > 0)
            })
            .await;
        }
        referee.kill();
    }
}
