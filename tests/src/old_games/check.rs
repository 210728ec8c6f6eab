//! Reading a store of old games, and comparing all of it with what was shown once.

use std::fs;
use std::path::Path;

use referee_api::v1;
use referee_verify::record_file::write_part;
use referee_verify::{Demand, Report, verify};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::play::act;
use super::{DATABASE, EXPECTED, Games, STORE, export, list_events, show, text, unpack};
use crate::json;
use crate::pair::Pair;
use crate::wire;

/// A copy of a store that is served, and what is expected of it.
struct Served {
    pair: Pair,
    games: Games,
    expected: Vec<Value>,
    _work: TempDir,
}

impl Served {
    async fn begin(folder: &Path) -> Served {
        let expected = String::from_utf8(unpack(folder, EXPECTED)).expect("text");
        let mut expected: Vec<Value> = expected
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line is JSON"))
            .collect();
        let header = expected.remove(0);
        assert_eq!(header["games"], expected.len(), "the expectations are cut");
        let work = tempfile::tempdir().expect("a folder for temporary files can be made");
        let database = work.path().join(DATABASE);
        fs::write(&database, unpack(folder, STORE)).expect("the folder can be written to");
        // The moment at which the store was left, so that no clock has run on.
        let now_us = header["now_us"].as_i64().expect("a time");
        let pair = Pair::open(&database, now_us).await;
        Served {
            games: pair.games().await,
            pair,
            expected,
            _work: work,
        }
    }
}

/// Opens a copy of a store, reads every game in it, goes on with some of them, and returns what is
/// not as it was.
///
/// # Panics
///
/// Where the store cannot be served.
pub async fn check(folder: &Path) -> Vec<String> {
    let mut served = Served::begin(folder).await;
    let mut faults = Vec::new();
    check_list(&mut served, &mut faults).await;
    for expected in served.expected.clone() {
        let id = text(&expected, "id");
        let mut fault = |text: String| faults.push(format!("{id}: {text}"));
        let shown = show(&mut served.games, &id).await;
        for part in ["game", "events", "seal"] {
            if let Some(found) = json::difference(&expected[part], &shown[part]) {
                fault(format!("{part}.{found}"));
            }
        }
        check_repetition(&mut served.games, &id, &mut fault).await;
        go_on(&mut served.games, &id, &expected, &mut fault).await;
        let report = verify_game(&mut served.games, &id).await;
        if !report.is_sound() {
            fault(report.to_string());
        }
    }
    served.pair.close().await;
    faults
}

/// Every game is listed, and no other.
async fn check_list(served: &mut Served, faults: &mut Vec<String>) {
    let request = v1::ListGamesRequest {
        page_size: 1_000,
        ..v1::ListGamesRequest::default()
    };
    let listed = served.games.list_games(request).await;
    let listed = listed.expect("the games are listed").into_inner();
    assert_eq!(listed.next_page_token, "", "they are on one page");
    let mut names: Vec<String> = listed.games.into_iter().map(|game| game.name).collect();
    let expected = served.expected.iter();
    let mut expected: Vec<String> = expected
        .map(|game| format!("games/{}", text(game, "id")))
        .collect();
    names.sort();
    expected.sort();
    if names != expected {
        faults.push(format!("listed are {names:?}, not {expected:?}"));
    }
}

/// The first action of a game is asked again, and gets the answer of then.
async fn check_repetition(games: &mut Games, id: &str, fault: &mut impl FnMut(String)) {
    let name = format!("games/{id}");
    let events = list_events(games, &name).await;
    let by_caller = |event: &&v1::GameEvent| {
        let action = event.action.as_ref();
        action.is_some_and(|action| !action.request_id.contains(' '))
    };
    let Some(first) = events.iter().find(by_caller) else {
        return;
    };
    let request = v1::SubmitActionRequest {
        name,
        action: first.action.clone(),
    };
    match games.submit_action(request).await {
        Ok(answer) if answer.get_ref().event.as_ref() == Some(first) => {}
        Ok(answer) => fault(format!(
            "a repetition is answered by {:?}",
            answer.get_ref()
        )),
        // It is a request like any other, and may be above a limit of today.
        Err(status) if wire::details(&status).reason == "LIMIT_EXCEEDED" => {}
        Err(status) => fault(format!("a repetition fails: {status:?}")),
    }
}

/// Does what can be done in the game since, and compares how that is ruled: by the rules that the
/// game was created under.
async fn go_on(games: &mut Games, id: &str, expected: &Value, fault: &mut impl FnMut(String)) {
    let steps = expected["then"].as_array().map(Vec::as_slice);
    for (number, step) in steps.unwrap_or_default().iter().enumerate() {
        let answer = act(games, id, &format!("{id}-then-{number}"), step).await;
        let answer = json::write("SubmitActionResponse", &answer);
        if let Some(found) = json::difference(&step["answer"], &answer) {
            fault(format!("then {number}: {found}"));
        }
        let edition = &expected["game"]["ruleProfile"]["edition"];
        let judged_by = &answer["event"]["judgedBy"]["edition"];
        if answer["event"].is_object() && judged_by != edition {
            fault(format!("then {number}: judged by {judged_by}"));
        }
    }
}

async fn verify_game(games: &mut Games, id: &str) -> Report {
    let mut file = Vec::new();
    for part in export(games, &format!("games/{id}")).await {
        write_part(&mut file, &part).expect("memory takes everything");
    }
    verify(id, file.as_slice(), &Demand::default())
}

/// As [`check`], by a server that has other rules than the one that wrote the store, as
/// `tests/other-rules` makes them; what they are is shown first.
///
/// # Panics
///
/// Where the store cannot be served, or the server has not those other rules.
pub async fn check_other_rules(folder: &Path) -> Vec<String> {
    let mut served = Served::begin(folder).await;
    let games = &mut served.games;
    let is_refused = async |games: &mut Games, id: &str, game: Value| {
        let request = v1::CreateGameRequest {
            game: Some(json::read("Game", &game)),
            game_id: id.to_owned(),
            request_id: format!("{id}-create"),
        };
        games.create_game(request).await.is_err()
    };
    let renamed = json!({ "ruleProfile": { "name": "lichess" } });
    assert!(
        is_refused(games, "renamed", renamed).await,
        "a profile was renamed"
    );
    let long = json!({ "whitePlayer": "Somebody with a name" });
    assert!(is_refused(games, "long", long).await, "a limit was lowered");
    assert!(!is_refused(games, "new", json!({})).await, "a new game");
    let resign = json!({ "seat": "white", "do": { "resign": {} } });
    let answer = act(games, "new", "new-resign", &resign).await;
    assert!(answer.event.is_none(), "a parameter was added: {answer:?}");
    let edition = "FIDE-E01-2030";
    let read = games.get_game(v1::GetGameRequest {
        name: "games/new".to_owned(),
    });
    let game = read.await.expect("it is read").into_inner().game;
    let rules = game.and_then(|game| game.rule_profile).unwrap_or_default();
    assert_eq!(rules.edition, edition, "the edition was changed");
    served.pair.close().await;
    check(folder).await
}
