//! Seat tokens: what a browser holds in place of the credential of its platform.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use referee_api::v1;
use referee_api::v1::play_game_request::Kind;
use referee_api::v1::token_service_client::TokenServiceClient;
use referee_tests::authority::write_secret;
use referee_tests::jwt::{self, JwtKey};
use referee_tests::process::Referee;
use referee_tests::wire::{self, details};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};

use super::revoked::{PROMISED, end};
use super::{Bearer, Games, REQUIRED, check_log, games, issue};

/// Writes the secret of a key into a file, and returns its name.
fn write_key(folder: &Path, name: &str, secret: u8) -> String {
    let path = folder.join(name);
    write_secret(&path, &format!("{secret:02x}").repeat(32));
    path.to_str().expect("a plain name").to_owned()
}

fn white(game: &str) -> v1::IssueSeatTokenRequest {
    v1::IssueSeatTokenRequest {
        principal: "anna".into(),
        role: v1::Role::Player.into(),
        game: format!("games/{game}"),
        seat: v1::Seat::White.into(),
        lifetime: None,
    }
}

fn guest(game: &str) -> v1::IssueSeatTokenRequest {
    v1::IssueSeatTokenRequest {
        principal: "guest".into(),
        role: v1::Role::Spectator.into(),
        seat: v1::Seat::Unspecified.into(),
        ..white(game)
    }
}

async fn seat_token(
    referee: &Referee,
    by: &str,
    request: v1::IssueSeatTokenRequest,
) -> Result<v1::IssueSeatTokenResponse, Status> {
    let channel = referee.connect().await;
    let mut tokens = TokenServiceClient::with_interceptor(channel, Bearer::new(by));
    let answer = tokens.issue_seat_token(request).await;
    answer.map(tonic::Response::into_inner)
}

async fn get(games: &mut Games, game: &str) -> Result<(), Status> {
    let name = format!("games/{game}");
    let answer = games.get_game(v1::GetGameRequest { name }).await;
    answer.map(drop)
}

/// What came of a call that is not to be taken: its code, and why.
fn refusal<T: std::fmt::Debug>(answer: Result<T, Status>) -> (Code, String, String) {
    let status = answer.expect_err("it is not taken");
    let reason = details(&status).reason;
    (status.code(), reason, status.message().to_owned())
}

