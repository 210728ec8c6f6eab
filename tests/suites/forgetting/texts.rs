//! Which texts are about persons: every text of the two messages that are hashed is classed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use prost::Message;
use prost_reflect::{
    DescriptorPool, DynamicMessage, Kind, MapKey, MessageDescriptor, ReflectMessage, Value,
};
use referee_api::v1::{Game, GameEvent};

use super::files::has;

/// The list of `tests/data/private`, which tells of each text in a genesis and an event whether it
/// is about persons.
fn listed() -> BTreeMap<String, bool> {
    let file = referee_tests::root().join("tests/data/private/texts.txt");
    let text = fs::read_to_string(file).expect("the list is there");
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let read = |line: &str| {
        let mut words = line.split_whitespace();
        let class = words.next().unwrap_or_default();
        let name = words.next().unwrap_or_default().to_owned();
        match class {
            "persons" => (name, true),
            "words" => (name, false),
            other => panic!("{other} is no class: {line}"),
        }
    };
    lines.map(read).collect()
}

/// Every text of the two messages that are hashed, with one found by the descriptors, so that a
/// new field has to be classed.
#[test]
fn every_text_is_either_kept_apart_or_no_text_about_persons() {
    let listed = listed();
    let pool = DescriptorPool::decode(referee_api::FILE_DESCRIPTOR_SET).expect("it was encoded");
    let mut seen = BTreeSet::new();
    let mut check = |root: &MessageDescriptor, steps: &[String]| {
        let (bytes, last) = fill(root, steps);
        let name = format!("{}.{}", last, steps[steps.len() - 1]);
        let salt = || [7; 16];
        let (hashed, private) = match root.name() {
            "Game" => {
                let mut game = Game::decode(bytes.as_slice()).expect("a game");
                referee_record::split(&mut game, salt)
            }
            _ => {
                let mut event = GameEvent::decode(bytes.as_slice()).expect("an event");
                referee_record::split(&mut event, salt)
            }
        };
        let is_apart = private.is_some_and(|private| has(&private.text, MARK));
        assert_ne!(is_apart, has(&hashed, MARK), "{name}");
        // What tags are of, a creation or an update, is about persons.
        let of_persons = listed.get(&name);
        let of_persons = of_persons.unwrap_or_else(|| panic!("{name} is in no class"));
        assert_eq!(*of_persons, is_apart, "{name} at {}", steps.join("."));
        seen.insert(name);
    };
    for root in ["referee.v1.Game", "referee.v1.GameEvent"] {
        let root = pool.get_message_by_name(root).expect("a message");
        let mut paths = Vec::new();
        collect(&root, &mut Vec::new(), &mut paths);
        for steps in paths {
            check(&root, &steps);
        }
    }
    let unknown: Vec<_> = listed.keys().filter(|name| !seen.contains(*name)).collect();
    assert!(unknown.is_empty(), "no longer in the contract: {unknown:?}");
    // A message of nothing has nothing.
    let empty = DynamicMessage::new(pool.get_message_by_name("referee.v1.Game").expect("one"));
    assert!(empty.encode_to_vec().is_empty());
}

/// A text that nothing else has.
const MARK: &str = "mark<of>text";

/// The way to each text, from a message on: no message within itself.
fn collect(
    message: &MessageDescriptor,
    way: &mut Vec<(String, String)>,
    paths: &mut Vec<Vec<String>>,
) {
    for field in message.fields() {
        let step = (message.full_name().to_owned(), field.name().to_owned());
        if way.iter().any(|(name, _)| *name == step.0) {
            continue;
        }
        way.push(step);
        let kind = if field.is_map() {
            field
                .kind()
                .as_message()
                .map(|entry| entry.map_entry_value_field().kind())
        } else {
            Some(field.kind())
        };
        match kind {
            Some(Kind::String) => {
                paths.push(way.iter().map(|(_, field)| field.clone()).collect());
            }
            Some(Kind::Message(inner)) => collect(&inner, way, paths),
            _ => {}
        }
        way.pop();
    }
}

/// A message with the mark at the end of a way, and the name of the message that has it.
fn fill(root: &MessageDescriptor, steps: &[String]) -> (Vec<u8>, String) {
    fn set(message: &mut DynamicMessage, steps: &[String]) -> String {
        let descriptor = message.descriptor();
        let field = descriptor.get_field_by_name(&steps[0]).expect("a field");
        let mut last = descriptor.name().to_owned();
        let mark = Value::String(MARK.to_owned());
        let value = match field.kind() {
            Kind::Message(_) if field.is_map() => {
                Value::Map([(MapKey::String("key".into()), mark)].into())
            }
            Kind::Message(inner) => {
                let mut within = DynamicMessage::new(inner);
                last = set(&mut within, &steps[1..]);
                Value::Message(within)
            }
            _ => mark,
        };
        let value = if field.is_list() {
            Value::List(vec![value])
        } else {
            value
        };
        message.set_field(&field, value);
        last
    }

    let mut message = DynamicMessage::new(root.clone());
    let last = set(&mut message, steps);
    (message.encode_to_vec(), last)
}
