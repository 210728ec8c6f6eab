//! The files of the real program, which is killed right after it has answered.

use std::fs;
use std::path::Path;
use std::process::Command;

use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::{ExportGameRequest, GetGameRequest, Seat, export_game_response};
use referee_tests::process::{Referee, binary};
use referee_tests::wire::{self, make_move, resign};
use tonic::transport::Channel;

use super::{deletion, game_of, play_game_of, remarks, update};
use referee_api::v1::action::Kind as Did;

/// The bytes of every file in a folder: the database, its log, and what the program has said.
fn files(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for file in fs::read_dir(folder).expect("the folder can be read") {
        all.extend(fs::read(file.expect("a file").path()).expect("the file can be read"));
    }
    all
}

pub(super) fn has(bytes: &[u8], name: &str) -> bool {
    bytes
        .windows(name.len())
        .any(|part| part == name.as_bytes())
}

type Direct = GameServiceClient<Channel>;

/// What `referee verify` says of an exported record.
fn verify(record: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let file = folder.path().join("record.json");
    fs::write(&file, record).expect("the file can be written");
    let output = Command::new(binary()).arg("verify").arg(&file).output();
    let output = output.expect("the binary was built");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// Exports a record as `referee export` writes it.
async fn export(games: &mut Direct, id: &str) -> String {
    let name = format!("games/{id}");
    let stream = games.export_game(ExportGameRequest { name }).await;
    let mut stream = stream.expect("it is exported").into_inner();
    let mut record = Vec::new();
    while let Some(part) = stream.message().await.expect("it goes well") {
        let kind: export_game_response::Kind = part.kind.expect("a part");
        referee_verify::record_file::write_part(&mut record, &kind).expect("it can be written");
    }
    String::from_utf8(record).expect("JSON is UTF-8")
}

/// The real program, which is killed right after it has answered: what is erased by then is
/// erased.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_was_erased_is_in_no_file_though_the_program_is_killed() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let referee = Referee::start_with(folder.path(), &["--log", "debug"]);
    let mut games = referee.games().await;
    for id in ["updated", "deleted", "other"] {
        play_game_of!(games, id, &format!("Somebody-{id}"));
    }
    assert!(has(&files(folder.path()), "Somebody-updated"));
    let mut exported = Vec::new();
    for id in ["updated", "deleted"] {
        let record = export(&mut games, id).await;
        assert!(verify(&record).contains("4 entries verified"));
        exported.push(record);
    }
    // What people said in a game goes with the game, and the description with an update.
    let request = update(
        "updated",
        game_of("Anybody"),
        &["white_player", "black_player", "labels", "tags"],
    );
    games.update_game(request).await.expect("updated");
    games
        .delete_game(deletion("deleted"))
        .await
        .expect("deleted");
    referee.kill();
    let left = files(folder.path());
    assert!(!has(&left, "Somebody-deleted"));
    for text in [
        "Somebody-updated as White",
        "Somebody-updated as Black",
        "Somebody-updated Open",
        "Somebody-updated the Elder",
    ] {
        assert!(!has(&left, text), "{text}");
    }
    for text in [
        "Anybody as White",
        "Somebody-updated is ill",
        "Somebody-other as White",
    ] {
        assert!(has(&left, text), "{text} was not erased");
    }
    for record in &exported {
        let said = verify(record);
        assert!(
            said.contains("4 entries verified") && !said.contains("erased"),
            "{said}"
        );
    }
    // A program that starts again, and what it exports, knows no more.
    let referee = Referee::start_with(folder.path(), &["--log", "debug"]);
    let mut games = referee.games().await;
    let record = export(&mut games, "updated").await;
    let said = verify(&record);
    assert!(said.contains("5 entries verified"), "{said}");
    assert!(
        said.contains("note: text about persons was erased in 1 place"),
        "{said}"
    );
    let get = GetGameRequest {
        name: "games/updated".into(),
    };
    let game = games.get_game(get).await.expect("it is read").into_inner();
    assert_eq!(game.game.expect("a game").white_player, "Anybody as White");
    let played = wire::submit("other", Seat::Arbiter, wire::confirm());
    games.submit_action(played).await.expect("judged");
    drop(games);
    referee.terminate();
    drop(referee);
    assert!(!has(&files(folder.path()), "Somebody-deleted"));
    assert!(!has(&files(folder.path()), "Somebody-updated Open"));
}
