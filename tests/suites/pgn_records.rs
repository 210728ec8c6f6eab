//! What a record in Portable Game Notation says survives `ImportPgn` and `ExportPgn`: tags, clocks
//! and ends, and nothing is added. The records are in `tests/data/pgn/records.jsonl`; adding one is
//! adding a line.

use std::time::Duration;

use referee_api::v1;
use referee_api::v1::action::Kind;
use referee_api::v1::arbiter_decision::Kind as Decided;
use referee_api::v1::export_pgn_request::Games as Chosen;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_tests::process::Referee;
use referee_tests::wire::{self, details};
use referee_tests::{lines, root, texts};
use serde_json::Value;
use tonic::transport::Channel;
use tonic::{Code, Request};

fn import(game_id: &str, pgn: &str) -> v1::ImportPgnRequest {
    v1::ImportPgnRequest {
        pgn: pgn.to_owned(),
        game_id: game_id.to_owned(),
        request_id: wire::fresh_id(),
        ..v1::ImportPgnRequest::default()
    }
}

async fn export(games: &mut GameServiceClient<Channel>, game_id: &str) -> String {
    let request = wire::export_pgn_of(&format!("games/{game_id}"));
    let text = wire::export_pgn(games, request).await;
    text.expect("exported")
}

#[tokio::test]
async fn tags_are_kept_in_their_order() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let tags = [
        ("Event", "Club \"A\" \\ B"),
        ("Site", "Town hall"),
        ("Date", "1999.01.??"),
        ("Round", "3.1"),
        ("WhiteTitle", "-"),
        ("ECO", "?"),
        ("BlackElo", "2400"),
        ("Größe", "ä"),
        ("Annotator", ""),
    ];
    let escape = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"");
    let mut text: String = tags
        .iter()
        .map(|(name, value)| format!("[{name} \"{}\"]\n", escape(value)))
        .collect();
    text += "[White \"Anna\"]\n[Result \"1-0\"]\n\n1. e4 1-0\n";
    let imported = games.import_pgn(import("tags", &text)).await;
    let imported = imported.expect("imported").into_inner();
    assert!(imported.faults.is_empty(), "{:?}", imported.faults);
    let game = imported.game.expect("a game");
    let kept = game.tags.iter();
    let kept: Vec<_> = kept
        .map(|tag| (tag.name.as_str(), tag.value.as_str()))
        .collect();
    assert_eq!(kept, tags);
    let written = export(&mut games, "tags").await;
    for (name, value) in tags {
        let line = format!("[{name} \"{}\"]\n", escape(value));
        assert!(written.contains(&line), "{line} is not in {written}");
    }
    assert_eq!(written.matches('[').count(), tags.len() + 3, "{written}");
    // A list is for finding a game.
    let listed = games.list_games(v1::ListGamesRequest::default()).await;
    let listed = listed.expect("listed").into_inner().games;
    assert_eq!(listed.len(), 1);
    assert!(listed[0].tags.is_empty());
}

