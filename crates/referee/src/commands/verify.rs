//! `referee verify`: checks exported game records, without a server.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use referee_server::limits::KEY_FILE_BYTES_MAX;
use referee_verify::{Demand, read_public_key, verify};

use crate::exit::EXIT_USAGE;

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
