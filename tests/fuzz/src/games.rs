//! Games that an input plays: by actions as clients send them, under a profile of its choice.

use prost::Message;
use referee_api::v1;
use referee_api::v1::export_game_response::Kind;
use referee_record::convert::action::read_action;
use referee_record::convert::clocks::time_of;
use referee_record::convert::stored::stored_event;
use referee_record::convert::time::write_us;
use referee_record::{
    FoldedGame, PendingWrite, Private, build_event, complete_genesis, hash_action, read_creation,
    resource_name,
};
use referee_verify::record_file::write_part;
use sha2::{Digest, Sha256};

/// The profiles that an input can choose.
const PROFILES: [&str; 8] = [
    "fide_standard",
    "fide_rapid",
    "fide_blitz",
    "lichess",
    "chesscom",
    "uscf",
    "ics",
    "house_handbook",
];

/// The time controls that an input can choose; the first is none.
const CONTROLS: [&str; 4] = ["", "300+2", "40/5400+30:1800+30", "60"];

/// When the games are created, in microseconds since 1970.
const CREATED_US: i64 = 1_700_000_000_000_000;

/// The actions that are read from one input.
const ACTIONS_MAX: usize = 64;

/// Changes of bytes that an input asks for: where, and what is turned over.
pub type Changes = Vec<(usize, u8)>;

/// A game that was played, and its record.
#[derive(Debug)]
pub struct Played {
    /// The stored genesis.
    pub genesis: Vec<u8>,
    /// The events.
    pub events: Vec<Event>,
    /// The game.
    pub folded: FoldedGame,
}

/// An event as it is stored.
#[derive(Debug)]
pub struct Event {
    /// What is hashed.
    pub bytes: Vec<u8>,
    /// The text about persons that belongs to it, with its salt.
    pub private: Option<Private>,
}

impl Event {
    /// The event with the text about persons.
    #[must_use]
    pub fn whole(&self) -> Vec<u8> {
        let text = self.private.as_ref().map(|private| &private.text[..]);
        [&self.bytes, text.unwrap_or_default()].concat()
    }
}

/// Cuts changes off an input: a byte says how many, and each has two bytes for its place and one
/// for the bits.
#[must_use]
pub fn changes(data: &[u8]) -> (Changes, &[u8]) {
    let Some((&count, data)) = data.split_first() else {
        return (Changes::new(), data);
    };
    let length = (usize::from(count % 8) * 3).min(data.len());
    let (edits, rest) = data.split_at(length);
    let (edits, _) = edits.as_chunks::<3>();
    let change = |&[high, low, bits]: &[u8; 3]| (usize::from(high) << 8 | usize::from(low), bits);
    (edits.iter().map(change).collect(), rest)
}

/// Turns bits over; places beyond the end begin again.
pub fn apply_changes(bytes: &mut [u8], changes: &Changes) {
    let length = bytes.len().max(1);
    for &(place, bits) in changes {
        if let Some(byte) = bytes.get_mut(place % length) {
            *byte ^= bits;
        }
    }
}

/// Begins the game of the first two bytes, and sends it the actions in the rest: each behind its
/// length, as Protocol Buffers delimit messages.
///
/// # Panics
///
/// Where an action that is judged does not leave what is read again as the same game.
#[must_use]
pub fn play_actions(data: &[u8]) -> Option<Played> {
    let (&[profile, control], mut rest) = data.split_first_chunk::<2>()?;
    let genesis = begin(usize::from(profile), usize::from(control))?;
    let folded = FoldedGame::begin(&genesis, CREATED_US).expect("what was created can be read");
    let mut played = Played {
        genesis,
        events: Vec::new(),
        folded,
    };
    for number in 0..ACTIONS_MAX {
        if rest.is_empty() {
            break;
        }
        let Ok(message) = v1::Action::decode_length_delimited(&mut rest) else {
            break;
        };
        played.send(&message, number as i64 * 700_000);
    }
    Some(played)
}

