//! Playing over one stream: both seats at once, without waiting for answers, and what a stream that
//! does not keep to the protocol is told.

use referee_api::v1::play_game_request::Kind as Said;
use referee_api::v1::play_game_response::Kind as Told;
use referee_api::v1::{
    Action, ActionAnswer, GameEvent, GameResult, JoinGame, PlayGameRequest, PlayGameResponse,
    Score, Seat, action, game, ruling,
};
use referee_tests::deployment::{Deployment, Games};
use referee_tests::wire::{self, answer, details, make_move, move_and_offer, resign};
use referee_tests::{lines, on_both, texts};
use std::time::Duration;
use tokio::sync::mpsc::{Sender, channel};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

on_both!(
    both_seats_play_a_game_to_mate,
    a_burst_is_answered_in_order,
    streams_keep_to_the_protocol,
    a_stream_ends_after_its_client_has_closed,
    an_arbiter_joins,
    bytes_that_are_no_message_end_the_stream,
    a_stream_that_never_joins_is_ended_by_a_drain,
);

/// One seat of a game: what is said, and what is told.
struct Player {
    seat: Seat,
    say: Sender<PlayGameRequest>,
    hear: Streaming<PlayGameResponse>,
}

fn join(id: &str, seat: Seat) -> Said {
    Said::Join(JoinGame {
        name: format!("games/{id}"),
        seat: seat.into(),
        after_sequence: Some(0),
        ..JoinGame::default()
    })
}

impl Player {
    async fn open(referee: &Deployment, seat: Seat) -> Player {
        let (say, said) = channel(64);
        let mut games = referee.games().await;
        let hear = games
            .play_game(ReceiverStream::new(said))
            .await
            .expect("opened")
            .into_inner();
        Player { seat, say, hear }
    }

    async fn join(referee: &Deployment, id: &str, seat: Seat) -> Player {
        let player = Player::open(referee, seat).await;
        player.say(join(id, seat)).await;
        player
    }

    async fn say(&self, kind: Said) {
        let request = PlayGameRequest { kind: Some(kind) };
        self.say.send(request).await.expect("the stream is open");
    }

    async fn act(&self, kind: action::Kind) -> String {
        let action = wire::action(self.seat, kind);
        let id = action.request_id.clone();
        self.say(Said::Action(action)).await;
        id
    }

    /// Says nothing more.
    fn close(&mut self) {
        let (say, _) = channel(1);
        drop(std::mem::replace(&mut self.say, say));
    }

    /// Hears the next thing that is no heartbeat; `None` at the end.
    async fn hear(&mut self) -> Result<Option<Told>, Status> {
        loop {
            match self
                .hear
                .message()
                .await?
                .map(|told| told.kind.expect("there is content"))
            {
                Some(Told::Heartbeat(_)) => {}
                told => return Ok(told),
            }
        }
    }

