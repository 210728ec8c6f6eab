//! Games are mended and forgotten: what an update or a deletion erases is nowhere any more, and
//! what was exported before still holds.

mod files;
mod texts;

use std::collections::BTreeMap;

use prost_types::FieldMask;
use referee_api::v1::action::Kind as Did;
use referee_api::v1::game_end::Finality;
use referee_api::v1::watch_game_response::Kind;
use referee_api::v1::{
    ArbiterDecision, DeleteGameRequest, ExportGameRequest, Game, GameEvent, GameTag,
    GetGameRequest, ListGameEventsRequest, ListGamesRequest, PauseGame, Seat, UpdateGameRequest,
    Warn, WatchGameRequest, WatchGameResponse, arbiter_decision,
};
use referee_tests::deployment::{Deployment, Games};
use referee_tests::on_both;
use referee_tests::wire::{self, details, make_move, resign};
use tonic::{Code, Status, Streaming};

on_both!(
    an_update_is_an_event_that_everybody_is_told,
    an_update_is_answered_once_and_refused_where_it_says_nothing,
    a_deleted_game_is_answered_with_a_reason_of_its_own,
    who_follows_a_game_is_told_that_it_was_deleted,
    a_game_that_goes_on_is_not_deleted,
);

fn seconds(seconds: i64) -> prost_types::Duration {
    prost_types::Duration { seconds, nanos: 0 }
}

