//! `referee verify`: checks exported game records, without a server.

mod board;
mod chain;
mod clocks;
mod evidence;
mod report;
mod rulings;
mod time;

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use prost::Message;
use referee_api::v1;
use referee_api::v1::export_game_response::Kind;
use referee_record::{Replay, read_public_key};
use referee_server::limits::{GAME_EVENTS_MAX, KEY_FILE_BYTES_MAX};

use crate::EXIT_USAGE;
use crate::limits::PROBLEMS_FOLLOWED_MAX;
use crate::record_file::Parts;
use board::Board;
use chain::{Chain, Demand};
use clocks::Clocks;
use report::{Report, Subject};

/// The version of the form that is read.
const FORMAT: u32 = 1;

/// The command line of `referee verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Record files, as `referee export` writes them or as grpcurl prints `ExportGame`; `-` is
    /// the standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The public key that each record must be signed with: 64 hexadecimal digits, base64, or a
    /// PEM file.
    #[arg(long, value_name = "KEY")]
    public_key: Option<String>,
    /// Refuses records that are not signed.
    #[arg(long)]
    require_signature: bool,
    /// Writes one JSON object for each file.
    #[arg(long)]
    json: bool,
}

impl VerifyArguments {
    /// Checks every file.
    pub(crate) fn run(self) -> ExitCode {
        match self.verify() {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(message) => {
                eprintln!("error: {message}");
                ExitCode::from(EXIT_USAGE)
            }
        }
    }

    fn verify(&self) -> Result<bool, String> {
        let public_key = self.public_key.as_deref().map(read_key).transpose()?;
        let demand = Demand {
            signature: self.require_signature,
            public_key,
        };
        let mut all_sound = true;
        for file in &self.files {
            let report = if file == "-" {
                verify(file, io::stdin().lock(), &demand)
            } else {
                let source = File::open(file)
                    .map_err(|error| format!("{file} cannot be opened: {error}"))?;
                verify(file, source, &demand)
            };
            let text = if self.json {
                report.to_json()
            } else {
                report.to_string()
            };
            // Whoever closes the output has seen enough; the exit code still tells.
            let _ = writeln!(io::stdout(), "{text}");
            all_sound &= report.is_sound();
        }
        Ok(all_sound)
    }
}

/// Reads the key of the command line: a text that is one, or a file with one.
fn read_key(text: &str) -> Result<[u8; 32], String> {
    if let Ok(key) = read_public_key(text) {
        return Ok(key);
    }
    let path = Path::new(text);
    if !path.is_file() {
        return Err(format!(
            "--public-key: {text:?} is neither a key (64 hexadecimal digits or base64) nor a file"
        ));
    }
    let length = fs::metadata(path).map_or(0, |found| found.len());
    if length > KEY_FILE_BYTES_MAX as u64 {
        return Err(format!(
            "--public-key: {text} has {length} bytes, which is no key"
        ));
    }
    let pem = fs::read_to_string(path)
        .map_err(|error| format!("--public-key: {text} cannot be read: {error}"))?;
    read_public_key(&pem).map_err(|error| format!("--public-key: {text}: {error}"))
}

/// A record, checked up to some entry.
struct Verification {
    report: Report,
    chain: Option<Chain>,
    /// What follows the game; none where it can be followed no further.
    followers: Option<Followers>,
    is_sealed: bool,
}

/// What is followed from entry to entry.
struct Followers {
    replay: Replay,
    board: Board,
    clocks: Clocks,
}

/// Checks one record.
fn verify(file: &str, source: impl Read, demand: &Demand) -> Report {
    let mut verification = Verification {
        report: Report::new(file.to_owned()),
        chain: None,
        followers: None,
        is_sealed: false,
    };
    for part in Parts::new(BufReader::new(source)) {
        let goes_on = match part {
            Ok(_) if verification.is_sealed => {
                verification.fault("goes on after the seal");
                false
            }
            Ok(Kind::Header(header)) => verification.begin(&header),
            Ok(Kind::Entry(entry)) => verification.add(&entry),
            Ok(Kind::Seal(seal)) => verification.close(&seal, demand),
            Err(error) => {
                verification.fault(&error.to_string());
                false
            }
        };
        if !goes_on {
            return verification.report;
        }
    }
    if verification.chain.is_none() {
        verification.fault("is empty: there is no record in it");
    } else if !verification.is_sealed {
        let count = verification.report.entries;
        verification.fault(&format!(
            "ends without a seal: it was cut after entry {count}"
        ));
    }
    verification.report
}

impl Verification {
    fn fault(&mut self, text: &str) {
        self.report.fault(None, Subject::File, text);
    }

