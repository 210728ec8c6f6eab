//! How the service behaves: the same question gets the same answer, watchers miss nothing, one
//! writer wins, offers and claims go by the Laws, a drain ends in time.

use std::time::Duration;

use prost::Message;
use referee_api::v1;
use referee_api::v1::play_game_request::Kind as Said;
use referee_api::v1::play_game_response::Kind as Told;
use referee_api::v1::watch_game_response::Kind as News;
use referee_tests::deployment::{Deployment, Games};
use referee_tests::{on_both, wire};
use tokio::sync::mpsc::Sender;
use tonic::{Code, Streaming};

on_both!(
    the_same_question_gets_the_same_answer,
    one_of_many_racers_wins,
    watchers_see_every_event_once_and_in_order,
    a_quiet_game_is_heard_of,
    a_seat_is_played_over_one_stream,
    lists_are_filtered_by_labels_and_paged,
    health_is_told_and_a_drain_ends_in_time,
);

fn watch(game: &str, after: Option<i64>) -> v1::WatchGameRequest {
    v1::WatchGameRequest {
        name: format!("games/{game}"),
        after_sequence: after,
        heartbeat_interval: Some(prost_types::Duration {
            seconds: 1,
            nanos: 0,
        }),
        correction_time: None,
    }
}

async fn the_same_question_gets_the_same_answer(referee: Deployment) {
    let mut games = referee.games().await;
    let create = wire::create("", v1::Game::default());
    let first = games
        .create_game(create.clone())
        .await
        .expect("created")
        .into_inner();
    let name = first.game.as_ref().expect("a game").name.clone();
    let id = name.trim_start_matches("games/");
    let illegal = wire::submit(id, v1::Seat::White, wire::make_move("e5"));
    let refused = games
        .submit_action(illegal.clone())
        .await
        .expect("judged")
        .into_inner();
    assert!(refused.event.is_none());
    let good = wire::submit(id, v1::Seat::White, wire::make_move("e4"));
    let accepted = games
        .submit_action(good.clone())
        .await
        .expect("judged")
        .into_inner();
    let reply = wire::submit(id, v1::Seat::Black, wire::make_move("e5"));
    games.submit_action(reply).await.expect("judged");

    let again = games
        .create_game(create)
        .await
        .expect("repeated")
        .into_inner();
    assert_eq!(again.encode_to_vec(), first.encode_to_vec());
    for (request, answer) in [(illegal, refused), (good.clone(), accepted)] {
        let again = games
            .submit_action(request)
            .await
            .expect("repeated")
            .into_inner();
        assert_eq!(again.encode_to_vec(), answer.encode_to_vec());
    }
    let mut other = good;
    other.action.as_mut().expect("it has one").kind = Some(wire::resign());
    let status = games.submit_action(other).await.expect_err("other content");
    assert_eq!(wire::details(&status).reason, "REQUEST_ID_REUSED");
}

async fn one_of_many_racers_wins(referee: Deployment) {
    let mut games = referee.games().await;
    games
        .create_game(wire::create("race", v1::Game::default()))
        .await
        .expect("created");
    let mut racers = tokio::task::JoinSet::new();
    for number in 0..100 {
        let mut games = games.clone();
        let text = ["e4", "d4", "c4", "Nf3"][number % 4];
        let mut request = wire::submit("race", v1::Seat::White, wire::make_move(text));
        request
            .action
            .as_mut()
            .expect("it has one")
            .expected_sequence = Some(0);
        racers.spawn(async move { games.submit_action(request).await });
    }
    let answers = racers.join_all().await;
    let won = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(won, 1);
    for status in answers.into_iter().filter_map(Result::err) {
        assert_eq!(status.code(), Code::Aborted, "{status:?}");
        assert_eq!(wire::details(&status).metadata["actual_sequence"], "1");
    }
}

/// Follows to the end of the game from after a sequence, breaking the stream off now and then.
async fn follow(referee: &Deployment, game: &str, mut after: i64, break_each: usize) -> Vec<i64> {
    let mut seen = Vec::new();
    let mut games = referee.games().await;
    loop {
        let mut stream = games
            .watch_game(watch(game, Some(after)))
            .await
            .expect("watched")
            .into_inner();
        let mut told = 0;
        loop {
            match stream
                .message()
                .await
                .expect("the stream goes on")
                .map(|one| one.kind)
            {
                None => return seen,
                Some(Some(News::Event(event))) => {
                    after = event.sequence;
                    seen.push(event.sequence);
                    told += 1;
                }
                Some(Some(News::Heartbeat(beat))) => assert_eq!(beat.sequence, after),
                Some(Some(News::End(end))) => assert_eq!(end.sequence, after),
                Some(other) => panic!("unexpected {other:?}"),
            }
            if told == break_each {
                break;
            }
        }
    }
}