#[tokio::test]
async fn games_of_a_filter_are_one_text_newest_first() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    // More than are read at once, and one that takes several pieces.
    for number in 0..40 {
        let mut moves = String::new();
        let rounds = if number == 7 { 900 } else { 1 };
        for _ in 0..rounds {
            moves += "Nf3 Nf6 Ng1 Ng8 ";
        }
        let text = format!("[Event \"Event {number}\"]\n\n{moves} *\n");
        let mut request = import(&format!("game-{number}"), &text);
        request.rule_profile = Some(v1::RuleProfile {
            overrides: Some(v1::RuleParameters {
                fivefold: Some(false),
                seventy_five: Some(false),
                ..v1::RuleParameters::default()
            }),
            ..v1::RuleProfile::default()
        });
        let round = if number % 2 == 0 { "even" } else { "odd" };
        request.labels = [("round".to_owned(), round.to_owned())].into();
        games.import_pgn(request).await.expect("imported");
    }
    let by = |round: &str| v1::ExportPgnRequest {
        games: Some(Chosen::Filter(v1::GameFilter {
            labels: [("round".to_owned(), round.to_owned())].into(),
            ..v1::GameFilter::default()
        })),
    };
    let text = wire::export_pgn(&mut games, by("odd")).await;
    let text = text.expect("exported");
    let events: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("[Event \"Event ")?.strip_suffix("\"]"))
        .collect();
    let expected: Vec<String> = (0..40)
        .rev()
        .filter(|number| number % 2 == 1)
        .map(|number| number.to_string())
        .collect();
    assert_eq!(events, expected);
    // Each text stands there as it does alone, with a blank line between.
    let mut each = Vec::new();
    for number in &expected {
        each.push(export(&mut games, &format!("game-{number}")).await);
    }
    assert_eq!(text, each.join("\n"));

    let mut stream = games.export_pgn(by("odd")).await.expect("a stream");
    let stream = stream.get_mut();
    let mut pieces = Vec::new();
    while let Some(piece) = stream.message().await.expect("a piece") {
        assert!(piece.pgn.len() <= referee_server::limits::PGN_EXPORT_PIECE_BYTES_MAX);
        pieces.push(piece.name);
    }
    assert!(pieces.iter().filter(|name| *name == "games/game-7").count() > 1);
    pieces.dedup();
    assert_eq!(pieces.len(), 20);

    let none = wire::export_pgn(&mut games, by("none")).await;
    assert_eq!(none.expect("nothing"), "");
    let all = v1::ExportPgnRequest {
        games: Some(Chosen::Filter(v1::GameFilter::default())),
    };
    let all = wire::export_pgn(&mut games, all).await.expect("exported");
    assert_eq!(all.matches("[Event ").count(), 40);
    let gone = wire::export_pgn(&mut games, wire::export_pgn_of("games/gone")).await;
    assert_eq!(gone.expect_err("no game").code(), Code::NotFound);
}

/// How a game stands, in the names of the contract without their beginnings.
fn end(game: &v1::Game) -> (String, String) {
    let outcome = game.outcome.clone().unwrap_or_default();
    let cut = |name: &str, begin: &str| name.strip_prefix(begin).unwrap_or(name).to_owned();
    (
        cut(outcome.result().as_str_name(), "GAME_RESULT_"),
        cut(outcome.termination().as_str_name(), "TERMINATION_"),
    )
}

/// All clocks and times of the comments, in order.
fn times(text: &str) -> Vec<String> {
    let commands = text.split("[%").skip(1);
    let commands = commands.filter_map(|rest| rest.split(']').next());
    commands.map(ToOwned::to_owned).collect()
}

/// The request that imports a record of the file.
pub(crate) fn import_of(record: &Value, game_id: &str, pgn: &str) -> v1::ImportPgnRequest {
    let profile = record["profile"].as_str();
    v1::ImportPgnRequest {
        rule_profile: profile.map(|name| v1::RuleProfile {
            name: name.to_owned(),
            ..v1::RuleProfile::default()
        }),
        ..import(game_id, pgn)
    }
}

/// The text of a record of the file.
pub(crate) fn text_of(record: &Value) -> String {
    if let Some(pgn) = record["pgn"].as_str() {
        return pgn.to_owned();
    }
    let file = record["file"].as_str().expect("a text or a file");
    let path = root().join("tests/data/cases/turn2").join(file);
    std::fs::read_to_string(path).expect("the file is there")
}

/// T2-73, T2-74, T2-75 and more of their kinds.
#[tokio::test]
async fn what_a_record_says_survives_and_nothing_is_added() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    for record in lines("pgn/records.jsonl") {
        let id = record["id"].as_str().expect("a name").to_lowercase();
        let expect = &record["expect"];
        let mut text = text_of(&record);
        for round in ["", "-again"] {
            let game_id = format!("{id}{round}");
            let imported = games.import_pgn(import_of(&record, &game_id, &text)).await;
            let imported = imported.unwrap_or_else(|status| panic!("{game_id}: {status:?}"));
            let imported = imported.into_inner();
            let faults = imported.faults;
            if round.is_empty() {
                let told = texts(&expect["told"]);
                assert_eq!(faults.len(), told.len(), "{id}: {faults:?}");
                for (fault, words) in faults.iter().zip(&told) {
                    assert!(fault.text.contains(words), "{id}: {fault:?}");
                }
            }
            let game = imported.game.expect("a game");
            let expected = [&expect["result"], &expect["termination"]];
            let expected = expected.map(|name| name.as_str().expect("a name").to_owned());
            assert_eq!(end(&game), expected.into(), "{game_id}");
            let written = export(&mut games, &game_id).await;
            for words in texts(&expect["out"]) {
                assert!(written.contains(&words), "{game_id}: {words}\n{written}");
            }
            for words in texts(&expect["not"]) {
                assert!(!written.contains(&words), "{game_id}: {words}\n{written}");
            }
            if expect["times"].is_array() {
                assert_eq!(
                    times(&written),
                    texts(&expect["times"]),
                    "{game_id}\n{written}"
                );
            }
            // The second time the text comes back as it went in.
            if !round.is_empty() {
                assert_eq!(written, text, "{game_id}");
            }
            text = written;
        }
    }
}

