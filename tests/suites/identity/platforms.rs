//! Two platforms play games of the same names, with the same requests, at once, in a server that
//! has room in memory for two games; and nothing of one shows in the other.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use referee_api::v1;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::watch_games_response::Kind;
use referee_server::{Access, MachineClock, Role, Secret, Server, ServerOptions};
use referee_store::{Identities, NewToken, SqliteStore, Store, TokenScope};
use referee_tests::operator::get;
use referee_tests::process::Referee;
use referee_tests::wire::{self, details};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::Code;

use super::{Bearer, Games};

/// The games of each platform.
const BOARDS: [&str; 4] = ["board-1", "board-2", "board-3", "board-4"];

/// What the platforms play: of the same length, and without a move that both play.
const PLAYED: [(&str, [&str; 8]); 2] = [
    ("red", ["e4", "e5", "Nf3", "Nc6", "Bb5", "a6", "Ba4", "Nf6"]),
    ("blue", ["d4", "d5", "c4", "e6", "Nc3", "Be7", "Bf4", "c6"]),
];

async fn issue(store: &SqliteStore, platform: &str, role: Role) -> String {
    let secret = Secret::draw().expect("random bytes");
    let token = NewToken {
        id: secret.id().to_owned(),
        secret_hash: secret.hash(),
        principal: format!("{platform}-{}", role.word()),
        platform: platform.to_owned(),
        role: role.number(),
        scope: TokenScope::Platform,
        issuer: "test".to_owned(),
        create_time_us: 1,
        expire_time_us: None,
    };
    store.issue_token(token).await.expect("it is kept");
    secret.reveal()
}

