//! Tokens of other issuers (JSON Web Tokens), by a file that says whose count and what they mean.

use std::path::Path;
use std::time::Duration;

use referee_api::v1;
use referee_api::v1::token_service_client::TokenServiceClient;
use referee_server::{Clock as _, MachineClock};
use referee_tests::authority::write_secret;
use referee_tests::jwt::{self, JwtKey};
use referee_tests::process::Referee;
use referee_tests::wire::{self, details};
use serde_json::{Value, json};
use tokio::time::Instant;
use tonic::{Code, Status};

use super::revoked::{PROMISED, end};
use super::{Bearer, check_log, games};

const ISSUER: &str = "https://id.example.org";

fn now_s() -> i64 {
    MachineClock::after(None).now_us() / 1_000_000
}

/// What a token of somebody says.
fn claims(role: &str, platform: &str) -> Value {
    json!({
        "iss": ISSUER, "aud": ["other", "referee"], "sub": format!("{platform}-{role}"),
        "exp": now_s() + 3_600, "nbf": now_s() - 1, "groups": ["staff", role], "tenant": platform,
    })
}

fn with(of: &Value, field: &str, value: Value) -> Value {
    let mut changed = of.clone();
    changed[field] = value;
    changed
}

/// Writes the file of issuers, and the key sets beside it: an identity provider of two platforms,
/// and a platform that signs the credentials of its players by itself.
fn write_files(folder: &Path, provider: &[Value], club: &[Value]) -> String {
    let write = |name: &str, value: Value| {
        std::fs::write(folder.join(name), value.to_string()).expect("it is written");
    };
    write("provider.jwks", json!({"keys": provider}));
    write("club.jwks", json!({"keys": club}));
    write(
        "issuers.json",
        json!({"issuers": [
            {
                "issuer": ISSUER, "audience": "referee", "algorithms": ["ES256"],
                "keys": "provider.jwks",
                "platform_claim": "tenant", "platforms": ["red", "blue"],
                "role_claim": "groups", "roles": [
                    {"value": "chess-operators", "role": "operator"},
                    {"value": "chess-platform", "role": "platform"},
                    {"value": "chess-arbiters", "role": "arbiter"},
                ],
            },
            {
                "issuer": "club", "audience": "referee", "algorithms": ["EdDSA"],
                "keys": "club.jwks", "platform": "red", "principal_claim": "name",
                "role_claim": "role", "roles": [
                    {"value": "player", "role": "player"},
                    {"value": "spectator", "role": "spectator"},
                ],
            },
        ]}),
    );
    let path = folder.join("issuers.json");
    path.to_str().expect("a plain name").to_owned()
}