/// What ends a game here is known again after export and import.
#[tokio::test]
async fn ends_survive_out_and_in() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let side = v1::Color::Black.into();
    let score = |white: v1::Score, black: v1::Score| {
        let (white, black) = (white.into(), black.into());
        Decided::SetScore(v1::SetScore { white, black })
    };
    let ends = [
        (
            "forfeit",
            Decided::DeclareForfeit(v1::DeclareForfeit { side }),
        ),
        (
            "double-forfeit",
            Decided::DeclareDoubleForfeit(v1::DeclareDoubleForfeit {}),
        ),
        (
            "both-lose",
            Decided::DeclareLostByBoth(v1::DeclareLostByBoth {}),
        ),
        ("white-half", score(v1::Score::Half, v1::Score::Zero)),
        ("black-half", score(v1::Score::Zero, v1::Score::Half)),
        ("draw", score(v1::Score::Half, v1::Score::Half)),
    ];
    for (id, decided) in ends {
        let created = games.create_game(wire::create(id, v1::Game::default()));
        let created = created.await.expect("created").into_inner();
        assert_eq!(end(&created.game.expect("a game")).0, "ONGOING");
        assert!(
            export(&mut games, id)
                .await
                .contains("[Date \"????.??.??\"]"),
            "not begun"
        );
        let decision = Kind::ArbiterDecision(v1::ArbiterDecision {
            kind: Some(decided),
            ..v1::ArbiterDecision::default()
        });
        let request = wire::submit(id, v1::Seat::Arbiter, decision);
        let answer = games
            .submit_action(request)
            .await
            .expect("decided")
            .into_inner();
        let event = answer.event.expect("an event");
        let time = event.event_time.expect("it has a time");
        let text = export(&mut games, id).await;
        // The day of the first event, by the clock of the server.
        let day = time::OffsetDateTime::from_unix_timestamp(time.seconds).expect("a time");
        let (year, month, day) = day.to_calendar_date();
        let date = format!("[Date \"{year:04}.{:02}.{day:02}\"]", u8::from(month));
        assert!(text.contains(&date), "{id}: {text}");
        assert!(!text.contains("unterminated"), "{id}: {text}");
        let again = format!("{id}-again");
        let imported = games.import_pgn(import(&again, &text)).await;
        let imported = imported.expect("imported").into_inner();
        assert!(imported.faults.is_empty(), "{id}: {:?}", imported.faults);
        let outcome = event.outcome.expect("it ended");
        let game = v1::Game {
            outcome: Some(outcome),
            ..v1::Game::default()
        };
        assert_eq!(end(&imported.game.expect("a game")), end(&game), "{id}");
        let written = export(&mut games, &again).await;
        let tags = |text: &str| text.lines().take_while(|line| !line.is_empty()).count();
        assert_eq!(tags(&written), tags(&text), "{written}\n{text}");
    }
}

/// Of a rule that no article has, the profile is named.
#[tokio::test]
async fn a_rule_of_a_profile_is_named_in_the_comment() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let game = v1::Game {
        rule_profile: Some(v1::RuleProfile {
            name: "lichess".to_owned(),
            ..v1::RuleProfile::default()
        }),
        ..v1::Game::default()
    };
    games
        .create_game(wire::create("aborted", game))
        .await
        .expect("created");
    let abort = wire::submit(
        "aborted",
        v1::Seat::White,
        Kind::AbortGame(v1::AbortGame {}),
    );
    games.submit_action(abort).await.expect("ruled");
    let text = export(&mut games, "aborted").await;
    assert!(
        text.contains("{Rules of lichess (LICHESS-2026-08): The game is"),
        "{text}"
    );
    assert!(text.contains("[Termination \"abandoned\"]"), "{text}");
    assert!(!text.contains("RULE-PROFILE"), "{text}");
}

