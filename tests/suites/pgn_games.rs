//! Games as Portable Game Notation: imported, exported, and verified over a stream.

use std::process::Command;

use referee_api::v1;
use referee_api::v1::rules_service_client::RulesServiceClient;
use referee_tests::process::{Referee, binary};
use referee_tests::wire;
use referee_tests::{lines, root};
use serde_json::Value;
use tokio_stream::iter;

/// The games of the masters as one text, with headers and a wrong result in one of them.
fn masters() -> Vec<(String, Vec<String>, String)> {
    lines("games/masters.jsonl")
        .into_iter()
        .map(|record| {
            let moves = referee_tests::texts(&record["moves"]);
            let id = record["id"].as_str().unwrap_or_default().to_owned();
            let result = record["result"].as_str().unwrap_or("*").to_owned();
            (id, moves, result)
        })
        .collect()
}

fn pgn(id: &str, moves: &[String], result: &str) -> String {
    let mut text = format!("[Event \"{id}\"]\n[Result \"{result}\"]\n\n");
    for (index, san) in moves.iter().enumerate() {
        if index % 2 == 0 {
            text += &format!("{}. ", index / 2 + 1);
        }
        text += san;
        text += if index % 8 == 7 { "\n" } else { " " };
    }
    text + result + "\n\n"
}

async fn verify(referee: &Referee, text: &str, piece: usize) -> Vec<v1::VerifyGamesResponse> {
    let pieces: Vec<v1::VerifyGamesRequest> = text
        .as_bytes()
        .chunks(piece)
        .map(|piece| v1::VerifyGamesRequest {
            kind: Some(v1::verify_games_request::Kind::Pgn(piece.to_vec().into())),
        })
        .collect();
    let mut rules = RulesServiceClient::new(referee.connect().await);
    let mut stream = rules
        .verify_games(iter(pieces))
        .await
        .expect("a stream")
        .into_inner();
    let mut verdicts = Vec::new();
    while let Some(verdict) = stream.message().await.expect("the stream goes on") {
        verdicts.push(verdict);
    }
    verdicts
}

#[tokio::test]
async fn every_game_of_a_text_has_its_verdict() {
    let referee = Referee::start();
    let games = masters();
    let text: String = games
        .iter()
        .map(|(id, moves, result)| pgn(id, moves, result))
        .collect();
    for piece in [7, 65_536] {
        let verdicts = verify(&referee, &text, piece).await;
        assert_eq!(verdicts.len(), games.len());
        for ((id, moves, _), (number, verdict)) in games.iter().zip((1..).zip(&verdicts)) {
            assert_eq!(verdict.number, number, "{id}");
            assert_eq!(verdict.plies as usize, moves.len(), "{id}");
            assert!(verdict.sound, "{id}: {verdict:?}");
        }
    }
}

#[tokio::test]
async fn a_bad_game_is_a_verdict() {
    use v1::game_finding::Kind;
    let referee = Referee::start();
    let text = "[White \"A\"]\n\n1. f3 e5 2. g4 Qh4# 1-0\n\n\
                1. e4 e5 2. Ke3 Nc6 1-0\n\n\
                [FEN \"8/8/4k3/8/8/3p4/2K5/8 w - - 0 1\"]\n\n1. Kxd3 Kd6 2. Ke3 Ke5 1-0\n\n\
                1. d4 d5 *\n";
    let verdicts = verify(&referee, text, 1_000).await;
    assert_eq!(verdicts.len(), 4, "{verdicts:#?}");
    let kinds = |index: usize| -> Vec<&Kind> {
        let findings = verdicts[index].findings.iter();
        findings
            .filter_map(|finding| finding.kind.as_ref())
            .collect()
    };
    assert!(
        matches!(kinds(0)[..], [Kind::ResultConflict(_)]),
        "{:?}",
        verdicts[0]
    );
    let [Kind::IllegalMove(illegal)] = kinds(1)[..] else {
        panic!("{:?}", verdicts[1]);
    };
    assert_eq!((illegal.ply, illegal.line, illegal.column), (2, 5, 13));
    assert!(
        matches!(kinds(2)[..], [Kind::PlayedOn(_), Kind::ResultConflict(_)]),
        "{:?}",
        verdicts[2]
    );
    assert!(verdicts[3].sound, "{:?}", verdicts[3]);
    for verdict in &verdicts[..3] {
        assert!(
            !verdict.sound
                && verdict
                    .findings
                    .iter()
                    .all(|finding| finding.text.ends_with('.'))
        );
    }
}

