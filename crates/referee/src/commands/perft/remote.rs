//! `referee perft DEPTH --server URL`: a count that the workers of a server share.

use std::time::Duration;

use referee_api::v1;
use referee_api::v1::perft_job::State;
use referee_api::v1::position::Base;
use referee_chess::{CastlingMode, Move, Position};
use referee_perft::{TableUse, Total};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;
use tonic::Status;
use uuid::Uuid;

use super::arguments::PerftArguments;
use super::{output, progress};
use crate::connection::{self, Backoff, Perft, Server};
use crate::exit::{Exit, Failure, Outcome, tell};
use crate::limits::{CANCEL_SECONDS_MAX, PERFT_SILENCE_SECONDS_MAX, WATCH_LOST_SECONDS_MAX};
use crate::printable::standard_output;

/// Counts to a depth on the workers of a server, and prints the result.
pub(super) fn count(arguments: &PerftArguments, url: &str, depth: u32) -> Outcome {
    let position = arguments.position()?;
    let server = arguments.read_server(url)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::Trouble(format!("cannot start: {error}")))?;
    runtime.block_on(async {
        let mut interrupted = Interrupted::begin()?;
        let job = Job::create(&server, arguments, &position, depth);
        let job = tokio::select! {
            job = job => job?,
            () = interrupted.wait() => {
                return Err(Failure::Interrupted("stopped before a job was there".to_owned()));
            }
        };
        if arguments.detach {
            return print_name(&job.name, arguments.json);
        }
        tell(format_args!("{} on {}", job.name, server.text()));
        let begin = Instant::now();
        let done = tokio::select! {
            done = job.follow() => done?,
            () = interrupted.wait() => return Err(job.cancel(interrupted).await),
        };
        print(arguments, &position, depth, &done, begin.elapsed())
    })
}

