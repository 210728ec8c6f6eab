//! The process is killed in the middle of its work, again and again, on one store. What it had
//! acknowledged must be there afterwards, and the games go on.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a process is killed at some time, and reads the same clock"
)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use prost::Message;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::ruling::Verdict;
use referee_api::v1::{
    CreateGameRequest, CreateGameResponse, Game, GameEvent, GetGameRequest, ListGameEventsRequest,
    RuleParameters, RuleProfile, Seat, SubmitActionRequest, SubmitActionResponse, game,
};
use referee_tests::process::Referee;
use referee_tests::wire::{
    self, CREATE, SUBMIT, broke_off, call, make_move, on_move, other, resign,
};
use referee_tests::{lines, texts};
use tokio::task::JoinSet;
use tonic::transport::Channel;

/// How often the process is killed.
const KILLS: u64 = 8;
/// The games that are played while it is.
const GAMES: usize = 8;
/// How many answers arrive before it is killed, at least and at most.
const ANSWERS: (u64, u64) = (10, 150);
/// How long it lives on after that, in microseconds, so that it is killed in the middle of work.
const REST_US: (u64, u64) = (0, 20_000);
/// After this time something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A small generator of numbers, so that a run can be repeated from its seed.
struct Dice(u64);

impl Dice {
    /// Returns a number from `low` to `high`.
    fn roll(&mut self, (low, high): (u64, u64)) -> u64 {
        // SplitMix64, Steele, Lea and Flood 2014.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        low + (mixed ^ (mixed >> 31)) % (high - low + 1)
    }
}

fn seed() -> u64 {
    let given = std::env::var("REFEREE_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    given.unwrap_or(now.as_nanos() as u64)
}

/// An answer that arrived, with the request that it answers.
struct Answered {
    request: SubmitActionRequest,
    bytes: Bytes,
}

/// One game and all that is known of it on this side.
struct Player {
    id: String,
    moves: Vec<String>,
    /// The moves that were acknowledged.
    played: usize,
    resigned: bool,
    answers: Vec<Answered>,
    /// What was sent and not answered before the process died.
    open: Option<SubmitActionRequest>,
    /// Actions since the last answer that was no move, so that refusals are mixed in.
    turn: usize,
}

impl Player {
    /// Says what to send next: the request that broke off, a move, an action that will be refused,
    /// or the resignation after the last move.
    fn next(&mut self) -> Option<SubmitActionRequest> {
        if let Some(open) = self.open.take() {
            return Some(open);
        }
        if self.resigned {
            return None;
        }
        self.turn += 1;
        let mover = on_move(self.played);
        Some(match self.moves.get(self.played) {
            _ if self.turn.is_multiple_of(5) => {
                wire::submit(&self.id, other(mover), make_move("e2e4"))
            }
            _ if self.turn.is_multiple_of(7) => wire::submit(&self.id, mover, make_move("a1h7")),
            Some(san) => wire::submit(&self.id, mover, make_move(san)),
            None => wire::submit(&self.id, mover, resign()),
        })
    }

    fn take(&mut self, request: SubmitActionRequest, bytes: Bytes) {
        let response = SubmitActionResponse::decode(bytes.clone()).expect("an answer is a message");
        if let Some(event) = &response.event {
            assert_eq!(
                event.action, request.action,
                "{}: the event has the action",
                self.id
            );
            if event.r#move.is_some() {
                self.played += 1;
            } else {
                self.resigned = true;
            }
        } else {
            let ruling = response.ruling.unwrap_or_default();
            assert_eq!(
                ruling.verdict(),
                Verdict::Refused,
                "{}: {ruling:?}",
                self.id
            );
        }
        self.answers.push(Answered { request, bytes });
    }

    /// Plays until the connection breaks or the game is over. Each action is delivered twice at
    /// the same time, over two connections, as an impatient client does.
    async fn play(mut self, channels: [Channel; 2], answered: Arc<AtomicU64>) -> Player {
        while let Some(request) = self.next() {
            let (one, two) = tokio::join!(
                call(&channels[0], SUBMIT, &request),
                call(&channels[1], SUBMIT, &request)
            );
            let mut answers = Vec::new();
            for answer in [one, two] {
                match answer {
                    Ok(bytes) => answers.push(bytes),
                    Err(status) => assert!(broke_off(&status), "{}: {status:?}", self.id),
                }
            }
            if let [one, two] = answers.as_slice() {
                assert_eq!(one, two, "{}: two deliveries, one answer", self.id);
            }
            match answers.pop() {
                Some(bytes) => {
                    self.take(request, bytes);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
                None => {
                    self.open = Some(request);
                    return self;
                }
            }
        }
        self
    }

    /// The events that were acknowledged.
    fn events(&self) -> Vec<GameEvent> {
        let read = |answer: &Answered| SubmitActionResponse::decode(answer.bytes.clone()).ok();
        self.answers
            .iter()
            .filter_map(|answer| read(answer)?.event)
            .collect()
    }

    /// Holds that everything acknowledged is on disk, and that it is answered as it was.
    async fn check(&self, channel: &Channel) {
        let record = record_of(channel, &self.id).await;
        for (index, event) in record.iter().enumerate() {
            assert_eq!(event.sequence as usize, index + 1, "{}: no gap", self.id);
        }
        let known = self.events();
        let open = usize::from(self.open.is_some());
        assert!(
            (known.len()..=known.len() + open).contains(&record.len()),
            "{}: {} events acknowledged, {open} open, {} on disk",
            self.id,
            known.len(),
            record.len(),
        );
        assert_eq!(
            &record[..known.len()],
            known,
            "{}: acknowledged and on disk",
            self.id
        );
        for answered in &self.answers {
            let again = call(channel, SUBMIT, &answered.request).await;
            let again = again.unwrap_or_else(|status| panic!("{}: {status:?}", self.id));
            assert_eq!(
                again, answered.bytes,
                "{}: the first answer, byte by byte",
                self.id
            );
        }
    }
}

async fn record_of(channel: &Channel, id: &str) -> Vec<GameEvent> {
    let mut games = GameServiceClient::new(channel.clone());
    let mut events = Vec::new();
    let mut page_token = String::new();
    loop {
        let parent = format!("games/{id}");
        let request = ListGameEventsRequest {
            parent,
            page_size: 0,
            page_token,
        };
        let page = games
            .list_game_events(request)
            .await
            .expect("the record can be read");
        let page = page.into_inner();
        events.extend(page.events);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return events;
        }
    }
}

