//! The real grpcurl against the real binary, as the README shows it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use referee_tests::process::Referee;
use serde_json::Value;

struct Grpcurl<'a> {
    program: PathBuf,
    referee: &'a Referee,
}

impl Grpcurl<'_> {
    fn run(&self, options: &[&str], tail: &[&str]) -> Output {
        Command::new(Path::new(&self.program))
            .arg("-plaintext")
            .args(options)
            .arg(self.referee.address().to_string())
            .args(tail)
            .output()
            .expect("grpcurl was found before")
    }

    fn text(&self, options: &[&str], tail: &[&str]) -> String {
        let output = self.run(options, tail);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{tail:?}: {error}");
        String::from_utf8(output.stdout).expect("grpcurl writes UTF-8")
    }

    fn call(&self, method: &str, data: &str) -> Value {
        let text = self.text(&["-d", data], &[method]);
        serde_json::from_str(&text).expect("grpcurl writes JSON")
    }
}

#[test]
fn a_game_is_refereed_from_the_command_line() {
    let Some(program) = referee_tests::tool("REFEREE_GRPCURL", "grpcurl") else {
        return;
    };
    let referee = Referee::start();
    let grpcurl = Grpcurl {
        program,
        referee: &referee,
    };

    let services = grpcurl.text(&[], &["list"]);
    for name in [
        "referee.v1.GameService",
        "referee.v1.RulesService",
        "grpc.health.v1.Health",
    ] {
        assert!(services.lines().any(|line| line == name), "{services}");
    }
    let described = grpcurl.text(&[], &["describe", "referee.v1.GameService.SubmitAction"]);
    assert!(described.contains("SubmitActionRequest"), "{described}");

    let create = r#"{"game_id":"board-1","request_id":"create-1","game":{"white_player":"Anna"}}"#;
    let created = grpcurl.call("referee.v1.GameService/CreateGame", create);
    assert_eq!(created["game"]["name"], "games/board-1");
    let moves = [
        ("WHITE", "f3"),
        ("BLACK", "e5"),
        ("WHITE", "g4"),
        ("BLACK", "Qh4"),
    ];
    let act = |ply: usize, seat: &str, text: &str| {
        let action = format!(
            r#"{{"seat":"SEAT_{seat}","request_id":"move-{ply}","make_move":{{"move":"{text}"}}}}"#
        );
        let data = format!(r#"{{"name":"games/board-1","action":{action}}}"#);
        grpcurl.call("referee.v1.GameService/SubmitAction", &data)
    };
    let refused = act(100, "WHITE", "Nd5");
    assert_eq!(refused["ruling"]["verdict"], "VERDICT_REFUSED");
    assert_eq!(
        refused["ruling"]["illegalMove"]["reason"],
        "ILLEGAL_REASON_EMPTY_SQUARE"
    );
    assert_eq!(
        refused["ruling"]["illegalMove"]["citation"]["article"],
        "3.1"
    );
    for (ply, (seat, text)) in moves.into_iter().enumerate() {
        let answer = act(ply, seat, text);
        assert_eq!(answer["ruling"]["verdict"], "VERDICT_ACCEPTED", "{answer}");
        assert_eq!(
            answer,
            act(ply, seat, text),
            "a repetition gets the first answer"
        );
    }
    let watch = r#"{"name":"games/board-1","after_sequence":0}"#;
    let watched = grpcurl.text(&["-d", watch], &["referee.v1.GameService/WatchGame"]);
    let told: Vec<Value> = serde_json::Deserializer::from_str(&watched)
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("grpcurl writes JSON");
    assert_eq!(told.len(), moves.len() + 1, "{watched}");
    assert_eq!(told[4]["end"]["finality"], "FINALITY_OPEN");
    let outcome = &told[3]["event"]["outcome"];
    assert_eq!(outcome["termination"], "TERMINATION_CHECKMATE");
    assert_eq!(outcome["citations"][0]["article"], "5.1.1");
}

#[test]
fn a_malformed_request_is_refused_with_details_that_can_be_read() {
    let Some(program) = referee_tests::tool("REFEREE_GRPCURL", "grpcurl") else {
        return;
    };
    let referee = Referee::start();
    let grpcurl = Grpcurl {
        program,
        referee: &referee,
    };
    let data = r#"{"position":{"fen":"8/8/8/8/8/8/8/4K3 w - - 0"},"move":"e4"}"#;
    let output = grpcurl.run(&["-d", data], &["referee.v1.RulesService/ValidateMove"]);
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr);
    for words in [
        "InvalidArgument",
        "google.rpc.ErrorInfo",
        "\"reason\": \"INVALID_POSITION\"",
        "MISSING_KING",
        "google.rpc.BadRequest",
        "\"field\": \"position.fen\"",
    ] {
        assert!(error.contains(words), "{words} is not in: {error}");
    }
}
