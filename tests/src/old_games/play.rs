//! Playing the games that a store is to hold.

use std::time::Duration;

use referee_api::v1;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{Games, text};
use crate::json;
use crate::pair::Pair;

/// After this time something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// An hour, in microseconds.
const HOUR_US: i64 = 3_600_000_000;

/// Plays one game as it is written.
pub(super) async fn play(pair: &Pair, games: &mut Games, script: &Value) {
    let id = text(script, "id");
    if script["import"].is_object() {
        import(games, &id, &script["import"]).await;
    } else {
        let request = v1::CreateGameRequest {
            game: Some(json::read("Game", &script["game"])),
            game_id: id.clone(),
            request_id: format!("{id}-create"),
        };
        let created = games.create_game(request).await;
        created.unwrap_or_else(|status| panic!("{id} is not created: {status:?}"));
    }
    let steps = script["steps"].as_array().map(Vec::as_slice);
    for (number, step) in steps.unwrap_or_default().iter().enumerate() {
        let place = format!("{id}, step {}", number + 1);
        if let Some(ms) = step["pass_ms"].as_u64() {
            pair.pass(Duration::from_millis(ms)).await;
        }
        if let Some(entries) = step["wait_for"].as_i64() {
            wait_for(games, &id, entries).await;
        }
        if step["do"].is_object() {
            let answer = act(games, &id, &format!("{id}-{}", number + 1), step).await;
            let is_refused = step["refused"] == true;
            assert_eq!(answer.event.is_none(), is_refused, "{place}: {answer:?}");
        }
    }
}

/// Puts an action to the referee as it is written: who acts, what is wanted, and how long after the
/// action before where the platform keeps the time.
pub(super) async fn act(
    games: &mut Games,
    id: &str,
    request_id: &str,
    step: &Value,
) -> v1::SubmitActionResponse {
    let seat = text(step, "seat").to_uppercase();
    let mut action = step["do"].clone();
    action["seat"] = json!(format!("SEAT_{seat}"));
    action["requestId"] = json!(request_id);
    if let Some(ms) = step["after_ms"].as_u64() {
        action["platformTime"] = json!({ "elapsed": format!("{}s", ms as f64 / 1_000.0) });
    }
    let request = v1::SubmitActionRequest {
        name: format!("games/{id}"),
        action: Some(json::read("Action", &action)),
    };
    let answer = games.submit_action(request).await;
    let answer = answer.unwrap_or_else(|status| panic!("{id}: {step}: {status:?}"));
    answer.into_inner()
}

async fn import(games: &mut Games, id: &str, import: &Value) {
    let mut request: v1::ImportPgnRequest = json::read("ImportPgnRequest", import);
    request.game_id = id.to_owned();
    request.request_id = format!("{id}-import");
    let imported = games.import_pgn(request).await;
    imported.unwrap_or_else(|status| panic!("{id} is not imported: {status:?}"));
}

/// Waits until a game has so many entries, as what the referee finds by itself takes a while.
async fn wait_for(games: &mut Games, id: &str, entries: i64) {
    let is_there = async {
        loop {
            let request = v1::GetGameRequest {
                name: format!("games/{id}"),
            };
            let read = games.get_game(request).await;
            let game = read.expect("the game is read").into_inner().game;
            if game.is_some_and(|game| game.sequence >= entries) {
                return;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    let found = timeout(PATIENCE, is_there).await;
    found.unwrap_or_else(|_| panic!("{id} does not come to {entries} entries"));
}

/// Waits until no question about a game is open any more.
pub(super) async fn settle(pair: &Pair) {
    // A question that is being looked into is claimed. It is claimed once more as if its time had
    // passed, and only until now, so that nobody is kept from it.
    let later_us = pair.now_us() + HOUR_US;
    let settled = async {
        loop {
            let open = pair.store().claim_questions(later_us, -HOUR_US, 1).await;
            if open.expect("the store is asked").is_empty() {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, settled)
        .await
        .expect("questions are answered");
}