/// A server with one key, a platform, and two games.
async fn open(folder: &Path, options: &[&str]) -> (Referee, String) {
    let club = issue(folder, "--role platform --principal club");
    let referee = Referee::start_with(folder, options);
    let mut platform = games(&referee, &club).await;
    for id in ["board-1", "board-2"] {
        let created = platform.create_game(wire::create(id, v1::Game::default()));
        created.await.expect("the platform creates it");
    }
    (referee, club)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seat_token_is_one_seat_of_one_game_for_a_short_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = write_key(folder.path(), "seat.key", 0x11);
    let (referee, club) = open(folder.path(), &["--seat-keys", &key]).await;
    let issued = seat_token(&referee, &club, white("board-1")).await;
    let issued = issued.expect("a platform asks for it");
    assert_eq!(issued.key_id.len(), 16, "{issued:?}");
    let anna = issued.token;
    let mut player = games(&referee, &anna).await;
    let e4 = wire::submit("board-1", v1::Seat::White, wire::make_move("e4"));
    let answer = player.submit_action(e4).await.expect("it is White's move");
    let event = answer.into_inner().event.expect("the move stands");
    assert_eq!(event.principal, "anna");
    let e5 = wire::submit("board-1", v1::Seat::Black, wire::make_move("e5"));
    assert_eq!(refusal(player.submit_action(e5).await).1, "ROLE_DENIED");
    let other = refusal(get(&mut player, "board-2").await);
    assert_eq!((other.0, &*other.1), (Code::NotFound, "GAME_NOT_FOUND"));
    let list = player.list_games(v1::ListGamesRequest::default()).await;
    assert_eq!(refusal(list).1, "ROLE_DENIED");
    // Nobody makes more of it.
    let more = seat_token(&referee, &anna, guest("board-1")).await;
    assert_eq!(refusal(more).1, "ROLE_DENIED");

    let short = v1::IssueSeatTokenRequest {
        lifetime: Some(prost_types::Duration {
            seconds: 2,
            nanos: 0,
        }),
        ..guest("board-1")
    };
    let issued = seat_token(&referee, &club, short).await;
    let short = issued.expect("a platform asks for it").token;
    let mut watcher = games(&referee, &short).await;
    get(&mut watcher, "board-1").await.expect("a guest reads");
    let as_white = wire::submit("board-1", v1::Seat::White, wire::make_move("d4"));
    let acted = watcher.submit_action(as_white).await;
    assert_eq!(refusal(acted).1, "ROLE_DENIED");
    let watch = v1::WatchGameRequest {
        name: "games/board-1".into(),
        ..v1::WatchGameRequest::default()
    };
    let watched = watcher.watch_game(watch).await.expect("a guest watches");
    let ended = tokio::time::timeout(PROMISED, end(watched.into_inner())).await;
    let ended = ended.expect("it ends with the time of the token");
    assert_eq!(ended.code(), Code::Unauthenticated, "{ended:?}");
    let (code, reason, said) = refusal(get(&mut watcher, "board-1").await);
    assert_eq!(
        (code, &*reason),
        (Code::Unauthenticated, "CREDENTIAL_REFUSED")
    );
    assert!(said.contains("time"), "{said}");
    check_log(&referee.log(), &[&anna, &short, &club, &"11".repeat(32)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_takes_the_seat_tokens_along() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = write_key(folder.path(), "seat.key", 0x11);
    let stays = issue(folder.path(), "--role platform --principal stays");
    let (referee, club) = open(folder.path(), &["--seat-keys", &key]).await;
    let ask = async |by: &str, request| {
        let issued = seat_token(&referee, by, request).await;
        issued.expect("a platform asks for it").token
    };
    let anna = ask(&club, white("board-1")).await;
    let watching = ask(&club, guest("board-1")).await;
    let other = ask(&stays, guest("board-1")).await;
    let (mut player, mut watcher) = (
        games(&referee, &anna).await,
        games(&referee, &watching).await,
    );
    let (to_server, messages) = mpsc::channel(4);
    let join = v1::PlayGameRequest {
        kind: Some(Kind::Join(v1::JoinGame {
            name: "games/board-1".into(),
            seat: v1::Seat::White.into(),
            ..v1::JoinGame::default()
        })),
    };
    to_server.send(join).await.expect("there is room");
    let played = player.play_game(ReceiverStream::new(messages)).await;
    let played = played.expect("White joins").into_inner();
    let watch = v1::WatchGameRequest {
        name: "games/board-1".into(),
        ..v1::WatchGameRequest::default()
    };
    let watched = watcher.watch_game(watch.clone()).await;
    let watched = watched.expect("a guest watches").into_inner();
    let mut beside = games(&referee, &other).await;
    let on = beside.watch_game(watch).await.expect("a guest watches");
    let on = tokio::spawn(end(on.into_inner()));

    let bearer = Bearer::new(&stays);
    let mut tokens = TokenServiceClient::with_interceptor(referee.connect().await, bearer);
    let listed = tokens.list_tokens(v1::ListTokensRequest::default()).await;
    let listed = listed.expect("a list").into_inner().tokens;
    assert_eq!(listed.len(), 2, "seat tokens are kept nowhere");
    let of_club = listed.into_iter().find(|token| token.principal == "club");
    let name = of_club.expect("it is there").name;
    let start = Instant::now();
    let revoked = tokens.revoke_token(v1::RevokeTokenRequest { name }).await;
    revoked.expect("it is revoked");
    let ends = async { tokio::join!(end(played), end(watched)) };
    let ended = tokio::time::timeout(PROMISED, ends).await;
    let (played, watched) = ended.expect("streams end in time");
    for status in [played, watched] {
        assert_eq!(status.code(), Code::Unauthenticated, "{status:?}");
        assert!(status.message().contains("revoked"), "{status:?}");
    }
    while get(&mut player, "board-1").await.is_ok() {
        assert!(start.elapsed() < PROMISED, "it still counts");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let said = refusal(get(&mut player, "board-1").await);
    assert_eq!(said.0, Code::Unauthenticated);
    assert!(said.2.contains("revoked"), "{said:?}");
    assert!(!on.is_finished(), "those of others count on");
    get(&mut beside, "board-1").await.expect("it counts on");
    check_log(&referee.log(), &[&anna, &watching, &other, &club, &stays]);
}

/// What somebody makes of a good token, and with keys of their own; `old` is another good one.
fn forge(old: &str, new: &str, ours: &JwtKey) -> Vec<String> {
    let key_id = read(new, 0)["kid"].clone();
    let key_id = key_id.as_str().expect("it names its key");
    let parts: Vec<&str> = new.split('.').collect();
    let (header, claims) = (read(new, 0), read(new, 1));
    let with = |of: &Value, field: &str, value: Value| {
        let mut changed = of.clone();
        changed[field] = value;
        changed
    };
    let strange = JwtKey::ed25519([0x33; 32]);
    let later = json!(claims["exp"].as_i64().expect("a number") + 60);
    let mut other_signature = new.to_owned();
    let last_but_one = other_signature.len() - 20;
    let replaced = match other_signature.as_bytes()[last_but_one] {
        b'A' => "B",
        _ => "A",
    };
    other_signature.replace_range(last_but_one..=last_but_one, replaced);
    vec![
        jwt::unsigned(&with(&header, "alg", json!("none")), &claims),
        jwt::unsigned(&header, &claims),
        format!(
            "{}.{}.{}",
            parts[0],
            parts[1],
            old.rsplit('.').next().expect("it has")
        ),
        jwt::signed_by_secret(ours.public_bytes(), key_id, &claims),
        strange.sign_with(&header, &claims),
        strange.sign_with(&header, &with(&claims, "exp", later)),
        ours.sign_with(&with(&header, "kid", json!("0123456789abcdef")), &claims),
        ours.sign_with(&with(&header, "kid", json!(null)), &claims),
        ours.sign_with(&with(&header, "typ", json!("JWT")), &claims),
        ours.sign_with(&with(&header, "crit", json!(["x"])), &claims),
        ours.sign_with(&header, &with(&claims, "aud", json!("other"))),
        ours.sign_with(&header, &with(&claims, "iss", json!("other"))),
        ours.sign_with(&header, &with(&claims, "exp", json!("never"))),
        other_signature,
    ]
}

/// A part of a token.
fn read(token: &str, part: usize) -> Value {
    let part = token.split('.').nth(part).expect("it has three");
    let bytes = URL_SAFE_NO_PAD.decode(part).expect("base64");
    serde_json::from_slice(&bytes).expect("JSON")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_turn_and_what_is_forged_learns_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = write_key(folder.path(), "first.key", 0x11);
    let second = write_key(folder.path(), "second.key", 0x22);
    let (referee, club) = open(folder.path(), &["--seat-keys", &first]).await;
    let issued = seat_token(&referee, &club, white("board-1")).await;
    let old = issued.expect("a platform asks for it");
    drop(referee);
    let both = format!("{second},{first}");
    let referee = Referee::start_with(folder.path(), &["--seat-keys", &both]);
    let issued = seat_token(&referee, &club, white("board-1")).await;
    let new = issued.expect("a platform asks for it");
    assert_ne!(old.key_id, new.key_id, "the first signs");
    for token in [&old.token, &new.token] {
        let mut player = games(&referee, token).await;
        get(&mut player, "board-1")
            .await
            .expect("all of them count");
    }

    let ours = JwtKey::ed25519([0x22; 32]);
    let forged = forge(&old.token, &new.token, &ours);
    let mut told = Vec::new();
    for token in &forged {
        let mut player = games(&referee, token).await;
        let (code, reason, said) = refusal(get(&mut player, "board-1").await);
        assert_eq!(code, Code::Unauthenticated, "{token}");
        assert_eq!(reason, "CREDENTIAL_REFUSED");
        told.push(said);
    }
    told.dedup();
    assert_eq!(told.len(), 1, "one answer to all: {told:?}");
    // The same with our key and nothing else changed is good: it is these changes that count.
    let (header, claims) = (read(&new.token, 0), read(&new.token, 1));
    let mut player = games(&referee, &ours.sign_with(&header, &claims)).await;
    get(&mut player, "board-1")
        .await
        .expect("it is the key of the server");

    // A key that goes takes its tokens along.
    drop(referee);
    let referee = Referee::start_with(folder.path(), &["--seat-keys", &second]);
    let mut player = games(&referee, &old.token).await;
    assert_eq!(
        refusal(get(&mut player, "board-1").await).0,
        Code::Unauthenticated
    );
    let mut player = games(&referee, &new.token).await;
    get(&mut player, "board-1").await.expect("it counts");
    let log = referee.log();
    check_log(&log, &[&old.token, &new.token, &club]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_keys_there_are_no_seat_tokens() {
    let folder = tempfile::tempdir().expect("a folder");
    let (referee, club) = open(folder.path(), REQUIRED).await;
    let asked = seat_token(&referee, &club, white("board-1")).await;
    let (code, reason, _) = refusal(asked);
    assert_eq!(
        (code, &*reason),
        (Code::FailedPrecondition, "SEAT_TOKENS_OFF")
    );
}
