//! A game that many watch beside a bare stream of tonic that sends the same bytes to as many.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use referee_api::v1::{WatchGameRequest, WatchGameResponse, watch_game_response};
use referee_tests::process::Referee;
use referee_tests::wire::{connect, create, make_move, on_move, submit};
use tokio::sync::{Notify, mpsc};
use tonic::transport::Channel;

use crate::{SHUFFLE, bare, cpu, endless, median, raw};

/// Who watches.
const WATCHERS: usize = 1_000;

/// The connections that they share.
const CONNECTIONS: usize = 4;

/// The events that are sent to all in a round.
const EVENTS: usize = 200;

/// How often both are measured, in turns.
const ROUNDS: usize = 5;

const WATCH_GAME: &str = "/referee.v1.GameService/WatchGame";

pub(crate) async fn run() {
    let (referee, bare) = (Referee::start(), start_bare());
    let mut games = referee.games().await;
    let created = games.create_game(create("watched", endless())).await;
    created.expect("the game is created");
    let request = WatchGameRequest {
        name: "games/watched".into(),
        after_sequence: Some(0),
        heartbeat_interval: Some(prost_types::Duration {
            seconds: 60,
            nanos: 0,
        }),
        correction_time: None,
    };
    let request = Bytes::from(request.encode_to_vec());
    let channels = channels(referee.address()).await;
    let mut watched = Audience::open(&channels, WATCH_GAME, request).await;
    let channels = self::channels(bare.address).await;
    let mut pushed = Audience::open(&channels, bare::WATCH, Bytes::new()).await;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let mut messages = Vec::new();
        let before = cpu::time_of(referee.id());
        for ply in round * EVENTS..(round + 1) * EVENTS {
            let request = submit("watched", on_move(ply), make_move(SHUFFLE[ply % 4]));
            games.submit_action(request).await.expect("judged");
            messages.push(watched.all_heard().await);
        }
        ours.push((cpu::time_of(referee.id()) - before).as_secs_f64());
        let before = cpu::time_of(bare.child.id());
        for message in messages {
            raw::call(&channels[0], bare::PUSH, message.clone()).await;
            assert_eq!(pushed.all_heard().await, message, "the same bytes");
        }
        theirs.push((cpu::time_of(bare.child.id()) - before).as_secs_f64());
    }
    println!("seconds of processor time for {EVENTS} events to {WATCHERS}, in {ROUNDS} rounds");
    println!("a game:        {ours:.2?}");
    println!("a bare stream: {theirs:.2?}");
    let (ours, theirs) = (median(ours), median(theirs));
    println!(
        "medians {ours:.2} and {theirs:.2}: ratio {:.2}",
        ours / theirs
    );
}

async fn channels(address: std::net::SocketAddr) -> Vec<Channel> {
    let mut channels = Vec::new();
    for _ in 0..CONNECTIONS {
        channels.push(connect(address).await);
    }
    channels
}

/// The watchers, and how many of them have heard the message of the moment.
struct Audience {
    heard: Arc<AtomicUsize>,
    all: Arc<Notify>,
    /// What the first of them hears.
    first: mpsc::Receiver<Bytes>,
}

impl Audience {
    async fn open(channels: &[Channel], path: &'static str, request: Bytes) -> Audience {
        let (heard, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let (tell, first) = mpsc::channel(EVENTS);
        let mut tell = Some(tell);
        for number in 0..WATCHERS {
            let channel = &channels[number % channels.len()];
            let mut stream = raw::stream(channel, path, request.clone()).await;
            let (heard, all, tell) = (Arc::clone(&heard), Arc::clone(&all), tell.take());
            tokio::spawn(async move {
                while let Ok(Some(message)) = stream.message().await {
                    if is_heartbeat(path, &message) {
                        continue;
                    }
                    if let Some(tell) = &tell {
                        tell.send(message).await.expect("somebody counts");
                    }
                    if heard.fetch_add(1, Ordering::AcqRel) + 1 == WATCHERS {
                        all.notify_one();
                    }
                }
            });
        }
        Audience { heard, all, first }
    }

    /// Waits until all have heard one message, and returns it.
    async fn all_heard(&mut self) -> Bytes {
        let heard = tokio::time::timeout(Duration::from_secs(60), self.all.notified()).await;
        heard.expect("all hear it");
        self.heard.store(0, Ordering::Release);
        self.first.recv().await.expect("the first one listens")
    }
}

fn is_heartbeat(path: &str, message: &Bytes) -> bool {
    path == WATCH_GAME
        && WatchGameResponse::decode(message.clone())
            .is_ok_and(|told| matches!(told.kind, Some(watch_game_response::Kind::Heartbeat(_))))
}

/// The bare server as a process of its own. Dropped, it is killed.
struct Bare {
    child: Child,
    address: std::net::SocketAddr,
}

fn start_bare() -> Bare {
    let program = std::env::current_exe().expect("a program knows its own file");
    let mut child = Command::new(program)
        .arg("bare")
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program can be run");
    let output = child.stdout.take().expect("the output was piped");
    let mut line = String::new();
    let read = BufReader::new(output).read_line(&mut line);
    read.expect("it prints its address");
    let address = line.trim().parse().expect("an address");
    Bare { child, address }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // It may have ended before; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
