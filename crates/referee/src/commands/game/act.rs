//! `referee game act`: puts an action to the referee, and writes the ruling with its articles, its
//! evidence and what it did to the clocks.

use clap::Args;
use prost_types::Duration;
use referee_api::v1;

use super::action_words::ActionWord;
use super::output::write;
use super::times::read_time;
use super::{events, json, names, words};
use crate::connection::{self, Server};
use crate::exit::{Exit, Failure, Outcome};

/// The command line of `referee game act`.
#[derive(Debug, Args)]
pub(super) struct ActArguments {
    /// The game, such as games/board-1; `games/` may be left out, unless the rest is a word of this
    /// command.
    name: String,
    /// Who acts.
    #[arg(value_parser = words::seat())]
    seat: v1::Seat,
    #[command(subcommand)]
    action: ActionWord,
    /// The sequence that the action was decided on: where the game has moved on, nothing happens.
    #[arg(long, value_name = "N", global = true)]
    expected_sequence: Option<i64>,
    /// What makes the action safe to repeat: a repetition gets the first answer. Default: one that
    /// is new, which every attempt of this command has.
    #[arg(long, value_name = "ID", global = true)]
    request_id: Option<String>,
    /// The time since the last action, where the platform keeps the time of the game.
    #[arg(long, value_name = "TIME", value_parser = read_time, global = true, conflicts_with = "at")]
    elapsed: Option<Duration>,
    /// The time on the line of the platform, where the platform keeps the time of the game.
    #[arg(long, value_name = "TIME", value_parser = read_time, global = true)]
    at: Option<Duration>,
    /// Why the clocks are stopped, or why an arbiter decides so.
    #[arg(long, value_name = "TEXT", global = true)]
    reason: Option<String>,
    /// The arbiter who decides, as a name to show.
    #[arg(long, value_name = "NAME", global = true)]
    arbiter: Option<String>,
    /// Writes the action as JSON, and sends nothing.
    #[arg(long, global = true)]
    dry_run: bool,
}

impl ActArguments {
    /// Whether nothing is to be sent.
    pub(super) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Returns what is asked of the server.
    pub(super) fn request(&self) -> Result<v1::SubmitActionRequest, Failure> {
        let (takes_reason, takes_arbiter) = self.action.takes();
        if self.reason.is_some() && !takes_reason {
            let text = "--reason: only a pause and the decisions of an arbiter have a reason";
            return Err(Failure::Usage(text.to_owned()));
        }
        if self.arbiter.is_some() && !takes_arbiter {
            let text = "--arbiter: only a decision names its arbiter; who acts is the seat";
            return Err(Failure::Usage(text.to_owned()));
        }
        let mut action = self.read_action()?;
        if action.request_id.is_empty() {
            action.request_id = names::request(self.request_id.as_deref());
        }
        if self.expected_sequence.is_some() {
            action.expected_sequence = self.expected_sequence;
        }
        use v1::platform_time::Kind;
        let at = self.at.map(Kind::At);
        if let Some(kind) = self.elapsed.map(Kind::Elapsed).or(at) {
            action.platform_time = Some(v1::PlatformTime { kind: Some(kind) });
        }
        Ok(v1::SubmitActionRequest {
            name: names::game(&self.name),
            action: Some(action),
        })
    }

    fn read_action(&self) -> Result<v1::Action, Failure> {
        let reason = self.reason.as_deref().unwrap_or_default();
        let arbiter = self.arbiter.as_deref().unwrap_or_default();
        let mut action = match &self.action {
            ActionWord::Json { text } => {
                json::read::<v1::Action>(text, "Action").map_err(Failure::Usage)?
            }
            word => v1::Action {
                kind: word.clone().kind(reason, arbiter),
                ..v1::Action::default()
            },
        };
        if action.seat == 0 {
            action.seat = self.seat.into();
        }
        if action.seat != i32::from(self.seat) {
            let text = "the action in JSON has another seat than the command line";
            return Err(Failure::Usage(text.to_owned()));
        }
        if !action.request_id.is_empty() && self.request_id.is_some() {
            let text = "--request-id: the action in JSON has a request_id already";
            return Err(Failure::Usage(text.to_owned()));
        }
        Ok(action)
    }
}

/// Writes an action as JSON.
pub(super) fn print(request: &v1::SubmitActionRequest) -> Outcome {
    write(&json::write(request, "SubmitActionRequest"), true)?;
    Ok(Exit::Fine)
}

/// Sends an action and writes the ruling.
pub(super) async fn act(
    server: &Server,
    request: v1::SubmitActionRequest,
    as_json: bool,
) -> Outcome {
    let games = server.games().await?;
    let answer = connection::call(|| {
        let (mut games, request) = (games.clone(), request.clone());
        async move { games.submit_action(request).await }
    });
    let answer = answer.await.map_err(|status| {
        let id = request.action.as_ref().map(|action| &action.request_id);
        let failure = server.failure(&status);
        with_request_id(failure, connection::is_passing(&status), id)
    })?;
    let text = match as_json {
        true => json::write(&answer, "SubmitActionResponse"),
        false => events::answer(&answer),
    };
    write(&text, as_json)?;
    let verdict = answer.ruling.as_ref().map(v1::Ruling::verdict);
    Ok(match verdict {
        Some(v1::ruling::Verdict::Accepted) => Exit::Fine,
        _ => Exit::Found,
    })
}

/// Says how to repeat an action of which nobody knows what has become.
fn with_request_id(failure: Failure, is_passing: bool, id: Option<&String>) -> Failure {
    match (failure, id) {
        (Failure::Trouble(text), Some(id)) if is_passing => {
            Failure::Trouble(format!("{text}\nthe request was --request-id {id}"))
        }
        (failure, _) => failure,
    }
}