/// Why a text is not imported has a place, and a cause of its own.
#[tokio::test]
async fn what_bars_an_import_has_a_place() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let refused = [
        ("1. e4 e4 *", "illegal", "1", "7", Some("1")),
        (
            "[FEN \"8/8/4k3/8/8/3p4/2K5/8 w - - 0 1\"]\n\n1. Kxd3 Kd6 *",
            "went on",
            "3",
            "14",
            Some("1"),
        ),
        ("1. f3 e5 2. g4 Qh4# 1-0", "another result", "1", "24", None),
        ("[Event \"x\"]\n\n1. e4 {open", "not closed", "3", "7", None),
    ];
    for (number, (pgn, words, line, column, ply)) in refused.into_iter().enumerate() {
        let request = import(&format!("refused-{number}"), pgn);
        let status = games.import_pgn(request).await.expect_err("refused");
        assert_eq!(status.code(), Code::InvalidArgument, "{pgn}");
        let found = details(&status);
        assert_eq!(found.reason, "INVALID_FIELD", "{pgn}");
        assert!(
            status.message().contains(words),
            "{pgn}: {}",
            status.message()
        );
        assert_eq!(found.metadata["line"], line, "{pgn}");
        assert_eq!(found.metadata["column"], column, "{pgn}");
        assert_eq!(found.metadata.get("ply").map(String::as_str), ply, "{pgn}");
    }
}

/// The moves of a game there, as far as they are.
async fn moves_of(games: &mut GameServiceClient<Channel>, game_id: &str) -> usize {
    let name = format!("games/{game_id}");
    match games.get_game(v1::GetGameRequest { name }).await {
        Ok(read) => read.into_inner().game.expect("a game").moves.len(),
        Err(status) => {
            assert_eq!(status.code(), Code::NotFound, "{status:?}");
            0
        }
    }
}

/// The largest game ends in time; an import whose time is over stops, says so, and goes on when it
/// is repeated.
#[tokio::test]
async fn a_big_import_ends_in_time_or_stops_and_goes_on() {
    const PLIES: usize = 20_000;
    let referee = Referee::start();
    let mut games = referee.games().await;
    let rounds = "Nf3 {[%clk 1:00:00]} Nf6 {[%clk 1:00:00]} Ng1 {[%clk 1:00:00]} Ng8 ";
    let mut request = import("big", &format!("{} *\n", rounds.repeat(PLIES / 4)));
    request.rule_profile = Some(v1::RuleProfile {
        overrides: Some(v1::RuleParameters {
            fivefold: Some(false),
            seventy_five: Some(false),
            ..v1::RuleParameters::default()
        }),
        ..v1::RuleProfile::default()
    });
    let mut time = Duration::from_millis(100);
    let mut stopped = 0;
    let mut before = 0;
    let game = loop {
        let mut asked = Request::new(request.clone());
        asked.set_timeout(time);
        match games.import_pgn(asked).await {
            Ok(imported) => break imported.into_inner().game.expect("a game"),
            // The client has a watch of its own, which is faster where the machine is busy.
            Err(status) if status.code() == Code::Cancelled => {}
            Err(status) => {
                assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
                assert_eq!(details(&status).reason, "DEADLINE_EXCEEDED", "{status:?}");
            }
        }
        // What had begun ends, and then nothing more is written: one go at most.
        let first = moves_of(&mut games, "big").await;
        let (mut now, mut same) = (first, 0);
        while same < 50 {
            let next = moves_of(&mut games, "big").await;
            let most = first + referee_server::limits::BATCH_ACTIONS_MAX;
            assert!(next <= most, "the import goes on: {next} after {first}");
            same = if next == now { same + 1 } else { 0 };
            now = next;
        }
        assert!(now >= before, "{now} after {before}");
        stopped += usize::from(now > before && now < PLIES);
        before = now;
        time *= 2;
        assert!(
            time < Duration::from_secs(240),
            "the import does not end in time"
        );
    };
    assert_eq!(game.moves.len(), PLIES);
    assert!(stopped > 0, "no import has stopped halfway");
    assert!(game.sequence >= PLIES as i64);
}