    /// Hears everything up to the end of the stream.
    async fn hear_out(mut self) -> (Vec<GameEvent>, Vec<ActionAnswer>) {
        let (mut events, mut answers) = (Vec::new(), Vec::<ActionAnswer>::new());
        while let Some(told) = self.hear().await.expect("the stream goes on") {
            match told {
                Told::Event(event) => {
                    assert_eq!(event.sequence as usize, events.len() + 1, "the next event");
                    events.push(event);
                }
                Told::Answer(answer) => {
                    // The event of an action comes before its answer.
                    assert!(answer.sequence as usize <= events.len(), "{answer:?}");
                    answers.push(answer);
                }
                Told::End(end) => {
                    assert_eq!(end.sequence as usize, events.len(), "everything was told");
                    assert!(self.hear().await.expect("a good end").is_none(), "the last");
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        (events, answers)
    }

    /// Hears the error that ends the stream.
    async fn fail(mut self) -> Status {
        loop {
            match self.hear().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the stream ended well"),
                Err(status) => return status,
            }
        }
    }
}

async fn create(referee: &Deployment, id: &str) -> Games {
    let mut games = referee.games().await;
    games
        .create_game(wire::create(id, wire::refusing()))
        .await
        .expect("created");
    games
}

/// The seat that plays at a ply waits for the event before, and sends the rest at once.
async fn play_side(mut player: Player, moves: Vec<String>, first: usize) -> Player {
    for ply in (first..moves.len()).step_by(2) {
        // Nothing is said in between, so what is heard here is kept for `play_whole`.
        while let Some(told) = player.hear().await.expect("the stream goes on") {
            let Told::Event(event) = told else { continue };
            if event.sequence as usize == ply {
                break;
            }
        }
        player.act(make_move(&moves[ply])).await;
        player.act(make_move("a1a1")).await;
    }
    player
}

/// A master game, both seats over streams of their own. Behind each move an illegal one is sent
/// without waiting, which is answered in its turn and leaves no trace.
async fn both_seats_play_a_game_to_mate(referee: Deployment) {
    let record = lines("games/masters.jsonl")
        .into_iter()
        .find(|record| record["id"] == "anderssen-kieseritzky-1851")
        .expect("the Immortal Game is in the data");
    let moves = texts(&record["moves"]);
    let mut games = create(&referee, "immortal").await;
    let white = Player::join(&referee, "immortal", Seat::White).await;
    let black = Player::join(&referee, "immortal", Seat::Black).await;
    let watcher = Player::join(&referee, "immortal", Seat::Black).await;
    // The first move waits for no event.
    white.act(make_move(&moves[0])).await;
    let rest = moves.clone();
    let (white, black) = tokio::join!(play_side(white, rest.clone(), 2), play_side(black, rest, 1));
    let (events, answers) = watcher.hear_out().await;
    assert!(answers.is_empty(), "answers go to the one who asked");
    assert_eq!(events.len(), moves.len());
    for (event, san) in events.iter().zip(&moves) {
        assert_eq!(event.r#move.as_ref().map(|mv| &mv.san), Some(san));
    }
    for mut player in [white, black] {
        while player
            .hear()
            .await
            .expect("the stream ends with the game")
            .is_some()
        {}
    }
    let read = referee_api::v1::GetGameRequest {
        name: "games/immortal".into(),
    };
    let game = games
        .get_game(read)
        .await
        .expect("read")
        .into_inner()
        .game
        .expect("a game");
    assert_eq!(game.state(), game::State::Finished);
    assert_eq!(record["final_fen"], game.fen.as_str());
}

/// Actions that are sent in one breath are ruled on in their order, each is answered once and in
/// its order, and the stream goes on after those that could not be judged.
async fn a_burst_is_answered_in_order(referee: Deployment) {
    create(&referee, "burst").await;
    let mut white = Player::join(&referee, "burst", Seat::White).await;
    let mut expected = Vec::new();
    expected.push((white.act(move_and_offer("e4")).await, "stands"));
    expected.push((white.act(make_move("d4")).await, "NOT_YOUR_TURN"));
    let nameless = Action {
        request_id: String::new(),
        ..wire::action(Seat::White, resign())
    };
    white.say(Said::Action(nameless)).await;
    expected.push((String::new(), "action.request_id"));
    let stale = wire::action(Seat::White, resign());
    let stale = Action {
        expected_sequence: Some(0),
        ..stale
    };
    expected.push((stale.request_id.clone(), "SEQUENCE_MISMATCH"));
    white.say(Said::Action(stale)).await;
    let other = wire::action(Seat::Black, answer(true));
    expected.push((other.request_id.clone(), "action.seat"));
    white.say(Said::Action(other)).await;
    expected.push((white.act(answer(true)).await, "NO_OFFER"));
    let mut answers = Vec::new();
    while answers.len() < expected.len() {
        match white.hear().await.expect("the stream goes on") {
            Some(Told::Answer(answer)) => answers.push(answer),
            Some(Told::Event(event)) => assert_eq!(event.sequence, 1, "one action stands"),
            other => panic!("{other:?}"),
        }
    }
    for (answer, (id, what)) in answers.iter().zip(&expected) {
        check_answer(answer, id, what);
    }
    // What arrived before the end of the game is answered before the end of the stream.
    let black = Player::join(&referee, "burst", Seat::Black).await;
    for kind in [make_move("e5"), resign(), make_move("d5")] {
        black.act(kind).await;
    }
    let (events, answers) = black.hear_out().await;
    assert_eq!(events.len(), 3);
    let told: Vec<String> = answers
        .iter()
        .filter_map(|answer| answer.ruling.as_ref().map(ruling_code))
        .collect();
    assert!(
        told.starts_with(&["stands".into(), "stands".into()]),
        "{told:?}"
    );
    assert!(told.len() == 2 || told[2..] == ["GAME_OVER"], "{told:?}");
}

/// Checks the answer to a request: what it is told, as a ruling, the reason of an error, or the
/// field at fault.
fn check_answer(answer: &ActionAnswer, id: &str, what: &str) {
    assert_eq!(
        answer.request_id, id,
        "in the order in which they were sent"
    );
    let ruling = answer.ruling.as_ref().map(ruling_code);
    let error = answer.error.as_ref().map(wire::details_of);
    let told = ruling
        .clone()
        .or(error.as_ref().map(|error| error.reason.clone()));
    let field = error.as_ref().and_then(|error| error.fields.first());
    let field = field.map(String::as_str);
    assert!(
        told.as_deref() == Some(what) || field == Some(what),
        "{what}: {answer:?}"
    );
    assert_ne!(
        ruling.is_some(),
        error.is_some(),
        "a ruling or an error: {answer:?}"
    );
    if let Some(error) = error.filter(|error| error.reason == "SEQUENCE_MISMATCH") {
        assert_eq!(error.metadata["expected_sequence"], "0");
    }
}

fn ruling_code(found: &referee_api::v1::Ruling) -> String {
    match found.verdict() {
        ruling::Verdict::Accepted => "stands".to_owned(),
        _ => found
            .reason()
            .as_str_name()
            .trim_start_matches("REASON_")
            .to_owned(),
    }
}

async fn streams_keep_to_the_protocol(referee: Deployment) {
    create(&referee, "protocol").await;
    let first = [
        (
            "STREAM_PROTOCOL",
            Some(Said::Action(wire::action(Seat::White, resign()))),
        ),
        ("STREAM_PROTOCOL", None),
        ("INVALID_FIELD", Some(join("protocol", Seat::Referee))),
        ("INVALID_FIELD", Some(join("protocol", Seat::Unspecified))),
        ("INVALID_FIELD", Some(join("", Seat::White))),
        ("GAME_NOT_FOUND", Some(join("nowhere", Seat::White))),
        (
            "SEQUENCE_AHEAD",
            Some(Said::Join(JoinGame {
                name: "games/protocol".into(),
                seat: Seat::White.into(),
                after_sequence: Some(9),
                ..JoinGame::default()
            })),
        ),
    ];
    for (reason, kind) in first {
        let player = Player::open(&referee, Seat::White).await;
        player
            .say
            .send(PlayGameRequest { kind: kind.clone() })
            .await
            .expect("open");
        let status = player.fail().await;
        assert_eq!(details(&status).reason, reason, "{kind:?}: {status:?}");
    }
    let again = Player::join(&referee, "protocol", Seat::White).await;
    again.say(join("protocol", Seat::White)).await;
    let status = again.fail().await;
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    assert_eq!(details(&status).reason, "STREAM_PROTOCOL");
    assert_eq!(details(&status).fields, ["join"]);
}

/// After a client has closed its side, what it sent is answered, what has happened is told, and the
/// stream ends, whether the game goes on or not.
async fn a_stream_ends_after_its_client_has_closed(referee: Deployment) {
    create(&referee, "closed").await;
    let mut white = Player::join(&referee, "closed", Seat::White).await;
    for text in ["e4", "d4", "a1a1"] {
        white.act(make_move(text)).await;
    }
    white.close();
    let (events, answers) = white.hear_out().await;
    assert_eq!((events.len(), answers.len()), (1, 3));
    let mut silent = Player::join(&referee, "closed", Seat::Black).await;
    silent.close();
    let (events, answers) = silent.hear_out().await;
    assert_eq!((events.len(), answers.len()), (1, 0));
    let mut black = Player::join(&referee, "closed", Seat::Black).await;
    black.act(resign()).await;
    black.close();
    let mut told = Vec::new();
    while let Some(one) = black.hear().await.expect("a good end") {
        told.push(one);
    }
    let [
        Told::Event(_),
        Told::Event(end),
        Told::Answer(_),
        Told::End(over),
    ] = &told[..]
    else {
        panic!("{told:?}");
    };
    assert_eq!((end.sequence, over.sequence), (2, 2));
}

/// An arbiter over one stream: what is for the arbiter is done, a player's seat is not taken.
async fn an_arbiter_joins(referee: Deployment) {
    create(&referee, "arbiter").await;
    let arbiter = Player::open(&referee, Seat::Arbiter).await;
    arbiter
        .say(Said::Join(JoinGame {
            name: "games/arbiter".into(),
            seat: Seat::Arbiter.into(),
            after_sequence: Some(0),
            correction_time: Some(prost_types::Duration {
                seconds: 3_600,
                nanos: 0,
            }),
            ..JoinGame::default()
        }))
        .await;
    let player = Player::join(&referee, "arbiter", Seat::White).await;
    let other = wire::action(Seat::White, make_move("d4"));
    arbiter.say(Said::Action(other)).await;
    player.act(resign()).await;
    let (events, _) = player.hear_out().await;
    assert_eq!(events.len(), 1);
    // The game is over, and the stream goes on for corrections.
    arbiter.act(wire::score(Score::Half, Score::Half)).await;
    arbiter.act(wire::confirm()).await;
    let (events, answers) = arbiter.hear_out().await;
    assert_eq!((events.len(), answers.len()), (3, 3));
    check_answer(&answers[0], &answers[0].request_id, "action.seat");
    let outcomes: Vec<_> = events
        .iter()
        .filter_map(|event| event.outcome.as_ref())
        .map(|outcome| (outcome.result(), outcome.confirmed))
        .collect();
    let (black, draw) = (GameResult::BlackWins, GameResult::Draw);
    assert_eq!(outcomes, [(black, false), (draw, false), (draw, true)]);
}

async fn bytes_that_are_no_message_end_the_stream(referee: Deployment) {
    let channel = referee.connect().await;
    let path = "/referee.v1.GameService/PlayGame";
    let sent = wire::send(&channel, path, wire::frame(0, b"\xff\xff\xff")).await;
    let status = sent.expect_err("garbage");
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    assert_eq!(details(&status).reason, "MALFORMED_MESSAGE");
    let sent = wire::send(&channel, path, bytes::Bytes::new()).await;
    assert_eq!(
        details(&sent.expect_err("no join")).reason,
        "STREAM_PROTOCOL"
    );
}

/// A stream that was opened and never joined does not hold up the end of the process.
async fn a_stream_that_never_joins_is_ended_by_a_drain(mut referee: Deployment) {
    let player = Player::open(&referee, Seat::White).await;
    create(&referee, "joined").await;
    let joined = Player::join(&referee, "joined", Seat::White).await;
    referee.stop();
    for player in [player, joined] {
        let status = tokio::time::timeout(Duration::from_secs(5), player.fail()).await;
        let status = status.expect("a drain ends every stream itself");
        assert_eq!(status.code(), Code::Unavailable, "{status:?}");
        assert_eq!(details(&status).reason, "SHUTTING_DOWN", "{status:?}");
    }
    assert!(
        referee.ended(Duration::from_secs(15)).await,
        "it ends well and in time"
    );
}
