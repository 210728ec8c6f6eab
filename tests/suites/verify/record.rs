//! A record file as JSON, to be tampered with.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::Message;
use referee_api::v1::{Game, GameEvent};
use referee_store::{GameKey, chain};
use serde_json::{Value, json};

/// The parts of a record file.
#[derive(Clone)]
pub(super) struct Record {
    pub(super) parts: Vec<Value>,
}

impl Record {
    /// Reads what `referee export` wrote: a part on each line.
    pub(super) fn read(text: &str) -> Record {
        let parts = text.lines().map(|line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
        });
        Record {
            parts: parts.collect(),
        }
    }

    pub(super) fn text(&self) -> Vec<u8> {
        let lines = self.parts.iter().map(|part| format!("{part}\n"));
        lines.collect::<String>().into_bytes()
    }

    pub(super) fn header(&mut self) -> &mut Value {
        &mut self.parts[0]["header"]
    }

    /// The entry of a sequence.
    pub(super) fn entry(&mut self, sequence: usize) -> &mut Value {
        &mut self.parts[sequence]["entry"]
    }

    pub(super) fn seal(&mut self) -> &mut Value {
        let last = self.parts.len() - 1;
        &mut self.parts[last]["seal"]
    }

    /// Changes the genesis.
    pub(super) fn change_genesis(&mut self, change: impl FnOnce(&mut Game)) {
        let header = self.header();
        let mut game = Game::decode(bytes(&header["genesis"]).as_slice()).expect("a game");
        change(&mut game);
        header["genesis"] = text(&game.encode_to_vec());
    }

    /// Changes the event of an entry.
    pub(super) fn change(&mut self, sequence: usize, change: impl FnOnce(&mut GameEvent)) {
        let entry = self.entry(sequence);
        let mut event = GameEvent::decode(bytes(&entry["event"]).as_slice()).expect("an event");
        change(&mut event);
        entry["event"] = text(&event.encode_to_vec());
    }

    /// The event of an entry.
    pub(super) fn event(&mut self, sequence: usize) -> GameEvent {
        let entry = self.entry(sequence);
        GameEvent::decode(bytes(&entry["event"]).as_slice()).expect("an event")
    }

    /// Computes every hash anew, as whoever tampers would: only the signature is beyond him.
    pub(super) fn rehash(&mut self) {
        let header = self.header().clone();
        let name = header["name"].as_str().expect("a name");
        let platform = header["platform"].as_str().expect("a platform");
        let key = GameKey::new(platform, name.strip_prefix("games/").expect("a game"));
        let mut link = chain::genesis(&key, &bytes(&header["genesis"]));
        self.header()["chainHash"] = text(&link);
        let count = self.parts.len() - 2;
        for sequence in 1..=count {
            let entry = self.entry(sequence);
            link = chain::next(&link, &bytes(&entry["event"]));
            entry["chainHash"] = text(&link);
        }
        let seal = self.seal();
        seal["headHash"] = text(&link);
        seal["entryCount"] = json!(count.to_string());
    }
}

/// Reads base64.
pub(super) fn bytes(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap_or_default();
    STANDARD.decode(text).expect("bytes are base64")
}

/// Writes base64.
pub(super) fn text(bytes: &[u8]) -> Value {
    Value::String(STANDARD.encode(bytes))
}
