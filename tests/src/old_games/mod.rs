//! Stores of old games: written through the real service, kept under `tests/data/old_games`, and
//! read by whatever the project has become since.
//!
//! A store is a folder with two files: `store.db.zst`, as the service left it, and
//! `expected.jsonl.zst`, what the service showed of every game then. The README beside the stores
//! says how one is made, and when.

mod check;
mod play;

use std::fs;
use std::path::Path;

use referee_api::v1;
use referee_api::v1::export_game_response::Kind;
use referee_api::v1::game_service_client::GameServiceClient;
use serde_json::{Value, json};

use crate::line::Line;
use crate::pair::Pair;
use crate::{json, lines};

pub use check::{check, check_other_rules};

/// When the first game begins: 2026-01-01, in microseconds since 1970.
const BEGIN_US: i64 = 1_767_225_600_000_000;

/// The games that a new store holds, and what is done in them.
const GAMES: &str = "old_games/games.jsonl";

/// The files of a store, and the name that the store has in a folder of its own.
const STORE: &str = "store.db.zst";
const EXPECTED: &str = "expected.jsonl.zst";
const DATABASE: &str = "referee.db";

/// How much is tried to make the files small.
const COMPRESSION: i32 = 19;

type Games = GameServiceClient<Line>;

/// Plays the games and writes a store of them into a folder; one that is there is replaced.
///
/// # Panics
///
/// Where a game cannot be played as it is written, or a file cannot be written.
pub async fn write(folder: &Path) {
    let work = tempfile::tempdir().expect("a folder for temporary files can be made");
    let database = work.path().join(DATABASE);
    let pair = Pair::open(&database, BEGIN_US).await;
    let mut games = pair.games().await;
    let scripts = lines(GAMES);
    for script in &scripts {
        play::play(&pair, &mut games, script).await;
    }
    play::settle(&pair).await;
    let mut expected = vec![json!({
        "now_us": pair.now_us(),
        "version": referee_record::VERSION,
        "revision": referee_record::REVISION,
        "games": scripts.len(),
    })];
    for script in &scripts {
        let mut shown = show(&mut games, &text(script, "id")).await;
        shown["then"] = script["then"].clone();
        expected.push(shown);
    }
    drop(games);
    pair.close().await;
    let expected: String = expected.iter().map(|line| format!("{line}\n")).collect();
    let database = fs::read(&database).expect("the store is there");
    fs::create_dir_all(folder).expect("the folder can be made");
    for (file, bytes) in [(STORE, database), (EXPECTED, expected.into_bytes())] {
        let packed = zstd::encode_all(bytes.as_slice(), COMPRESSION);
        let packed = packed.expect("bytes in memory can be packed");
        fs::write(folder.join(file), packed).expect("the folder can be written to");
    }
}

/// Reads a packed file of a store.
fn unpack(folder: &Path, file: &str) -> Vec<u8> {
    let path = folder.join(file);
    let packed = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    zstd::decode_all(packed.as_slice()).expect("it was packed")
}

/// Returns all that the service shows of a game.
async fn show(games: &mut Games, id: &str) -> Value {
    let name = format!("games/{id}");
    let read = games.get_game(v1::GetGameRequest { name: name.clone() });
    let read = read.await.expect("the game is read").into_inner().game;
    let game = read.expect("the game is there");
    let events = list_events(games, &name).await;
    let events = events.iter().map(|event| json::write("GameEvent", event));
    let record = export(games, &name).await;
    let Some(Kind::Seal(seal)) = record.last() else {
        panic!("{name} was not exported to its end");
    };
    json!({
        "id": id,
        "game": json::write("Game", &game),
        "events": events.collect::<Vec<_>>(),
        // The last link of the chain stands for every byte that is stored.
        "seal": { "entries": seal.entry_count, "head": seal.head_hash.to_vec() },
    })
}

async fn list_events(games: &mut Games, name: &str) -> Vec<v1::GameEvent> {
    let mut events = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = v1::ListGameEventsRequest {
            parent: name.to_owned(),
            page_token,
            ..v1::ListGameEventsRequest::default()
        };
        let page = games.list_game_events(request).await;
        let page = page.expect("the events are listed").into_inner();
        events.extend(page.events);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return events;
        }
    }
}

/// Returns every part of the record of a game.
async fn export(games: &mut Games, name: &str) -> Vec<Kind> {
    let request = v1::ExportGameRequest {
        name: name.to_owned(),
    };
    let stream = games.export_game(request).await;
    let mut stream = stream.expect("the game is exported").into_inner();
    let mut parts = Vec::new();
    while let Some(part) = stream.message().await.expect("the record is whole") {
        parts.push(part.kind.expect("a part is something"));
    }
    parts
}

/// Returns a text of an object.
fn text(value: &Value, field: &str) -> String {
    let text = value[field].as_str();
    text.unwrap_or_else(|| panic!("{field} is no text in {value}"))
        .to_owned()
}
