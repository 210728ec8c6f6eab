//! Checking the fields of a request, with every problem named at once.

use crate::error::{Error, Violation};

/// Collects what is wrong with the fields of one request.
///
/// ```
/// use referee_record::Fields;
///
/// let mut fields = Fields::default();
/// fields.length("name", "a long one", 4);
/// fields.request_id("request_id", "");
/// let error = fields.finish().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "name: 10 bytes, above the limit of 4; request_id: is required; a UUID is a good choice"
/// );
/// ```
#[derive(Debug, Default)]
pub struct Fields {
    violations: Vec<Violation>,
    /// Whether the limits of today do not count.
    is_recorded: bool,
}

impl Fields {
    /// For what was recorded: it was within the limits of its day, so that those of today do not
    /// count.
    #[must_use]
    pub fn recorded() -> Fields {
        Fields {
            is_recorded: true,
            ..Fields::default()
        }
    }

    /// Returns the limit that counts, which is none for what was recorded.
    #[must_use]
    pub fn limit(&self, limit: u64) -> u64 {
        if self.is_recorded { u64::MAX } else { limit }
    }

    /// Returns as many elements of a list as are looked at; [`Fields::count`] refuses more.
    pub fn first<'a, T>(&self, list: &'a [T], max: usize) -> &'a [T] {
        let count = if self.is_recorded {
            list.len()
        } else {
            list.len().min(max)
        };
        &list[..count]
    }

    /// Notes that a field is wrong.
    ///
    /// A field has one violation: what is found first, which most often is why more is found. Only
    /// that it is above its limit comes before that.
    pub fn refuse(&mut self, field: &str, description: impl Into<String>) {
        if self.violation_of(field).is_none() {
            self.violations.push(Violation {
                field: field.to_owned(),
                description: description.into(),
                limit: None,
            });
        }
    }

    fn violation_of(&mut self, field: &str) -> Option<&mut Violation> {
        let mut violations = self.violations.iter_mut();
        violations.find(|violation| violation.field == field)
    }

    /// Checks that a text has at most some bytes.
    pub fn length(&mut self, field: &str, text: &str, bytes_max: usize) {
        if text.len() > bytes_max && !self.is_recorded {
            let description = format!("{} bytes, above the limit of {bytes_max}", text.len());
            self.above(field, description, bytes_max, text.len());
        }
    }

    /// Checks a text that is shown to people: its length, and that it has no control characters,
    /// which a terminal or a page would obey.
    pub fn text(&mut self, field: &str, text: &str, bytes_max: usize) {
        self.length(field, text, bytes_max);
        if text.contains(char::is_control) {
            self.refuse(
                field,
                "must not have control characters, such as line ends and NUL",
            );
        }
    }

    /// Checks a text of several lines that is shown to people: as [`text`](Self::text), but line
    /// ends and tabs are taken.
    pub fn long_text(&mut self, field: &str, text: &str, bytes_max: usize) {
        self.length(field, text, bytes_max);
        let is_bad = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        if text.contains(is_bad) {
            self.refuse(
                field,
                "must not have control characters other than line ends and tabs",
            );
        }
    }

    /// Checks that a list has at most some elements.
    pub fn count(&mut self, field: &str, what: &str, actual: usize, max: usize) {
        if actual > max && !self.is_recorded {
            let description = format!("{actual} {what}, above the limit of {max}");
            self.above(field, description, max, actual);
        }
    }

    fn above(&mut self, field: &str, description: String, limit: usize, actual: usize) {
        let limit = Some((limit as u64, actual as u64));
        let violation = Violation {
            field: field.to_owned(),
            description,
            limit,
        };
        match self.violation_of(field) {
            Some(before) if before.limit.is_some() => {}
            Some(before) => *before = violation,
            None => self.violations.push(violation),
        }
    }

    /// Returns the message of a field that is required.
    pub fn required<T>(&mut self, field: &str, value: Option<T>) -> Option<T> {
        if value.is_none() {
            self.refuse(field, "is required");
        }
        value
    }

    /// Checks a request id: required, printable ASCII, not too long.
    pub fn request_id(&mut self, field: &str, text: &str) {
        if text.is_empty() {
            self.refuse(field, "is required; a UUID is a good choice");
        } else if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.refuse(
                field,
                "must be printable ASCII without blanks, such as a UUID",
            );
        }
        self.length(field, text, crate::limits::REQUEST_ID_BYTES_MAX);
    }

    /// Reads an enum whose zero stands for nothing.
    pub fn choice<E: TryFrom<i32> + Default + PartialEq>(&mut self, field: &str, number: i32) -> E {
        match E::try_from(number) {
            Ok(value) => value,
            Err(_) => {
                self.refuse(field, format!("{number} is no value of this enum"));
                E::default()
            }
        }
    }

    /// Reads the size of a page.
    pub fn page_size(&mut self, size: i32, default: usize, max: usize) -> usize {
        match usize::try_from(size) {
            Ok(0) => default,
            Ok(size) => size.min(max),
            Err(_) => {
                self.refuse("page_size", "must not be negative; 0 means the default");
                default
            }
        }
    }

    /// Ends the check.
    ///
    /// # Errors
    ///
    /// Where anything was found to be wrong: all of it.
    pub fn finish(self) -> Result<(), Error> {
        if self.violations.is_empty() {
            Ok(())
        } else {
            Err(Error::InvalidFields(self.violations))
        }
    }
}
