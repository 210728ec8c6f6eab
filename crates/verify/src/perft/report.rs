//! What was found about the record of a perft job.

use std::fmt;

use referee_perft::unseen;
use serde::Serialize;

use crate::limits::PROBLEMS_NAMED_MAX;
use crate::report::SignatureState;

/// Something wrong with a record.
#[derive(Debug, Serialize)]
pub struct PerftFinding {
    /// The number of the position in the plan; none where it is not about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// What was found, in words, without control characters.
    pub text: String,
}

/// What was found about one record.
#[derive(Debug, Default, Serialize)]
pub struct PerftReport {
    /// The file, as the caller named it.
    pub file: String,
    /// The resource name of the job; empty where the file does not tell.
    pub name: String,
    /// The root of the tree as FEN, as it was read.
    pub root: String,
    /// How many plies deep the tree is.
    pub depth: u32,
    /// The number of paths that the record tells, in decimal digits.
    pub nodes: String,
    /// Whether this is a record at all: it can be read, and begins as one.
    pub is_record: bool,
    /// How many positions the plan has.
    pub positions: u64,
    /// How many of them were compared with those of the record.
    pub compared: u64,
    /// How many were counted again, by whatever means.
    pub recounted: u64,
    /// How many of these were counted by the second generator.
    pub by_second_generator: u64,
    /// What the choice of these began with.
    pub seed: u64,
    /// What the signature is worth.
    pub signature: SignatureState,
    /// The name of the key, where there is a signature.
    pub key_id: String,
    /// How many problems there are.
    pub problem_count: u64,
    /// The first of them.
    pub problems: Vec<PerftFinding>,
}

impl PerftReport {
    pub(super) fn new(file: String, seed: u64) -> PerftReport {
        PerftReport {
            file,
            seed,
            is_record: true,
            ..PerftReport::default()
        }
    }

    /// Adds a problem.
    pub(super) fn fault(&mut self, position: Option<u64>, text: impl Into<String>) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_NAMED_MAX {
            let text: String = text.into();
            // A record can hold anything, and what is shown goes to a terminal.
            let text = match text.chars().any(char::is_control) {
                true => text.escape_debug().collect(),
                false => text,
            };
            self.problems.push(PerftFinding { position, text });
        }
    }

    /// Returns whether nothing is wrong with the record.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }

    /// Returns with what probability so many wrong counts would have gone unseen.
    #[must_use]
    pub fn unseen(&self, wrong: u64) -> f64 {
        unseen(self.positions, self.recounted, wrong)
    }

    /// Returns the report as one JSON object on a line.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Nothing in a report can fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl fmt::Display for PerftReport {
    /// Writes one line for each thing that was found, and the sum as the last lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = &self.file;
        for PerftFinding { position, text } in &self.problems {
            match position {
                Some(position) => writeln!(f, "{file}: position {position}: {text}")?,
                None => writeln!(f, "{file}: {text}")?,
            }
        }
        let named = self.problems.len() as u64;
        if self.problem_count > named {
            writeln!(f, "{file}: {} further problems", self.problem_count - named)?;
        }
        match self.signature {
            SignatureState::None if !self.is_record => {}
            SignatureState::None => writeln!(
                f,
                "{file}: note: not signed, so that a record that was rewritten as a whole shows \
                 only by what is counted again"
            )?,
            SignatureState::ValidForUnknownKey => writeln!(
                f,
                "{file}: note: signed with key {}, which --public-key would compare",
                self.key_id
            )?,
            SignatureState::Valid => writeln!(f, "{file}: note: signed with key {}", self.key_id)?,
            SignatureState::Invalid => {}
        }
        if self.is_record {
            let (recounted, positions) = (self.recounted, self.positions);
            writeln!(
                f,
                "{file}: {recounted} of {positions} positions counted again, {} of them by the \
                 second generator; seed {}",
                self.by_second_generator, self.seed
            )?;
            writeln!(
                f,
                "{file}: one wrong subtotal would have been missed with probability {:.6}, ten \
                 with {:.6}, a hundred with {:.6}",
                self.unseen(1),
                self.unseen(10),
                self.unseen(100)
            )?;
        }
        match self.problem_count {
            0 => write!(
                f,
                "{file}: {} has {} paths of {} plies from {}: {} positions verified",
                self.name, self.nodes, self.depth, self.root, self.compared
            ),
            1 => write!(f, "{file}: 1 problem"),
            count => write!(f, "{file}: {count} problems"),
        }
    }
}
