//! Following all games of a platform: creations and events with names and labels, in the order of
//! each game, from a cursor that outlives streams, processes and servers.

use std::collections::BTreeMap;
use std::time::Duration;

use referee_api::v1::watch_games_response::Kind;
use referee_api::v1::{
    Game, GameEvent, ListGameEventsRequest, Score, Seat, WatchGamesRequest, WatchGamesResponse,
};
use referee_tests::deployment::{Deployment, Games};
use referee_tests::on_both;
use referee_tests::pair::Pair;
use referee_tests::wire::{self, details, make_move, on_move, resign, score};
use tonic::{Code, Status, Streaming};

on_both!(
    all_games_are_told_with_names_and_labels,
    a_stream_of_nothing_has_checkpoints,
    a_cursor_that_is_not_known_is_told,
);

/// The moves that a game goes to and fro with.
const SHUFFLE: [&str; 4] = ["Nf3", "Nf6", "Ng1", "Ng8"];

/// After this time something hangs.
const PATIENCE: Duration = Duration::from_secs(30);

fn labels(labels: &[(&str, &str)]) -> BTreeMap<String, String> {
    let labels = labels.iter();
    labels
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

async fn create(games: &mut Games, id: &str, of: &[(&str, &str)]) -> Game {
    let game = Game {
        labels: labels(of),
        ..Game::default()
    };
    let created = games.create_game(wire::create(id, game)).await;
    let created = created.expect("it is created").into_inner();
    created.game.expect("a game")
}

/// Makes a move of a game at a ply.
async fn play(games: &mut Games, id: &str, ply: usize) {
    let request = wire::submit(id, on_move(ply), make_move(SHUFFLE[ply % 4]));
    let judged = games.submit_action(request).await.expect("it is judged");
    assert_eq!(judged.into_inner().sequence, ply as i64 + 1);
}

async fn record(games: &mut Games, name: &str) -> Vec<GameEvent> {
    let request = ListGameEventsRequest {
        parent: name.to_owned(),
        page_size: 1_000,
        page_token: String::new(),
    };
    let listed = games.list_game_events(request).await;
    listed.expect("they are listed").into_inner().events
}

async fn try_watch(
    games: &mut Games,
    of: &[(&str, &str)],
    after: Option<&str>,
) -> Result<Streaming<WatchGamesResponse>, Status> {
    let request = WatchGamesRequest {
        labels: labels(of),
        after_cursor: after.map(str::to_owned),
        heartbeat_interval: Some(prost_types::Duration {
            seconds: 1,
            nanos: 0,
        }),
    };
    let watched = games.watch_games(request).await;
    watched.map(tonic::Response::into_inner)
}

async fn watch(
    games: &mut Games,
    of: &[(&str, &str)],
    after: Option<&str>,
) -> Streaming<WatchGamesResponse> {
    let stream = try_watch(games, of, after).await;
    stream.expect("the games are watched")
}

/// What a follower of all games knows.
#[derive(Default)]
struct Follower {
    cursor: String,
    created: Vec<Game>,
    events: BTreeMap<String, Vec<GameEvent>>,
    labels: BTreeMap<String, BTreeMap<String, String>>,
    checkpoints: usize,
    heard: usize,
}

impl Follower {
    /// Takes note of a message: the events of a game come in their order and after its creation.
    fn hear(&mut self, told: WatchGamesResponse) {
        assert!(!told.cursor.is_empty());
        self.cursor = told.cursor;
        match told.kind.expect("there is content") {
            Kind::Created(game) => {
                let known = self.events.insert(game.name.clone(), Vec::new());
                assert_eq!(known, None, "{} is created once", game.name);
                self.labels.insert(game.name.clone(), game.labels.clone());
                self.created.push(game);
                self.heard += 1;
            }
            Kind::Event(event) => {
                let name = event.name;
                let events = self.events.get_mut(&name);
                let events = events.expect("the creation comes before");
                assert_eq!(event.labels, self.labels[&name]);
                let event = event.event.expect("there is an event");
                assert_eq!(
                    event.sequence as usize,
                    events.len() + 1,
                    "the next of {name}"
                );
                events.push(event);
                self.heard += 1;
            }
            Kind::Deleted(deleted) => panic!("nothing is deleted here: {deleted:?}"),
            Kind::Checkpoint(checkpoint) => {
                assert!(checkpoint.server_time.is_some());
                self.checkpoints += 1;
            }
        }
    }

    /// Listens until so much was told in all, checkpoints aside.
    async fn hear_until(&mut self, stream: &mut Streaming<WatchGamesResponse>, count: usize) {
        while self.heard < count {
            let told = tokio::time::timeout(PATIENCE, stream.message()).await;
            let told = told.expect("it comes").expect("the stream goes on");
            self.hear(told.expect("the stream has no end"));
        }
    }

    /// Listens until the stream breaks.
    async fn hear_out(&mut self, stream: &mut Streaming<WatchGamesResponse>) {
        while let Ok(Some(told)) = stream.message().await {
            self.hear(told);
        }
    }
}

async fn all_games_are_told_with_names_and_labels(referee: Deployment) {
    let mut games = referee.games().await;
    let before = create(&mut games, "before", &[("event", "open")]).await;
    let mut from_now = watch(&mut games, &[], None).await;
    let mut now = Follower::default();
    let told = from_now.message().await.expect("it goes well");
    now.hear(told.expect("a checkpoint"));
    assert_eq!(now.checkpoints, 1, "a stream begins with a checkpoint");

    let one = create(&mut games, "one", &[("event", "open"), ("round", "1")]).await;
    let two = create(&mut games, "two", &[("event", "other")]).await;
    for ply in 0..6 {
        play(&mut games, "one", ply).await;
        play(&mut games, "two", ply).await;
    }
    let request = wire::submit("one", Seat::White, resign());
    games.submit_action(request).await.expect("it is judged");
    let request = wire::submit("one", Seat::Arbiter, score(Score::Half, Score::Half));
    games.submit_action(request).await.expect("it is judged");
    now.hear_until(&mut from_now, 16).await;
    assert_eq!(now.created.len(), 2, "what was before is not told");

    let mut all = Follower::default();
    let mut stream = watch(&mut games, &[], Some("")).await;
    all.hear_until(&mut stream, 17).await;
    let names = ["before", "one", "two"].map(|id| format!("games/{id}"));
    for name in &names {
        assert_eq!(
            all.events[name],
            record(&mut games, name).await,
            "as it is kept"
        );
    }
    for (told, created) in all.created.iter().zip([before, one, two]) {
        assert_eq!((&told.name, &told.labels), (&created.name, &created.labels));
        assert_eq!(told.create_time, created.create_time);
        assert_eq!((told.state(), told.sequence), (created.state(), 0));
        assert_eq!((&told.fen, &told.outcome), (&created.fen, &created.outcome));
    }
    assert_ne!(
        now.cursor, all.cursor,
        "a cursor tells nothing, not even this"
    );

    // Only what has the labels, all of them.
    for (of, expected) in [
        (&[("event", "open")][..], vec!["games/before", "games/one"]),
        (&[("event", "open"), ("round", "1")], vec!["games/one"]),
        (&[("event", "other")], vec!["games/two"]),
    ] {
        let mut some = Follower::default();
        let mut stream = watch(&mut games, of, Some("")).await;
        let count = expected
            .iter()
            .map(|name| 1 + all.events[*name].len())
            .sum();
        some.hear_until(&mut stream, count).await;
        let heard: Vec<&String> = some.events.keys().collect();
        assert_eq!(heard, expected);
    }
}

/// Where nothing happens, and where nothing has the labels, the cursor moves on all the same.
async fn a_stream_of_nothing_has_checkpoints(referee: Deployment) {
    let mut games = referee.games().await;
    let mut stream = watch(&mut games, &[("event", "none")], Some("")).await;
    let mut follower = Follower::default();
    let mut cursors = Vec::new();
    for round in 0..4 {
        let told = referee.passing(stream.message()).await;
        follower.hear(told.expect("it goes well").expect("no end"));
        cursors.push(follower.cursor.clone());
        if round < 2 {
            create(&mut games, &format!("busy-{round}"), &[]).await;
        }
    }
    assert_eq!((follower.checkpoints, follower.heard), (4, 0));
    assert_ne!(cursors[0], cursors[3]);
    // From there on nothing of the busy games comes again.
    let mut rest = Follower::default();
    let mut stream = watch(&mut games, &[], Some(&cursors[3])).await;
    create(&mut games, "after", &[]).await;
    rest.hear_until(&mut stream, 1).await;
    assert_eq!(rest.created[0].name, "games/after");
}

async fn a_cursor_that_is_not_known_is_told(referee: Deployment) {
    let mut games = referee.games().await;
    create(&mut games, "known", &[]).await;
    for cursor in ["x", "-1", "two words", "1000000000"] {
        let status = try_watch(&mut games, &[], Some(cursor)).await;
        let status = status.expect_err("it is not known");
        assert_eq!(status.code(), Code::OutOfRange, "{cursor}: {status:?}");
        assert_eq!(details(&status).reason, "CURSOR_LOST", "{cursor}");
        assert_eq!(details(&status).metadata["after_cursor"], cursor);
    }
    let long = "1".repeat(1_025);
    let status = try_watch(&mut games, &[], Some(&long)).await;
    let status = status.expect_err("it is too long");
    assert_eq!(details(&status).reason, "LIMIT_EXCEEDED");
    let status = try_watch(&mut games, &[("Bad key", "")], None).await;
    let status = status.expect_err("it is no label");
    assert_eq!(details(&status).fields, ["labels"]);
}

/// A follower whose stream breaks with the process goes on from its cursor without a loss, and
/// hears nothing twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_resumes_after_a_crash() {
    const GAMES: usize = 8;
    const PLIES: usize = 12;
    let referee = Deployment::binary();
    let mut games = referee.games().await;
    let mut stream = watch(&mut games, &[], Some("")).await;
    let listener = tokio::spawn(async move {
        let mut follower = Follower::default();
        follower.hear_out(&mut stream).await;
        follower
    });
    let ids: Vec<String> = (0..GAMES).map(|number| format!("crash-{number}")).collect();
    for id in &ids {
        create(&mut games, id, &[]).await;
    }
    for ply in 0..PLIES {
        for id in &ids {
            play(&mut games, id, ply).await;
        }
    }
    let referee = referee.die(Duration::ZERO).await;
    let mut follower = listener.await.expect("the stream breaks");
    let mut games = referee.games().await;
    let cursor = follower.cursor.clone();
    let mut stream = watch(&mut games, &[], Some(&cursor)).await;
    for id in &ids {
        play(&mut games, id, PLIES).await;
    }
    follower.hear_until(&mut stream, GAMES * (PLIES + 2)).await;
    for id in &ids {
        let name = format!("games/{id}");
        assert_eq!(follower.events[&name], record(&mut games, &name).await);
    }
}

