//! Record files: the parts of an exported game, one JSON value after another, read and written one
//! at a time.
//!
//! The JSON is that of Protocol Buffers, so that what grpcurl prints is a record file too: 64-bit
//! numbers are texts or numbers, bytes are base64, and fields that are empty may be left out.
//!
//! ```
//! use referee_api::v1::RecordEntry;
//! use referee_api::v1::export_game_response::Kind;
//! use referee_verify::record_file::{Parts, write_part};
//!
//! let entry = Kind::Entry(RecordEntry { sequence: 7, ..RecordEntry::default() });
//! let mut file = Vec::new();
//! write_part(&mut file, &entry)?;
//! let read: Vec<Kind> = Parts::new(&file[..]).collect::<Result<_, _>>()?;
//! assert_eq!(read, [entry]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read, Write};
use std::rc::Rc;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use referee_api::v1;
use referee_api::v1::export_game_response::Kind;
use serde::de::{DeserializeOwned, Error as _, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::StreamDeserializer;
use serde_json::de::IoRead;

use crate::limits::RECORD_PART_BYTES_MAX;

/// Padding may be there or not, as the JSON of Protocol Buffers allows.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Why a record file cannot be read on.
#[derive(Debug)]
pub enum FileError {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// A part is longer than any can be.
    PartTooLong,
    /// The file ends in the middle of a part.
    Cut,
    /// This is no JSON, or not that of a part.
    Malformed(serde_json::Error),
    /// A part is not of exactly one kind.
    NotOneKind,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "the file cannot be read: {error}"),
            Self::PartTooLong => write!(
                f,
                "a part is longer than {RECORD_PART_BYTES_MAX} bytes, as no part of a record is"
            ),
            Self::Cut => f.write_str("the file ends in the middle of a part; export it again"),
            Self::Malformed(error) => write!(
                f,
                "this is no record file as 'referee export' or grpcurl writes it: {error}"
            ),
            Self::NotOneKind => {
                f.write_str("a part must have one of header, entry and seal, and nothing besides")
            }
        }
    }
}

impl std::error::Error for FileError {}

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

/// JSON values one after another, each of a limited length. After an error there are no more.
pub(crate) struct Values<R: Read, T> {
    values: StreamDeserializer<'static, IoRead<Bounded<R>>, T>,
    left: Rc<Cell<u64>>,
    is_over: bool,
}

impl<R: Read, T: DeserializeOwned> Values<R, T> {
    pub(crate) fn new(source: R) -> Values<R, T> {
        let left = Rc::new(Cell::new(RECORD_PART_BYTES_MAX));
        let bounded = Bounded {
            source,
            left: Rc::clone(&left),
        };
        Values {
            values: serde_json::Deserializer::from_reader(bounded).into_iter(),
            left,
            is_over: false,
        }
    }
}

impl<R: Read, T: DeserializeOwned> Iterator for Values<R, T> {
    type Item = Result<T, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        self.left.set(RECORD_PART_BYTES_MAX);
        let read = match self.values.next()? {
            Ok(value) => Ok(value),
            Err(_) if self.left.get() == 0 => Err(FileError::PartTooLong),
            Err(error) if error.is_io() => Err(FileError::Unreadable(error.into())),
            Err(error) if error.is_eof() => Err(FileError::Cut),
            Err(error) => Err(FileError::Malformed(error)),
        };
        self.is_over = read.is_err();
        Some(read)
    }
}

