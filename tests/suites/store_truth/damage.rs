//! A byte that is flipped on the disk: who reads the game is told, and so is the log, whether
//! anybody reads the game or not.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use referee_api::v1::{ExportGameRequest, ListGameEventsRequest, WatchGameRequest};
use referee_tests::process::Referee;
use referee_tests::wire::details;
use tonic::{Code, Status};

use super::{Games, beside, play, read, settled, soon};

/// Flips a bit in the move of an event of a game, wherever that lies in the file.
fn flip(folder: &Path, needle: &[u8]) {
    let path = beside(folder, "");
    let bytes = fs::read(&path).expect("it is there");
    let found = bytes.windows(needle.len()).position(|it| it == needle);
    let at = found.expect("the file has the request of the game");
    let file = File::options()
        .write(true)
        .open(&path)
        .expect("it is there");
    let flipped = [bytes[at] ^ 1];
    file.write_all_at(&flipped, at as u64)
        .expect("it is written");
}

/// The bytes with which the genesis of a game names it.
fn name_of(id: &str) -> Vec<u8> {
    format!("games/{id}").into_bytes()
}

fn check_told(status: &Status) {
    assert_eq!(status.code(), Code::DataLoss, "{status:?}");
    assert_eq!(details(status).reason, "RECORD_DAMAGED", "{status:?}");
}

/// Everybody who reads the record of a game is told that it is damaged.
async fn check_reads(games: &mut Games, id: &str) {
    let name = format!("games/{id}");
    check_told(&read(games, id).await.expect_err("damaged"));
    check_told(&play(games, id, 24).await.expect_err("damaged"));
    let watched = games.watch_game(WatchGameRequest {
        name: name.clone(),
        ..WatchGameRequest::default()
    });
    let told = match watched.await {
        Err(status) => status,
        Ok(stream) => stream.into_inner().message().await.expect_err("damaged"),
    };
    check_told(&told);
    let exported = games.export_game(ExportGameRequest { name });
    let told = match exported.await {
        Err(status) => status,
        Ok(stream) => {
            let mut stream = stream.into_inner();
            loop {
                match stream.message().await {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("a damaged record is exported"),
                    Err(status) => break status,
                }
            }
        }
    };
    check_told(&told);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_byte_is_told_to_who_reads_the_game() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    settled(folder.path(), &["sound", "damaged"]).await;
    flip(folder.path(), &name_of("damaged"));
    let referee = Referee::start_in(folder.path());
    let mut games = referee.games().await;
    check_reads(&mut games, "damaged").await;
    // Of the others nothing is lost, and they go on.
    assert_eq!(read(&mut games, "sound").await.expect("it is sound"), 24);
    let played = play(&mut games, "sound", 24).await.expect("judged");
    assert_eq!(played.sequence, 25);
}

/// Nobody asks for the game, and the service runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_byte_is_found_by_the_walk() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    settled(folder.path(), &["sound", "damaged"]).await;
    let referee = Referee::start_in(folder.path());
    let mut games = referee.games().await;
    flip(folder.path(), &name_of("damaged"));
    soon("the walk finds it", || async {
        referee.log().contains("a game is damaged")
    })
    .await;
    let log = referee.log();
    let line = log.lines().find(|line| line.contains("a game is damaged"));
    let line = line.unwrap_or_default();
    assert!(
        line.contains("damaged") && line.contains("description was changed"),
        "{line}"
    );
    check_told(&read(&mut games, "damaged").await.expect_err("damaged"));
    assert_eq!(read(&mut games, "sound").await.expect("it is sound"), 24);
    assert_eq!(referee.log().matches("a game is damaged").count(), 1);
}

/// The events of a record are compared with their chain, whoever reads a part of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_byte_of_an_event_is_told_where_the_event_is_read() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    settled(folder.path(), &["damaged"]).await;
    let path = beside(folder.path(), "");
    let connection = rusqlite::Connection::open(&path).expect("it opens");
    let change = "UPDATE entries SET bytes = CAST(substr(bytes, 1, length(bytes) - 1) || x'07' \
                  AS BLOB) WHERE sequence = 11";
    connection.execute(change, []).expect("it writes");
    drop(connection);
    let referee = Referee::start_in(folder.path());
    let mut games = referee.games().await;
    check_reads(&mut games, "damaged").await;
    let mut list = async |page_size: i32, page_token: String| {
        let parent = "games/damaged".to_owned();
        let request = ListGameEventsRequest {
            parent,
            page_size,
            page_token,
        };
        games.list_game_events(request).await
    };
    let sound = list(8, String::new()).await.expect("those are sound");
    let sound = sound.into_inner();
    assert_eq!(sound.events.len(), 8);
    let told = list(8, sound.next_page_token).await.expect_err("damaged");
    check_told(&told);
}