fn labels(labels: &[(&str, &str)]) -> BTreeMap<String, String> {
    let labels = labels.iter();
    labels
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

/// A game of somebody: every text about persons has the name in it.
fn game_of(name: &str) -> Game {
    Game {
        white_player: format!("{name} as White"),
        black_player: format!("{name} as Black"),
        labels: labels(&[("event", &format!("{name} Open"))]),
        tags: vec![GameTag {
            name: "Annotator".into(),
            value: format!("{name} the Elder"),
        }],
        ..Game::default()
    }
}

fn update(id: &str, game: Game, paths: &[&str]) -> UpdateGameRequest {
    UpdateGameRequest {
        name: format!("games/{id}"),
        game: Some(game),
        update_mask: Some(FieldMask {
            paths: paths.iter().map(|&path| path.to_owned()).collect(),
        }),
        request_id: wire::fresh_id(),
    }
}

fn deletion(id: &str) -> DeleteGameRequest {
    DeleteGameRequest {
        name: format!("games/{id}"),
        request_id: wire::fresh_id(),
    }
}

/// What people say in a game, each with a name in it.
fn remarks(name: &str) -> Vec<Did> {
    vec![
        Did::PauseGame(PauseGame {
            reason: format!("{name} is ill"),
        }),
        Did::ArbiterDecision(ArbiterDecision {
            arbiter: format!("{name} the arbiter"),
            reason: format!("the phone of {name}"),
            kind: Some(arbiter_decision::Kind::Warn(Warn {
                side: referee_api::v1::Color::White.into(),
            })),
        }),
        // A condition makes an offer be refused; it is in the request all the same.
        Did::OfferDraw(referee_api::v1::OfferDraw {
            condition: format!("if {name} agrees"),
        }),
    ]
}

macro_rules! play_game_of {
    ($games:expr, $id:expr, $name:expr) => {{
        let created = $games.create_game(wire::create($id, game_of($name))).await;
        created.expect("it is created");
        let first = wire::submit($id, Seat::White, make_move("e4"));
        $games.submit_action(first).await.expect("judged");
        for remark in remarks($name) {
            let seat = match remark {
                Did::OfferDraw(_) => Seat::Black,
                _ => Seat::Arbiter,
            };
            let judged = $games.submit_action(wire::submit($id, seat, remark)).await;
            judged.expect("judged");
        }
        let last = wire::submit($id, Seat::White, resign());
        let last = $games
            .submit_action(last)
            .await
            .expect("judged")
            .into_inner();
        assert!(last.event.is_some(), "{last:?}");
    }};
}
use play_game_of;

async fn read(games: &mut Games, id: &str) -> Result<Game, Status> {
    let name = format!("games/{id}");
    let read = games.get_game(GetGameRequest { name }).await?;
    Ok(read.into_inner().game.expect("a game"))
}

async fn events(games: &mut Games, id: &str) -> Vec<GameEvent> {
    let request = ListGameEventsRequest {
        parent: format!("games/{id}"),
        ..ListGameEventsRequest::default()
    };
    let listed = games.list_game_events(request).await;
    listed.expect("they are listed").into_inner().events
}

async fn watch(games: &mut Games, id: &str, after: Option<i64>) -> Streaming<WatchGameResponse> {
    let request = WatchGameRequest {
        name: format!("games/{id}"),
        after_sequence: after,
        correction_time: Some(seconds(86_400)),
        heartbeat_interval: Some(seconds(1)),
    };
    let watched = games.watch_game(request).await;
    watched.expect("it is watched").into_inner()
}

/// The next thing that is no heartbeat, while time passes; none at a good end.
async fn next(referee: &Deployment, stream: &mut Streaming<WatchGameResponse>) -> Option<Kind> {
    loop {
        let told = referee.passing(stream.message()).await;
        match told.expect("the stream goes well")?.kind {
            Some(Kind::Heartbeat(_)) => {}
            kind => return kind,
        }
    }
}

fn reason(status: &Status) -> (Code, String) {
    (status.code(), details(status).reason)
}

async fn an_update_is_an_event_that_everybody_is_told(referee: Deployment) {
    let mut games = referee.games().await;
    play_game_of!(games, "mended", "Ada");
    let before = read(&mut games, "mended").await.expect("it is read");
    let mut stream = watch(&mut games, "mended", Some(before.sequence)).await;
    let asked = Game {
        white_player: "Bob".into(),
        labels: labels(&[("event", "Cup"), ("round", "2")]),
        black_player: "not in the mask".into(),
        ..Game::default()
    };
    let request = update("mended", asked, &["labels", "white_player", "labels"]);
    let done = games.update_game(request.clone()).await.expect("updated");
    let done = done.into_inner();
    let event = done.event.expect("an event");
    assert_eq!(event.sequence, before.sequence + 1);
    assert_eq!((event.action.as_ref(), event.ruling.as_ref()), (None, None));
    assert_eq!(event.principal, "anonymous");
    let told = event.update.clone().expect("an update");
    let paths = told.update_mask.expect("a mask").paths;
    assert_eq!(paths, ["white_player", "labels"]);
    assert_eq!(told.request_id, request.request_id);
    assert_eq!(told.white_player, "Bob");
    assert_eq!(told.black_player, before.black_player);
    assert_eq!(told.tags, before.tags);
    // Nothing of what was played has changed.
    let after = read(&mut games, "mended").await.expect("it is read");
    let expected = Game {
        white_player: "Bob".into(),
        labels: labels(&[("event", "Cup"), ("round", "2")]),
        sequence: event.sequence,
        update_time: event.event_time,
        ..before.clone()
    };
    assert_eq!(after, expected);
    assert_eq!(done.game, Some(after.clone()));
    // The answer, the stream and the list are the same bytes.
    let Some(Kind::Event(heard)) = next(&referee, &mut stream).await else {
        panic!("the update is told")
    };
    assert_eq!(heard, event);
    let listed = events(&mut games, "mended").await;
    assert_eq!(listed.last(), Some(&event));
    // So is what people said, for whoever reads it.
    let paused = listed
        .iter()
        .find_map(|event| match &event.action.as_ref()?.kind {
            Some(Did::PauseGame(pause)) => Some(pause.reason.clone()),
            _ => None,
        });
    assert_eq!(paused.as_deref(), Some("Ada is ill"));
    let filter = |label: &str| ListGamesRequest {
        filter: Some(referee_api::v1::GameFilter {
            labels: labels(&[("event", label)]),
            ..Default::default()
        }),
        ..ListGamesRequest::default()
    };
    for (label, count) in [("Cup", 1), ("Ada Open", 0)] {
        let found = games.list_games(filter(label)).await.expect("listed");
        let found = found.into_inner().games;
        assert_eq!(found.len(), count, "{label}");
        if let Some(found) = found.first() {
            assert_eq!(
                (&found.white_player, &found.labels),
                (&after.white_player, &after.labels)
            );
            assert_eq!((found.sequence, found.state), (after.sequence, after.state));
        }
    }
    let pgn = wire::export_pgn_of("games/mended");
    let mut pgn = games.export_pgn(pgn).await.expect("exported").into_inner();
    let pgn = pgn
        .message()
        .await
        .expect("it goes well")
        .expect("a piece")
        .pgn;
    assert!(
        pgn.contains("[White \"Bob\"]") && !pgn.contains("Ada as White"),
        "{pgn}"
    );
}

async fn an_update_is_answered_once_and_refused_where_it_says_nothing(referee: Deployment) {
    let mut games = referee.games().await;
    let create = wire::create("once", game_of("Ada"));
    games.create_game(create.clone()).await.expect("created");
    let other = wire::create("other", Game::default());
    games.create_game(other).await.expect("created");
    // The same creation with another name is another one.
    let mut changed = create.clone();
    changed.game = Some(game_of("Bob"));
    let status = games.create_game(changed).await.expect_err("other content");
    assert_eq!(reason(&status).1, "REQUEST_ID_REUSED");
    let first = update("once", game_of("Bob"), &["white_player"]);
    let answer = games.update_game(first.clone()).await.expect("updated");
    let answer = answer.into_inner();
    let again = games
        .update_game(first.clone())
        .await
        .expect("the same again");
    assert_eq!(again.into_inner(), answer);
    // The creation is answered as it was, but for what was erased.
    let created = games
        .create_game(create.clone())
        .await
        .expect("the same again");
    let created = created.into_inner().game.expect("a game");
    assert_eq!((created.sequence, created.white_player), (0, String::new()));
    let reused = [
        UpdateGameRequest {
            game: Some(game_of("Cem")),
            ..first.clone()
        },
        UpdateGameRequest {
            update_mask: Some(FieldMask {
                paths: vec!["tags".into()],
            }),
            ..first.clone()
        },
        UpdateGameRequest {
            name: "games/other".into(),
            ..first.clone()
        },
        UpdateGameRequest {
            request_id: create.request_id.clone(),
            ..first.clone()
        },
    ];
    for request in reused {
        let status = games.update_game(request.clone()).await;
        let status = status.expect_err(&format!("it is reused: {request:?}"));
        assert_eq!(
            reason(&status),
            (Code::InvalidArgument, "REQUEST_ID_REUSED".into())
        );
    }
    let second = update("once", Game::default(), &["white_player", "tags"]);
    games.update_game(second).await.expect("updated");
    let mended = read(&mut games, "once").await.expect("it is read");
    assert_eq!((mended.sequence, mended.white_player), (2, String::new()));
    assert_eq!(
        (mended.tags, mended.black_player),
        (Vec::new(), "Ada as Black".into())
    );
    // Its text was erased meanwhile; the rest of the answer is there.
    let again = games
        .update_game(first)
        .await
        .expect("the same again")
        .into_inner();
    let told = again.event.expect("an event").update.expect("an update");
    assert_eq!(told.white_player, "");
    assert_eq!(again.game.expect("a game").sequence, 2);
    let missing = update("nobody", Game::default(), &["tags"]);
    let status = games.update_game(missing).await.expect_err("no such game");
    assert_eq!(reason(&status), (Code::NotFound, "GAME_NOT_FOUND".into()));
}

async fn a_deleted_game_is_answered_with_a_reason_of_its_own(referee: Deployment) {
    let mut games = referee.games().await;
    play_game_of!(games, "gone", "Ada");
    let create = wire::create("gone", game_of("Ada"));
    let act = wire::submit("gone", Seat::White, resign());
    let request = deletion("gone");
    let deleted = games
        .delete_game(request.clone())
        .await
        .expect("deleted")
        .into_inner();
    assert!(deleted.delete_time.is_some());
    let again = games
        .delete_game(request.clone())
        .await
        .expect("the same again");
    assert_eq!(again.into_inner(), deleted);
    let name = || "games/gone".to_owned();
    let get = GetGameRequest { name: name() };
    let list = ListGameEventsRequest {
        parent: name(),
        ..ListGameEventsRequest::default()
    };
    let export = ExportGameRequest { name: name() };
    let watch = WatchGameRequest {
        name: name(),
        ..WatchGameRequest::default()
    };
    let pgn = wire::export_pgn_of("games/gone");
    let mut said = vec![
        games.get_game(get).await.expect_err("it is gone"),
        games.list_game_events(list).await.expect_err("it is gone"),
        games.export_game(export).await.expect_err("it is gone"),
        games.watch_game(watch).await.expect_err("it is gone"),
        games.submit_action(act).await.expect_err("it is gone"),
        games
            .delete_game(deletion("gone"))
            .await
            .expect_err("it is gone"),
    ];
    let changed = update("gone", Game::default(), &["tags"]);
    said.push(games.update_game(changed).await.expect_err("it is gone"));
    let exported = games.export_pgn(pgn).await;
    said.push(match exported {
        Err(status) => status,
        Ok(stream) => stream.into_inner().message().await.expect_err("it is gone"),
    });
    for status in said {
        assert_eq!(
            reason(&status),
            (Code::NotFound, "GAME_DELETED".into()),
            "{status:?}"
        );
        assert_eq!(details(&status).metadata["name"], name());
    }
    let taken = games
        .create_game(create)
        .await
        .expect_err("the name is taken");
    assert_eq!(reason(&taken), (Code::AlreadyExists, "NAME_TAKEN".into()));
    let listed = games.list_games(ListGamesRequest::default()).await;
    assert_eq!(listed.expect("listed").into_inner().games, []);
    // The id of the deletion is that of nothing else.
    play_game_of!(games, "next", "Bob");
    let reused = DeleteGameRequest {
        name: "games/next".into(),
        ..request
    };
    let status = games.delete_game(reused).await.expect_err("it is reused");
    assert_eq!(reason(&status).1, "REQUEST_ID_REUSED");
}

async fn who_follows_a_game_is_told_that_it_was_deleted(referee: Deployment) {
    let mut games = referee.games().await;
    play_game_of!(games, "followed", "Ada");
    let sequence = read(&mut games, "followed")
        .await
        .expect("it is read")
        .sequence;
    let mut streams = vec![
        watch(&mut games, "followed", Some(sequence)).await,
        watch(&mut games, "followed", Some(0)).await,
    ];
    for _ in 0..sequence {
        let told = next(&referee, &mut streams[1]).await;
        assert!(matches!(told, Some(Kind::Event(_))), "{told:?}");
    }
    games
        .delete_game(deletion("followed"))
        .await
        .expect("deleted");
    for stream in &mut streams {
        let Some(Kind::End(end)) = next(&referee, stream).await else {
            panic!("the end is told")
        };
        assert_eq!((end.finality(), end.outcome), (Finality::Deleted, None));
        assert_eq!(end.sequence, sequence);
        assert_eq!(next(&referee, stream).await, None);
    }
}

async fn a_game_that_goes_on_is_not_deleted(referee: Deployment) {
    let mut games = referee.games().await;
    games
        .create_game(wire::create("on", game_of("Ada")))
        .await
        .expect("created");
    for text in [None, Some("e4")] {
        if let Some(text) = text {
            let request = wire::submit("on", Seat::White, make_move(text));
            games.submit_action(request).await.expect("judged");
        }
        let status = games
            .delete_game(deletion("on"))
            .await
            .expect_err("it goes on");
        assert_eq!(
            reason(&status),
            (Code::FailedPrecondition, "GAME_NOT_FINISHED".into())
        );
    }
    let status = games
        .delete_game(deletion("nobody"))
        .await
        .expect_err("no such game");
    assert_eq!(reason(&status), (Code::NotFound, "GAME_NOT_FOUND".into()));
    assert_eq!(
        read(&mut games, "on")
            .await
            .expect("it is there")
            .white_player,
        "Ada as White"
    );
}
