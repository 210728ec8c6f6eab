//! Text about persons in exported records: bound to what is hashed, and missed by nobody.

use prost::Message;
use prost_types::FieldMask;
use referee_api::v1::action::Kind;
use referee_api::v1::{
    ArbiterDecision, Confirm, Game, GameEvent, Seat, UpdateGameRequest, arbiter_decision,
};
use referee_tests::wire;
use serde_json::json;

use super::record::{Record, bytes, text};
use super::{export, start_with_key, verify_text};

/// The entry with what the arbiter has said.
const DECISION: usize = 2;

/// The entry with the update.
const UPDATE: usize = 3;

/// A change of a record, whether all hashes of the chain are computed anew after it, and what must
/// be said: with a note, or as a problem.
struct Change {
    what: &'static str,
    change: fn(&mut Record),
    rehash: bool,
    note: bool,
    said: &'static str,
}

/// Puts another text in the place of one.
fn replace(record: &mut Record, sequence: usize, old: &str, new: &str) {
    let mut all = bytes(&record.entry(sequence)["privateText"]);
    let at = all
        .windows(old.len())
        .position(|part| part == old.as_bytes());
    let at = at.expect("it is there");
    all.splice(at..at + old.len(), new.bytes());
    record.entry(sequence)["privateText"] = text(&all);
}

/// Binds another text to an entry, as whoever makes up a record can.
fn bind(record: &mut Record, sequence: usize, event: &GameEvent) {
    use sha2::{Digest, Sha256};

    let private = event.encode_to_vec();
    let mut hasher = Sha256::new();
    hasher.update(b"referee.private.v1\n");
    hasher.update([1; 16]);
    hasher.update(&private);
    let hash: [u8; 32] = hasher.finalize().into();
    record.change(sequence, |event| event.private_hash = hash.to_vec().into());
    record.entry(sequence)["privateText"] = text(&private);
    record.entry(sequence)["privateSalt"] = text(&[1; 16]);
}