async fn try_get(referee: &Referee, token: &str, game: &str) -> Result<(), Status> {
    let name = format!("games/{game}");
    let mut games = games(referee, token).await;
    games.get_game(v1::GetGameRequest { name }).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_say_platform_role_and_game() {
    let folder = tempfile::tempdir().expect("a folder");
    let (provider, club) = (JwtKey::p256(), JwtKey::ed25519([0x44; 32]));
    let path = write_files(
        folder.path(),
        &[provider.public("2026-12")],
        &[club.public("a")],
    );
    let referee = Referee::start_with(folder.path(), &["--jwt-issuers", &path]);
    let red = provider.sign("2026-12", &claims("chess-platform", "red"));
    let blue = provider.sign("2026-12", &claims("chess-platform", "blue"));
    for token in [&red, &blue] {
        let mut platform = games(&referee, token).await;
        let created = platform.create_game(wire::create("board-1", v1::Game::default()));
        created.await.expect("a platform creates games of its own");
    }
    // A platform signs the credentials of its players by itself.
    let player = json!({
        "iss": "club", "aud": "referee", "name": "anna", "exp": now_s() + 60,
        "role": "player", "game": "games/board-1", "seat": "white",
    });
    let anna = club.sign("a", &player);
    let mut white = games(&referee, &anna).await;
    let e4 = wire::submit("board-1", v1::Seat::White, wire::make_move("e4"));
    let answer = white.submit_action(e4.clone()).await.expect("it is hers");
    assert_eq!(
        answer.into_inner().event.expect("it stands").principal,
        "anna"
    );
    let e5 = wire::submit("board-1", v1::Seat::Black, wire::make_move("e5"));
    let denied = white.submit_action(e5).await.expect_err("she is White");
    assert_eq!(details(&denied).reason, "ROLE_DENIED");
    // It was played in red, and not in blue.
    for (token, moves) in [(&red, 1), (&blue, 0)] {
        let get = v1::GetGameRequest {
            name: "games/board-1".into(),
        };
        let game = games(&referee, token).await.get_game(get).await;
        let game = game.expect("it is there").into_inner().game;
        assert_eq!(game.expect("a game").moves.len(), moves);
    }
    // An arbiter of games with a label, of which this is none.
    let hall = with(
        &claims("chess-arbiters", "red"),
        "label",
        json!("event=open"),
    );
    let hall = provider.sign("2026-12", &hall);
    let refused = try_get(&referee, &hall, "board-1").await;
    assert_eq!(
        refused.expect_err("it is not theirs").code(),
        Code::NotFound
    );
    // Of two groups the first of the file counts, and nobody else names another platform.
    let both = with(
        &claims("x", "red"),
        "groups",
        json!(["chess-arbiters", "chess-platform"]),
    );
    let both = provider.sign("2026-12", &both);
    let mut both = games(&referee, &both).await;
    let created = both.create_game(wire::create("board-2", v1::Game::default()));
    created.await.expect("the platform comes first in the file");
    let mut stranger = Bearer::new(&red);
    stranger.platform = Some("blue".parse().expect("a name"));
    let channel = referee.connect().await;
    let mut tokens = TokenServiceClient::with_interceptor(channel, stranger);
    let list = tokens.list_tokens(v1::ListTokensRequest::default()).await;
    assert_eq!(list.expect_err("red is red").code(), Code::PermissionDenied);
    check_log(&referee.log(), &[&red, &blue, &anna, &hall]);
}

/// Tokens that do not count, and what is wrong with each.
fn wrong(provider: &JwtKey, strange: &JwtKey, club: &JwtKey) -> Vec<(&'static str, String)> {
    let id = "2026-12";
    let good = claims("chess-platform", "red");
    let header = json!({"alg": "ES256", "kid": id});
    let player = json!({
        "iss": "club", "aud": "referee", "name": "anna", "exp": now_s() + 60, "role": "player",
        "game": "games/board-1", "seat": "white",
    });
    let changed = |field: &str, value: Value| provider.sign(id, &with(&good, field, value));
    let of_player = |field: &str, value: Value| club.sign("a", &with(&player, field, value));
    vec![
        (
            "none",
            jwt::unsigned(&json!({"alg": "none", "kid": id}), &good),
        ),
        ("unsigned", jwt::unsigned(&header, &good)),
        (
            "by a public key",
            jwt::signed_by_secret(provider.public_bytes(), id, &good),
        ),
        ("another key", strange.sign(id, &good)),
        ("a key of another name", provider.sign("other", &good)),
        ("an unknown key", provider.sign("2025-01", &good)),
        (
            "no key",
            provider.sign_with(&json!({"alg": "ES256"}), &good),
        ),
        ("another issuer's key", club.sign("a", &good)),
        (
            "another algorithm",
            provider.sign_with(&json!({"alg": "EdDSA", "kid": id}), &good),
        ),
        ("another audience", changed("aud", json!("others"))),
        ("no audience", changed("aud", json!(null))),
        (
            "another issuer",
            changed("iss", json!("https://id.example.com")),
        ),
        ("issuers", changed("iss", json!([ISSUER]))),
        ("past its time", changed("exp", json!(now_s() - 31))),
        ("without end", changed("exp", json!(null))),
        ("an end in words", changed("exp", json!("tomorrow"))),
        ("too long", changed("exp", json!(now_s() + 90_000))),
        ("endless", changed("exp", json!(1e300))),
        ("before its time", changed("nbf", json!(now_s() + 120))),
        ("another platform", changed("tenant", json!("default"))),
        ("no platform", changed("tenant", json!(null))),
        ("another role", changed("groups", json!(["staff"]))),
        (
            "a role in words",
            changed("groups", json!({"chess-platform": true})),
        ),
        ("no principal", changed("sub", json!(""))),
        ("a principal with blanks", changed("sub", json!("a b"))),
        (
            "a platform with a seat",
            changed("game", json!("games/board-1")),
        ),
        ("a player of no game", of_player("game", json!(null))),
        ("a player of no seat", of_player("seat", json!(null))),
        ("a player of a label", of_player("label", json!("a=b"))),
        (
            "a game that is a label",
            of_player("game", json!("event=open")),
        ),
        ("nonsense", "a.b.c".to_owned()),
        ("dots", "...".to_owned()),
        ("deep", format!("{0}.{0}.x", "W1tbW1tbW1tbW1tb".repeat(100))),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_count_gets_one_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let (provider, club) = (JwtKey::p256(), JwtKey::ed25519([0x44; 32]));
    let strange = JwtKey::p256();
    let path = write_files(
        folder.path(),
        &[provider.public("2026-12"), strange.public("other")],
        &[club.public("a")],
    );
    let referee = Referee::start_with(folder.path(), &["--jwt-issuers", &path]);
    let id = "2026-12";
    let good = claims("chess-platform", "red");
    let changed = |field: &str, value: Value| provider.sign(id, &with(&good, field, value));
    let refused = wrong(&provider, &strange, &club);
    let mut told = Vec::new();
    for (what, token) in &refused {
        let answer = try_get(&referee, token, "board-1").await;
        let status = answer.expect_err(what);
        assert_eq!(status.code(), Code::Unauthenticated, "{what}: {status:?}");
        assert_eq!(details(&status).reason, "CREDENTIAL_REFUSED", "{what}");
        told.push(status.message().to_owned());
    }
    told.dedup();
    assert_eq!(told.len(), 1, "who tries learns nothing: {told:?}");
    // What is longer than a credential may be is not even looked at.
    let huge = changed("more", json!("x".repeat(8_192)));
    let status = try_get(&referee, &huge, "board-1").await;
    let status = status.expect_err("it is too long");
    assert_eq!(status.code(), Code::Unauthenticated, "{status:?}");
    // The clocks of two machines may differ a little.
    for token in [
        provider.sign(id, &good),
        changed("exp", json!(now_s() - 5)),
        changed("nbf", json!(now_s() + 10)),
    ] {
        let answer = try_get(&referee, &token, "board-1").await;
        let status = answer.expect_err("there is no such game");
        assert_eq!(status.code(), Code::NotFound, "{status:?}");
    }
    let log = referee.log();
    assert!(!log.contains("panicked"), "{log}");
    let secrets: Vec<&str> = refused.iter().map(|(_, token)| token.as_str()).collect();
    check_log(&log, &secrets[3..29]);
}

/// Replaces a file in one step.
fn replace(folder: &Path, name: &str, value: &Value) {
    let beside = folder.join("beside");
    std::fs::write(&beside, value.to_string()).expect("it is written");
    std::fs::rename(&beside, folder.join(name)).expect("it is replaced");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_replaced_while_streams_stand_on_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let (old, new) = (JwtKey::p256(), JwtKey::p256());
    let club = JwtKey::ed25519([0x44; 32]);
    let path = write_files(folder.path(), &[old.public("old")], &[club.public("a")]);
    let seat_key = folder.path().join("seat.key");
    write_secret(&seat_key, &"11".repeat(32));
    let seat_key = seat_key.to_str().expect("a plain name").to_owned();
    let options = ["--jwt-issuers", &path, "--seat-keys", &seat_key];
    let referee = Referee::start_with(folder.path(), &options);
    let before = old.sign("old", &claims("chess-platform", "red"));
    let after = new.sign("new", &claims("chess-platform", "red"));
    let mut platform = games(&referee, &before).await;
    let created = platform.create_game(wire::create("board-1", v1::Game::default()));
    created.await.expect("a platform creates games");
    let watch = || v1::WatchGameRequest {
        name: "games/board-1".into(),
        ..v1::WatchGameRequest::default()
    };
    let stream = platform.watch_game(watch()).await.expect("it is there");
    // A seat token that stands on this credential.
    let channel = referee.connect().await;
    let mut tokens = TokenServiceClient::with_interceptor(channel, Bearer::new(&before));
    let seat = v1::IssueSeatTokenRequest {
        principal: "guest".into(),
        role: v1::Role::Spectator.into(),
        game: "games/board-1".into(),
        ..v1::IssueSeatTokenRequest::default()
    };
    let seat = tokens.issue_seat_token(seat).await.expect("it is signed");
    let seat = seat.into_inner().token;
    let mut guest = games(&referee, &seat).await;
    let seated = guest.watch_game(watch()).await.expect("a guest watches");
    let refused = try_get(&referee, &after, "board-1").await;
    assert_eq!(
        refused.expect_err("nobody knows it").code(),
        Code::Unauthenticated
    );

    // Both count, and the stream goes on.
    let set = json!({"keys": [new.public("new"), old.public("old")]});
    replace(folder.path(), "provider.jwks", &set);
    let start = Instant::now();
    while try_get(&referee, &after, "board-1").await.is_err() {
        assert!(start.elapsed() < PROMISED, "the new key does not count");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    try_get(&referee, &before, "board-1")
        .await
        .expect("it counts");
    let stream = tokio::spawn(end(stream.into_inner()));
    let seated = tokio::spawn(end(seated.into_inner()));

    // What makes no sense changes nothing.
    replace(folder.path(), "provider.jwks", &json!({"keys": []}));
    tokio::time::sleep(Duration::from_secs(6)).await;
    try_get(&referee, &before, "board-1")
        .await
        .expect("it counts");
    assert!(referee.log().contains("provider.jwks"), "the log says so");
    assert!(!stream.is_finished() && !seated.is_finished());

    // A key that is taken out ends what stands on it.
    let set = json!({"keys": [new.public("new")]});
    replace(folder.path(), "provider.jwks", &set);
    let both = async { tokio::join!(stream, seated) };
    let (stream, seated) = tokio::time::timeout(PROMISED, both).await.expect("in time");
    for status in [stream.expect("it ends"), seated.expect("it ends")] {
        assert_eq!(status.code(), Code::Unauthenticated, "{status:?}");
    }
    let refused = try_get(&referee, &before, "board-1").await;
    assert_eq!(
        refused.expect_err("it is out").code(),
        Code::Unauthenticated
    );
    try_get(&referee, &after, "board-1")
        .await
        .expect("it counts");
    check_log(&referee.log(), &[&before, &after, &seat]);
}
