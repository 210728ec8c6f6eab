//! Every limit of a request: what fits is taken, one more is refused with the field and the
//! numbers. Adding a case is adding a line.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use prost::Message;
use referee_api::v1;
use referee_server::limits;
use referee_store::limits::REFUSALS_PER_SCOPE_MAX;
use referee_store::{Append, GameKey, Games, RequestKey, SqliteStore, Store, Write};
use referee_tests::process::Referee;
use referee_tests::wire::{self, details, frame};
use tonic::Code;

pub(crate) const VALIDATE: &str = "/referee.v1.RulesService/ValidateMove";
const GENERATE: &str = "/referee.v1.RulesService/GenerateLegalMoves";
const ADJUDICATE: &str = "/referee.v1.RulesService/AdjudicatePosition";
pub(crate) const CONVERT: &str = "/referee.v1.RulesService/ConvertNotation";
pub(crate) const CREATE: &str = wire::CREATE;
pub(crate) const SUBMIT: &str = wire::SUBMIT;
pub(crate) const GET: &str = "/referee.v1.GameService/GetGame";
pub(crate) const LIST: &str = "/referee.v1.GameService/ListGames";
pub(crate) const EVENTS: &str = "/referee.v1.GameService/ListGameEvents";
pub(crate) const UPDATE: &str = "/referee.v1.GameService/UpdateGame";
pub(crate) const WATCH: &str = "/referee.v1.GameService/WatchGame";

/// A field that can be filled with so many bytes or elements: its path, its limit, and the request
/// that fills it.
struct Bound {
    path: &'static str,
    field: &'static str,
    limit: usize,
    fill: fn(usize) -> Vec<u8>,
}

fn bound(
    path: &'static str,
    field: &'static str,
    limit: usize,
    fill: fn(usize) -> Vec<u8>,
) -> Bound {
    Bound {
        path,
        field,
        limit,
        fill,
    }
}

pub(crate) fn text(length: usize) -> String {
    "a".repeat(length)
}

fn name(length: usize) -> String {
    format!("games/{}", text(length - "games/".len()))
}

pub(crate) fn validate(change: impl FnOnce(&mut v1::ValidateMoveRequest)) -> Vec<u8> {
    let mut request = v1::ValidateMoveRequest {
        r#move: "e4".into(),
        ..v1::ValidateMoveRequest::default()
    };
    change(&mut request);
    request.encode_to_vec()
}

pub(crate) fn create(change: impl FnOnce(&mut v1::CreateGameRequest, &mut v1::Game)) -> Vec<u8> {
    let mut game = v1::Game::default();
    let mut request = wire::create("", v1::Game::default());
    change(&mut request, &mut game);
    request.game = Some(game);
    request.encode_to_vec()
}

pub(crate) fn act(kind: v1::action::Kind) -> Vec<u8> {
    wire::submit("bounds", v1::Seat::White, kind).encode_to_vec()
}

pub(crate) fn filter(filter: v1::GameFilter) -> Vec<u8> {
    v1::ListGamesRequest {
        filter: Some(filter),
        ..Default::default()
    }
    .encode_to_vec()
}

fn labels(count: usize) -> std::collections::BTreeMap<String, String> {
    (0..count)
        .map(|number| (format!("key{number}"), String::new()))
        .collect()
}

pub(crate) fn label(key: String, value: String) -> std::collections::BTreeMap<String, String> {
    [(key, value)].into()
}

/// Tags with these names, and values of so many bytes.
fn tags(named: impl IntoIterator<Item = (String, usize)>) -> Vec<v1::GameTag> {
    let tag = |(name, size)| v1::GameTag {
        name,
        value: text(size),
    };
    named.into_iter().map(tag).collect()
}

