//! What a record in Portable Game Notation says survives `ImportPgn` and `ExportPgn`: tags, clocks
//! and ends, and nothing is added. The records are in `tests/data/pgn/records.jsonl`; adding one is
//! adding a line.

use referee_api::v1;
use referee_api::v1::export_pgn_request::Games as Chosen;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_tests::process::Referee;
use referee_tests::wire;
use tonic::Code;
use tonic::transport::Channel;

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
