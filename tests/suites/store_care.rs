//! Copies of stores, and their verification: by the server that runs on one, while games go on,
//! and by the command alone.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use referee_api::v1::store_service_client::StoreServiceClient;
use referee_api::v1::{BackUpStoreRequest, Game, GetGameRequest, back_up_store_response};
use referee_tests::process::{Referee, binary};
use referee_tests::wire::{self, create, make_move, on_move, submit};
use tonic::Code;

/// Runs `referee store`, and returns the exit code and what it said.
fn store(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(binary()).arg("store").args(arguments).output();
    let Output {
        status,
        stdout,
        stderr,
    } = output.expect("the program runs");
    let said = [stdout, stderr].concat();
    (status.code(), String::from_utf8_lossy(&said).into_owned())
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a folder for tests has a plain name")
}

/// The files in a folder.
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is read");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Plays so many plies of one game, knights going to and fro.
async fn play(referee: &Referee, id: &str, plies: std::ops::Range<usize>) {
    let mut games = referee.games().await;
    for ply in plies {
        let text = ["g1f3", "g8f6", "f3g1", "f6g8"][ply % 4];
        let answer = games.submit_action(submit(id, on_move(ply), make_move(text)));
        let answer = answer.await.expect("the move is taken").into_inner();
        assert!(answer.event.is_some(), "{:?}", answer.ruling);
    }
}

async fn moves(referee: &Referee, id: &str) -> usize {
    let request = GetGameRequest {
        name: format!("games/{id}"),
    };
    let answer = referee.games().await.get_game(request).await;
    let game = answer.expect("it is there").into_inner().game;
    game.expect("it is a game").moves.len()
}

#[tokio::test]
async fn as_many_copies_stay_as_are_kept() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let copies = folder.path().join("copies");
    fs::create_dir(&copies).expect("a folder");
    // What is not a copy of a server is nobody's to remove, however old it seems.
    let others = ["referee-1999.db", "a.db"];
    for name in others {
        fs::write(copies.join(name), "mine").expect("it is written");
    }
    let options = ["--backup-folder", text(&copies), "--backup-keep", "2"];
    let referee = Referee::start_with(folder.path(), &options);
    let server = format!("http://{}", referee.address());
    let mut made = Vec::new();
    for _ in 0..4 {
        let (code, said) = store(&["backup", "--server", &server]);
        assert_eq!(code, Some(0), "{said}");
        made.push(said.split(':').next().unwrap_or_default().to_owned());
    }
    let mut wanted: Vec<String> = others.map(str::to_owned).to_vec();
    wanted.extend_from_slice(&made[2..]);
    wanted.sort();
    assert_eq!(files(&copies), wanted, "{made:?} were made");
}