/// A source that fails where a part is too long, so that no file can fill the memory.
struct Bounded<R> {
    source: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other("the part is too long"));
        }
        let most = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let read = self.source.read(&mut buffer[..most])?;
        self.left.set(left - read as u64);
        Ok(read)
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
    genesis: Base64,
    #[serde(alias = "chain_hash")]
    chain_hash: Base64,
    #[serde(alias = "private_text", skip_serializing_if = "Base64::is_empty")]
    private_text: Base64,
    #[serde(alias = "private_salt", skip_serializing_if = "Base64::is_empty")]
    private_salt: Base64,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Entry {
    sequence: Int64,
    event: Base64,
    #[serde(alias = "chain_hash")]
    chain_hash: Base64,
    #[serde(alias = "private_text", skip_serializing_if = "Base64::is_empty")]
    private_text: Base64,
    #[serde(alias = "private_salt", skip_serializing_if = "Base64::is_empty")]
    private_salt: Base64,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Seal {
    #[serde(alias = "entry_count")]
    entry_count: Int64,
    #[serde(alias = "head_hash")]
    head_hash: Base64,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<Signature>,
    #[serde(alias = "referee_version")]
    referee_version: String,
    revision: String,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Signature {
    #[serde(alias = "key_id")]
    key_id: String,
    #[serde(alias = "public_key")]
    public_key: Base64,
    signature: Base64,
}

impl Signature {
    pub(crate) fn into_message(self) -> v1::RecordSignature {
        v1::RecordSignature {
            key_id: self.key_id,
            public_key: self.public_key.0.into(),
            signature: self.signature.0.into(),
        }
    }

    pub(crate) fn of_message(message: &v1::RecordSignature) -> Signature {
        Signature {
            key_id: message.key_id.clone(),
            public_key: Base64(message.public_key.to_vec()),
            signature: Base64(message.signature.to_vec()),
        }
    }
}

impl Part {
    fn into_kind(self) -> Option<Kind> {
        match (self.header, self.entry, self.seal) {
            (Some(header), None, None) => Some(Kind::Header(v1::RecordHeader {
                format: header.format,
                platform: header.platform,
                name: header.name,
                genesis: header.genesis.0.into(),
                chain_hash: header.chain_hash.0.into(),
                private_text: header.private_text.0.into(),
                private_salt: header.private_salt.0.into(),
            })),
            (None, Some(entry), None) => Some(Kind::Entry(v1::RecordEntry {
                sequence: entry.sequence.0,
                event: entry.event.0.into(),
                chain_hash: entry.chain_hash.0.into(),
                private_text: entry.private_text.0.into(),
                private_salt: entry.private_salt.0.into(),
            })),
            (None, None, Some(seal)) => Some(Kind::Seal(v1::RecordSeal {
                entry_count: seal.entry_count.0,
                head_hash: seal.head_hash.0.into(),
                signature: seal.signature.map(Signature::into_message),
                referee_version: seal.referee_version,
                revision: seal.revision,
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
                    genesis: Base64(header.genesis.to_vec()),
                    chain_hash: Base64(header.chain_hash.to_vec()),
                    private_text: Base64(header.private_text.to_vec()),
                    private_salt: Base64(header.private_salt.to_vec()),
                });
            }
            Kind::Entry(entry) => {
                part.entry = Some(Entry {
                    sequence: Int64(entry.sequence),
                    event: Base64(entry.event.to_vec()),
                    chain_hash: Base64(entry.chain_hash.to_vec()),
                    private_text: Base64(entry.private_text.to_vec()),
                    private_salt: Base64(entry.private_salt.to_vec()),
                });
            }
            Kind::Seal(seal) => {
                part.seal = Some(Seal {
                    entry_count: Int64(seal.entry_count),
                    head_hash: Base64(seal.head_hash.to_vec()),
                    signature: seal.signature.as_ref().map(Signature::of_message),
                    referee_version: seal.referee_version.clone(),
                    revision: seal.revision.clone(),
                });
            }
        }
        part
    }
}

/// Bytes, as base64 in either alphabet.
#[derive(Default)]
pub(crate) struct Base64(pub(crate) Vec<u8>);

impl Base64 {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Base64, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Base64;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes as base64")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Base64, E> {
                let engine = if text.contains(['-', '_']) {
                    URL_SAFE
                } else {
                    STANDARD
                };
                let bytes = engine.decode(text);
                bytes
                    .map(Base64)
                    .map_err(|error| E::custom(format_args!("bytes are no base64: {error}")))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// A 64-bit number, as a text or a number.
#[derive(Default)]
pub(crate) struct Int64(pub(crate) i64);

impl Serialize for Int64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Int64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Int64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(i64),
            Text(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Number(number) => Ok(Int64(number)),
            Form::Text(text) => text
                .parse()
                .map(Int64)
                .map_err(|_| D::Error::invalid_value(Unexpected::Str(&text), &"a whole number")),
        }
    }
}
