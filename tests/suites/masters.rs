//! Well-known games through the running binary, one action at a time, compared ply by ply with the
//! oracle and at the end with the record.

use std::sync::Arc;

use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::ruling::Verdict;
use referee_api::v1::{
    ClaimKind, Game, GameEvent, GameResult, GetGameRequest, ListGameEventsRequest, Seat,
    SubmitActionRequest, SubmitActionResponse, Termination, game, ruling,
};
use referee_tests::oracle::Oracle;
use referee_tests::process::Referee;
use referee_tests::wire::{self, answer, claim, make_move, move_and_offer, on_move, other, resign};
use referee_tests::{lines, texts};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tonic::transport::Channel;

/// The games that are played at the same time.
const AT_ONCE: usize = 16;
/// The games that the record must have.
const GAMES_MIN: usize = 20;

type Games = GameServiceClient<Channel>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_games_end_as_recorded() {
    let referee = Referee::start();
    let client = referee.games().await;
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut games = JoinSet::new();
    for record in lines("games/masters.jsonl") {
        let (client, places) = (client.clone(), places.clone());
        games.spawn(async move {
            let _place = places.acquire().await.expect("the places are never closed");
            play(client, record).await
        });
    }
    let plies: Vec<usize> = games.join_all().await;
    assert!(plies.len() >= GAMES_MIN, "only {} games", plies.len());
    println!(
        "{} games, {} moves",
        plies.len(),
        plies.iter().sum::<usize>()
    );
}

/// Plays one game from the first move to the end, and returns how many moves it has.
async fn play(mut games: Games, record: Value) -> usize {
    let id = record["id"].as_str().expect("a game has a name").to_owned();
    let text = |field: &str| record[field].as_str().unwrap_or_default().to_owned();
    let setup = Game {
        white_player: text("white"),
        black_player: text("black"),
        ..Game::default()
    };
    let created = games.create_game(wire::create(&id, setup)).await;
    created.unwrap_or_else(|status| panic!("{id}: {status:?}"));

    let moves = texts(&record["moves"]);
    let agreed = text("termination") == "agreement";
    let mut oracle = Oracle::default();
    let mut events = Vec::new();
    for (ply, san) in moves.iter().enumerate() {
        let last = ply + 1 == moves.len();
        // The proper moment to offer a draw is together with a move (9.1.2.1).
        let kind = if last && agreed {
            move_and_offer(san)
        } else {
            make_move(san)
        };
        let event = accepted(&mut games, wire::submit(&id, on_move(ply), kind)).await;
        compare(&id, san, &event, &mut oracle);
        events.push(event);
    }
    if let Some((seat, kind)) = ending(&record, moves.len()) {
        events.push(accepted(&mut games, wire::submit(&id, seat, kind)).await);
    }
    check_end(&mut games, &id, &record, &events).await;
    moves.len()
}

/// Puts an action to the referee, which must accept it, and returns the event.
async fn accepted(games: &mut Games, request: SubmitActionRequest) -> GameEvent {
    let shown = format!("{request:?}");
    let response = games.submit_action(request).await;
    let response = response
        .unwrap_or_else(|status| panic!("{shown}: {status:?}"))
        .into_inner();
    let SubmitActionResponse {
        ruling,
        event,
        sequence,
    } = response;
    let ruling = ruling.unwrap_or_else(|| panic!("{shown}: no ruling"));
    assert_eq!(ruling.verdict(), Verdict::Accepted, "{shown}: {ruling:?}");
    let event = event.unwrap_or_else(|| panic!("{shown}: no event"));
    assert_eq!(event.sequence, sequence, "{shown}");
    assert_eq!(event.ruling, Some(ruling), "{shown}");
    event
}