/// Records: the text; what the command finds; whether the game can be imported.
const RECORDS: [(&str, &[&str], bool); 8] = [
    ("1. e4 e5 2. Nf3 1-0", &[], true),
    ("1. e4 e5 2. Ke3 Nc6 1-0", &["illegal-move"], false),
    ("1. f3 e5 2. g4 Qh4# *", &["result-missing"], true),
    (
        "1. f3 e5 2. g4 Qh4# 1-0",
        &["result-contradicts-board"],
        false,
    ),
    (
        "[FEN \"8/8/4k3/8/8/4K3/p7/8 w - - 0 1\"]\n\n1. Kd4 1-0",
        &["winner-cannot-mate"],
        true,
    ),
    (
        "[Variant \"Atomic\"]\n\n1-0",
        &["unsupported-variant"],
        false,
    ),
    ("1. e4 {open", &["unclosed-comment"], false),
    (
        "[Result \"1-0\"]\n\n1. e4 e5 1/2-1/2",
        &["result-mismatch"],
        true,
    ),
];

/// What the command says to the games of a text, a value for each.
fn judge(text: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("games.pgn");
    std::fs::write(&file, text).expect("written");
    let output = Command::new(binary())
        .args(["judge", "--json"])
        .arg(&file)
        .output()
        .expect("the binary runs");
    let out = String::from_utf8(output.stdout).expect("text");
    out.lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect()
}

/// `judge`, `VerifyGames` and `ImportPgn` have one verdict on a record.
#[tokio::test]
async fn all_who_judge_a_record_judge_it_alike() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let text: String = RECORDS
        .map(|(text, ..)| format!("[Event \"x\"]\n{text}\n\n"))
        .concat();
    let judged = judge(&text);
    let verdicts = verify(&referee, &text, 65_536).await;
    assert_eq!(verdicts.len(), RECORDS.len());
    for (number, (text, expected, is_imported)) in RECORDS.into_iter().enumerate() {
        let findings = judged[number]["findings"].as_array().expect("a list");
        let kinds: Vec<&str> = findings
            .iter()
            .filter_map(|finding| finding["kind"].as_str())
            .collect();
        assert_eq!(kinds, expected, "judge: {text}");
        let verdict = &verdicts[number];
        assert_eq!(verdict.sound, expected.is_empty(), "VerifyGames: {text}");
        let is_unread = verdict.faults.iter().any(|fault| fault.error);
        let is_told = is_unread || !verdict.findings.is_empty();
        assert_eq!(is_told, !verdict.sound, "VerifyGames: {text}");
        let imported = games.import_pgn(v1::ImportPgnRequest {
            pgn: text.to_owned(),
            game_id: format!("alike-{number}"),
            request_id: wire::fresh_id(),
            ..v1::ImportPgnRequest::default()
        });
        let imported = imported.await;
        assert_eq!(imported.is_ok(), is_imported, "ImportPgn: {imported:?}");
        if let Ok(imported) = imported {
            let faults = imported.into_inner().faults;
            let mut texts = faults.iter().map(|fault| &fault.text);
            let found = &verdict.findings;
            assert!(
                found
                    .iter()
                    .all(|finding| texts.any(|text| *text == finding.text)),
                "ImportPgn: {faults:?}"
            );
        }
    }
}

