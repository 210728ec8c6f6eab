//! `referee verify`: checks exported game records, without a server.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use referee_server::limits::KEY_FILE_BYTES_MAX;
use referee_verify::{Demand, Report, read_public_key, verify};

use crate::exit::{Exit, Failure, Outcome, tell};
use crate::printable::standard_output;

/// The command line of `referee verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Record files, as `referee export` writes them or as grpcurl prints `ExportGame`; `-` is
    /// the standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The public key that each record must be signed with: 64 hexadecimal digits, base64, or a
    /// PEM file.
    #[arg(long, short = 'k', value_name = "KEY")]
    public_key: Option<String>,
    /// Refuses records that are not signed.
    #[arg(long, short)]
    require_signature: bool,
    /// Writes one JSON object for each file.
    #[arg(long, short)]
    json: bool,
}

impl VerifyArguments {
    /// Checks every file, also behind one that cannot be read.
    pub(crate) fn run(self) -> Outcome {
        let public_key = self.public_key.as_deref().map(read_key).transpose()?;
        let demand = Demand {
            signature: self.require_signature,
            public_key,
        };
        let mut out = standard_output(self.json);
        let mut exit = Exit::Fine;
        for file in &self.files {
            let report = match check(file, &demand) {
                Ok(report) => report,
                Err(error) => {
                    tell(format_args!("error: {file} cannot be opened: {error}"));
                    exit = Exit::Trouble;
                    continue;
                }
            };
            let text = if self.json {
                report.to_json()
            } else {
                report.to_string()
            };
            writeln!(out, "{text}").map_err(Failure::Output)?;
            exit = match exit {
                _ if !report.is_record => Exit::Trouble,
                Exit::Fine if !report.is_sound() => Exit::Found,
                before => before,
            };
        }
        out.flush().map_err(Failure::Output)?;
        Ok(exit)
    }
}

fn check(file: &str, demand: &Demand) -> io::Result<Report> {
    Ok(if file == "-" {
        verify(file, io::stdin().lock(), demand)
    } else {
        verify(file, File::open(file)?, demand)
    })
}

/// Reads the key of the command line: a text that is one, or a file with one.
pub(super) fn read_key(text: &str) -> Result<[u8; 32], Failure> {
    if let Ok(key) = read_public_key(text) {
        return Ok(key);
    }
    let path = Path::new(text);
    if !path.is_file() {
        return Err(Failure::Usage(format!(
            "--public-key: {text:?} is neither a key (64 hexadecimal digits or base64) nor a file"
        )));
    }
    let length = fs::metadata(path).map_or(0, |found| found.len());
    if length > KEY_FILE_BYTES_MAX as u64 {
        return Err(Failure::Trouble(format!(
            "--public-key: {text} has {length} bytes, which is no key"
        )));
    }
    let trouble = |what: String| Failure::Trouble(format!("--public-key: {text}{what}"));
    let pem =
        fs::read_to_string(path).map_err(|error| trouble(format!(" cannot be read: {error}")))?;
    read_public_key(&pem).map_err(|error| trouble(format!(": {error}")))
}
