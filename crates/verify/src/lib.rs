//! Checks exported game records, without a server: the chain of hashes, the signature, every
//! ruling, the board and the clocks.
//!
//! Nothing in a record is trusted. [`verify`] reads a record file part by part and follows the game
//! from entry to entry with three things side by side: the rules, which judge each action again;
//! the second generator of `chess`, which plays the moves; and the ledger of the clocks, added up
//! from the messages alone. After a fault each of them goes on from what the record says, so that
//! one change is reported once.
//!
//! ```
//! use referee_verify::{Demand, verify};
//!
//! let report = verify("game.json", &b""[..], &Demand::default());
//! assert!(!report.is_sound());
//! assert!(report.to_string().contains("there is no record in it"));
//! ```

#![forbid(unsafe_code)]

mod board;
mod chain;
mod clocks;
mod evidence;
pub mod limits;
mod perft;
pub mod perft_file;
mod private;
mod record;
pub mod record_file;
mod report;
mod rulings;
mod time;

use std::io::{BufReader, Read};

use prost::Message;
use referee_api::v1;
use referee_api::v1::export_game_response::Kind;

use board::Board;
use chain::Chain;
use clocks::Clocks;
use limits::{ENTRIES_MAX, PROBLEMS_FOLLOWED_MAX};
use record::Replay;
use record_file::{FileError, Parts};

pub use chain::Demand;
pub use perft::{PerftDemand, PerftFinding, PerftReport, verify_perft};
pub use record::{KeyError, read_public_key};
pub use report::{Finding, Report, SignatureState, Subject};

/// The version of the form that is read.
const FORMAT: u32 = 1;

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
    /// The outcome after the entry before, whose evidence was looked at there.
    outcome: v1::Outcome,
}

/// Checks one record. `file` is what the report names; the source is read through a buffer, to the
/// first part that cannot be read.
///
/// Returns what was found; a file that cannot be read is a problem like any other.
pub fn verify(file: &str, source: impl Read, demand: &Demand) -> Report {
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
                let is_whole = !matches!(error, FileError::Unreadable(_));
                verification.report.is_record &= is_whole && verification.chain.is_some();
                false
            }
        };
        if !goes_on {
            verification.report.is_record &= verification.chain.is_some();
            return verification.report;
        }
    }
    if verification.chain.is_none() {
        verification.report.is_record = false;
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
        let text = (&header.private_text[..], &header.private_salt[..]);
        private::check(0, &genesis, text, &mut self.report);
        let replay = Replay::begin(&header.genesis).map_err(|error| error.to_string())?;
        let board = Board::begin(&genesis)?;
        let clocks = Clocks::begin(&genesis)?;
        rulings::check_genesis(&replay, &genesis, &header.genesis, &mut self.report);
        let outcome = genesis.outcome.clone().unwrap_or_default();
        let is_over = outcome.result() != v1::GameResult::Ongoing;
        if board.is_over_at_start() && !is_over {
            let text = "nobody can move, but the game goes on";
            self.report.fault(Some(0), Subject::Board, text);
        }
        Ok(Followers {
            replay,
            board,
            clocks,
            outcome,
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
        if self.report.entries > ENTRIES_MAX {
            self.fault(&format!(
                "has more than {ENTRIES_MAX} entries, as no game has"
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
        let text = (&entry.private_text[..], &entry.private_salt[..]);
        private::check(entry.sequence, &event, text, report);
        rulings::check(&mut self.replay, &event, &entry.event, report);
        let mut faults = Vec::new();
        self.clocks.follow(&event, &mut faults);
        for text in faults.drain(..) {
            report.fault(sequence, Subject::Clock, text);
        }
        let followed = self.board.follow(&event, &mut faults);
        if followed.is_ok() {
            let outcome = event.outcome.clone().unwrap_or_default();
            let is_new = outcome != self.outcome;
            evidence::check(&self.board, &event, is_new, &mut faults);
            self.outcome = outcome;
        }
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
