//! `referee game watch`: follows a game to its end. A stream that breaks is resumed after the last
//! event that arrived, so that nothing is lost and nothing comes twice.

use std::time::Duration;

use clap::Args;
use referee_api::v1;
use referee_api::v1::watch_game_response::Kind;
use tokio::time::Instant;
use tonic::Status;

use super::board::BoardArguments;
use super::output::write;
use super::times::read_time;
use super::{events, json, names, show, words};
use crate::connection::{self, Backoff, Games, Server};
use crate::exit::{Exit, Failure, Outcome, tell};
use crate::limits::{WATCH_HEARTBEAT_SECONDS, WATCH_LOST_SECONDS_MAX};

/// The command line of `referee game watch`.
#[derive(Debug, Args)]
pub(super) struct WatchArguments {
    /// The game, such as games/board-1; `games/` may be left out.
    name: String,
    /// Begins behind the event of this sequence; 0 begins with the first. Default: the game is
    /// shown as it stands, and then what comes.
    #[arg(long, short, value_name = "N")]
    after: Option<i64>,
    /// How long to wait for corrections once the game is over, such as 10m.
    #[arg(long, short, value_name = "TIME", value_parser = read_time)]
    corrections: Option<prost_types::Duration>,
    /// How long the server may be quiet before it gives a sign of life, in seconds. Range: 1 to 60.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = WATCH_HEARTBEAT_SECONDS,
        value_parser = clap::value_parser!(u64).range(1..=60)
    )]
    heartbeat: u64,
    /// How long to try to come back to a server that is lost, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = WATCH_LOST_SECONDS_MAX)]
    patience: u64,
    /// Draws the board after each event.
    #[arg(long, short)]
    boards: bool,
    #[command(flatten)]
    board: BoardArguments,
}

/// How a stream came to its end.
enum Ended {
    /// Everything was told.
    Over,
    /// It broke off.
    Broken(String),
}

/// Where a watcher is.
struct Watcher<'a> {
    arguments: &'a WatchArguments,
    server: &'a Server,
    as_json: bool,
    after: Option<i64>,
    /// When the server was last heard.
    heard: Instant,
    backoff: Backoff,
}

impl WatchArguments {
    /// Follows the game until it is over.
    pub(super) async fn watch(&self, server: &Server, as_json: bool) -> Outcome {
        let games = server.games().await?;
        let mut watcher = Watcher {
            arguments: self,
            server,
            as_json,
            after: self.after,
            heard: Instant::now(),
            backoff: Backoff::new(),
        };
        loop {
            let why = match watcher.follow(games.clone()).await? {
                Ended::Over => return Ok(Exit::Fine),
                Ended::Broken(why) => why,
            };
            watcher.wait(&why).await?;
        }
    }

    fn describe(&self, event: &v1::GameEvent) -> String {
        let mut text = events::event(event);
        let boards = self.boards.then(|| self.board.draw(&event.fen));
        for line in boards.into_iter().flatten() {
            text.push_str("      ");
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    fn request(&self, after_sequence: Option<i64>) -> v1::WatchGameRequest {
        v1::WatchGameRequest {
            name: names::game(&self.name),
            after_sequence,
            heartbeat_interval: Some(prost_types::Duration {
                seconds: self.heartbeat as i64,
                nanos: 0,
            }),
            correction_time: self.corrections,
        }
    }
}

impl Watcher<'_> {
    /// Follows one stream.
    async fn follow(&mut self, mut games: Games) -> Result<Ended, Failure> {
        let request = self.arguments.request(self.after);
        let stream = connection::in_time(games.watch_game(request)).await;
        let mut stream = match stream {
            Ok(stream) => stream.into_inner(),
            Err(status) => return self.broken(&status),
        };
        // Silence that is longer than two intervals means a dead stream.
        let silence = Duration::from_secs(2 * self.arguments.heartbeat + 1);
        loop {
            let next = match tokio::time::timeout(silence, stream.message()).await {
                Ok(Ok(next)) => next,
                Ok(Err(status)) => return self.broken(&status),
                Err(_) => {
                    let seconds = silence.as_secs();
                    return Ok(Ended::Broken(format!("nothing came for {seconds} s")));
                }
            };
            let Some(message) = next else {
                return Ok(Ended::Broken(
                    "it ended without an end of the game".to_owned(),
                ));
            };
            self.heard = Instant::now();
            self.backoff = Backoff::new();
            if let Some(ended) = self.take(&message)? {
                return Ok(ended);
            }
        }
    }

    /// An error that may pass breaks the stream off; any other is what the server means.
    fn broken(&self, status: &Status) -> Result<Ended, Failure> {
        if connection::is_passing(status) {
            let text = status.message();
            return Ok(Ended::Broken(format!("{:?}: {text}", status.code())));
        }
        Err(self.server.failure(status))
    }

    /// Writes one message.
    fn take(&mut self, message: &v1::WatchGameResponse) -> Result<Option<Ended>, Failure> {
        let (sequence, text) = match &message.kind {
            Some(Kind::Snapshot(game)) => {
                let text = show::describe(game, None, &self.arguments.board);
                (game.sequence, text)
            }
            Some(Kind::Event(event)) => {
                let expected = self.after.map(|after| after + 1);
                if expected.is_some_and(|expected| event.sequence < expected) {
                    return Ok(None);
                }
                if expected.is_some_and(|expected| event.sequence > expected) {
                    let text = format!("event {} came too early", event.sequence);
                    return Ok(Some(Ended::Broken(text)));
                }
                (event.sequence, self.arguments.describe(event))
            }
            Some(Kind::End(end)) => (end.sequence, describe_end(end)),
            Some(Kind::Heartbeat(_)) | None => return Ok(None),
        };
        let text = match self.as_json {
            true => json::write(message, "WatchGameResponse"),
            false => text,
        };
        write(&text, self.as_json)?;
        self.after = Some(sequence);
        let is_end = matches!(message.kind, Some(Kind::End(_)));
        Ok(is_end.then_some(Ended::Over))
    }

    /// Waits before the next attempt, and says so; gives up where the server was silent for too
    /// long.
    async fn wait(&mut self, why: &str) -> Result<(), Failure> {
        let server = self.server.text();
        let patience = Duration::from_secs(self.arguments.patience);
        let lost = self.heard.elapsed();
        let place = match self.after {
            Some(after) => format!("; to go on later: --after {after}"),
            None => String::new(),
        };
        if lost >= patience {
            return Err(Failure::Trouble(format!(
                "{server} is lost for {} s: {why}{place}",
                lost.as_secs()
            )));
        }
        let wait = self.backoff.next();
        tell(format_args!(
            "the stream broke off: {why}; trying again in {:.1} s",
            wait.as_secs_f64()
        ));
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

fn describe_end(end: &v1::GameEnd) -> String {
    let finality = show::finality_of(end);
    match &end.outcome {
        Some(outcome) => format!(
            " end  {}, {finality}\n",
            words::result_sign(outcome.result())
        ),
        None => format!(" end  {finality}\n"),
    }
}
