//! Lines of the log as JSON: one flat object for each event, with its own fields first and then
//! those of the spans around it, such as the game and the request of a call. A name stands there
//! once: what is nearer to the event counts.

use std::fmt::Debug;

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::lines::Lines;
use crate::limits::{LOG_LINE_BYTES_MAX, LOG_VALUE_BYTES_MAX, LOG_VALUE_BYTES_SHORT};

/// What stands at the end of a value that was too long.
const CUT: &str = " ...";

/// Writes events as JSON.
pub(super) struct JsonLines {
    lines: Lines,
}

impl JsonLines {
    pub(super) fn new(lines: Lines) -> JsonLines {
        JsonLines { lines }
    }
}

/// The fields of an event or of a span, each name once.
#[derive(Debug, Default)]
struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        let name = field.name();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, clip(value, LOG_VALUE_BYTES_MAX).into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(
            field,
            clip(&format!("{value:?}"), LOG_VALUE_BYTES_MAX).into(),
        );
    }
}

/// A text, cut off at some length.
fn clip(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes_max.saturating_sub(CUT.len()));
    format!("{}{CUT}", &text[..end])
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for JsonLines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let mut extensions = span.extensions_mut();
        if let Some(fields) = extensions.get_mut::<Fields>() {
            record.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        for span in context.event_scope(event).into_iter().flatten() {
            let extensions = span.extensions();
            let Some(Fields(outer)) = extensions.get::<Fields>() else {
                continue;
            };
            for (name, value) in outer {
                if fields.0.iter().all(|(known, _)| known != name) {
                    fields.0.push((name, value.clone()));
                }
            }
        }
        let mut time = String::new();
        // Where there is no time the line is worth writing all the same.
        let _ = SystemTime.format_time(&mut Writer::new(&mut time));
        let metadata = event.metadata();
        let level = metadata.level().as_str();
        self.lines
            .push(write(&time, level, metadata.target(), fields));
    }
}

/// Writes a line.
fn write(time: &str, level: &str, target: &str, Fields(mut fields): Fields) -> Vec<u8> {
    let line = write_whole(time, level, target, &fields);
    if line.len() <= LOG_LINE_BYTES_MAX {
        return line;
    }
    for (_, value) in &mut fields {
        if let Value::String(text) = value {
            *text = clip(text, LOG_VALUE_BYTES_SHORT);
        }
    }
    let line = write_whole(time, level, target, &fields);
    if line.len() <= LOG_LINE_BYTES_MAX {
        return line;
    }
    let cut = [("message", Value::from("a line that is too long"))];
    write_whole(time, level, target, &cut)
}

fn write_whole(time: &str, level: &str, target: &str, fields: &[(&'static str, Value)]) -> Vec<u8> {
    let mut line = Vec::with_capacity(256);
    let mut put = |name: &str, value: &Value| {
        line.push(if line.is_empty() { b'{' } else { b',' });
        // What is written into memory is written, and these values are no maps.
        let _ = serde_json::to_writer(&mut line, name);
        line.push(b':');
        let _ = serde_json::to_writer(&mut line, value);
    };
    put("timestamp", &time.into());
    put("level", &level.into());
    put("target", &target.into());
    let is_message = |(name, _): &&(&str, Value)| *name == "message";
    if let Some((name, value)) = fields.iter().find(is_message) {
        put(name, value);
    }
    for (name, value) in fields.iter().filter(|field| !is_message(field)) {
        // These names are taken.
        let name = match *name {
            "timestamp" => "its_timestamp",
            "level" => "its_level",
            "target" => "its_target",
            name => name,
        };
        put(name, value);
    }
    line.extend_from_slice(b"}\n");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[u8]) -> Value {
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        serde_json::from_slice(line).expect("a line is JSON")
    }

    #[test]
    fn a_line_is_one_object_whatever_is_in_it() {
        let hostile = "\"}\n{\"level\":\"INFO\u{1b}[31m\u{0}\\";
        let fields = Fields(vec![
            ("game", hostile.into()),
            ("message", hostile.into()),
            ("level", 7.into()),
        ]);
        let read = parse(&write("now", "WARN", "here", fields));
        assert_eq!(read["game"], hostile);
        assert_eq!(read["message"], hostile);
        assert_eq!(
            (&read["level"], &read["its_level"]),
            (&"WARN".into(), &7.into())
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_still_an_object() {
        let names = ["a", "b", "c", "d", "e", "f"];
        // Each byte takes six as JSON.
        let long = "\u{1}".repeat(LOG_VALUE_BYTES_MAX);
        let fields = names.map(|name| (name, Value::from(long.clone())));
        let line = write("now", "WARN", "here", Fields(fields.to_vec()));
        assert!(line.len() <= LOG_LINE_BYTES_MAX, "{}", line.len());
        assert!(
            parse(&line)["a"]
                .as_str()
                .is_some_and(|it| it.ends_with(CUT))
        );
        let many = (0..2_000).map(|_| ("a", Value::from(long.clone())));
        let line = write("now", "WARN", "here", Fields(many.collect()));
        assert_eq!(parse(&line)["message"], "a line that is too long");
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("ééééé", 9), "éé ...");
    }
}