#[tokio::test]
async fn tags_and_clocks_are_told_within_their_limits() {
    let referee = Referee::start();
    let mut text =
        "[White \"Anna\"]\n[Result \"1-0\"]\n\n{[%clk 0:03:00]} 1. e4 {[%clk 0:02:58.5]} \
                    1... e5 2. d4 {[%clk 0:02:50]} 1-0\n\n"
            .to_owned();
    for number in 0..300 {
        text += &format!("[T{number} \"{}\"]\n", "x".repeat(5_000));
    }
    text += "\n1. e4 *\n";
    let verdicts = verify(&referee, &text, 65_536).await;
    let [told, many] = &verdicts[..] else {
        panic!("{} verdicts", verdicts.len());
    };
    let tags = [("White".to_owned(), "Anna".to_owned())];
    assert_eq!(told.tags, tags.into(), "the result is told otherwise");
    let clocks = told.clocks.iter().map(|clock| {
        let left = clock.left.as_ref().expect("a time");
        (clock.ply, left.seconds, left.nanos)
    });
    let expected = [(0, 180, 0), (1, 178, 500_000_000), (3, 170, 0)];
    assert_eq!(clocks.collect::<Vec<_>>(), expected);
    assert_eq!(many.tags.len(), 256);
    assert!(many.tags.values().all(|value| value.len() == 4_096));
    assert!(many.clocks.is_empty());
}