/// Each server tells what both have done, and a cursor of one is good for the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_goes_on_at_the_other_server() {
    const ROUNDS: usize = 6;
    let referee = Deployment::pair().await;
    let Deployment::Pair(pair) = &referee else {
        panic!("two servers");
    };
    let mut games = referee.games().await;
    create(&mut games, "both", &[]).await;
    let mut follower = Follower::default();
    for ply in 0..ROUNDS {
        let mut server = server(pair, ply % 2).await;
        let request = WatchGamesRequest {
            after_cursor: Some(follower.cursor.clone()),
            ..WatchGamesRequest::default()
        };
        let watched = server.watch_games(request).await;
        let mut stream = watched.expect("the games are watched").into_inner();
        // What the balanced client does comes from either server.
        play(&mut games, "both", ply).await;
        create(&mut games, &format!("both-{ply}"), &[]).await;
        follower.hear_until(&mut stream, 1 + 2 * (ply + 1)).await;
    }
    assert_eq!(follower.created.len(), 1 + ROUNDS);
    let events = record(&mut games, "games/both").await;
    assert_eq!(follower.events["games/both"], events);
}

async fn server(
    pair: &Pair,
    number: usize,
) -> referee_api::v1::game_service_client::GameServiceClient<tonic::transport::Channel> {
    pair.server(number).games().await
}

