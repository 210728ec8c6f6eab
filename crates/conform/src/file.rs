//! Files of cases: one JSON object a line, read line by line so that memory stays bounded.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::limits;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// One case as it stands in a file.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The file.
    pub(crate) file: PathBuf,
    /// The number of the line, from 1.
    pub(crate) number: usize,
    /// The name of the case.
    pub(crate) id: String,
    /// The case.
    pub(crate) value: Value,
}

impl Line {
    /// Where the case stands, as `FILE:LINE`.
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.file.display(), self.number)
    }
}

/// Where cases are read, which is done more than once.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    path: PathBuf,
    /// What is there, where it can be read only once.
    kept: Option<Arc<[u8]>>,
}

impl Source {
    /// Finds a file of cases; `-` is standard input.
    pub(crate) fn find(path: PathBuf) -> Result<Source, String> {
        let failed = |error: io::Error| format!("{}: cannot be read: {error}", path.display());
        let kept = if path.as_os_str() == "-" {
            Some(keep(io::stdin().lock()).map_err(failed)?)
        } else {
            let file = File::open(&path).map_err(failed)?;
            let found = file.metadata().map_err(failed)?;
            if found.is_dir() {
                return Err(format!(
                    "{}: is a folder, not a file of cases",
                    path.display()
                ));
            }
            match found.is_file() {
                true => None,
                false => Some(keep(file).map_err(failed)?),
            }
        };
        Ok(Source { path, kept })
    }

    /// Reads the cases from the first one on.
    pub(crate) fn lines(&self) -> Result<Lines, String> {
        let path = &self.path;
        let failed = |error: io::Error| format!("{}: cannot be read: {error}", path.display());
        let reader: Box<dyn BufRead + Send> = match &self.kept {
            Some(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
            None => Box::new(BufReader::new(File::open(path).map_err(failed)?)),
        };
        Ok(Lines {
            path: path.clone(),
            reader,
            number: 0,
            is_broken: false,
        })
    }
}

/// Reads what can be read only once.
fn keep(reader: impl Read) -> io::Result<Arc<[u8]>> {
    let mut bytes = Vec::new();
    let max = limits::KEPT_LENGTH_MAX;
    reader.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        let reason = format!("more than {max} bytes that can be read only once; give a file");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes.into())
}

/// The cases of a file, in order. An error says the file, the line and what is wrong.
pub(crate) struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead + Send>,
    number: usize,
    is_broken: bool,
}

impl Lines {
    fn error(&self, reason: impl std::fmt::Display) -> String {
        format!("{}:{}: {reason}", self.path.display(), self.number)
    }

    /// Reads the next line that is not empty.
    fn read(&mut self) -> Result<Option<Line>, String> {
        loop {
            self.number += 1;
            let mut bytes = Vec::new();
            let limit = limits::LINE_LENGTH_MAX as u64 + 1;
            let mut reader = self.reader.by_ref().take(limit);
            let read = reader.read_until(b'\n', &mut bytes);
            read.map_err(|error| self.error(format!("cannot be read: {error}")))?;
            if bytes.is_empty() {
                return Ok(None);
            }
            // A mark at the beginning says how the text is written, and nothing of what it says.
            if self.number == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
            }
            if bytes.len() > limits::LINE_LENGTH_MAX {
                let max = limits::LINE_LENGTH_MAX;
                return Err(self.error(format!("the line is longer than {max} bytes")));
            }
            if bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            return self.parse(&bytes).map(Some);
        }
    }

    fn parse(&self, bytes: &[u8]) -> Result<Line, String> {
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|error| self.error(format!("is no JSON: {error}")))?;
        let id = value.get("id").and_then(Value::as_str).map(str::to_owned);
        let missing = || self.error("id: is missing; a case is a JSON object with a text as id");
        Ok(Line {
            file: self.path.clone(),
            number: self.number,
            id: id.ok_or_else(missing)?,
            value,
        })
    }
}

impl Iterator for Lines {
    type Item = Result<Line, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_broken {
            return None;
        }
        let read = self.read().transpose();
        self.is_broken = matches!(read, Some(Err(_)));
        read
    }
}