/// Reads everything that a platform can read of a game, and compares it with what it has played.
async fn check(games: &mut Games, board: &str, moves: &[&str]) {
    let name = format!("games/{board}");
    let get = v1::GetGameRequest { name: name.clone() };
    let game = games.get_game(get).await.expect("it is there").into_inner();
    let game = game.game.expect("a game");
    assert_eq!(game.name, name);
    assert_eq!(game.moves.len(), moves.len(), "{name}");
    let list = v1::ListGameEventsRequest {
        parent: name.clone(),
        ..Default::default()
    };
    let listed = games.list_game_events(list).await.expect("a list");
    let listed = listed.into_inner().events;
    let sans: Vec<&str> = listed
        .iter()
        .map(|event| event.r#move.as_ref().expect("a move").san.as_str())
        .collect();
    assert_eq!(sans, moves, "{name}");
    let text = {
        let mut stream = games
            .export_pgn(wire::export_pgn_of(&name))
            .await
            .expect("it opens")
            .into_inner();
        let mut text = String::new();
        while let Some(piece) = stream.message().await.expect("a piece") {
            text += &piece.pgn;
        }
        text
    };
    for san in moves {
        assert!(text.contains(san), "{san} is not in {text}");
    }
    let watch = v1::WatchGameRequest {
        name,
        after_sequence: Some(0),
        ..Default::default()
    };
    let mut stream = games
        .watch_game(watch)
        .await
        .expect("it opens")
        .into_inner();
    for san in moves {
        let told = stream.message().await.expect("an event").expect("an event");
        match told.kind {
            Some(v1::watch_game_response::Kind::Event(event)) => {
                assert_eq!(event.r#move.expect("a move").san, *san);
            }
            other => panic!("{other:?}"),
        }
    }
}

async fn play(mut games: Games, platform: &str, moves: [&'static str; 8]) {
    for board in BOARDS {
        let mut create = wire::create(board, v1::Game::default());
        // The same request in both, under the same id.
        create.request_id = format!("create-{board}");
        let created = games.create_game(create).await;
        created.unwrap_or_else(|status| panic!("{platform} {board}: {status:?}"));
    }
    for (ply, text) in moves.into_iter().enumerate() {
        for board in BOARDS {
            let mut request = wire::submit(board, wire::on_move(ply), wire::make_move(text));
            let action = request.action.as_mut().expect("it has one");
            action.request_id = format!("move-{ply}");
            let answer = games.submit_action(request).await.expect("it is judged");
            let event = answer.into_inner().event.expect("the move stands");
            assert_eq!(event.r#move.expect("a move").san, text, "{platform}");
            assert_eq!(event.principal, format!("{platform}-platform"));
            check(&mut games, board, &moves[..=ply]).await;
        }
    }
}

/// The moves on the stream of all games of a platform, from its beginning.
async fn all_moves(games: &mut Games, count: usize) -> Vec<String> {
    let watch = v1::WatchGamesRequest {
        after_cursor: Some(String::new()),
        ..Default::default()
    };
    let mut stream = games
        .watch_games(watch)
        .await
        .expect("it opens")
        .into_inner();
    let mut sans = Vec::new();
    let mut created = 0;
    while sans.len() < count {
        let told = stream.message().await.expect("a message").expect("more");
        match told.kind {
            Some(Kind::Event(watched)) => {
                let event = watched.event.expect("an event");
                sans.push(event.r#move.expect("a move").san);
            }
            Some(Kind::Created(_)) => created += 1,
            Some(Kind::Checkpoint(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(created, BOARDS.len());
    sans
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_one_platform_shows_in_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(folder.path().join("referee.db")).expect("a new store");
    let red = issue(&store, "red", Role::Platform).await;
    let blue = issue(&store, "blue", Role::Platform).await;
    let root = issue(&store, "default", Role::Operator).await;
    let store: Arc<dyn Store> = Arc::new(store);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let options = ServerOptions {
        access: Access::Credentials,
        cache_games_max: 2,
        ..ServerOptions::default()
    };
    let clock = Arc::new(MachineClock::after(None));
    let server = Server::new(listener, Arc::clone(&store), clock, options);
    let stop = CancellationToken::new();
    let running = tokio::spawn(server.run(stop.clone()));
    let channel = wire::connect(address).await;
    let games = |bearer: Bearer| GameServiceClient::with_interceptor(channel.clone(), bearer);
    let (mut one, mut other) = (games(Bearer::new(&red)), games(Bearer::new(&blue)));

    let [(_, of_red), (_, of_blue)] = PLAYED;
    tokio::join!(
        play(one.clone(), "red", of_red),
        play(other.clone(), "blue", of_blue)
    );

    for (games, (_, moves)) in [(&mut one, PLAYED[0]), (&mut other, PLAYED[1])] {
        let listed = games.list_games(v1::ListGamesRequest::default()).await;
        let listed = listed.expect("a list").into_inner().games;
        assert_eq!(listed.len(), BOARDS.len());
        let told = all_moves(games, BOARDS.len() * moves.len()).await;
        for san in moves {
            let count = told.iter().filter(|one| *one == san).count();
            assert_eq!(count, BOARDS.len(), "{san}");
        }
    }

    // A page of one is no page of the other.
    let first = v1::ListGamesRequest {
        page_size: 1,
        ..Default::default()
    };
    let page = one.list_games(first.clone()).await.expect("a page");
    let next = v1::ListGamesRequest {
        page_token: page.into_inner().next_page_token,
        ..first
    };
    let refused = other
        .list_games(next.clone())
        .await
        .expect_err("not theirs");
    assert_eq!(details(&refused).reason, "INVALID_PAGE_TOKEN");
    one.list_games(next).await.expect("their own");

    // What one has created, the other has not.
    let created = one.create_game(wire::create("only-red", v1::Game::default()));
    created.await.expect("it is created");
    let get = |name: &str| v1::GetGameRequest { name: name.into() };
    let not_theirs = other.get_game(get("games/only-red")).await;
    let not_there = other.get_game(get("games/only-xyz")).await;
    let not_theirs = not_theirs.expect_err("it is of red");
    let not_there = not_there.expect_err("it is of nobody");
    assert_eq!(not_theirs.code(), Code::NotFound);
    let text = not_theirs.message().replace("only-red", "only-xyz");
    assert_eq!(text, not_there.message());

    // An operator names the platform; nobody else names another.
    let named = |token: &str, platform: &str| Bearer {
        platform: Some(platform.parse().expect("a name")),
        ..Bearer::new(token)
    };
    let mut operator = games(named(&root, "red"));
    let found = operator.get_game(get("games/only-red")).await;
    found.expect("an operator sees it");
    let mut stranger = games(named(&blue, "red"));
    let strange = stranger.get_game(get("games/only-red")).await;
    let strange = strange.expect_err("blue is not red");
    assert_eq!(strange.code(), Code::PermissionDenied);
    games(named(&red, "red"))
        .get_game(get("games/only-red"))
        .await
        .expect("red is red");

    stop.cancel();
    running.await.expect("it ends").expect("it ran");
    store.close().await.expect("it closes");
}

/// The cursors of the first messages of a stream of all games.
async fn cursors(games: &mut Games, after: &str, count: usize) -> Vec<String> {
    let watch = v1::WatchGamesRequest {
        after_cursor: Some(after.to_owned()),
        ..Default::default()
    };
    let stream = games.watch_games(watch).await.expect("it opens");
    let mut stream = stream.into_inner();
    let mut cursors = Vec::new();
    while cursors.len() < count {
        let told = stream.message().await.expect("a message").expect("more");
        cursors.push(told.cursor);
    }
    cursors
}

async fn page_token(games: &mut Games) -> String {
    let first = v1::ListGamesRequest {
        page_size: 1,
        ..Default::default()
    };
    let page = games.list_games(first).await.expect("a page");
    page.into_inner().next_page_token
}

/// Positions in the log and numbers of rows count what all platforms do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_reads_in_cursors_how_much_others_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = |platform: &str| {
        let issued = format!("--role platform --principal {platform}-owner --platform {platform}");
        super::issue(folder.path(), &issued)
    };
    let (red, blue) = (token("scarlet-club"), token("azure-club"));
    let options = ["--require-credentials", "--admin-listen", "127.0.0.1:0"];
    let referee = Referee::start_with(folder.path(), &options);
    let mut one = super::games(&referee, &red).await;
    let mut other = super::games(&referee, &blue).await;
    let create = async |games: &mut Games, count: usize| {
        for number in 0..count {
            let id = format!("veiled-board-{number}");
            let created = games.create_game(wire::create(&id, v1::Game::default()));
            created.await.expect("it is created");
        }
    };
    create(&mut one, 3).await;
    let few = (cursors(&mut one, "", 4).await, page_token(&mut one).await);
    create(&mut other, 200).await;
    let many = (cursors(&mut one, "", 4).await, page_token(&mut one).await);
    let of_others = (
        cursors(&mut other, "", 150).await,
        page_token(&mut other).await,
    );
    // All have one length, and none comes twice, though they stand at the same places.
    let mut all: Vec<&String> = few.0.iter().chain(&many.0).chain(&of_others.0).collect();
    assert!(all.iter().all(|cursor| cursor.len() == all[0].len()));
    assert_eq!(few.1.len(), of_others.1.len());
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
    assert_ne!(few.1, many.1);
    // What is behind them is nothing that can be read: neither the digits of a position, nor what
    // fills them up.
    for text in all.iter().copied().chain([&few.1, &many.1]) {
        let bytes = URL_SAFE_NO_PAD.decode(text).expect("it is base64");
        let is_plain = bytes.windows(4).any(|four| four == [0; 4]);
        assert!(!is_plain, "{text}");
    }
    // They are good where they belong, and nowhere else.
    let rest = cursors(&mut one, &few.0[1], 3).await;
    assert_eq!(rest.len(), 3);
    for (cursor, of) in [(&few.0[1], "another platform"), (&of_others.1, "a page")] {
        let watch = v1::WatchGamesRequest {
            after_cursor: Some(cursor.clone()),
            ..Default::default()
        };
        let lost = other.watch_games(watch).await.expect_err(of);
        assert_eq!(details(&lost).reason, "CURSOR_LOST", "{of}");
    }
    let next = v1::ListGamesRequest {
        page_size: 1,
        page_token: few.0[1].clone(),
        ..Default::default()
    };
    let refused = one.list_games(next).await.expect_err("it is a cursor");
    assert_eq!(details(&refused).reason, "INVALID_PAGE_TOKEN");

    // Metrics name nobody and no game.
    let metrics = get(referee.admin(), "/metrics").body;
    assert!(metrics.contains("grpc_method"), "{metrics}");
    for name in ["scarlet", "azure", "veiled", "owner"] {
        assert!(!metrics.contains(name), "{name} is in the metrics");
    }
}
