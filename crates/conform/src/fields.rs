//! The fields of a case: read by name and kind, with errors that say which field is wrong and why.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use referee_api::v1;
use serde_json::{Map, Value};

/// Why a case cannot be played: a field and what is wrong with it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CaseError {
    field: String,
    reason: String,
}

impl CaseError {
    pub(crate) fn new(field: impl Into<String>, reason: impl Into<String>) -> CaseError {
        CaseError {
            field: field.into(),
            reason: reason.into(),
        }
    }
}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

/// What a field holds, in words.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The fields of one object. It remembers which were read, so that the others can be named.
pub(crate) struct Fields<'a> {
    place: String,
    object: &'a Map<String, Value>,
    read: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Fields<'a> {
    /// Looks at an object; `place` is its path in the case, empty for the case itself.
    pub(crate) fn new(place: impl Into<String>, value: &'a Value) -> Result<Self, CaseError> {
        let place = place.into();
        match value {
            Value::Object(object) => Ok(Fields {
                place,
                object,
                read: RefCell::default(),
            }),
            other => Err(CaseError::new(
                place,
                format!("must be an object, but is {}", kind_of(other)),
            )),
        }
    }

    /// Returns the path of a field.
    pub(crate) fn path(&self, name: &str) -> String {
        if self.place.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.place)
        }
    }

    /// Returns an error about a field.
    pub(crate) fn error(&self, name: &str, reason: impl Into<String>) -> CaseError {
        CaseError::new(self.path(name), reason)
    }

    /// Returns a field as it is; `None` where it is left out or `null`.
    pub(crate) fn value(&self, name: &str) -> Option<&'a Value> {
        let (key, value) = self.object.get_key_value(name)?;
        self.read.borrow_mut().insert(key);
        Some(value).filter(|value| !value.is_null())
    }

    fn read<T>(
        &self,
        name: &str,
        wanted: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, CaseError> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        let wrong = || {
            let reason = format!("must be {wanted}, but is {}", kind_of(value));
            self.error(name, reason)
        };
        read(value).ok_or_else(wrong).map(Some)
    }

    fn required<T>(&self, name: &str, read: Option<T>) -> Result<T, CaseError> {
        read.ok_or_else(|| self.error(name, "is missing"))
    }

    /// Reads a text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>, CaseError> {
        self.read(name, "a text", Value::as_str)
    }

    /// Reads a text that must be there.
    pub(crate) fn required_text(&self, name: &str) -> Result<&'a str, CaseError> {
        self.required(name, self.text(name)?)
    }

    /// Reads true or false.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, CaseError> {
        self.read(name, "true or false", Value::as_bool)
    }

    /// Reads a whole number from 0 up.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, CaseError> {
        self.read(name, "a whole number from 0 up", Value::as_u64)
    }

    /// Reads a whole number from 0 up that fits 32 bits.
    pub(crate) fn small_number(&self, name: &str) -> Result<Option<u32>, CaseError> {
        let wanted = "a whole number from 0 to 4294967295";
        self.read(name, wanted, |value| u32::try_from(value.as_u64()?).ok())
    }

    /// Reads a whole number.
    pub(crate) fn signed_number(&self, name: &str) -> Result<Option<i64>, CaseError> {
        self.read(name, "a whole number", Value::as_i64)
    }

    /// Reads a time in milliseconds.
    pub(crate) fn time(&self, name: &str) -> Result<Option<prost_types::Duration>, CaseError> {
        Ok(self.number(name)?.map(duration))
    }

    /// Reads a list of texts; empty where there is none.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, CaseError> {
        let read = |value: &'a Value| {
            let list = value.as_array()?.iter();
            list.map(|item| Some(item.as_str()?.to_owned())).collect()
        };
        let read: Option<Vec<String>> = self.read(name, "a list of texts", read)?;
        Ok(read.unwrap_or_default())
    }

    /// Reads a list; empty where there is none.
    pub(crate) fn list(&self, name: &str) -> Result<&'a [Value], CaseError> {
        let read = self.read(name, "a list", |value| value.as_array().map(Vec::as_slice))?;
        Ok(read.unwrap_or_default())
    }

    /// Reads an object.
    pub(crate) fn object(&self, name: &str) -> Result<Option<Fields<'a>>, CaseError> {
        match self.value(name) {
            Some(value) => Fields::new(self.path(name), value).map(Some),
            None => Ok(None),
        }
    }

    /// Reads an object that must be there.
    pub(crate) fn required_object(&self, name: &str) -> Result<Fields<'a>, CaseError> {
        self.required(name, self.object(name)?)
    }

    /// Reads a side: `w` or `b`.
    pub(crate) fn side(&self, name: &str) -> Result<Option<v1::Color>, CaseError> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        match side(text) {
            Some(side) => Ok(Some(side)),
            None => Err(self.error(name, format!("must be w or b, but is '{text}'"))),
        }
    }

    /// Reads a side that must be there.
    pub(crate) fn required_side(&self, name: &str) -> Result<v1::Color, CaseError> {
        self.required(name, self.side(name)?)
    }

    /// Returns the names of all fields.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.object.keys().map(String::as_str)
    }

    /// Returns the paths of the fields that nobody has read.
    pub(crate) fn unread(&self) -> Vec<String> {
        let read = self.read.borrow();
        let unread = self.names().filter(|name| !read.contains(name));
        unread.map(|name| self.path(name)).collect()
    }
}

/// Reads a side: `w` or `b`, or the whole word.
pub(crate) fn side(text: &str) -> Option<v1::Color> {
    match text {
        "w" | "white" => Some(v1::Color::White),
        "b" | "black" => Some(v1::Color::Black),
        _ => None,
    }
}

/// Returns the player of a side.
pub(crate) fn seat(side: v1::Color) -> v1::Seat {
    match side {
        v1::Color::Black => v1::Seat::Black,
        _ => v1::Seat::White,
    }
}

/// Returns a time of so many milliseconds.
pub(crate) fn duration(ms: u64) -> prost_types::Duration {
    // The quotient of a 64-bit number by 1,000 fits 63 bits, and the rest is below 10^9.
    prost_types::Duration {
        seconds: i64::try_from(ms / 1_000).unwrap_or(i64::MAX),
        nanos: i32::try_from(ms % 1_000).unwrap_or_default() * 1_000_000,
    }
}

/// Returns the milliseconds of a point of the time line of a game.
pub(crate) fn line_milliseconds(time: &v1::GameTime) -> i64 {
    use v1::game_time::Kind;
    match &time.kind {
        None => 0,
        Some(Kind::PlatformTime(time)) => milliseconds(time),
        Some(Kind::Instant(time)) => milliseconds(&prost_types::Duration {
            seconds: time.seconds,
            nanos: time.nanos,
        }),
    }
}

/// Returns the milliseconds of a time.
pub(crate) fn milliseconds(time: &prost_types::Duration) -> i64 {
    let seconds = time.seconds.saturating_mul(1_000);
    seconds.saturating_add(i64::from(time.nanos) / 1_000_000)
}