/// A follower that does not read is cut off, and goes on from its cursor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_follower_is_cut_and_resumes() {
    // More than may be under way to a reader that does not read: its window and the buffers of the
    // server.
    const GAMES: usize = 400;
    let referee = Deployment::pair().await;
    let mut games = referee.games().await;
    let mut slow = referee.narrow_games().await;
    let stream = watch(&mut slow, &[], Some("")).await;
    let mut stream = stream;
    for number in 0..GAMES {
        create(&mut games, &format!("slow-{number}"), &[]).await;
    }
    // The writer of its stream has to stand at a full queue before the time that it waits begins.
    tokio::time::sleep(Duration::from_secs(1)).await;
    referee.pass(Duration::from_secs(33)).await;
    let mut follower = Follower::default();
    let end = loop {
        match stream.message().await {
            Ok(Some(told)) => follower.hear(told),
            Ok(None) => panic!("the stream ended well"),
            Err(status) => break status,
        }
    };
    assert_eq!(end.code(), Code::ResourceExhausted, "{end:?}");
    assert_eq!(details(&end).reason, "SLOW_CONSUMER", "{end:?}");
    assert!(follower.heard < GAMES, "{} were kept", follower.heard);
    let cursor = follower.cursor.clone();
    let mut stream = watch(&mut games, &[], Some(&cursor)).await;
    follower.hear_until(&mut stream, GAMES).await;
    assert_eq!(follower.created.len(), GAMES);
}