#[tokio::test]
async fn what_is_imported_is_exported_again() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let text = "[Event \"Club\"]\n[Site \"?\"]\n[Date \"2026.11.30\"]\n[Round \"3\"]\n\
                [White \"Anna\"]\n[Black \"Boris\"]\n[Result \"0-1\"]\n[Termination \"normal\"]\n\
                [TimeControl \"180+2\"]\n\n\
                1. f3 {[%clk 0:02:58]} 1... e5 {[%clk 0:03:01]} 2. g4 {[%clk 0:02:50]}\n\
                2... Qh4# {[%clk 0:02:59]} 0-1\n";
    let request = v1::ImportPgnRequest {
        pgn: text.to_owned(),
        game_id: "imported".to_owned(),
        // As long as it may be.
        request_id: "r".repeat(128),
        labels: [("event", "Club"), ("round", "3"), ("date", "2026.11.30")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        ..v1::ImportPgnRequest::default()
    };
    let first = games.import_pgn(request.clone()).await.expect("imported");
    let first = first.into_inner().game.expect("a game");
    assert_eq!(first.moves.len(), 4);
    let again = games.import_pgn(request.clone()).await.expect("repeated");
    assert_eq!(
        again.into_inner().game,
        Some(first),
        "a repetition adds nothing"
    );
    let other = v1::ImportPgnRequest {
        pgn: text
            .replace("f3", "f4")
            .replace("Qh4#", "exf4")
            .replace("0-1\n", "*\n"),
        ..request.clone()
    };
    let error = games.import_pgn(other).await.expect_err("other content");
    assert!(error.message().contains("request_id"), "{error:?}");
    let export = wire::export_pgn_of("games/imported");
    let written = wire::export_pgn(&mut games, export)
        .await
        .expect("exported");
    let words = |text: &str| {
        text.split_whitespace()
            .map(ToOwned::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(words(&written), words(text));

    let broken = [
        ("", "has no game"),
        ("1. e4 e4 *", "line 1, column 7"),
        ("1. e4 *\n\n1. d4 *", "more than one game"),
        ("1. f3 e5 2. g4 Qh4# 3. e4 0-1", "line 1, column 24"),
        ("1. f3 e5 2. g4 Qh4# 1-0", "another result"),
    ];
    for (number, (pgn, said)) in broken.into_iter().enumerate() {
        let request = v1::ImportPgnRequest {
            pgn: pgn.to_owned(),
            game_id: format!("broken-{number}"),
            request_id: wire::fresh_id(),
            ..request.clone()
        };
        let error = games.import_pgn(request).await.expect_err("refused");
        assert_eq!(error.code(), tonic::Code::InvalidArgument, "{pgn}");
        assert!(error.message().contains(said), "{pgn}: {}", error.message());
        let name = format!("games/broken-{number}");
        let read = games.get_game(v1::GetGameRequest { name }).await;
        assert_eq!(
            read.expect_err("no trace").code(),
            tonic::Code::NotFound,
            "{pgn}"
        );
    }
}

/// Records whose clocks do not follow from their time control are imported with the clocks that
/// they show, and no flag falls that did not.
#[tokio::test]
async fn clocks_are_imported_as_they_are_shown() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let files = [
        ("daily", &["23:41:10", "22:05:00", "23:50:02"][..], "*"),
        (
            "daily-three-days",
            &["71:41:10", "60:05:00", "71:50:02"],
            "1-0",
        ),
        (
            "late-period",
            &[
                "0:03:00", "0:04:00", "0:01:00", "0:03:30", "0:00:10", "0:03:00", "0:01:50",
            ],
            "*",
        ),
    ];
    for profile in ["chesscom", "lichess", "fide_online", "fide_standard"] {
        for (name, clocks, result) in files {
            let path = root().join(format!("tests/data/cases/turn2/{name}.pgn"));
            let game_id = format!("{name}-{}", profile.replace('_', "-"));
            let request = v1::ImportPgnRequest {
                pgn: std::fs::read_to_string(path).expect("the file is there"),
                game_id: game_id.clone(),
                request_id: wire::fresh_id(),
                rule_profile: Some(v1::RuleProfile {
                    name: profile.to_owned(),
                    ..v1::RuleProfile::default()
                }),
                ..v1::ImportPgnRequest::default()
            };
            let imported = games.import_pgn(request).await.expect("imported");
            let faults = imported.into_inner().faults;
            assert!(faults.is_empty(), "{name}: {faults:?}");
            let export = wire::export_pgn_of(&format!("games/{game_id}"));
            let pgn = wire::export_pgn(&mut games, export)
                .await
                .expect("exported");
            let shown = pgn.split("[%clk ").skip(1);
            let shown: Vec<&str> = shown.filter_map(|text| text.split(']').next()).collect();
            assert_eq!(shown, clocks, "{name}, {profile}: {pgn}");
            assert!(pgn.trim_end().ends_with(result), "{name}, {profile}: {pgn}");
        }
    }
    let path = root().join("tests/data/cases/turn2/unread-control.pgn");
    let request = v1::ImportPgnRequest {
        pgn: std::fs::read_to_string(path).expect("the file is there"),
        game_id: "unread".to_owned(),
        request_id: wire::fresh_id(),
        ..v1::ImportPgnRequest::default()
    };
    let imported = games.import_pgn(request).await.expect("imported");
    let faults = imported.into_inner().faults;
    let told: Vec<&str> = faults.iter().map(|fault| fault.text.as_str()).collect();
    let [control] = told[..] else {
        panic!("{told:?}");
    };
    assert!(control.contains("TimeControl"), "{control}");
}

#[tokio::test]
async fn a_ruling_that_people_ask_about_is_exported_with_its_article() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let fen = "8/8/4k3/8/8/3p4/2K5/8 w - - 0 1";
    games
        .create_game(wire::create("dead", wire::game_from(fen)))
        .await
        .expect("created");
    let mv = wire::submit("dead", v1::Seat::White, wire::make_move("Kxd3"));
    games.submit_action(mv).await.expect("ruled");
    let export = wire::export_pgn_of("games/dead");
    let pgn = wire::export_pgn(&mut games, export)
        .await
        .expect("exported");
    assert!(pgn.contains("[SetUp \"1\"]"), "{pgn}");
    assert!(
        pgn.contains("{FIDE-E01-2023 5.2.2: The game is drawn"),
        "{pgn}"
    );
    assert!(pgn.ends_with("1/2-1/2\n"), "{pgn}");
}
