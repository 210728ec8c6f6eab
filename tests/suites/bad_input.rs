//! What cannot be judged gets the status and the details that the contract documents, and the
//! service goes on.

use std::net::SocketAddr;

use bytes::Bytes;
use prost::Message as _;
use referee_api::v1;
use referee_tests::process::Referee;
use referee_tests::wire::{self, details, frame};
use tokio::net::TcpStream;
use tonic::{Code, Status};

const VALIDATE: &str = "/referee.v1.RulesService/ValidateMove";
const CREATE: &str = "/referee.v1.GameService/CreateGame";
const SUBMIT: &str = "/referee.v1.GameService/SubmitAction";

fn check(what: &str, status: &Status, code: Code, reason: &str, field: &str) {
    let found = details(status);
    assert_eq!(status.code(), code, "{what}: {status:?}");
    assert_eq!(found.reason, reason, "{what}: {status:?}");
    assert_eq!(found.domain, "chess-referee", "{what}");
    if !field.is_empty() {
        assert!(
            found.fields.iter().any(|one| one == field),
            "{what}: {:?}",
            found.fields
        );
        assert!(
            status.message().contains(field),
            "{what}: {}",
            status.message()
        );
    }
}

fn validate(fen: &str, text: &str) -> v1::ValidateMoveRequest {
    v1::ValidateMoveRequest {
        position: Some(wire::from_fen(fen)),
        r#move: text.into(),
        rule_profile: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_message_are_refused() {
    let referee = Referee::start();
    let channel = referee.connect().await;
    for path in [
        VALIDATE,
        CREATE,
        SUBMIT,
        "/referee.v1.GameService/WatchGame",
    ] {
        for bytes in [&b"\xff\xff\xff\xff"[..], b"\x0a\x7f", b"\x08", &[0x0a; 40]] {
            let status = wire::send(&channel, path, frame(0, bytes))
                .await
                .expect_err("garbage");
            check(
                path,
                &status,
                Code::InvalidArgument,
                "MALFORMED_MESSAGE",
                "",
            );
        }
    }
    let large = vec![0u8; (4 << 20) + 1];
    let status = wire::send(&channel, VALIDATE, frame(0, &large))
        .await
        .expect_err("too large");
    check(
        "large",
        &status,
        Code::ResourceExhausted,
        "MESSAGE_TOO_LARGE",
        "",
    );
    let status = wire::send(&channel, VALIDATE, frame(1, b"\x1f\x8b"))
        .await
        .expect_err("gzip");
    check(
        "compressed",
        &status,
        Code::InvalidArgument,
        "MALFORMED_MESSAGE",
        "",
    );
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let mut rules = referee.rules().await;
    rules
        .validate_move(validate(start, "e4"))
        .await
        .expect("the service goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn positions_and_moves_that_cannot_be_read_are_refused() {
    let referee = Referee::start();
    let mut rules = referee.rules().await;
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let long = "8/".repeat(1_000_000);
    let cases = [
        (
            "no kings",
            "8/8/8/8/8/8/8/8 w - - 0 1",
            "INVALID_POSITION",
            "position.fen",
        ),
        (
            "one field",
            "4k3/8/8/8/8/8/8/4K3",
            "INVALID_POSITION",
            "position.fen",
        ),
        (
            "not ASCII",
            "4k3/8/8/8/8/8/8/4К3 w - - 0 1",
            "INVALID_POSITION",
            "position.fen",
        ),
        (
            "in check",
            "4k3/4R3/8/8/8/8/8/4K3 w - - 0 1",
            "INVALID_POSITION",
            "position.fen",
        ),
        ("megabytes", long.as_str(), "LIMIT_EXCEEDED", "position.fen"),
        ("empty", "", "INVALID_POSITION", "position.fen"),
    ];
    for (what, fen, reason, field) in cases {
        let status = rules
            .validate_move(validate(fen, "e4"))
            .await
            .expect_err(what);
        check(what, &status, Code::InvalidArgument, reason, field);
    }
    for (text, reason) in [
        ("", "INVALID_FIELD"),
        ("e2e4e2e4e2e4e2e4e", "LIMIT_EXCEEDED"),
    ] {
        let status = rules
            .validate_move(validate(start, text))
            .await
            .expect_err(text);
        check(text, &status, Code::InvalidArgument, reason, "move");
    }
    let mut history = validate(start, "e4");
    history.position.as_mut().expect("it has one").moves = vec!["g1f3".into(); 20_001];
    let status = rules
        .validate_move(history.clone())
        .await
        .expect_err("overlong");
    check(
        "overlong",
        &status,
        Code::InvalidArgument,
        "LIMIT_EXCEEDED",
        "position.moves",
    );
    history.position.as_mut().expect("it has one").moves = vec!["e4".into(), "e4".into()];
    let status = rules
        .validate_move(history)
        .await
        .expect_err("illegal history");
    check(
        "history",
        &status,
        Code::InvalidArgument,
        "ILLEGAL_HISTORY",
        "position.moves[1]",
    );
    assert_eq!(details(&status).metadata["ply"], "1");
    let number = v1::GenerateLegalMovesRequest {
        position: Some(v1::Position {
            base: Some(v1::position::Base::Chess960Number(960)),
            ..v1::Position::default()
        }),
        from_square: String::new(),
    };
    let status = rules.generate_legal_moves(number).await.expect_err("960");
    check(
        "960",
        &status,
        Code::InvalidArgument,
        "INVALID_FIELD",
        "position.chess960_number",
    );
    let wrong = v1::GenerateLegalMovesRequest {
        position: Some(v1::Position {
            variant: 77,
            ..v1::Position::default()
        }),
        from_square: "j9".into(),
    };
    let status = rules.generate_legal_moves(wrong).await.expect_err("wrong");
    check(
        "square",
        &status,
        Code::InvalidArgument,
        "INVALID_FIELD",
        "from_square",
    );
    check(
        "variant",
        &status,
        Code::InvalidArgument,
        "INVALID_FIELD",
        "position.variant",
    );
    let target = v1::ConvertNotationRequest::default();
    let status = rules.convert_notation(target).await.expect_err("no target");
    check(
        "target",
        &status,
        Code::InvalidArgument,
        "INVALID_FIELD",
        "target",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_about_games_that_make_no_sense_are_refused() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let create = wire::create("board-1", v1::Game::default());
    games.create_game(create.clone()).await.expect("a game");
    let unknown = wire::submit("nowhere", v1::Seat::White, wire::resign());
    let status = games.submit_action(unknown).await.expect_err("unknown");
    check("unknown", &status, Code::NotFound, "GAME_NOT_FOUND", "");

    let mut taken = create.clone();
    taken.request_id = wire::fresh_id();
    let status = games.create_game(taken).await.expect_err("taken");
    check("taken", &status, Code::AlreadyExists, "NAME_TAKEN", "");
    let mut reused = create;
    reused.game_id = "board-2".into();
    let status = games.create_game(reused).await.expect_err("reused");
    check(
        "reused",
        &status,
        Code::InvalidArgument,
        "REQUEST_ID_REUSED",
        "",
    );

    let status = games
        .create_game(v1::CreateGameRequest::default())
        .await
        .expect_err("empty");
    check(
        "empty",
        &status,
        Code::InvalidArgument,
        "INVALID_FIELD",
        "game",
    );
    check(
        "empty",
        &status,
        Code::InvalidArgument,
        "INVALID_FIELD",
        "request_id",
    );
    for id in ["Board", "-a", "a_b", "a/b", "ä"] {
        let create = wire::create(id, v1::Game::default());
        let status = games.create_game(create).await.expect_err(id);
        check(
            id,
            &status,
            Code::InvalidArgument,
            "INVALID_FIELD",
            "game_id",
        );
    }
    let profile = v1::RuleProfile {
        name: "house".into(),
        ..v1::RuleProfile::default()
    };
    let game = v1::Game {
        rule_profile: Some(profile),
        ..v1::Game::default()
    };
    let status = games
        .create_game(wire::create("p", game))
        .await
        .expect_err("profile");
    check(
        "profile",
        &status,
        Code::InvalidArgument,
        "INVALID_FIELD",
        "game.rule_profile.name",
    );
    assert!(
        status.message().contains("fide_standard"),
        "{}",
        status.message()
    );

    let mut stale = wire::submit("board-1", v1::Seat::White, wire::make_move("e4"));
    stale.action.as_mut().expect("it has one").expected_sequence = Some(7);
    let status = games.submit_action(stale).await.expect_err("stale");
    check("stale", &status, Code::Aborted, "SEQUENCE_MISMATCH", "");
    assert_eq!(details(&status).metadata["actual_sequence"], "0");
    for (seat, id, field) in [
        (99, "id", "action.seat"),
        (4, "id", "action.seat"),
        (1, "", "action.request_id"),
        (1, "ид", "action.request_id"),
    ] {
        let mut wrong = wire::submit("board-1", v1::Seat::White, wire::resign());
        let action = wrong.action.as_mut().expect("it has one");
        (action.seat, action.request_id) = (seat, id.into());
        let status = games.submit_action(wrong).await.expect_err(field);
        check(
            field,
            &status,
            Code::InvalidArgument,
            "INVALID_FIELD",
            field,
        );
    }
    let ahead = v1::WatchGameRequest {
        name: "games/board-1".into(),
        after_sequence: Some(5),
        heartbeat_interval: None,
        correction_time: None,
    };
    let status = games.watch_game(ahead.clone()).await.expect_err("ahead");
    check("ahead", &status, Code::OutOfRange, "SEQUENCE_AHEAD", "");
    let long = prost_types::Duration {
        seconds: 61,
        nanos: 0,
    };
    let silent = v1::WatchGameRequest {
        heartbeat_interval: Some(long),
        ..ahead
    };
    let status = games.watch_game(silent).await.expect_err("silent");
    check(
        "silent",
        &status,
        Code::InvalidArgument,
        "INVALID_FIELD",
        "heartbeat_interval",
    );
    let negative = v1::ListGamesRequest {
        page_size: -1,
        ..v1::ListGamesRequest::default()
    };
    let status = games.list_games(negative).await.expect_err("negative");
    check(
        "negative",
        &status,
        Code::InvalidArgument,
        "INVALID_FIELD",
        "page_size",
    );
    for token in ["x", "games/0:1", "::"] {
        let page = v1::ListGamesRequest {
            page_token: token.into(),
            ..Default::default()
        };
        let status = games.list_games(page).await.expect_err(token);
        check(
            token,
            &status,
            Code::InvalidArgument,
            "INVALID_PAGE_TOKEN",
            "page_token",
        );
    }
    let action = wire::action(v1::Seat::White, wire::resign());
    let kind = Some(v1::play_game_request::Kind::Action(action));
    let first = tokio_stream::iter([v1::PlayGameRequest { kind }]);
    let mut played = games
        .play_game(first)
        .await
        .expect("the stream opens")
        .into_inner();
    let status = played.message().await.expect_err("no join");
    check(
        "no join",
        &status,
        Code::InvalidArgument,
        "STREAM_PROTOCOL",
        "",
    );
}

/// A deadline that passes says so in the words of the contract. What became of the write is told by
/// the same request again.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_time_is_over_says_so() {
    let referee = Referee::start();
    let request = wire::create("late", v1::Game::default());
    let bytes = frame(0, &request.encode_to_vec());
    let status = send_late(referee.address(), CREATE, bytes.clone()).await;
    check(
        "late",
        &status,
        Code::DeadlineExceeded,
        "DEADLINE_EXCEEDED",
        "",
    );
    let channel = referee.connect().await;
    let answer = wire::send(&channel, CREATE, bytes)
        .await
        .expect("there is time");
    let answer = v1::CreateGameResponse::decode(answer).expect("an answer");
    assert_eq!(answer.game.unwrap_or_default().name, "games/late");
}

/// Makes a call that gives the server less time than any write takes. A client of gRPC would count
/// that time too, and not wait for the answer.
async fn send_late(address: SocketAddr, path: &str, body: Bytes) -> Status {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let (mut client, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
    tokio::spawn(connection);
    let request = http::Request::post(format!("http://{address}{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("grpc-timeout", "1m")
        .body(())
        .expect("a request");
    let (response, mut sender) = client.send_request(request, false).expect("a call");
    sender.send_data(body, true).expect("it is small");
    let response = response.await.expect("an answer");
    Status::from_header_map(response.headers()).expect("a status and no message")
}
