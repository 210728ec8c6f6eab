//! Reports about imports: every record of `tests/data/pgn/imports.jsonl` becomes a game and a text
//! again, with the clocks and the result that it shows, and what is left out is reported.

use std::time::Duration;

use referee_api::v1;
use referee_tests::process::Referee;
use referee_tests::{lines, texts, wire};
use serde_json::Value;

/// What stands in the commands of one kind, in order.
fn commands<'a>(pgn: &'a str, name: &str) -> Vec<&'a str> {
    let parts = pgn.split(name).skip(1);
    parts.filter_map(|text| text.split(']').next()).collect()
}

/// Compares an import and the text that comes of it with what a case expects.
fn differences(case: &Value, imported: &v1::ImportPgnResponse, pgn: &str) -> Vec<String> {
    let expected = &case["expect"];
    let mut wrong = Vec::new();
    let mut compare = |what: &str, is_right: bool, found: String| {
        if !is_right {
            wrong.push(format!("{what} are {found}, not {}", expected[what]));
        }
    };
    for (what, name) in [("clocks", "[%clk "), ("elapsed", "[%emt ")] {
        if expected.get(what).is_some() {
            let found = commands(pgn, name);
            compare(what, texts(&expected[what]) == found, format!("{found:?}"));
        }
    }
    if expected.get("faults").is_some() {
        let parts = texts(&expected["faults"]);
        let found: Vec<&str> = imported.faults.iter().map(|it| it.text.as_str()).collect();
        let is_right = found.len() == parts.len()
            && parts
                .iter()
                .zip(&found)
                .all(|(part, text)| text.contains(part.as_str()));
        compare("faults", is_right, format!("{found:?}"));
    }
    if let Some(plies) = expected["plies"].as_u64() {
        let moves = imported.game.as_ref().map_or(0, |game| game.moves.len());
        compare("plies", moves as u64 == plies, moves.to_string());
    }
    let result = expected["result"].as_str().expect("a result is expected");
    let found = pgn.split_whitespace().last().unwrap_or_default();
    compare("result", found == result, found.to_owned());
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn records_come_in_and_out_as_they_are() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let mut wrong = Vec::new();
    for (number, case) in lines("pgn/imports.jsonl").iter().enumerate() {
        let id = case["id"].as_str().expect("a case has a name");
        let game_id = format!("import-{number}");
        let request = v1::ImportPgnRequest {
            pgn: case["text"].as_str().expect("a text").to_owned(),
            game_id: game_id.clone(),
            request_id: wire::fresh_id(),
            rule_profile: Some(v1::RuleProfile {
                name: case["profile"].as_str().unwrap_or_default().to_owned(),
                ..v1::RuleProfile::default()
            }),
            ..v1::ImportPgnRequest::default()
        };
        let imported = match games.import_pgn(request).await {
            Ok(imported) => imported.into_inner(),
            Err(status) => {
                wrong.push(format!("{id}: refused: {}", status.message()));
                continue;
            }
        };
        let request = wire::export_pgn_of(&format!("games/{game_id}"));
        let pgn = wire::export_pgn(&mut games, request).await;
        let pgn = pgn.expect("what was imported is exported");
        let found = differences(case, &imported, &pgn);
        wrong.extend(found.iter().map(|what| format!("{id}: {what}\n{pgn}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The moves of an import that its callers give up again and again.
const LONG_MOVES: usize = 2_000;

/// A caller that goes away leaves a game that a repetition goes on with, to its end: no move is
/// missing, and none is there twice.
#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_is_given_up_is_gone_on_with_by_its_repetition() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let mut pgn = String::new();
    for number in 0..LONG_MOVES / 4 {
        let (first, second) = (2 * number + 1, 2 * number + 2);
        pgn += &format!("{first}. Nf3 Nf6 {second}. Ng1 Ng8 ");
    }
    pgn.push('*');
    let import = v1::ImportPgnRequest {
        pgn,
        game_id: "given-up".into(),
        request_id: "import".into(),
        rule_profile: Some(v1::RuleProfile {
            name: "ics".into(),
            ..v1::RuleProfile::default()
        }),
        ..v1::ImportPgnRequest::default()
    };
    let get = v1::GetGameRequest {
        name: "games/given-up".into(),
    };
    let mut parts = Vec::new();
    let mut patience = Duration::from_millis(50);
    let imported = loop {
        let importing = games.import_pgn(import.clone());
        match tokio::time::timeout(patience, importing).await {
            Ok(imported) => break imported.expect("it is imported").into_inner(),
            Err(_) => patience += patience / 8,
        }
        if let Ok(game) = games.get_game(get.clone()).await {
            parts.push(game.into_inner().game.expect("a game").moves.len());
        }
    };
    assert!(
        parts.iter().any(|&moves| 0 < moves && moves < LONG_MOVES),
        "no caller went away in the middle: {parts:?}"
    );
    assert!(parts.is_sorted(), "{parts:?}");
    let game = imported.game.expect("a game");
    assert_eq!(game.moves.len(), LONG_MOVES);
    let cycle = ["g1f3", "g8f6", "f3g1", "f6g8"];
    let as_sent = game.moves.iter().zip(cycle.iter().cycle());
    assert!(as_sent.into_iter().all(|(found, sent)| found == sent));
}
