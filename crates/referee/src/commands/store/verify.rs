//! `referee store verify`.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use referee_api::v1;
use referee_api::v1::verify_store_response::Kind;
use referee_store::{Course, StoreFile, VerifyCursor};

use super::waiting::{run_blocking, silent};
use crate::connection::{self, Server, TrustArguments};
use crate::exit::{Exit, Failure, Outcome, tell};
use crate::limits::STORE_SILENCE_SECONDS_MAX;
use crate::printable::standard_output;

/// The command line of `referee store verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyStoreArguments {
    /// Stores and copies of stores. They are only read, and a server may run on them.
    #[arg(
        value_name = "FILE",
        required_unless_present = "server",
        conflicts_with = "server"
    )]
    files: Vec<String>,
    /// Asks the server that runs on a store, as http://HOST:PORT or https://HOST:PORT.
    #[arg(long, short, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    trust: TrustArguments,
    /// Leaves out the file itself with its indexes, which takes the longest.
    #[arg(long, short)]
    games_only: bool,
    /// Writes one JSON object for each finding, and one at the end of each store.
    #[arg(long, short)]
    json: bool,
}

impl VerifyStoreArguments {
    pub(super) fn run(self) -> Outcome {
        if let Some(url) = &self.server {
            let server = Server::read("--server", url, &self.trust)?;
            return connection::run(ask(&server, self.games_only, self.json));
        }
        let course = Arc::new(Course::default());
        let working = Arc::clone(&course);
        run_blocking(&course, move || self.verify_all(&working))
    }

    /// Verifies every file, also behind one that cannot be read.
    fn verify_all(&self, course: &Arc<Course>) -> Outcome {
        let mut exit = Exit::Fine;
        for file in &self.files {
            match self.verify(file, course) {
                Ok(Exit::Fine) => {}
                Ok(found) => {
                    if exit == Exit::Fine {
                        exit = found;
                    }
                }
                Err(Failure::Trouble(message)) => {
                    tell(format_args!("error: {message}"));
                    exit = Exit::Trouble;
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(exit)
    }

    fn verify(&self, file: &str, course: &Arc<Course>) -> Outcome {
        let trouble = |text: String| Failure::Trouble(text);
        let mut store = StoreFile::open(file).map_err(|error| trouble(error.to_string()))?;
        let mut report = Report::new(file, self.json);
        let mut from = match self.games_only {
            true => VerifyCursor::games(),
            false => VerifyCursor::default(),
        };
        loop {
            let page = store
                .verify(&from, course)
                .map_err(|error| trouble(format!("{file}: {error}")))?;
            for finding in page.findings {
                let (platform, name) = match &finding.key {
                    Some(key) => (key.platform.as_str(), format!("games/{}", key.game)),
                    None => ("", String::new()),
                };
                report.finding(&v1::StoreFinding {
                    platform: platform.to_owned(),
                    name,
                    sequence: finding.flaw.sequence(),
                    text: finding.flaw.to_string(),
                })?;
            }
            report.games += page.games;
            report.entries += page.entries;
            match page.next {
                Some(next) => from = next,
                None if course.is_stopped() => return Ok(Exit::Interrupted),
                None => return report.end(),
            }
        }
    }
}

async fn ask(server: &Server, games_only: bool, json: bool) -> Outcome {
    let mut store = server.store().await?;
    let request = v1::VerifyStoreRequest { games_only };
    let stream = connection::in_time(store.verify_store(request)).await;
    let refused = |status: tonic::Status| server.failure(&status);
    let mut stream = stream.map_err(refused)?.into_inner();
    let silence = Duration::from_secs(STORE_SILENCE_SECONDS_MAX);
    let mut report = Report::new(server.text(), json);
    loop {
        let next = tokio::time::timeout(silence, stream.message()).await;
        let next = next.map_err(|_| silent(server))?.map_err(refused)?;
        let Some(message) = next else {
            let text = format!("{} ended the verification before its end", server.text());
            return Err(Failure::Trouble(text));
        };
        match message.kind {
            Some(Kind::Finding(finding)) => report.finding(&finding)?,
            Some(Kind::Verdict(verdict)) => {
                report.games = verdict.games.max(0) as u64;
                report.entries = verdict.entries.max(0) as u64;
                return report.end();
            }
            Some(Kind::Progress(_)) | None => {}
        }
    }
}

/// What is written about one store.
struct Report<'a> {
    store: &'a str,
    json: bool,
    games: u64,
    entries: u64,
    findings: u64,
}

impl Report<'_> {
    fn new(store: &str, json: bool) -> Report<'_> {
        Report {
            store,
            json,
            games: 0,
            entries: 0,
            findings: 0,
        }
    }

    fn finding(&mut self, finding: &v1::StoreFinding) -> Result<(), Failure> {
        self.findings += 1;
        let line = if self.json {
            serde_json::json!({
                "store": self.store,
                "platform": finding.platform,
                "name": finding.name,
                "sequence": finding.sequence,
                "text": finding.text,
            })
            .to_string()
        } else if finding.name.is_empty() {
            format!("{}: {}", self.store, finding.text)
        } else {
            format!(
                "{}: {} of platform {}: {}",
                self.store, finding.name, finding.platform, finding.text
            )
        };
        self.write(&line)
    }

    fn end(self) -> Outcome {
        let (games, entries, findings) = (self.games, self.entries, self.findings);
        let line = if self.json {
            serde_json::json!({
                "store": self.store,
                "sound": findings == 0,
                "games": games,
                "entries": entries,
                "findings": findings,
            })
            .to_string()
        } else if findings == 0 {
            format!("{}: sound, {games} games, {entries} events", self.store)
        } else {
            let found = if findings == 1 { "finding" } else { "findings" };
            format!(
                "{}: {findings} {found}, {games} games, {entries} events",
                self.store
            )
        };
        self.write(&line)?;
        Ok(if findings == 0 {
            Exit::Fine
        } else {
            Exit::Found
        })
    }

    fn write(&self, line: &str) -> Result<(), Failure> {
        let mut out = standard_output(self.json);
        writeln!(out, "{line}")
            .and_then(|()| out.flush())
            .map_err(Failure::Output)
    }
}