/// Rules under which knights can go to and fro for as long as the test likes.
fn endless() -> v1::Game {
    let overrides = v1::RuleParameters {
        fivefold: Some(false),
        ..Default::default()
    };
    v1::Game {
        rule_profile: Some(v1::RuleProfile {
            overrides: Some(overrides),
            ..Default::default()
        }),
        ..v1::Game::default()
    }
}

async fn watchers_see_every_event_once_and_in_order(referee: Deployment) {
    let mut games = referee.games().await;
    games
        .create_game(wire::create("endless", endless()))
        .await
        .expect("created");
    let plies = 60;
    let write = async {
        let mut games = games.clone();
        for ply in 0..plies {
            let text = ["Nf3", "Nf6", "Ng1", "Ng8"][ply % 4];
            let request = wire::submit("endless", wire::on_move(ply), wire::make_move(text));
            let answer = games
                .submit_action(request)
                .await
                .expect("judged")
                .into_inner();
            assert!(answer.event.is_some(), "{answer:?}");
        }
        let request = wire::submit("endless", v1::Seat::White, wire::resign());
        games.submit_action(request).await.expect("judged");
    };
    let all: Vec<i64> = (1..=plies as i64 + 1).collect();
    let (whole, broken, one_by_one, ()) = tokio::join!(
        follow(&referee, "endless", 0, usize::MAX),
        follow(&referee, "endless", 0, 7),
        follow(&referee, "endless", 0, 1),
        write
    );
    assert_eq!(whole, all);
    assert_eq!(broken, all);
    assert_eq!(one_by_one, all);
    let mut snapshot = games
        .watch_game(watch("endless", None))
        .await
        .expect("watched")
        .into_inner();
    let first = snapshot.message().await.expect("told").expect("a message");
    let Some(News::Snapshot(game)) = first.kind else {
        panic!("{first:?}")
    };
    assert_eq!(game.sequence, plies as i64 + 1);
    assert_eq!(game.state(), v1::game::State::Finished);
    let last = snapshot.message().await.expect("told").expect("an end");
    let Some(News::End(end)) = last.kind else {
        panic!("{last:?}")
    };
    assert_eq!(end.finality(), v1::game_end::Finality::Open);
    assert!(
        snapshot.message().await.expect("told").is_none(),
        "the stream of a finished game ends"
    );
}

async fn a_quiet_game_is_heard_of(referee: Deployment) {
    let mut games = referee.games().await;
    games
        .create_game(wire::create("watched", v1::Game::default()))
        .await
        .expect("created");
    let mut quiet = games
        .watch_game(watch("watched", Some(0)))
        .await
        .expect("watched")
        .into_inner();
    let first = referee.passing(quiet.message()).await;
    let first = first.expect("told").expect("a message");
    assert!(matches!(first.kind, Some(News::Heartbeat(_))), "{first:?}");
}

/// Joins the white seat of a game, and says three things without waiting: a move, one out of turn,
/// one of the other seat.
async fn join_and_say(
    games: &mut Games,
    game: &str,
) -> (Sender<v1::PlayGameRequest>, Streaming<v1::PlayGameResponse>) {
    let join = v1::JoinGame {
        name: format!("games/{game}"),
        seat: v1::Seat::White.into(),
        after_sequence: Some(0),
        heartbeat_interval: None,
        correction_time: None,
    };
    let (sender, receiver) = tokio::sync::mpsc::channel(8);
    sender.send(said(Said::Join(join))).await.expect("open");
    let moves = [
        (v1::Seat::White, "e4"),
        (v1::Seat::White, "d4"),
        (v1::Seat::Black, "e5"),
    ];
    for (seat, text) in moves {
        let action = wire::action(seat, wire::make_move(text));
        sender.send(said(Said::Action(action))).await.expect("open");
    }
    let requests = tokio_stream::wrappers::ReceiverStream::new(receiver);
    let stream = games
        .play_game(requests)
        .await
        .expect("joined")
        .into_inner();
    (sender, stream)
}

fn said(kind: Said) -> v1::PlayGameRequest {
    v1::PlayGameRequest { kind: Some(kind) }
}