/// Creates games for as long as the process lives, and returns those that were acknowledged.
async fn create_games(channel: Channel, round: u64) -> Vec<(CreateGameRequest, Bytes)> {
    let mut created = Vec::new();
    for number in 0.. {
        let labels = [("round".to_owned(), round.to_string())].into();
        let game = Game {
            labels,
            ..Game::default()
        };
        let request = wire::create(&format!("made-{round}-{number}"), game);
        match call(&channel, CREATE, &request).await {
            Ok(bytes) => created.push((request, bytes)),
            Err(status) => {
                assert!(broke_off(&status), "{status:?}");
                break;
            }
        }
    }
    created
}

/// Holds that games are there as they were created, and that creation can be repeated.
async fn check_created(channel: &Channel, created: &[(CreateGameRequest, Bytes)]) {
    let mut games = GameServiceClient::new(channel.clone());
    for (request, bytes) in created {
        let again = call(channel, CREATE, request)
            .await
            .expect("a creation can be repeated");
        assert_eq!(&again, bytes, "{}", request.game_id);
        let first = CreateGameResponse::decode(bytes.clone()).expect("an answer is a message");
        let name = format!("games/{}", request.game_id);
        let read = games
            .get_game(GetGameRequest { name })
            .await
            .expect("the game is there");
        assert_eq!(read.into_inner().game, first.game, "{}", request.game_id);
    }
}

fn players() -> Vec<Player> {
    let mut records = lines("games/masters.jsonl");
    records.sort_by_key(|record| std::cmp::Reverse(record["plies"].as_u64()));
    let player = |record: &serde_json::Value| Player {
        id: record["id"].as_str().unwrap_or_default().to_owned(),
        moves: texts(&record["moves"]),
        played: 0,
        resigned: false,
        answers: Vec::new(),
        open: None,
        turn: 0,
    };
    // Games that end on the board leave nobody to resign.
    let open_ended = |record: &&serde_json::Value| {
        !["checkmate", "stalemate"].contains(&record["termination"].as_str().unwrap_or_default())
    };
    records
        .iter()
        .filter(open_ended)
        .take(GAMES)
        .map(player)
        .collect()
}

