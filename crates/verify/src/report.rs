//! What was found about one record: for people one line each, for machines one JSON object.

use std::fmt;

use serde::Serialize;

use crate::limits::PROBLEMS_NAMED_MAX;

/// What a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The file itself.
    File,
    /// The chain of hashes.
    Chain,
    /// The signature.
    Signature,
    /// What was ruled.
    Ruling,
    /// What stands on the board.
    Board,
    /// The clocks.
    Clock,
    /// Text about persons.
    Private,
}

impl Subject {
    fn name(self) -> &'static str {
        match self {
            Subject::File => "file",
            Subject::Chain => "chain",
            Subject::Signature => "signature",
            Subject::Ruling => "ruling",
            Subject::Board => "board",
            Subject::Clock => "clock",
            Subject::Private => "private",
        }
    }
}

/// Something wrong with a record, or a ruling that differs.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// The entry; none where it is not about one, 0 for the genesis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<i64>,
    /// What it is about.
    pub subject: Subject,
    /// What was found, in words, without control characters.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sequence {
            Some(0) => f.write_str("genesis: ")?,
            Some(sequence) => write!(f, "entry {sequence}: ")?,
            None => {}
        }
        write!(f, "{}: {}", self.subject.name(), self.text)
    }
}

/// What the signature is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignatureState {
    /// There is none, or the file ends before it.
    #[default]
    None,
    /// It holds, but for a key that nobody vouched for.
    ValidForUnknownKey,
    /// It holds for the key that was demanded.
    Valid,
    /// It does not hold.
    Invalid,
}

/// What was found about one record.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// The file, as the caller named it.
    pub file: String,
    /// The resource name of the game; empty where the file does not tell.
    pub name: String,
    /// Whether this is a record at all: it can be read, and begins as one.
    pub is_record: bool,
    /// The number of entries that were read.
    pub entries: i64,
    /// How many entries, the genesis among them, had text about persons that was erased.
    pub erased: u64,
    /// What the signature is worth.
    pub signature: SignatureState,
    /// The name of the key, where there is a signature.
    pub key_id: String,
    /// How many problems there are.
    pub problem_count: u64,
    /// The first of them.
    pub problems: Vec<Finding>,
    /// How many rulings of other versions this version would have made otherwise.
    pub difference_count: u64,
    /// The first of them.
    pub differences: Vec<Finding>,
}

impl Report {
    pub(crate) fn new(file: String) -> Report {
        Report {
            file,
            is_record: true,
            ..Report::default()
        }
    }

    /// Adds a problem.
    pub(crate) fn fault(
        &mut self,
        sequence: Option<i64>,
        subject: Subject,
        text: impl Into<String>,
    ) {
        self.problem_count += 1;
        push(&mut self.problems, sequence, subject, text.into());
    }

    /// Adds a ruling that this version would have made otherwise.
    pub(crate) fn difference(&mut self, sequence: i64, text: String) {
        self.difference_count += 1;
        push(&mut self.differences, Some(sequence), Subject::Ruling, text);
    }

    /// Returns whether nothing is wrong with the record. Rulings of other versions that differ are
    /// not wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }

    /// Returns the report as one JSON object on a line.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Nothing in a report can fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn push(list: &mut Vec<Finding>, sequence: Option<i64>, subject: Subject, text: String) {
    if list.len() < PROBLEMS_NAMED_MAX {
        // A record can hold anything, and what is shown goes to a terminal.
        let is_plain = !text.chars().any(char::is_control);
        let text = if is_plain {
            text
        } else {
            text.escape_debug().collect()
        };
        list.push(Finding {
            sequence,
            subject,
            text,
        });
    }
}

impl fmt::Display for Report {
    /// Writes one line for each thing that was found, and the sum as the last line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = &self.file;
        for problem in &self.problems {
            writeln!(f, "{file}: {problem}")?;
        }
        for difference in &self.differences {
            writeln!(f, "{file}: differs: {difference}")?;
        }
        for (what, count, named) in [
            ("problems", self.problem_count, self.problems.len()),
            ("differences", self.difference_count, self.differences.len()),
        ] {
            if count > named as u64 {
                writeln!(f, "{file}: {} further {what}", count - named as u64)?;
            }
        }
        if self.erased > 0 {
            let places = if self.erased == 1 { "place" } else { "places" };
            writeln!(
                f,
                "{file}: note: text about persons was erased in {} {places}, which is no problem",
                self.erased
            )?;
        }
        match self.signature {
            SignatureState::None if !self.is_record => {}
            SignatureState::None => writeln!(
                f,
                "{file}: note: not signed, so that a record that was rewritten as a whole does \
                 not show"
            )?,
            SignatureState::ValidForUnknownKey => writeln!(
                f,
                "{file}: note: signed with key {}, which --public-key would compare",
                self.key_id
            )?,
            SignatureState::Valid => writeln!(f, "{file}: note: signed with key {}", self.key_id)?,
            SignatureState::Invalid => {}
        }
        match self.problem_count {
            0 => write!(f, "{file}: {} entries verified", self.entries),
            1 => write!(f, "{file}: 1 problem"),
            count => write!(f, "{file}: {count} problems"),
        }
    }
}