fn begin(profile: usize, control: usize) -> Option<Vec<u8>> {
    let pgn = CONTROLS[control % CONTROLS.len()];
    let control = (!pgn.is_empty()).then(|| v1::ClockSettings {
        time_control: Some(v1::TimeControl {
            pgn: pgn.into(),
            ..v1::TimeControl::default()
        }),
        ..v1::ClockSettings::default()
    });
    let request = v1::CreateGameRequest {
        game: Some(v1::Game {
            rule_profile: Some(v1::RuleProfile {
                name: PROFILES[profile % PROFILES.len()].into(),
                ..v1::RuleProfile::default()
            }),
            clock_settings: control,
            ..v1::Game::default()
        }),
        game_id: "a".into(),
        request_id: "create".into(),
    };
    // A profile may want another kind of clock.
    let (genesis, game) = read_creation(&request).ok()?;
    let name = resource_name("a");
    let created = Some(write_us(CREATED_US));
    Some(complete_genesis(genesis, &game, name, created).encode_to_vec())
}

impl Played {
    /// Judges an action, and follows it.
    fn send(&mut self, message: &v1::Action, after_us: i64) {
        let arrival_us = CREATED_US + after_us;
        let submitted = match read_action(message) {
            Ok(submitted) => submitted,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return;
            }
        };
        assert_eq!(hash_action(message), hash_action(&message.clone()));
        let Ok(Some(now)) = time_of(&self.folded.game, submitted.told_time, arrival_us) else {
            return;
        };
        let judgment = self.folded.game.judge(&submitted.action, now);
        let Ok(pending) = build_event(&self.folded, message, judgment, arrival_us, "fuzz", || {
            [7; 16]
        }) else {
            return;
        };
        let PendingWrite::Entry { bytes, private, .. } = pending.write else {
            assert!(pending.after.is_none() && pending.response.event.is_none());
            return;
        };
        let after = pending.after.expect("an entry leaves a game");
        let stored = Event { bytes, private };
        let event = stored_event(&stored.whole()).expect("what is stored is an event");
        let mut read = self.folded.clone();
        read.apply(&event).expect("what was judged fits");
        assert_eq!(read.view(), after.view(), "after {message:?}");
        assert_eq!(read.deadline_us(), after.deadline_us(), "after {message:?}");
        self.events.push(stored);
        self.folded = after;
    }

    /// Writes the record as `ExportGame` gives it, without a signature.
    #[must_use]
    pub fn export(&self) -> Vec<u8> {
        let mut file = Vec::new();
        let mut link = {
            let mut hash = Sha256::new();
            hash.update(b"referee.chain.v1.genesis\n");
            for part in [&b"default"[..], b"a", &self.genesis] {
                hash.update((part.len() as u64).to_be_bytes());
                hash.update(part);
            }
            hash.finalize().to_vec()
        };
        let mut write = |kind: Kind| write_part(&mut file, &kind).expect("memory takes it");
        write(Kind::Header(v1::RecordHeader {
            format: 1,
            platform: "default".into(),
            name: resource_name("a"),
            genesis: self.genesis.clone().into(),
            chain_hash: link.clone().into(),
            ..v1::RecordHeader::default()
        }));
        for (sequence, event) in (1..).zip(&self.events) {
            let mut hash = Sha256::new();
            hash.update(b"referee.chain.v1.entry\n");
            hash.update(&link);
            hash.update(&event.bytes);
            link = hash.finalize().to_vec();
            let private = event.private.as_ref();
            write(Kind::Entry(v1::RecordEntry {
                sequence,
                event: event.bytes.clone().into(),
                chain_hash: link.clone().into(),
                private_text: private.map(|it| it.text.clone()).unwrap_or_default().into(),
                private_salt: private
                    .map(|it| it.salt.to_vec())
                    .unwrap_or_default()
                    .into(),
            }));
        }
        write(Kind::Seal(v1::RecordSeal {
            entry_count: self.events.len() as i64,
            head_hash: link.into(),
            referee_version: "fuzz".into(),
            ..v1::RecordSeal::default()
        }));
        file
    }
}
