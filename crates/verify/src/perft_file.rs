//! Record files of perft jobs: the parts of an exported job, one JSON value after another, as
//! [`record_file`](crate::record_file) has those of games.
//!
//! ```
//! use referee_api::v1::PerftRecordEntry;
//! use referee_api::v1::export_perft_job_response::Kind;
//! use referee_verify::perft_file::{Parts, write_part};
//!
//! let entry = Kind::Entry(PerftRecordEntry { sequence: 7, ..PerftRecordEntry::default() });
//! let mut file = Vec::new();
//! write_part(&mut file, &entry)?;
//! let read: Vec<Kind> = Parts::new(&file[..]).collect::<Result<_, _>>()?;
//! assert_eq!(read, [entry]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io::{self, Read, Write};

use referee_api::v1;
use referee_api::v1::export_perft_job_response::Kind;
use serde::{Deserialize, Serialize};

use crate::record_file::{Base64, FileError, Int64, Signature, Values};

/// The parts of a record file, in order. After an error there are no more.
pub struct Parts<R: Read>(Values<R, Part>);

impl<R: Read> Parts<R> {
    /// Reads parts from a source, which is best buffered.
    pub fn new(source: R) -> Parts<R> {
        Parts(Values::new(source))
    }
}

impl<R: Read> Iterator for Parts<R> {
    type Item = Result<Kind, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.0.next()?;
        Some(read.and_then(|part| part.into_kind().ok_or(FileError::NotOneKind)))
    }
}

/// Writes a part as one line.
///
/// # Errors
///
/// Where the line cannot be written.
pub fn write_part(out: &mut impl Write, kind: &Kind) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Part::from_kind(kind))?;
    out.write_all(b"\n")
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Part {
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<Header>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<Entry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seal: Option<Seal>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Header {
    format: u32,
    platform: String,
    name: String,
    job: Base64,
    #[serde(alias = "chain_hash")]
    chain_hash: Base64,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Entry {
    sequence: Int64,
    subtotals: Base64,
    #[serde(alias = "chain_hash")]
    chain_hash: Base64,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Seal {
    #[serde(alias = "entry_count")]
    entry_count: Int64,
    outcome: Base64,
    #[serde(alias = "head_hash")]
    head_hash: Base64,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<Signature>,
    #[serde(alias = "referee_version")]
    referee_version: String,
}

impl Part {
    fn into_kind(self) -> Option<Kind> {
        match (self.header, self.entry, self.seal) {
            (Some(header), None, None) => Some(Kind::Header(v1::PerftRecordHeader {
                format: header.format,
                platform: header.platform,
                name: header.name,
                job: header.job.0.into(),
                chain_hash: header.chain_hash.0.into(),
            })),
            (None, Some(entry), None) => Some(Kind::Entry(v1::PerftRecordEntry {
                sequence: entry.sequence.0,
                subtotals: entry.subtotals.0.into(),
                chain_hash: entry.chain_hash.0.into(),
            })),
            (None, None, Some(seal)) => Some(Kind::Seal(v1::PerftRecordSeal {
                entry_count: seal.entry_count.0,
                outcome: seal.outcome.0.into(),
                head_hash: seal.head_hash.0.into(),
                signature: seal.signature.map(Signature::into_message),
                referee_version: seal.referee_version,
            })),
            _ => None,
        }
    }

    fn from_kind(kind: &Kind) -> Part {
        let mut part = Part::default();
        match kind {
            Kind::Header(header) => {
                part.header = Some(Header {
                    format: header.format,
                    platform: header.platform.clone(),
                    name: header.name.clone(),
                    job: Base64(header.job.to_vec()),
                    chain_hash: Base64(header.chain_hash.to_vec()),
                });
            }
            Kind::Entry(entry) => {
                part.entry = Some(Entry {
                    sequence: Int64(entry.sequence),
                    subtotals: Base64(entry.subtotals.to_vec()),
                    chain_hash: Base64(entry.chain_hash.to_vec()),
                });
            }
            Kind::Seal(seal) => {
                part.seal = Some(Seal {
                    entry_count: Int64(seal.entry_count),
                    outcome: Base64(seal.outcome.to_vec()),
                    head_hash: Base64(seal.head_hash.to_vec()),
                    signature: seal.signature.as_ref().map(Signature::of_message),
                    referee_version: seal.referee_version.clone(),
                });
            }
        }
        part
    }
}
