//! What an operator does: asks the admin listener, reads metrics and log lines.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// An answer of the admin listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The head, in lower case.
    pub head: String,
    /// The body.
    pub body: String,
}

/// Sends a request, with further headers, each with its end of line.
///
/// # Panics
///
/// Where there is no answer.
#[must_use]
pub fn ask(address: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> Answer {
    let asked = try_ask(address, method, path, headers, body);
    asked.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
}

/// Sends a request, and says why there is no answer.
///
/// # Errors
///
/// Where nobody answers, or it is no HTTP.
pub fn try_ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> std::io::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: admin\r\ncontent-length: {length}\r\n");
    stream.write_all(format!("{head}{headers}\r\n{body}").as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let no_http = || std::io::Error::other(format!("no answer in HTTP: {text:?}"));
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(no_http)?;
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    Ok(Answer {
        status: status.ok_or_else(no_http)?,
        head: head.to_lowercase(),
        body: body.to_owned(),
    })
}

/// Asks for something.
///
/// # Panics
///
/// Where there is no answer.
#[must_use]
pub fn get(address: SocketAddr, path: &str) -> Answer {
    ask(address, "GET", path, "", "")
}

/// The metrics of one scrape, in the text form of Prometheus.
#[derive(Clone, Debug, Default)]
pub struct Scrape {
    /// The name and labels of each series, as they are written, with its value.
    pub series: BTreeMap<String, f64>,
    /// The name of each family, with its type.
    pub types: BTreeMap<String, String>,
}

/// Scrapes.
///
/// # Panics
///
/// Where there are no metrics, or they cannot be read.
#[must_use]
pub fn scrape(address: SocketAddr) -> Scrape {
    let answer = get(address, "/metrics");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let mut scrape = Scrape::default();
    for line in answer.body.lines() {
        if let Some(typed) = line.strip_prefix("# TYPE ") {
            let (name, kind) = typed.split_once(' ').expect("a name and a type");
            let twice = scrape.types.insert(name.to_owned(), kind.to_owned());
            assert_eq!(twice, None, "{name} comes twice");
        } else if !line.starts_with('#') && !line.is_empty() {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            let value = value.parse().expect("a number");
            let twice = scrape.series.insert(name.to_owned(), value);
            assert_eq!(twice, None, "{name} comes twice");
        }
    }
    scrape
}

impl Scrape {
    /// Returns the value of the one series of a name that has some labels.
    ///
    /// # Panics
    ///
    /// Where there is none, or more than one.
    #[must_use]
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let found: Vec<_> = self.matching(name, labels).collect();
        match found.as_slice() {
            [(_, value)] => **value,
            _ => panic!("{name} {labels:?}: {found:?}"),
        }
    }

    /// Returns the series of a name that have some labels.
    pub fn matching<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [(&str, &str)],
    ) -> impl Iterator<Item = (&'a String, &'a f64)> {
        self.series.iter().filter(move |(series, _)| {
            let (named, rest) = series.split_once('{').unwrap_or((series, ""));
            let has = |(key, value): &(&str, &str)| rest.contains(&format!("{key}=\"{value}\""));
            named == name && labels.iter().all(has)
        })
    }

    /// Returns the names of the labels of all series of a family, but for that of buckets.
    #[must_use]
    pub fn labels(&self, family: &str) -> BTreeSet<String> {
        let mut labels = BTreeSet::new();
        for series in self.series.keys() {
            let (named, rest) = series.split_once('{').unwrap_or((series, ""));
            let parts = ["_bucket", "_sum", "_count"];
            let is_part = parts
                .iter()
                .any(|it| named.strip_suffix(it) == Some(family));
            if named == family || is_part {
                let keys = rest.split("=\"").map(|text| {
                    let start = text.rfind([',', '"']).map_or(0, |at| at + 1);
                    text[start..].to_owned()
                });
                let known =
                    |key: &String| key.chars().all(|it| it.is_ascii_lowercase() || it == '_');
                labels.extend(keys.filter(|key| !key.is_empty() && key != "le" && known(key)));
            }
        }
        labels
    }
}