/// Lets everybody play until so many answers have arrived and a moment has passed, and kills the
/// process. Returns the games that were created meanwhile.
async fn run_and_kill(
    referee: Referee,
    players: &mut Vec<Player>,
    (answers, rest): (u64, Duration),
    round: u64,
) -> Vec<(CreateGameRequest, Bytes)> {
    let answered = Arc::new(AtomicU64::new(0));
    let mut playing = JoinSet::new();
    for player in players.drain(..) {
        let channels = [referee.connect().await, referee.connect().await];
        playing.spawn(player.play(channels, answered.clone()));
    }
    let creating = tokio::spawn(create_games(referee.connect().await, round));
    let end = Instant::now() + PATIENCE;
    while answered.load(Ordering::Relaxed) < answers && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(rest).await;
    tokio::task::spawn_blocking(|| referee.kill())
        .await
        .expect("the process is killed");
    let done = tokio::time::timeout(PATIENCE, playing.join_all()).await;
    *players = done.expect("a broken connection is noticed");
    creating.await.expect("the creator ends")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_kill_9() {
    let seed = seed();
    println!("REFEREE_SEED={seed}");
    let mut dice = Dice(seed);
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let mut players = players();
    assert_eq!(players.len(), GAMES);
    let referee = Referee::start_in(folder.path());
    let channel = referee.connect().await;
    for player in &players {
        call(
            &channel,
            CREATE,
            &wire::create(&player.id, wire::refusing()),
        )
        .await
        .expect("created");
    }
    referee.kill();

    for round in 0..KILLS {
        let referee = Referee::start_in(folder.path());
        let moment = (
            dice.roll(ANSWERS),
            Duration::from_micros(dice.roll(REST_US)),
        );
        let created = run_and_kill(referee, &mut players, moment, round).await;
        let answers: usize = players.iter().map(|player| player.answers.len()).sum();
        println!(
            "round {round}: {moment:?}, {answers} answers, {} games created",
            created.len()
        );

        let referee = Referee::start_in(folder.path());
        let channel = referee.connect().await;
        for player in &players {
            player.check(&channel).await;
        }
        check_created(&channel, &created).await;
        referee.kill();
    }
    finish(folder.path(), players).await;
}

/// Plays the games to their end.
async fn finish(folder: &Path, players: Vec<Player>) {
    let referee = Referee::start_in(folder);
    let mut records = HashMap::new();
    for record in lines("games/masters.jsonl") {
        records.insert(record["id"].as_str().unwrap_or_default().to_owned(), record);
    }
    let mut playing = JoinSet::new();
    for player in players {
        let channels = [referee.connect().await, referee.connect().await];
        playing.spawn(player.play(channels, Arc::default()));
    }
    let channel = referee.connect().await;
    let mut games = referee.games().await;
    for player in playing.join_all().await {
        player.check(&channel).await;
        let name = format!("games/{}", player.id);
        let read = games
            .get_game(GetGameRequest { name })
            .await
            .expect("the game is there");
        let game = read.into_inner().game.unwrap_or_default();
        assert_eq!(game.state(), game::State::Finished, "{}", player.id);
        assert_eq!(
            records[&player.id]["final_fen"],
            game.fen.as_str(),
            "{}",
            player.id
        );
        assert_eq!(game.moves.len(), player.moves.len(), "{}", player.id);
    }
}

/// Writers who do not know of each other, on one game, while the process is killed: what one of
/// them was told is true for all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writers_of_one_game_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let mut answers: Vec<(SubmitActionRequest, Bytes)> = Vec::new();
    let mut on_record = 0;
    for round in 0..3 {
        let referee = Referee::start_in(folder.path());
        let channel = referee.connect().await;
        if round == 0 {
            let request = wire::create("shared", endless());
            call(&channel, CREATE, &request).await.expect("created");
        }
        let answered = Arc::new(AtomicU64::new(0));
        let mut writers = JoinSet::new();
        for number in 0..8 {
            writers.spawn(write(referee.connect().await, number, answered.clone()));
        }
        let end = Instant::now() + PATIENCE;
        while answered.load(Ordering::Relaxed) < 150 && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        referee.kill();
        answers.extend(writers.join_all().await.into_iter().flatten());

        let referee = Referee::start_in(folder.path());
        let channel = referee.connect().await;
        let record = record_of(&channel, "shared").await;
        for (index, event) in record.iter().enumerate() {
            assert_eq!(event.sequence as usize, index + 1, "no gap");
        }
        for (request, bytes) in &answers {
            let first = SubmitActionResponse::decode(bytes.clone()).expect("an answer");
            if let Some(event) = first.event {
                assert_eq!(record.get(event.sequence as usize - 1), Some(&event));
            }
            let again = call(&channel, SUBMIT, request)
                .await
                .expect("it was answered");
            assert_eq!(&again, bytes, "the first answer, byte by byte");
        }
        println!(
            "round {round}: {} answers, {} events",
            answers.len(),
            record.len()
        );
        assert!(record.len() > on_record, "nobody wrote anything");
        on_record = record.len();
        referee.kill();
    }
    assert!(answers.len() >= 450, "only {} answers", answers.len());
}

/// A game that no repetition and no count ends.
fn endless() -> Game {
    let overrides = RuleParameters {
        fivefold: Some(false),
        seventy_five: Some(false),
        ..RuleParameters::default()
    };
    let profile = RuleProfile {
        overrides: Some(overrides),
        ..RuleProfile::default()
    };
    Game {
        rule_profile: Some(profile),
        ..Game::default()
    }
}

/// Sends moves that go to and fro, and answers to no offer, until the process is gone.
async fn write(
    channel: Channel,
    number: usize,
    answered: Arc<AtomicU64>,
) -> Vec<(SubmitActionRequest, Bytes)> {
    const SHUFFLE: [&str; 4] = ["Nf3", "Nf6", "Ng1", "Ng8"];
    let mut answers = Vec::new();
    for turn in number.. {
        let seat = if turn.is_multiple_of(2) {
            Seat::White
        } else {
            Seat::Black
        };
        let kind = if turn.is_multiple_of(9) {
            wire::answer(false)
        } else {
            make_move(SHUFFLE[turn % 4])
        };
        let request = wire::submit("shared", seat, kind);
        match call(&channel, SUBMIT, &request).await {
            Ok(bytes) => {
                answers.push((request, bytes));
                answered.fetch_add(1, Ordering::Relaxed);
            }
            Err(status) => {
                assert!(broke_off(&status), "{status:?}");
                break;
            }
        }
    }
    answers
}