fn positions() -> Vec<Bound> {
    vec![
        bound(VALIDATE, "position.fen", limits::FEN_BYTES_MAX, |size| {
            validate(|request| request.position = Some(wire::from_fen(&text(size))))
        }),
        bound(
            VALIDATE,
            "position.moves",
            limits::HISTORY_MOVES_MAX,
            |size| {
                validate(|request| {
                    let moves = vec!["e2e4".to_owned(); size];
                    request.position = Some(v1::Position {
                        moves,
                        ..Default::default()
                    });
                })
            },
        ),
        bound(VALIDATE, "position.moves", limits::MOVE_BYTES_MAX, |size| {
            validate(|request| {
                let moves = vec!["e2e4".to_owned(), text(size)];
                request.position = Some(v1::Position {
                    moves,
                    ..Default::default()
                });
            })
        }),
        bound(VALIDATE, "move", limits::MOVE_BYTES_MAX, |size| {
            validate(|request| request.r#move = text(size))
        }),
        bound(
            VALIDATE,
            "rule_profile.name",
            limits::PROFILE_NAME_BYTES_MAX,
            |size| {
                validate(|request| {
                    let profile = v1::RuleProfile {
                        name: text(size),
                        ..Default::default()
                    };
                    request.rule_profile = Some(profile);
                })
            },
        ),
        bound(GENERATE, "from_square", 2, |size| {
            v1::GenerateLegalMovesRequest {
                from_square: text(size),
                ..Default::default()
            }
            .encode_to_vec()
        }),
        bound(ADJUDICATE, "position.fen", limits::FEN_BYTES_MAX, |size| {
            let position = Some(wire::from_fen(&text(size)));
            v1::AdjudicatePositionRequest {
                position,
                ..Default::default()
            }
            .encode_to_vec()
        }),
        bound(
            CONVERT,
            "position.moves",
            limits::HISTORY_MOVES_MAX,
            |size| {
                let moves = vec!["e2e4".to_owned(); size];
                let position = Some(v1::Position {
                    moves,
                    ..Default::default()
                });
                let target = v1::Notation::San.into();
                v1::ConvertNotationRequest {
                    position,
                    target,
                    ..Default::default()
                }
                .encode_to_vec()
            },
        ),
    ]
}

fn games() -> Vec<Bound> {
    vec![
        bound(CREATE, "game_id", limits::GAME_ID_BYTES_MAX, |size| {
            create(|request, _| request.game_id = text(size))
        }),
        bound(CREATE, "request_id", limits::REQUEST_ID_BYTES_MAX, |size| {
            create(|request, _| request.request_id = text(size))
        }),
        bound(
            CREATE,
            "game.white_player",
            limits::PLAYER_BYTES_MAX,
            |size| create(|_, game| game.white_player = text(size)),
        ),
        bound(
            CREATE,
            "game.black_player",
            limits::PLAYER_BYTES_MAX,
            |size| create(|_, game| game.black_player = text(size)),
        ),
        bound(CREATE, "game.labels", limits::LABELS_MAX, |size| {
            create(|_, game| game.labels = labels(size))
        }),
        bound(CREATE, "game.labels", limits::LABEL_KEY_BYTES_MAX, |size| {
            create(|_, game| game.labels = label(text(size), String::new()))
        }),
        bound(
            CREATE,
            "game.labels",
            limits::LABEL_VALUE_BYTES_MAX,
            |size| create(|_, game| game.labels = label("key".into(), text(size))),
        ),
        bound(CREATE, "game.tags", limits::TAGS_MAX, |size| {
            let names = (0..size).map(|number| (format!("T{number}"), 1));
            create(|_, game| game.tags = tags(names))
        }),
        bound(CREATE, "game.tags", limits::TAGS_BYTES_MAX, |size| {
            // Each has 4,000 bytes but for the last.
            let rest = |number: usize| (size - number * 4_000).min(4_000) - 4;
            let names =
                (0..size.div_ceil(4_000)).map(|number| (format!("T{number:03}"), rest(number)));
            create(|_, game| game.tags = tags(names))
        }),
        bound(
            CREATE,
            "game.tags[0].name",
            limits::TAG_NAME_BYTES_MAX,
            |size| create(|_, game| game.tags = tags([(text(size), 1)])),
        ),
        bound(
            CREATE,
            "game.tags[0].value",
            limits::TAG_VALUE_BYTES_MAX,
            |size| create(|_, game| game.tags = tags([("T".to_owned(), size)])),
        ),
        bound(
            CREATE,
            "game.initial_position.fen",
            limits::FEN_BYTES_MAX,
            |size| create(|_, game| game.initial_position = Some(wire::from_fen(&text(size)))),
        ),
        bound(SUBMIT, "name", limits::GAME_NAME_BYTES_MAX, |size| {
            let mut request = wire::submit("", v1::Seat::White, wire::resign());
            request.name = name(size);
            request.encode_to_vec()
        }),
        bound(
            SUBMIT,
            "action.request_id",
            limits::REQUEST_ID_BYTES_MAX,
            |size| {
                let mut request = wire::submit("bounds", v1::Seat::White, wire::make_move("a"));
                request.action.as_mut().expect("it has one").request_id = text(size);
                request.encode_to_vec()
            },
        ),
        bound(
            SUBMIT,
            "action.make_move.move",
            limits::MOVE_BYTES_MAX,
            |size| act(wire::make_move(&text(size))),
        ),
        bound(
            SUBMIT,
            "action.make_claim.intended_move",
            limits::MOVE_BYTES_MAX,
            |size| act(wire::claim(v1::ClaimKind::Fifty, Some(&text(size)))),
        ),
        bound(GET, "name", limits::GAME_NAME_BYTES_MAX, |size| {
            v1::GetGameRequest { name: name(size) }.encode_to_vec()
        }),
        bound(EVENTS, "parent", limits::GAME_NAME_BYTES_MAX, |size| {
            v1::ListGameEventsRequest {
                parent: name(size),
                ..Default::default()
            }
            .encode_to_vec()
        }),
        bound(WATCH, "name", limits::GAME_NAME_BYTES_MAX, |size| {
            v1::WatchGameRequest {
                name: name(size),
                ..Default::default()
            }
            .encode_to_vec()
        }),
        bound(LIST, "page_token", limits::PAGE_TOKEN_BYTES_MAX, |size| {
            v1::ListGamesRequest {
                page_token: text(size),
                ..Default::default()
            }
            .encode_to_vec()
        }),
        bound(LIST, "filter.states", limits::FILTER_STATES_MAX, |size| {
            filter(v1::GameFilter {
                states: vec![2; size],
                ..Default::default()
            })
        }),
        bound(LIST, "filter.labels", limits::FILTER_LABELS_MAX, |size| {
            filter(v1::GameFilter {
                labels: labels(size),
                ..Default::default()
            })
        }),
        bound(LIST, "filter.labels", limits::LABEL_KEY_BYTES_MAX, |size| {
            let labels = label(text(size), String::new());
            filter(v1::GameFilter {
                labels,
                ..Default::default()
            })
        }),
        bound(
            LIST,
            "filter.labels",
            limits::LABEL_VALUE_BYTES_MAX,
            |size| {
                let labels = label("key".into(), text(size));
                filter(v1::GameFilter {
                    labels,
                    ..Default::default()
                })
            },
        ),
    ]
}

fn updates() -> Vec<Bound> {
    fn update(change: impl FnOnce(&mut v1::UpdateGameRequest, &mut v1::Game)) -> Vec<u8> {
        let (mut request, mut game) = (v1::UpdateGameRequest::default(), v1::Game::default());
        (request.name, request.request_id) = ("games/bounds".into(), wire::fresh_id());
        request.update_mask = Some(paths(vec!["black_player".into(), "labels".into()]));
        change(&mut request, &mut game);
        request.game = Some(game);
        request.encode_to_vec()
    }
    fn paths(paths: Vec<String>) -> prost_types::FieldMask {
        prost_types::FieldMask { paths }
    }
    let (id, name, count) = (
        limits::REQUEST_ID_BYTES_MAX,
        limits::PLAYER_BYTES_MAX,
        limits::UPDATE_PATHS_MAX,
    );
    vec![
        bound(UPDATE, "request_id", id, |size| {
            update(|request, _| request.request_id = text(size))
        }),
        bound(UPDATE, "update_mask", count, |size| {
            update(|request, _| request.update_mask = Some(paths(vec!["tags".into(); size])))
        }),
        bound(UPDATE, "game.black_player", name, |size| {
            update(|_, game| game.black_player = text(size))
        }),
        bound(UPDATE, "game.labels", limits::LABELS_MAX, |size| {
            update(|_, game| game.labels = labels(size))
        }),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_more_than_the_limit_is_refused_with_both_numbers() {
    let referee = Referee::start();
    let channel = referee.connect().await;
    wire::call(
        &channel,
        CREATE,
        &wire::create("bounds", v1::Game::default()),
    )
    .await
    .expect("created");
    for Bound {
        path,
        field,
        limit,
        fill,
    } in positions().into_iter().chain(games()).chain(updates())
    {
        let what = format!("{path} {field} {limit}");
        // What fits may be nonsense, but not too long.
        if let Err(status) = wire::send(&channel, path, frame(0, &fill(limit))).await {
            assert_ne!(
                details(&status).reason,
                "LIMIT_EXCEEDED",
                "{what}: {status:?}"
            );
            assert!(!wire::broke_off(&status), "{what}: {status:?}");
        }
        for size in [limit + 1, limit * 4] {
            let sent = wire::send(&channel, path, frame(0, &fill(size))).await;
            let status = sent
                .err()
                .unwrap_or_else(|| panic!("{what}: {size} was taken"));
            let found = details(&status);
            assert_eq!(status.code(), Code::InvalidArgument, "{what}: {status:?}");
            assert_eq!(found.reason, "LIMIT_EXCEEDED", "{what}: {status:?}");
            assert_eq!(
                found.fields.first().map(String::as_str),
                Some(field),
                "{what}"
            );
            assert_eq!(found.metadata["limit"], limit.to_string(), "{what}");
            assert_eq!(found.metadata["actual"], size.to_string(), "{what}");
        }
    }
}

/// A message of exactly so many bytes: a question, and a field that nobody knows.
fn padded(bytes: usize) -> Vec<u8> {
    // Field 15, of bytes; the length takes four bytes at this size.
    const KEY: u8 = 15 << 3 | 2;
    let mut message = validate(|_| ());
    let padding = bytes - message.len() - 5;
    message.push(KEY);
    prost::encoding::encode_varint(padding as u64, &mut message);
    message.resize(bytes, 0);
    message
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_above_the_limit_are_refused_and_the_connection_goes_on() {
    let referee = Referee::start();
    let channel = referee.connect().await;
    for _ in 0..3 {
        let fits = frame(0, &padded(limits::MESSAGE_BYTES_MAX));
        wire::send(&channel, VALIDATE, fits).await.expect("it fits");
        for bytes in [limits::MESSAGE_BYTES_MAX + 1, 10_000_000] {
            let status = wire::send(&channel, VALIDATE, frame(0, &padded(bytes))).await;
            let status = status.expect_err("too large");
            let found = details(&status);
            assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
            assert_eq!(found.reason, "MESSAGE_TOO_LARGE", "{status:?}");
            assert_eq!(
                found.metadata["limit"],
                limits::MESSAGE_BYTES_MAX.to_string()
            );
        }
    }
    // A length that no message has, and a message that ends too early.
    let mut lies = frame(0, b"").to_vec();
    lies[1..5].copy_from_slice(&u32::MAX.to_be_bytes());
    let status = wire::send(&channel, VALIDATE, lies.into())
        .await
        .expect_err("too large");
    assert_eq!(details(&status).reason, "MESSAGE_TOO_LARGE", "{status:?}");
    let cut = frame(0, &validate(|_| ()));
    let cut = cut.slice(..cut.len() - 1);
    let status = wire::send(&channel, VALIDATE, cut)
        .await
        .expect_err("cut off");
    assert_eq!(details(&status).reason, "MALFORMED_MESSAGE", "{status:?}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("it is memory");
    encoder.finish().expect("it is memory")
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("it is memory")
}

/// A request may be compressed, and no small message becomes a large one by it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compressed_requests_keep_the_same_limits() {
    let referee = Referee::start();
    let channel = referee.connect().await;
    type Compress = fn(&[u8]) -> Vec<u8>;
    let compress: [(&str, Compress); 2] = [("gzip", gzip), ("zstd", zstandard)];
    for (encoding, compress) in compress {
        let send = async |bytes: &[u8]| {
            let mut headers = http::HeaderMap::new();
            let value = http::HeaderValue::from_static(encoding);
            headers.insert("grpc-encoding", value);
            wire::send_with(&channel, VALIDATE, frame(1, bytes), headers).await
        };
        let answer = send(&compress(&validate(|_| ()))).await;
        let answer = answer.unwrap_or_else(|status| panic!("{encoding}: {status:?}"));
        let answer = v1::ValidateMoveResponse::decode(answer).expect("an answer");
        assert!(answer.answer.is_some(), "{encoding}");
        let bomb = compress(&vec![0; limits::MESSAGE_BYTES_MAX + 1]);
        assert!(bomb.len() < 64 << 10, "it is small on the wire");
        let status = send(&bomb).await.expect_err("too large");
        assert_eq!(status.code(), Code::ResourceExhausted, "{encoding}");
        let found = details(&status);
        assert_eq!(found.reason, "MESSAGE_TOO_LARGE", "{encoding}: {status:?}");
        let limit = limits::MESSAGE_BYTES_MAX.to_string();
        assert_eq!(found.metadata["limit"], limit, "{encoding}");
        // It is as large when it comes again, so that no client is to repeat it.
        let pushback = status.metadata().get("grpc-retry-pushback-ms");
        let pushback = pushback.and_then(|value| value.to_str().ok());
        assert_eq!(pushback, Some("-1"), "{encoding}");
        let status = send(b"\x1f\x8b").await.expect_err("cut off");
        assert_eq!(details(&status).reason, "MALFORMED_MESSAGE", "{status:?}");
    }
}

/// Refusals cost their sender nothing, so that a seat keeps only so many in a game. What was
/// answered is answered again, and the game goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_keeps_so_many_refusals() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let referee = Referee::start_in(folder.path());
    let mut games = referee.games().await;
    let game = wire::create("refused", v1::Game::default());
    games.create_game(game).await.expect("created");
    let request = || wire::submit("refused", v1::Seat::Black, wire::make_move("e5"));
    let first = request();
    let answer = games
        .submit_action(first.clone())
        .await
        .expect("judged")
        .into_inner();
    referee.kill();
    // One action of a game waits for the one before to be on disk, so the others are written by the
    // store itself, many at a time.
    refuse(
        &folder.path().join("referee.db"),
        REFUSALS_PER_SCOPE_MAX - 2,
    )
    .await;

    let referee = Referee::start_in(folder.path());
    let mut games = referee.games().await;
    games
        .submit_action(request())
        .await
        .expect("the last that is kept");
    let status = games.submit_action(request()).await.expect_err("one more");
    assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
    let found = details(&status);
    assert_eq!(found.reason, "GAME_FULL");
    assert_eq!(found.metadata["name"], "games/refused");
    assert_eq!(found.metadata["limit"], REFUSALS_PER_SCOPE_MAX.to_string());
    // One seat cannot use up what another has.
    let other = wire::submit("refused", v1::Seat::White, wire::make_move("e5"));
    let other = games.submit_action(other).await.expect("kept");
    assert_eq!(other.into_inner().sequence, 0, "refused");
    let again = games
        .submit_action(first)
        .await
        .expect("answered before")
        .into_inner();
    assert_eq!(again.encode_to_vec(), answer.encode_to_vec());
    let good = wire::submit("refused", v1::Seat::White, wire::make_move("e4"));
    let good = games
        .submit_action(good)
        .await
        .expect("the game goes on")
        .into_inner();
    assert_eq!(good.sequence, 1);
}

async fn refuse(path: &Path, refusals: i64) {
    let store = Arc::new(SqliteStore::open(path).expect("the store opens"));
    let key = GameKey::new("default", "refused");
    let head = store.head(&key).await.expect("the store reads");
    let previous = head.expect("the game is there").chain;
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..refusals {
        let append = Append {
            key: key.clone(),
            expected_sequence: 0,
            previous,
            request: RequestKey::new(2, format!("refusal-{number}")),
            content_hash: [0; 32],
            write: Write::Refusal {
                answer: b"refused".to_vec(),
            },
        };
        let store = store.clone();
        writers.spawn(async move { store.append(append).await.expect("kept") });
    }
    writers.join_all().await;
    store.close().await.expect("closed");
}
