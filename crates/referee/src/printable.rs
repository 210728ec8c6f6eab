//! What comes from a file or a server is shown, but never obeyed: a terminal takes control
//! characters for commands, and those that turn the direction of writing hide what stands there.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// How a control character is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escape {
    /// As Rust has it, `\u{1b}`: for people.
    Braces,
    /// As JSON has it, `\u001b`, which programs read as the character.
    Json,
}

impl Escape {
    /// Returns how control characters are written in what a command prints.
    pub(crate) const fn of(as_json: bool) -> Escape {
        match as_json {
            true => Escape::Json,
            false => Escape::Braces,
        }
    }
}

/// Returns the standard output of a command that prints what comes from elsewhere.
pub(crate) fn standard_output(as_json: bool) -> Printable<io::StdoutLock<'static>> {
    Printable::new(io::stdout().lock(), Escape::of(as_json))
}

/// Writes text without control characters but the line feed.
pub(crate) struct Printable<W> {
    inner: W,
    escape: Escape,
}

impl<W: Write> Printable<W> {
    pub(crate) fn new(inner: W, escape: Escape) -> Printable<W> {
        Printable { inner, escape }
    }
}

impl<W: Write> Write for Printable<W> {
    /// Writes all of the text: whoever formats writes whole characters.
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if text.iter().any(|&byte| may_begin_control(byte)) {
            let plain = String::from_utf8_lossy(text);
            let plain = printable(&plain, self.escape);
            self.inner.write_all(plain.as_bytes())?;
        } else {
            self.inner.write_all(text)?;
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Returns a text with its control characters written out.
pub(crate) fn printable(text: &str, escape: Escape) -> Cow<'_, str> {
    if !text.chars().any(is_control) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        let code = u32::from(c);
        // Writing into a string does not fail.
        _ = match (is_control(c), escape) {
            (false, _) => write!(plain, "{c}"),
            (true, Escape::Braces) => write!(plain, "\\u{{{code:x}}}"),
            (true, Escape::Json) => write!(plain, "\\u{code:04x}"),
        };
    }
    Cow::Owned(plain)
}

/// Whether a byte is a control character, or the first one of some that are.
const fn may_begin_control(byte: u8) -> bool {
    matches!(byte, 0..=0x09 | 0x0b..=0x1f | 0x7f | 0xc2 | 0xd8 | 0xe2)
}

fn is_control(c: char) -> bool {
    let is_direction = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    is_direction || c.is_control() && c != '\n'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out() {
        let text = "a\u{1b}[31m\u{9b}31m\u{7f}\t\u{202e}é«\n";
        let plain = printable(text, Escape::Braces);
        assert_eq!(plain, "a\\u{1b}[31m\\u{9b}31m\\u{7f}\\u{9}\\u{202e}é«\n");
        let plain = printable("\u{9b}", Escape::Json);
        assert_eq!(plain, "\\u009b");
        for c in ('\0'..=char::MAX).filter(|&c| is_control(c)) {
            let first = c.to_string().as_bytes()[0];
            assert!(may_begin_control(first), "{c:?}");
        }
        let mut writer = Printable::new(Vec::new(), Escape::Json);
        writer.write_all("«\u{9b}».".as_bytes()).expect("memory");
        assert_eq!(writer.inner, "«\\u009b».".as_bytes());
    }
}
