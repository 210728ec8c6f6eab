//! Metrics: codes from the trailers, messages, methods that there are not, and what is our own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use referee_api::v1::play_game_request::Kind as Said;
use referee_api::v1::{
    ClockSettings, Game, JoinGame, PlayGameRequest, RuleProfile, Seat, StartGame, TimeControl,
    action,
};
use referee_tests::operator::{Scrape, ask, scrape};
use referee_tests::{root, wire};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

use super::{Games, SHUFFLE, by_name, create, folder, play, soon, start, watch};

const GAMES: (&str, &str) = ("grpc_service", "referee.v1.GameService");
const HANDLED: &str = "grpc_server_handled_total";

/// A count of a method of the games.
fn count(scrape: &Scrape, name: &str, method: &str) -> f64 {
    scrape.value(name, &[GAMES, ("grpc_method", method)])
}

/// How many calls of a method of the games ended with a code.
fn handled(scrape: &Scrape, method: &str, code: &str) -> f64 {
    let labels = [GAMES, ("grpc_method", method), ("grpc_code", code)];
    scrape.value(HANDLED, &labels)
}

/// Joins a game, moves, and joins again, which is a mistake: the stream has a good head, some
/// messages, and then a status in its trailers.
async fn play_and_fail(games: &mut Games, id: &str) -> usize {
    let (say, said) = tokio::sync::mpsc::channel(8);
    let stream = games.play_game(ReceiverStream::new(said)).await;
    let mut stream = stream.expect("a good head").into_inner();
    let join = || {
        Said::Join(JoinGame {
            name: format!("games/{id}"),
            seat: Seat::White.into(),
            ..JoinGame::default()
        })
    };
    let action = wire::action(Seat::White, wire::make_move(SHUFFLE[0]));
    for kind in [join(), Said::Action(action)] {
        let request = PlayGameRequest { kind: Some(kind) };
        say.send(request).await.expect("the stream is open");
    }
    // A snapshot, an event and an answer.
    let mut messages = 0;
    while messages < 3 {
        let told = stream.message().await.expect("it goes on");
        assert!(told.is_some(), "it has not ended");
        messages += 1;
    }
    let request = PlayGameRequest { kind: Some(join()) };
    say.send(request).await.expect("the stream is open");
    loop {
        match stream.message().await {
            Ok(Some(_)) => messages += 1,
            Ok(None) => panic!("a mistake ends it"),
            Err(status) => {
                assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
                return messages;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_counted_with_the_code_of_their_trailers() {
    let folder = folder();
    let referee = start(&folder, &[]);
    let mut games = referee.games().await;
    create(&mut games, "counted").await;
    create(&mut games, "failed").await;
    for ply in 0..3 {
        play(&mut games, "counted", ply).await;
    }
    let missing = games.get_game(by_name("missing")).await;
    assert_eq!(missing.expect_err("there is none").code(), Code::NotFound);
    let messages = play_and_fail(&mut games, "failed").await;
    let mut watched = watch(&mut games, "counted", Some(0)).await;
    for _ in 0..3 {
        watched.message().await.expect("told").expect("an event");
    }
    let before = scrape(referee.admin());
    assert_eq!(
        count(&before, "grpc_server_started_total", "WatchGame"),
        1.0
    );
    assert_eq!(handled(&before, "WatchGame", "Canceled"), 0.0, "it goes on");
    drop(watched);
    soon("a watcher that is gone is counted", || {
        handled(&scrape(referee.admin()), "WatchGame", "Canceled") == 1.0
    })
    .await;
    let scrape = scrape(referee.admin());
    assert_eq!(handled(&scrape, "CreateGame", "OK"), 2.0);
    assert_eq!(handled(&scrape, "SubmitAction", "OK"), 3.0);
    assert_eq!(handled(&scrape, "GetGame", "NotFound"), 1.0);
    assert_eq!(handled(&scrape, "GetGame", "OK"), 0.0);
    assert_eq!(handled(&scrape, "PlayGame", "InvalidArgument"), 1.0);
    assert_eq!(
        handled(&scrape, "PlayGame", "OK"),
        0.0,
        "a good head is none"
    );
    assert_eq!(handled(&scrape, "WatchGame", "OK"), 0.0);
    let (received, sent) = (
        "grpc_server_msg_received_total",
        "grpc_server_msg_sent_total",
    );
    assert_eq!(count(&scrape, received, "PlayGame"), 3.0);
    assert_eq!(count(&scrape, sent, "PlayGame"), messages as f64);
    assert_eq!(count(&scrape, received, "SubmitAction"), 3.0);
    assert_eq!(count(&scrape, sent, "SubmitAction"), 3.0);
    assert_eq!(count(&scrape, received, "GetGame"), 1.0);
    assert_eq!(count(&scrape, sent, "GetGame"), 0.0);
    assert_eq!(count(&scrape, received, "WatchGame"), 1.0);
    assert_eq!(count(&scrape, sent, "WatchGame"), 3.0);
    let seconds = "grpc_server_handling_seconds_count";
    assert_eq!(count(&scrape, seconds, "SubmitAction"), 3.0);
    let kind = [
        GAMES,
        ("grpc_method", "PlayGame"),
        ("grpc_type", "bidi_stream"),
    ];
    assert_eq!(scrape.value(seconds, &kind), 1.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn methods_that_there_are_not_make_one_series() {
    let folder = folder();
    let referee = start(&folder, &[]);
    let channel = referee.connect().await;
    let before = scrape(referee.admin());
    let paths = [
        "/nobody.Nothing/Here",
        "/referee.v1.GameService/Nothing",
        "/referee.v1.GameService/SubmitActions",
        "/a/b",
    ];
    for path in paths {
        let sent = wire::send(&channel, path, wire::frame(0, b"")).await;
        let status = sent.expect_err("there is no such method");
        assert_eq!(status.code(), Code::Unimplemented, "{path}");
    }
    let after = scrape(referee.admin());
    let names = |scrape: &Scrape| scrape.series.keys().cloned().collect::<BTreeSet<_>>();
    let (before, after_it) = (names(&before), names(&after));
    let made: Vec<_> = before.symmetric_difference(&after_it).collect();
    assert!(made.is_empty(), "nobody makes a series: {made:?}");
    let unknown = [("grpc_service", "unknown"), ("grpc_method", "unknown")];
    let ended = [unknown[0], unknown[1], ("grpc_code", "Unimplemented")];
    assert_eq!(after.value(HANDLED, &ended), paths.len() as f64);
    let started = after.value("grpc_server_started_total", &unknown);
    assert_eq!(started, paths.len() as f64);
}

/// A game of one second, which runs.
async fn run_out(games: &mut Games, id: &str) {
    let control = TimeControl {
        pgn: "1+0".into(),
        ..TimeControl::default()
    };
    let game = Game {
        rule_profile: Some(RuleProfile {
            name: "lichess".into(),
            ..RuleProfile::default()
        }),
        clock_settings: Some(ClockSettings {
            time_control: Some(control),
            ..ClockSettings::default()
        }),
        ..Game::default()
    };
    let created = games.create_game(wire::create(id, game)).await;
    created.expect("created");
    let start = action::Kind::StartGame(StartGame::default());
    let started = games
        .submit_action(wire::submit(id, Seat::Arbiter, start))
        .await;
    started.expect("started");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rulings_commits_flags_and_limits_are_counted() {
    let folder = folder();
    let referee = start(&folder, &[]);
    let mut games = referee.games().await;
    run_out(&mut games, "late").await;
    let created = games
        .create_game(wire::create("ruled", wire::refusing()))
        .await;
    created.expect("created");
    play(&mut games, "ruled", 0).await;
    let illegal = wire::submit("ruled", Seat::Black, wire::make_move("Ke4"));
    for _ in 0..2 {
        let refused = games.submit_action(illegal.clone()).await.expect("judged");
        assert!(refused.into_inner().event.is_none(), "it does not stand");
    }
    let watched = watch(&mut games, "ruled", None).await;
    let admin = referee.admin();
    soon("a flag that fell is counted", || {
        scrape(admin).value("referee_flag_lateness_seconds_count", &[]) == 1.0
    })
    .await;
    let shown = scrape(admin);
    let actions = |outcome| shown.value("referee_actions_total", &[("outcome", outcome)]);
    // The start, the move, and the flag.
    assert_eq!(actions("recorded"), 3.0);
    assert_eq!(actions("refused"), 1.0);
    assert_eq!(actions("repeated"), 1.0);
    let accepted = [("verdict", "accepted")];
    let accepted = shown.matching("referee_rulings_total", &accepted);
    assert_eq!(accepted.map(|(_, count)| count).sum::<f64>(), 3.0);
    let refused: Vec<_> = shown
        .matching("referee_rulings_total", &[("verdict", "refused")])
        .collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(!refused[0].0.contains("article=\"none\""), "{refused:?}");
    let late = shown.value("referee_flag_lateness_seconds_sum", &[]);
    assert!((0.0..10.0).contains(&late), "{late}");
    let batches = shown.value("referee_store_batch_writes_count", &[]);
    assert!(batches >= 5.0, "{batches}");
    assert!(shown.value("referee_store_batch_writes_sum", &[]) >= batches);
    assert_eq!(
        shown.value("referee_store_commit_seconds_count", &[]),
        batches
    );
    let seconds = shown.value("referee_store_commit_seconds_sum", &[]);
    assert!(seconds > 0.0 && seconds < 60.0, "{seconds}");
    let all = [("le", "+Inf")];
    assert_eq!(
        shown.value("referee_store_commit_seconds_bucket", &all),
        batches
    );
    let used = |limit| shown.value("referee_limit_used", &[("limit", limit)]);
    assert_eq!((used("connections"), used("streams")), (1.0, 1.0));
    for (series, max) in shown.matching("referee_limit_max", &[]) {
        assert!(*max > 0.0, "{series}");
    }
    assert_eq!(shown.value("referee_ready", &[]), 1.0);
    assert_eq!(shown.value("referee_perft_wanted_threads", &[]), 0.0);
    drop(watched);
    soon("a stream that is closed takes no place", || {
        scrape(admin).value("referee_limit_used", &[("limit", "streams")]) == 0.0
    })
    .await;
    soon("games that are played are counted", || {
        scrape(admin).value("referee_games_running", &[]) == 1.0
    })
    .await;
}

/// The list of all metrics: name, type, labels.
fn listed() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let path = root().join("tests/data/telemetry/metrics.tsv");
    let text = fs::read_to_string(path).expect("the list is there");
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let rows = rows.map(|line| {
        let [name, kind, labels] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("three columns: {line}");
        };
        let labels = labels.split_whitespace().map(str::to_owned).collect();
        (name.to_owned(), (kind.to_owned(), labels))
    });
    rows.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_those_that_dashboards_rely_on() {
    let folder = folder();
    let referee = start(&folder, &[]);
    let mut games = referee.games().await;
    create(&mut games, "named").await;
    play(&mut games, "named", 0).await;
    let shown = scrape(referee.admin());
    let listed = listed();
    for (name, kind) in &shown.types {
        let Some((listed, labels)) = listed.get(name) else {
            panic!("{name} ({kind}, {:?}) is on no list", shown.labels(name));
        };
        assert_eq!(kind, listed, "{name}");
        let found = shown.labels(name);
        assert!(found.is_subset(labels), "{name}: {found:?}");
    }
    for (name, (kind, _)) in &listed {
        // What only some servers have.
        let is_there = shown.types.contains_key(name) || name.starts_with("referee_tls_");
        assert!(is_there, "{name} ({kind}) is listed, and not there");
    }
}

#[test]
fn the_page_has_every_metric() {
    let page = fs::read_to_string(root().join("docs/OPERATIONS.md")).expect("the page is there");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows = rows.filter(|row| {
        ["referee_", "grpc_", "process_"]
            .iter()
            .any(|it| row.starts_with(it))
    });
    let told: BTreeMap<String, (String, BTreeSet<String>)> = rows
        .map(|row| {
            let cells: Vec<&str> = row
                .trim_end_matches('|')
                .split('|')
                .map(str::trim)
                .collect();
            let labels = cells[2].split_whitespace().filter(|it| *it != "·");
            let labels = labels.map(|it| it.trim_matches(['`', ',']).to_owned());
            let name = cells[0].trim_end_matches('`').to_owned();
            (name, (cells[1].to_owned(), labels.collect()))
        })
        .collect();
    assert_eq!(told, listed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_forms_are_written() {
    let folder = folder();
    let referee = start(&folder, &[]);
    // What is counted is there when a call is answered.
    let missing = referee.games().await.get_game(by_name("missing")).await;
    assert!(missing.is_err());
    let accept = "accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n";
    let open = ask(referee.admin(), "GET", "/metrics", accept, "");
    assert!(
        open.head.contains("application/openmetrics-text"),
        "{}",
        open.head
    );
    assert!(open.body.ends_with("# EOF\n"));
    assert!(open.body.contains("# TYPE grpc_server_started counter"));
    let text = ask(referee.admin(), "GET", "/metrics", "", "");
    assert!(
        text.head.contains("text/plain; version=0.0.4"),
        "{}",
        text.head
    );
    assert!(
        text.body
            .contains("# TYPE grpc_server_started_total counter")
    );
    let numbers = |body: &str| {
        let lines = body
            .lines()
            .filter(|line| line.starts_with("grpc_server_started"));
        lines.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    assert_eq!(numbers(&open.body), numbers(&text.body));
}