async fn a_seat_is_played_over_one_stream(referee: Deployment) {
    let mut games = referee.games().await;
    games
        .create_game(wire::create("played", v1::Game::default()))
        .await
        .expect("created");
    let (sender, mut stream) = join_and_say(&mut games, "played").await;
    let mut told = Vec::new();
    while told.len() < 4 {
        told.push(
            stream
                .message()
                .await
                .expect("told")
                .expect("a message")
                .kind
                .expect("a kind"),
        );
    }
    assert!(
        matches!(&told[0], Told::Event(event) if event.sequence == 1),
        "{told:?}"
    );
    assert!(
        matches!(&told[1], Told::Answer(answer) if answer.sequence == 1),
        "{told:?}"
    );
    let Told::Answer(out_of_turn) = &told[2] else {
        panic!("{told:?}")
    };
    let ruling = out_of_turn.ruling.as_ref().expect("judged");
    assert_eq!(ruling.reason(), v1::ruling::Reason::NotYourTurn);
    let Told::Answer(other_seat) = &told[3] else {
        panic!("{told:?}")
    };
    let error = other_seat.error.as_ref().expect("not judged");
    // What the action would have failed with by itself, details and all.
    let found = wire::details_of(error);
    assert_eq!(error.code, i32::from(tonic::Code::InvalidArgument));
    assert_eq!(found.reason, "INVALID_FIELD");
    assert_eq!(found.domain, "chess-referee");
    assert_eq!(found.fields, ["action.seat"]);
    let resign = wire::action(v1::Seat::White, wire::resign());
    sender.send(said(Said::Action(resign))).await.expect("open");
    let mut last = Vec::new();
    while let Some(message) = stream.message().await.expect("told") {
        last.push(message.kind.expect("a kind"));
    }
    assert!(
        matches!(&last[0], Told::Event(event) if event.sequence == 2),
        "{last:?}"
    );
    assert!(
        matches!(&last[1], Told::Answer(answer) if answer.sequence == 2),
        "{last:?}"
    );
}

async fn lists_are_filtered_by_labels_and_paged(referee: Deployment) {
    let mut games = referee.games().await;
    for number in 0..7 {
        let labels = [("round".to_owned(), (number % 2).to_string())].into();
        let game = v1::Game {
            labels,
            ..v1::Game::default()
        };
        games
            .create_game(wire::create(&format!("g{number}"), game))
            .await
            .expect("created");
    }
    let filter = v1::GameFilter {
        labels: [("round".to_owned(), "0".to_owned())].into(),
        ..v1::GameFilter::default()
    };
    let mut request = v1::ListGamesRequest {
        page_size: 3,
        filter: Some(filter),
        ..Default::default()
    };
    let mut found = Vec::new();
    loop {
        let page = games
            .list_games(request.clone())
            .await
            .expect("listed")
            .into_inner();
        assert!(page.games.len() <= 3);
        found.extend(page.games.into_iter().map(|game| game.name));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!(found, ["games/g6", "games/g4", "games/g2", "games/g0"]);
    request.filter = None;
    let status = games.list_games(request).await.expect_err("another filter");
    assert_eq!(wire::details(&status).reason, "INVALID_PAGE_TOKEN");
}

async fn health_is_told_and_a_drain_ends_in_time(mut referee: Deployment) {
    use tonic_health::pb::HealthCheckRequest;
    use tonic_health::pb::health_check_response::ServingStatus;
    use tonic_health::pb::health_client::HealthClient;
    let mut health = HealthClient::new(referee.connect().await);
    for service in [
        "",
        "referee.v1.GameService",
        "referee.v1.RulesService",
        "referee.v1.StoreService",
        "referee.v1.PerftService",
        "referee.worker.v1.WorkerService",
        "referee.v1.TokenService",
        "readiness",
    ] {
        let request = HealthCheckRequest {
            service: service.into(),
        };
        let answer = health.check(request).await.expect("known").into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service}");
    }
    let unknown = HealthCheckRequest {
        service: "nope".into(),
    };
    assert_eq!(
        health.check(unknown).await.expect_err("unknown").code(),
        Code::NotFound
    );
    let request = HealthCheckRequest {
        service: String::new(),
    };
    let mut changes = health.watch(request).await.expect("watched").into_inner();
    changes.message().await.expect("told");

    let mut games = referee.games().await;
    games
        .create_game(wire::create("open", v1::Game::default()))
        .await
        .expect("created");
    let mut stream = games
        .watch_game(watch("open", Some(0)))
        .await
        .expect("watched")
        .into_inner();
    let _silent = std::net::TcpStream::connect(referee.address()).expect("connected");
    referee.stop();
    let changed = changes.message().await.expect("told").expect("a change");
    assert_eq!(changed.status(), ServingStatus::NotServing);
    let ended = loop {
        match stream.message().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the stream ended without a reason"),
            Err(status) => break status,
        }
    };
    assert_eq!(wire::details(&ended).reason, "SHUTTING_DOWN", "{ended:?}");
    assert!(
        referee.ended(Duration::from_secs(20)).await,
        "it ends well and in time"
    );
}