/// Makes the move of an event on the oracle's board and compares the positions.
fn compare(id: &str, san: &str, event: &GameEvent, oracle: &mut Oracle) {
    let played = event
        .r#move
        .as_ref()
        .unwrap_or_else(|| panic!("{id}: {san} was not played"));
    assert_eq!(played.san, san, "{id} at ply {}", oracle.ply());
    oracle
        .play(&played.uci)
        .unwrap_or_else(|error| panic!("{id}: {san}: {error}"));
    let place = format!("{id} after {san} at ply {}", oracle.ply());
    assert_eq!(event.fen, oracle.fen(), "{place}");
    assert_eq!(event.ply, oracle.ply(), "{place}");
    assert_eq!(event.repetitions, oracle.repetitions(), "{place}");
    assert_eq!(event.halfmove_clock, oracle.halfmove_clock(), "{place}");
    assert_eq!(event.sequence, i64::from(oracle.ply()), "{place}");
}

/// What ends a game that does not end on the board, and who does it.
fn ending(record: &Value, plies: usize) -> Option<(Seat, referee_api::v1::action::Kind)> {
    let mover = on_move(plies);
    match record["termination"].as_str()? {
        "resignation" if record["result"] == "1-0" => Some((Seat::Black, resign())),
        "resignation" => Some((Seat::White, resign())),
        "agreement" => Some((mover, answer(true))),
        "threefold_claim" => {
            let intended = record["intended"].as_str();
            assert!(intended.is_some(), "{record} claims without a move");
            Some((mover, claim(ClaimKind::Threefold, intended)))
        }
        _ => None,
    }
}

async fn check_end(games: &mut Games, id: &str, record: &Value, events: &[GameEvent]) {
    let name = format!("games/{id}");
    let read = games.get_game(GetGameRequest { name: name.clone() }).await;
    let game = read
        .expect("the game is there")
        .into_inner()
        .game
        .expect("an answer has a game");
    let outcome = game.outcome.clone().unwrap_or_default();
    let (result, termination) = recorded(record);
    assert_eq!(outcome.result(), result, "{id}");
    assert_eq!(outcome.termination(), termination, "{id}");
    assert!(
        !outcome.citations.is_empty(),
        "{id}: an outcome rests on an article"
    );
    assert!(!outcome.text.is_empty(), "{id}: an outcome has words");
    assert_eq!(
        events.last().and_then(|event| event.outcome.as_ref()),
        Some(&outcome),
        "{id}"
    );
    assert_eq!(record["final_fen"], game.fen.as_str(), "{id}");
    assert_eq!(record["plies"], game.moves.len(), "{id}");
    assert_eq!(game.state(), game::State::Finished, "{id}");
    assert_eq!(game.sequence as usize, events.len(), "{id}");
    assert_eq!(
        game.white_player,
        record["white"].as_str().unwrap_or_default(),
        "{id}"
    );

    assert_eq!(
        listed(games, &name).await,
        events,
        "{id}: the record is what was answered"
    );
    // Nothing can be done in a game that is over.
    let late = wire::submit(id, other(on_move(game.moves.len())), make_move("e4"));
    let late = games
        .submit_action(late)
        .await
        .expect("a refusal is an answer")
        .into_inner();
    let refusal = late.ruling.unwrap_or_default();
    assert_eq!(refusal.reason(), ruling::Reason::GameOver, "{id}");
    assert_eq!(late.sequence, game.sequence, "{id}");
}

fn recorded(record: &Value) -> (GameResult, Termination) {
    let result = match record["result"].as_str() {
        Some("1-0") => GameResult::WhiteWins,
        Some("0-1") => GameResult::BlackWins,
        Some("1/2-1/2") => GameResult::Draw,
        other => panic!("{other:?} is no result of the record"),
    };
    let name = record["termination"]
        .as_str()
        .unwrap_or_default()
        .to_uppercase();
    let termination = Termination::from_str_name(&format!("TERMINATION_{name}"));
    (
        result,
        termination.unwrap_or_else(|| panic!("{name} is no termination")),
    )
}

/// Reads the whole record of a game, on pages of an odd size.
async fn listed(games: &mut Games, parent: &str) -> Vec<GameEvent> {
    let mut events = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = ListGameEventsRequest {
            parent: parent.to_owned(),
            page_size: 37,
            page_token,
        };
        let page = games
            .list_game_events(request)
            .await
            .expect("the record can be read");
        let page = page.into_inner();
        assert!(
            page.events.len() <= 37,
            "a page has at most what was asked for"
        );
        events.extend(page.events);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return events;
        }
    }
}