    /// Reads the header; returns whether the rest can be read.
    fn begin(&mut self, header: &v1::RecordHeader) -> bool {
        if self.chain.is_some() {
            self.fault("has a second header");
            return false;
        }
        if header.format != FORMAT {
            self.fault(&format!(
                "has format {}, and this program reads format {FORMAT} only",
                header.format
            ));
            return false;
        }
        self.report.name.clone_from(&header.name);
        self.chain = Some(Chain::begin(header, &mut self.report));
        match self.follow_from(header) {
            Ok(followers) => self.followers = Some(followers),
            Err(text) => self.report.fault(Some(0), Subject::Ruling, text),
        }
        true
    }

    fn follow_from(&mut self, header: &v1::RecordHeader) -> Result<Followers, String> {
        let genesis = v1::Game::decode(header.genesis.clone())
            .map_err(|error| format!("its bytes are no game: {error}"))?;
        if genesis.name != header.name {
            let text = format!("it is of {:?}, not of {:?}", genesis.name, header.name);
            self.report.fault(Some(0), Subject::Chain, text);
        }
        let replay = Replay::begin(&header.genesis).map_err(|error| error.to_string())?;
        let board = Board::begin(&genesis)?;
        let clocks = Clocks::begin(&genesis)?;
        rulings::check_genesis(&replay, &genesis, &header.genesis, &mut self.report);
        let told = genesis.outcome.clone().unwrap_or_default();
        let is_over = told.result() != v1::GameResult::Ongoing;
        if board.is_over_at_start() && !is_over {
            let text = "nobody can move, but the game goes on";
            self.report.fault(Some(0), Subject::Board, text);
        }
        Ok(Followers {
            replay,
            board,
            clocks,
        })
    }

    /// Checks an entry; returns whether the rest can be read.
    fn add(&mut self, entry: &v1::RecordEntry) -> bool {
        let Some(chain) = &mut self.chain else {
            self.fault("does not begin with a header");
            return false;
        };
        let is_next = chain.add(entry, &mut self.report);
        self.report.entries += 1;
        if self.report.entries > GAME_EVENTS_MAX {
            self.fault(&format!(
                "has more than {GAME_EVENTS_MAX} entries, as no game has"
            ));
            return false;
        }
        let sequence = Some(entry.sequence);
        let Some(followers) = self.followers.take() else {
            return true;
        };
        if self.report.problem_count > PROBLEMS_FOLLOWED_MAX {
            let text =
                "is not judged, and neither is what comes after it: there are too many problems";
            self.report.fault(sequence, Subject::Ruling, text);
            return true;
        }
        if !is_next {
            let text = "cannot be judged, and neither can what comes after it: an entry is missing";
            self.report.fault(sequence, Subject::Ruling, text);
            return true;
        }
        self.followers = followers.follow(entry, &mut self.report);
        true
    }

    fn close(&mut self, seal: &v1::RecordSeal, demand: &Demand) -> bool {
        let Some(chain) = &self.chain else {
            self.fault("does not begin with a header");
            return false;
        };
        chain.close(seal, demand, &mut self.report);
        self.is_sealed = true;
        true
    }
}

impl Followers {
    /// Judges an entry and does what it says; none where that cannot be done.
    fn follow(mut self, entry: &v1::RecordEntry, report: &mut Report) -> Option<Followers> {
        let sequence = Some(entry.sequence);
        let mut stop = |subject, text: String| {
            let text = format!("{text}; what comes after it was not judged");
            report.fault(sequence, subject, text);
        };
        let event = match v1::GameEvent::decode(entry.event.clone()) {
            Ok(event) => event,
            Err(error) => {
                stop(Subject::Ruling, format!("its bytes are no event: {error}"));
                return None;
            }
        };
        if event.sequence != entry.sequence {
            let text = format!("its event says that it is entry {}", event.sequence);
            stop(Subject::Ruling, text);
            return None;
        }
        rulings::check(&mut self.replay, &event, &entry.event, report);
        let mut faults = Vec::new();
        self.clocks.follow(&event, &mut faults);
        for text in faults.drain(..) {
            report.fault(sequence, Subject::Clock, text);
        }
        let followed = self.board.follow(&event, &mut faults);
        for text in faults.drain(..) {
            report.fault(sequence, Subject::Board, text);
        }
        let mut stop = |subject, text: String| {
            let text = format!("{text}; what comes after it was not judged");
            report.fault(sequence, subject, text);
        };
        if let Err(text) = followed {
            stop(Subject::Board, text);
            return None;
        }
        if let Err(error) = self.replay.apply(&event) {
            stop(Subject::Ruling, error.to_string());
            return None;
        }
        Some(self)
    }
}