#[tokio::test]
async fn a_copy_is_taken_while_games_go_on() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let copies = folder.path().join("copies");
    fs::create_dir(&copies).expect("a folder");
    let options = ["--backup-folder", text(&copies)];
    let referee = Referee::start_with(folder.path(), &options);
    let server = format!("http://{}", referee.address());
    let mut games = referee.games().await;
    for id in ["a", "b"] {
        let created = games.create_game(create(id, Game::default()));
        created.await.expect("it is created");
    }
    play(&referee, "a", 0..6).await;
    let (code, said) = store(&["backup", "--server", &server]);
    assert_eq!(code, Some(0), "{said}");
    let [copy] = &files(&copies)[..] else {
        panic!("one file: {:?}", files(&copies));
    };
    assert!(said.starts_with(&format!("{copy}: 2 games, ")), "{said}");
    play(&referee, "a", 6..9).await;
    let store_file = folder.path().join("referee.db");
    // In use and copied, and through the server.
    let copy = copies.join(copy);
    for (file, events) in [(&store_file, 9), (&copy, 6)] {
        let (code, said) = store(&["verify", text(file)]);
        assert_eq!(code, Some(0), "{said}");
        let sound = format!("sound, 2 games, {events} events");
        assert!(said.contains(&sound), "{said}");
    }
    let (code, said) = store(&["verify", "--server", &server]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("sound, 2 games, 9 events"), "{said}");
    // Beside the server nobody else makes a copy.
    let own = folder.path().join("own.db");
    let (code, said) = store(&["backup", "--store", text(&store_file), text(&own)]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--server"), "{said}");
    assert!(!own.exists());
    referee.terminate();
    drop(referee);

    // Without a server the command makes one, and never over a file.
    let (code, said) = store(&["backup", "--store", text(&store_file), text(&own)]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = store(&["backup", "--store", text(&store_file), text(&own)]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("there already"), "{said}");

    // A server goes on from a copy.
    let restored = folder.path().join("restored");
    fs::create_dir(&restored).expect("a folder");
    fs::copy(&copy, restored.join("referee.db")).expect("a copy");
    let referee = Referee::start_in(&restored);
    assert_eq!(moves(&referee, "a").await, 6);
    play(&referee, "a", 6..8).await;
    assert_eq!(moves(&referee, "a").await, 8);
}

#[tokio::test]
async fn a_changed_event_is_found_and_its_game_named() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let mut referee = Referee::start_in(folder.path());
    let created = referee.games().await;
    for id in ["changed", "sound"] {
        let mut games = created.clone();
        games
            .create_game(create(id, Game::default()))
            .await
            .expect("it is created");
        play(&referee, id, 0..8).await;
    }
    let mut games = created.clone();
    let played = games.submit_action(submit("changed", on_move(8), make_move("h2h3")));
    played.await.expect("the move is taken");
    referee.terminate();
    referee
        .wait(Duration::from_secs(30))
        .expect("it can be waited for")
        .expect("it stops");
    let file = folder.path().join("referee.db");
    let mut bytes = fs::read(&file).expect("the store is read");
    // A move that only one of them has, wherever it is: pages keep remains of what they held.
    let places: Vec<usize> = (0..bytes.len() - 4)
        .filter(|&at| &bytes[at..at + 4] == b"h2h3")
        .collect();
    assert!(!places.is_empty(), "the move is in the file");
    for at in places {
        bytes[at..at + 4].copy_from_slice(b"h2h4");
    }
    fs::write(&file, bytes).expect("the store is written");
    let (code, said) = store(&["verify", text(&file)]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("games/changed of platform default"), "{said}");
    assert!(said.contains("was changed"), "{said}");
    assert!(!said.contains("games/sound"), "{said}");
    let (code, said) = store(&["verify", "--json", text(&file)]);
    assert_eq!(code, Some(1), "{said}");
    let rows: Vec<serde_json::Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    assert_eq!(rows[0]["name"], "games/changed");
    assert_eq!(rows[rows.len() - 1]["sound"], false);
}

#[tokio::test]
async fn who_asks_for_copies_cannot_fill_the_disk() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let copies = folder.path().join("copies");
    fs::create_dir(&copies).expect("a folder");
    for number in 0..referee_server::limits::BACKUPS_MAX {
        fs::write(copies.join(format!("{number}.db")), "").expect("a file");
    }
    let options = ["--backup-folder", text(&copies)];
    let referee = Referee::start_with(folder.path(), &options);
    let mut client = StoreServiceClient::new(referee.connect().await);
    let refused = client.back_up_store(BackUpStoreRequest {}).await;
    let status = refused.expect_err("the folder is full");
    assert_eq!(status.code(), Code::FailedPrecondition);
    let details = wire::details(&status);
    assert_eq!(details.reason, "BACKUP_REFUSED");
    assert_eq!(files(&copies).len(), referee_server::limits::BACKUPS_MAX);
    // One goes, and there is room for one.
    fs::remove_file(copies.join("0.db")).expect("it is there");
    let mut stream = client
        .back_up_store(BackUpStoreRequest {})
        .await
        .expect("there is room")
        .into_inner();
    let mut made = None;
    while let Some(message) = stream.message().await.expect("it is made") {
        if let Some(back_up_store_response::Kind::Backup(backup)) = message.kind {
            made = Some(backup);
        }
    }
    let made = made.expect("the last message says what was made");
    let path = copies.join(made.file);
    assert_eq!(
        path.metadata().map(|found| found.len()).ok(),
        Some(made.bytes as u64)
    );
}