const CHANGES: &[Change] = &[
    Change {
        what: "another name of the arbiter",
        change: |record| replace(record, DECISION, "Ada", "Eve"),
        rehash: false,
        note: false,
        said: "entry 2: private: its text about persons is not the one that it is bound to",
    },
    Change {
        what: "another player",
        change: |record| replace(record, UPDATE, "Bob", "Eve"),
        rehash: false,
        note: false,
        said: "entry 3: private: its text about persons is not the one",
    },
    Change {
        what: "other random bytes",
        change: |record| record.entry(DECISION)["privateSalt"] = text(&[7; 16]),
        rehash: false,
        note: false,
        said: "entry 2: private: its text about persons is not the one",
    },
    Change {
        what: "too few random bytes",
        change: |record| record.entry(DECISION)["privateSalt"] = text(&[7; 15]),
        rehash: false,
        note: false,
        said: "entry 2: private: the random bytes of its text about persons are not 16",
    },
    Change {
        what: "a text erased",
        change: |record| {
            record.entry(DECISION)["privateSalt"] = json!("");
            record.entry(DECISION)["privateText"] = json!("");
        },
        rehash: false,
        note: true,
        said: "note: text about persons was erased in 2 places",
    },
    Change {
        what: "a text erased, and its random bytes left",
        change: |record| record.entry(DECISION)["privateText"] = json!(""),
        rehash: false,
        note: false,
        said: "entry 2: private: random bytes are left",
    },
    Change {
        what: "a text where there is none",
        change: |record| {
            let decision = record.entry(DECISION).clone();
            record.entry(1)["privateText"] = decision["privateText"].clone();
            record.entry(1)["privateSalt"] = decision["privateSalt"].clone();
        },
        rehash: false,
        note: false,
        said: "entry 1: private: there is text about persons that nothing binds to it",
    },
    Change {
        what: "a text within what is hashed",
        change: |record| {
            record.change(DECISION, |event| {
                let action = event.action.as_mut().expect("it has one");
                if let Some(Kind::ArbiterDecision(decision)) = &mut action.kind {
                    decision.arbiter = "Eve".into();
                }
            });
        },
        rehash: true,
        note: false,
        said: "entry 2: private: its hashed bytes hold text about persons",
    },
    Change {
        what: "players within the genesis",
        change: |record| record.change_genesis(|game| game.white_player = "Eve".into()),
        rehash: true,
        note: false,
        said: "genesis: private: its hashed bytes hold text about persons",
    },
    Change {
        what: "a position beside what is hashed",
        change: |record| {
            let event = GameEvent {
                fen: "8/8/8/8/8/8/8/8 w - - 0 1".into(),
                ..GameEvent::default()
            };
            bind(record, DECISION, &event);
        },
        rehash: true,
        note: false,
        said: "entry 2: private: its text about persons holds more than that",
    },
    Change {
        what: "an update of what cannot be updated",
        change: |record| {
            record.change(UPDATE, |event| {
                let update = event.update.as_mut().expect("it has one");
                update.update_mask = Some(FieldMask {
                    paths: vec!["moves".into()],
                });
            });
        },
        rehash: true,
        note: false,
        said: "entry 3: ruling: it cannot be judged: the update has no mask of ours",
    },
    Change {
        what: "an update that changes the game",
        change: |record| {
            record.change(UPDATE, |event| {
                event.outcome.as_mut().expect("one").text = "It goes on.".into();
            });
        },
        rehash: true,
        note: false,
        said: "entry 3: ruling: outcome is",
    },
    Change {
        what: "an action and an update in one",
        change: |record| {
            let action = record.event(DECISION).action;
            record.change(UPDATE, |event| event.action = action);
        },
        rehash: true,
        note: false,
        said: "entry 3: ruling: ",
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn text_about_persons_is_bound_and_can_be_missing() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let referee = start_with_key(folder.path());
    let mut games = referee.games().await;
    let game = Game {
        white_player: "Ada".into(),
        ..Game::default()
    };
    games
        .create_game(wire::create("names", game))
        .await
        .expect("created");
    let resigned = wire::submit("names", Seat::White, wire::resign());
    games.submit_action(resigned).await.expect("judged");
    let decision = Kind::ArbiterDecision(ArbiterDecision {
        arbiter: "Ada Arbiter".into(),
        reason: "all is well".into(),
        kind: Some(arbiter_decision::Kind::Confirm(Confirm {})),
    });
    let decided = wire::submit("names", Seat::Arbiter, decision);
    games.submit_action(decided).await.expect("judged");
    let older = export(&referee, "names");
    verify_text(older.as_bytes(), &["--require-signature"]).expect(0, "2 entries verified");
    let request = UpdateGameRequest {
        name: "games/names".into(),
        game: Some(Game {
            white_player: "Bob".into(),
            ..Game::default()
        }),
        update_mask: Some(FieldMask {
            paths: vec!["white_player".into()],
        }),
        request_id: wire::fresh_id(),
    };
    games.update_game(request).await.expect("updated");
    let sound = Record::read(&export(&referee, "names"));
    let said = verify_text(&sound.text(), &["--require-signature"]);
    said.expect(0, "3 entries verified");
    said.expect(0, "note: text about persons was erased in 1 place");
    // What was exported before the update holds as it did, names and all.
    let said = verify_text(older.as_bytes(), &["--require-signature"]);
    said.expect(0, "2 entries verified");
    assert!(!said.out.contains("erased"), "{}", said.out);
    for Change {
        what,
        change,
        rehash,
        note,
        said: expected,
    } in CHANGES
    {
        let mut record = sound.clone();
        record.seal()["signature"] = json!(null);
        change(&mut record);
        if *rehash {
            record.rehash();
        }
        let said = verify_text(&record.text(), &[]);
        let code = i32::from(!note);
        assert_eq!(said.code, Some(code), "{what}:\n{}{}", said.out, said.err);
        assert!(said.out.contains(expected), "{what}:\n{}", said.out);
    }
}
