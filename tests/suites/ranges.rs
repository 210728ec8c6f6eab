//! Fields out of their range or with no value of their enum are named, and pages have bounds.
//! Adding a case is adding a line.

use prost::Message;
use referee_api::v1;
use referee_tests::process::Referee;
use referee_tests::wire::{self, details, frame};
use tonic::Code;

use crate::bounds::{
    CONVERT, CREATE, EVENTS, GET, LIST, SUBMIT, VALIDATE, WATCH, act, create, filter, label, text,
    validate,
};

fn seconds(seconds: i64, nanos: i32) -> Option<prost_types::Duration> {
    Some(prost_types::Duration { seconds, nanos })
}

fn watch(after_sequence: Option<i64>, interval: Option<prost_types::Duration>) -> Vec<u8> {
    v1::WatchGameRequest {
        name: "games/bounds".into(),
        after_sequence,
        heartbeat_interval: interval,
        correction_time: None,
    }
    .encode_to_vec()
}

fn overrides(overrides: v1::RuleParameters) -> Vec<u8> {
    create(|_, game| {
        let profile = v1::RuleProfile {
            overrides: Some(overrides),
            ..Default::default()
        };
        game.rule_profile = Some(profile);
    })
}

/// Requests with one field out of its range or not among its values.
fn wrong() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let time = |seconds, nanos| Some(prost_types::Timestamp { seconds, nanos });
    let number = |number| v1::Position {
        base: Some(v1::position::Base::Chess960Number(number)),
        ..Default::default()
    };
    let action = |change: fn(&mut v1::Action)| {
        let mut request = wire::submit("bounds", v1::Seat::White, wire::resign());
        change(request.action.as_mut().expect("it has one"));
        request.encode_to_vec()
    };
    vec![
        (
            WATCH,
            "heartbeat_interval",
            watch(None, seconds(0, 999_999_999)),
        ),
        (WATCH, "heartbeat_interval", watch(None, seconds(60, 1))),
        (WATCH, "heartbeat_interval", watch(None, seconds(-15, 0))),
        (
            WATCH,
            "heartbeat_interval",
            watch(None, seconds(i64::MAX, i32::MAX)),
        ),
        (
            WATCH,
            "heartbeat_interval",
            watch(None, seconds(i64::MIN, i32::MIN)),
        ),
        (WATCH, "after_sequence", watch(Some(-1), None)),
        (WATCH, "after_sequence", watch(Some(i64::MIN), None)),
        (
            WATCH,
            "name",
            v1::WatchGameRequest::default().encode_to_vec(),
        ),
        (
            GET,
            "name",
            v1::GetGameRequest {
                name: "players/x".into(),
            }
            .encode_to_vec(),
        ),
        (
            GET,
            "name",
            v1::GetGameRequest {
                name: "games/".into(),
            }
            .encode_to_vec(),
        ),
        (
            GET,
            "name",
            v1::GetGameRequest {
                name: "games/a/b".into(),
            }
            .encode_to_vec(),
        ),
        (
            SUBMIT,
            "action",
            v1::SubmitActionRequest {
                name: "games/bounds".into(),
                action: None,
            }
            .encode_to_vec(),
        ),
        (SUBMIT, "action.kind", action(|action| action.kind = None)),
        (SUBMIT, "action.seat", action(|action| action.seat = 0)),
        (SUBMIT, "action.seat", action(|action| action.seat = -1)),
        (
            SUBMIT,
            "action.seat",
            action(|action| action.seat = i32::MAX),
        ),
        (
            SUBMIT,
            "action.request_id",
            action(|action| action.request_id = "a b".into()),
        ),
        (
            SUBMIT,
            "action.request_id",
            action(|action| action.request_id = "a\u{7f}".into()),
        ),
        (
            SUBMIT,
            "action.request_id",
            action(|action| action.request_id = "\n".into()),
        ),
        (
            SUBMIT,
            "action.request_id",
            action(|action| action.request_id = "é".into()),
        ),
        (
            SUBMIT,
            "action.expected_sequence",
            action(|action| action.expected_sequence = Some(-1)),
        ),
        (
            SUBMIT,
            "action.make_claim.claim",
            act(wire::claim(v1::ClaimKind::Unspecified, None)),
        ),
        (
            SUBMIT,
            "action.make_claim.claim",
            action(|action| {
                let claim = v1::MakeClaim {
                    claim: 99,
                    intended_move: String::new(),
                    ..v1::MakeClaim::default()
                };
                action.kind = Some(v1::action::Kind::MakeClaim(claim));
            }),
        ),
        (SUBMIT, "action.make_move.move", act(wire::make_move(""))),
        (
            CREATE,
            "game",
            v1::CreateGameRequest {
                request_id: wire::fresh_id(),
                ..Default::default()
            }
            .encode_to_vec(),
        ),
        (
            CREATE,
            "game_id",
            create(|request, _| request.game_id = "a-".into()),
        ),
        (
            CREATE,
            "game.labels",
            create(|_, game| game.labels = label("Key".into(), text(1))),
        ),
        (
            CREATE,
            "game.labels",
            create(|_, game| game.labels = label(String::new(), text(1))),
        ),
        (
            CREATE,
            "game.labels",
            create(|_, game| game.labels = label("1a".into(), text(1))),
        ),
        (
            CREATE,
            "game.initial_position.chess960_number",
            create(|_, game| {
                game.initial_position = Some(v1::Position {
                    base: Some(v1::position::Base::Chess960Number(960)),
                    ..Default::default()
                });
            }),
        ),
        (
            CREATE,
            "game.initial_position.variant",
            create(|_, game| {
                let position = v1::Position {
                    variant: 3,
                    ..Default::default()
                };
                game.initial_position = Some(position);
            }),
        ),
        (
            CREATE,
            "game.rule_profile.overrides.min_moves_for_agreement",
            overrides(v1::RuleParameters {
                min_moves_for_agreement: Some(201),
                ..Default::default()
            }),
        ),
        (
            CREATE,
            "game.rule_profile.overrides.threefold",
            overrides(v1::RuleParameters {
                threefold: 5,
                ..Default::default()
            }),
        ),
        (
            CREATE,
            "game.rule_profile.overrides.fifty",
            overrides(v1::RuleParameters {
                fifty: -7,
                ..Default::default()
            }),
        ),
        (
            VALIDATE,
            "position.variant",
            validate(|request| {
                request.position = Some(v1::Position {
                    variant: v1::Variant::Standard.into(),
                    ..number(518)
                });
            }),
        ),
        (
            CONVERT,
            "castling",
            v1::ConvertNotationRequest {
                target: 1,
                castling: 5,
                ..Default::default()
            }
            .encode_to_vec(),
        ),
        (
            CONVERT,
            "target",
            v1::ConvertNotationRequest {
                target: 9,
                ..Default::default()
            }
            .encode_to_vec(),
        ),
        (
            LIST,
            "page_size",
            v1::ListGamesRequest {
                page_size: i32::MIN,
                ..Default::default()
            }
            .encode_to_vec(),
        ),
        (
            EVENTS,
            "page_size",
            v1::ListGameEventsRequest {
                parent: "games/bounds".into(),
                page_size: -1,
                ..Default::default()
            }
            .encode_to_vec(),
        ),
        (
            LIST,
            "filter.states",
            filter(v1::GameFilter {
                states: vec![9],
                ..Default::default()
            }),
        ),
        (
            LIST,
            "filter.states",
            filter(v1::GameFilter {
                states: vec![0],
                ..Default::default()
            }),
        ),
        (
            LIST,
            "filter.min_create_time",
            filter(v1::GameFilter {
                min_create_time: time(i64::MAX, 0),
                ..Default::default()
            }),
        ),
        (
            LIST,
            "filter.max_create_time",
            filter(v1::GameFilter {
                max_create_time: time(0, -1),
                ..Default::default()
            }),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fields_out_of_range_are_named() {
    let referee = Referee::start();
    let channel = referee.connect().await;
    let created = wire::create("bounds", v1::Game::default());
    wire::call(&channel, CREATE, &created)
        .await
        .expect("created");
    for (path, field, request) in wrong() {
        let sent = wire::send(&channel, path, frame(0, &request)).await;
        let status = sent
            .err()
            .unwrap_or_else(|| panic!("{path} {field}: was taken"));
        let found = details(&status);
        assert_eq!(
            status.code(),
            Code::InvalidArgument,
            "{path} {field}: {status:?}"
        );
        assert_eq!(found.reason, "INVALID_FIELD", "{path} {field}: {status:?}");
        assert!(
            found.fields.iter().any(|one| one == field),
            "{path} {field}: {found:?}"
        );
    }
    let read = v1::GetGameRequest {
        name: "games/bounds".into(),
    };
    let game = wire::call(&channel, GET, &read)
        .await
        .expect("the service goes on");
    let game = v1::GetGameResponse::decode(game)
        .expect("an answer")
        .game
        .expect("a game");
    assert_eq!(game.sequence, 0, "nothing has happened");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_sizes_above_the_limit_are_lowered() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    for _ in 0..3 {
        games
            .create_game(wire::create("", v1::Game::default()))
            .await
            .expect("created");
    }
    let request = v1::ListGamesRequest {
        page_size: i32::MAX,
        ..Default::default()
    };
    let page = games
        .list_games(request)
        .await
        .expect("listed")
        .into_inner();
    assert_eq!(page.games.len(), 3);
    assert_eq!(page.next_page_token, "", "empty at the end");
    let request = v1::ListGamesRequest {
        page_size: 2,
        ..Default::default()
    };
    let page = games
        .list_games(request)
        .await
        .expect("listed")
        .into_inner();
    assert_eq!(page.games.len(), 2);
    let filter = v1::GameFilter {
        states: vec![1],
        ..Default::default()
    };
    let (page_token, filter) = (page.next_page_token, Some(filter));
    // The filter of all pages must be the same.
    let request = v1::ListGamesRequest {
        page_size: 2,
        page_token,
        filter,
    };
    let status = games.list_games(request).await.expect_err("another filter");
    assert_eq!(details(&status).reason, "INVALID_PAGE_TOKEN");
    assert_eq!(details(&status).fields, ["page_token"]);
}