/// SIGINT and SIGTERM.
struct Interrupted {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Interrupted {
    fn begin() -> Result<Interrupted, Failure> {
        let no_signal =
            |error: std::io::Error| Failure::Trouble(format!("cannot wait for signals: {error}"));
        Ok(Interrupted {
            interrupt: signal(SignalKind::interrupt()).map_err(no_signal)?,
            terminate: signal(SignalKind::terminate()).map_err(no_signal)?,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// A job on a server.
struct Job<'a> {
    server: &'a Server,
    client: Perft,
    name: String,
}

/// How a stream about a job ended.
enum Ended {
    /// The job is over.
    Over(Box<v1::PerftJob>),
    /// The stream broke off; the job goes on.
    Broken(String),
}

impl<'a> Job<'a> {
    async fn create(
        server: &'a Server,
        arguments: &PerftArguments,
        position: &Position,
        depth: u32,
    ) -> Result<Job<'a>, Failure> {
        let client = server.perft().await?;
        let is_chess960 = position.castling_mode() == CastlingMode::Chess960;
        let variant = match is_chess960 {
            true => v1::Variant::Chess960,
            false => v1::Variant::Standard,
        };
        let request = v1::CreatePerftJobRequest {
            perft_job: Some(v1::PerftJob {
                position: Some(v1::Position {
                    base: Some(Base::Fen(position.to_string())),
                    variant: variant.into(),
                    ..v1::Position::default()
                }),
                depth,
                without_table: arguments.without_table,
                redundancy: arguments.redundancy.unwrap_or_default(),
                recheck_share: arguments.recheck.unwrap_or_default(),
                ..v1::PerftJob::default()
            }),
            perft_job_id: String::new(),
            // Each attempt is the same request, so that a lost answer makes no second job.
            request_id: Uuid::new_v4().to_string(),
        };
        let created = connection::call(|| {
            let mut client = client.clone();
            let request = request.clone();
            async move { client.create_perft_job(request).await }
        });
        let created = created.await.map_err(|status| server.failure(&status))?;
        let job = created.perft_job.unwrap_or_default();
        Ok(Job {
            server,
            client,
            name: job.name,
        })
    }

    /// Follows the job until it is over, over as many streams as that takes.
    async fn follow(&self) -> Result<v1::PerftJob, Failure> {
        let view = progress::View::of_job();
        let mut heard = Instant::now();
        let mut backoff = Backoff::new();
        loop {
            let why = match self.follow_once(&view, &mut heard, &mut backoff).await? {
                Ended::Over(job) => {
                    view.end();
                    return Ok(*job);
                }
                Ended::Broken(why) => why,
            };
            let lost = heard.elapsed();
            let server = self.server.text();
            if lost >= Duration::from_secs(WATCH_LOST_SECONDS_MAX) {
                view.end();
                return Err(Failure::Trouble(format!(
                    "{server} is lost for {} s: {why}; {} goes on without this command",
                    lost.as_secs(),
                    self.name
                )));
            }
            let wait = backoff.next();
            tracing::debug!(why, ?wait, "the stream broke off; tried again");
            tokio::time::sleep(wait).await;
        }
    }

    async fn follow_once(
        &self,
        view: &progress::View,
        heard: &mut Instant,
        backoff: &mut Backoff,
    ) -> Result<Ended, Failure> {
        let request = v1::WatchPerftJobRequest {
            name: self.name.clone(),
            interval: None,
        };
        let mut client = self.client.clone();
        let stream = connection::in_time(client.watch_perft_job(request)).await;
        let mut stream = match stream {
            Ok(stream) => stream.into_inner(),
            Err(status) => return self.broken(&status),
        };
        let silence = Duration::from_secs(PERFT_SILENCE_SECONDS_MAX);
        loop {
            let next = match tokio::time::timeout(silence, stream.message()).await {
                Ok(Ok(next)) => next,
                Ok(Err(status)) => return self.broken(&status),
                Err(_) => {
                    let seconds = silence.as_secs();
                    return Ok(Ended::Broken(format!("nothing came for {seconds} s")));
                }
            };
            let Some(job) = next.and_then(|message| message.perft_job) else {
                return Ok(Ended::Broken("it ended before the job".to_owned()));
            };
            *heard = Instant::now();
            *backoff = Backoff::new();
            match job.state() {
                State::Succeeded | State::Failed | State::Cancelled => {
                    return Ok(Ended::Over(Box::new(job)));
                }
                _ => view.show_job(&job),
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

    /// Cancels the job, unless a second signal comes first.
    async fn cancel(&self, mut interrupted: Interrupted) -> Failure {
        let request = v1::CancelPerftJobRequest {
            name: self.name.clone(),
        };
        let cancelling = connection::call(|| {
            let mut client = self.client.clone();
            let request = request.clone();
            async move { client.cancel_perft_job(request).await }
        });
        let patience = Duration::from_secs(CANCEL_SECONDS_MAX);
        let cancelled = tokio::select! {
            cancelled = tokio::time::timeout(patience, cancelling) => cancelled,
            () = interrupted.wait() => {
                let name = &self.name;
                return Failure::Interrupted(format!("stopped; {name} may go on on the server"));
            }
        };
        let name = &self.name;
        Failure::Interrupted(match cancelled {
            Ok(Ok(_)) => format!("stopped; {name} is cancelled"),
            Ok(Err(status)) => format!(
                "stopped; {name} may go on: the server does not cancel it: {}",
                status.message()
            ),
            Err(_) => format!("stopped; {name} may go on: the server does not answer"),
        })
    }
}

/// Prints the name of a job that goes on by itself.
fn print_name(name: &str, as_json: bool) -> Outcome {
    use std::io::Write as _;
    let mut out = standard_output(as_json);
    let text = match as_json {
        true => json!({ "job": name }).to_string(),
        false => name.to_owned(),
    };
    let written = writeln!(out, "{text}").and_then(|()| out.flush());
    written.map(|()| Exit::Fine).map_err(Failure::Output)
}

/// Prints what a job came to, as a count of this process.
fn print(
    arguments: &PerftArguments,
    position: &Position,
    depth: u32,
    job: &v1::PerftJob,
    elapsed: Duration,
) -> Outcome {
    match job.state() {
        State::Succeeded => {}
        State::Failed => {
            let failure = job.failure.clone().unwrap_or_default();
            let name = &job.name;
            return Err(Failure::Found(format!("{name} failed: {}", failure.text)));
        }
        _ => {
            return Err(Failure::Found(format!(
                "{} was cancelled by somebody else",
                job.name
            )));
        }
    }
    let total = read_total(position, job).ok_or_else(|| {
        Failure::Trouble(format!(
            "the server says of {} what makes no sense: {:?} nodes",
            job.name, job.nodes
        ))
    })?;
    if job.disagreements > 0 {
        tell(format_args!(
            "{} reports disagreed with counts that were accepted: the total is in doubt",
            job.disagreements
        ));
    }
    if let Some(trust) = &job.trust
        && (arguments.redundancy.is_some() || arguments.recheck.is_some())
    {
        tell(&trust.text);
    }
    let count = output::Count {
        position,
        depth,
        total: &total,
        used: TableUse::default(),
        divide: arguments.divide,
        hash_mib: None,
        elapsed,
        is_whole: true,
    };
    super::counting::end(count.print(arguments.json), total.nodes)
}

/// Reads the total of a job; `None` where it is none, or none of this position.
fn read_total(position: &Position, job: &v1::PerftJob) -> Option<Total> {
    let progress = job.progress.clone().unwrap_or_default();
    let find = |name: &str| {
        let moves = position.legal_moves();
        moves
            .into_iter()
            .find(|&mv| position.uci(mv).to_string() == name)
    };
    let divide: Option<Vec<(Move, u128)>> = job
        .divide
        .iter()
        .map(|entry| Some((find(&entry.r#move)?, entry.nodes.parse().ok()?)))
        .collect();
    let divide = divide?;
    let nodes: u128 = job.nodes.parse().ok()?;
    let sum = divide
        .iter()
        .try_fold(0u128, |sum, (_, nodes)| sum.checked_add(*nodes));
    (sum == Some(nodes)).then_some(Total {
        nodes,
        divide,
        positions: u64::try_from(progress.positions).ok()?,
        paths: progress.paths.parse().ok()?,
    })
}
