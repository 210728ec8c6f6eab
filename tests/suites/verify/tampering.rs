//! Records that somebody tampered with: each change is told, and where.

use prost::Message;
use prost_types::Duration;
use referee_api::v1::{self, GameResult, evidence, ruling};
use referee_record::{REVISION, VERSION};
use serde_json::json;

use super::record::{Record, bytes, text};
use super::{SECRET, export, play_sample, run, sample, start_with_key, verify_text};

/// A change of a record, whether all hashes are computed anew after it, and what must be said.
struct Change {
    what: &'static str,
    change: fn(&mut Record),
    rehash: bool,
    said: &'static [&'static str],
}

const CHANGES: &[Change] = &[
    Change {
        what: "a byte of an entry",
        change: |record| {
            let mut event = bytes(&record.entry(4)["event"]);
            let at = event.len() - 3;
            event[at] ^= 1;
            record.entry(4)["event"] = text(&event);
        },
        rehash: false,
        said: &["entry 4: chain: its hash is not that of its bytes"],
    },
    Change {
        what: "a byte of the genesis",
        change: |record| record.change_genesis(|game| game.white_player = "Eve".into()),
        rehash: false,
        said: &["genesis: chain: its hash is not that of this genesis under this name"],
    },
    Change {
        what: "a hash",
        change: |record| record.entry(4)["chainHash"] = text(&[7; 32]),
        rehash: false,
        said: &["entry 4: chain: its hash", "entry 5: chain: its hash"],
    },
    Change {
        what: "the last entry dropped",
        change: |record| drop(record.parts.remove(9)),
        rehash: false,
        said: &[
            "chain: the seal is for 9 entries, but 8 came",
            "chain: the entries do not lead to the head that the seal names",
            "signature: it does not hold",
        ],
    },
    Change {
        what: "the last entry dropped, and the seal made to fit",
        change: |record| drop(record.parts.remove(9)),
        rehash: true,
        said: &["signature: it does not hold"],
    },
    Change {
        what: "a middle entry dropped",
        change: |record| drop(record.parts.remove(4)),
        rehash: false,
        said: &[
            "entry 5: chain: comes where entry 4 has to come",
            "entry 5: chain: its hash is not that of its bytes behind the entry before",
            "entry 5: ruling: cannot be judged",
        ],
    },
    Change {
        what: "two entries exchanged",
        change: |record| record.parts.swap(4, 5),
        rehash: false,
        said: &["entry 5: chain: comes where entry 4 has to come"],
    },
    Change {
        what: "an entry doubled",
        change: |record| record.parts.insert(4, record.parts[4].clone()),
        rehash: false,
        said: &["entry 4: chain: comes where entry 5 has to come"],
    },
    Change {
        what: "another name",
        change: |record| record.header()["name"] = json!("games/other"),
        rehash: false,
        said: &[
            "genesis: chain: its hash is not that of this genesis under this name",
            "genesis: chain: it is of \"games/sample\", not of \"games/other\"",
            "signature: it does not hold",
        ],
    },
    Change {
        what: "another name throughout",
        change: |record| {
            record.header()["name"] = json!("games/other");
            record.change_genesis(|game| game.name = "games/other".into());
        },
        rehash: true,
        said: &["signature: it does not hold"],
    },
    Change {
        what: "the time that a line charges",
        change: |record| {
            record.change(3, |event| event.ledger[0].charged = ms(1));
        },
        rehash: true,
        said: &["entry 3: clock: line 1:", "entry 3: ruling: ledger is"],
    },
    Change {
        what: "the time that a line leaves, and the clock with it",
        change: |record| {
            record.change(2, |event| {
                let line = &mut event.ledger[0];
                line.charged = ms(1_000);
                line.left = more(line.left, 2_000);
                event.ledger[1].left = more(event.ledger[1].left, 2_000);
                let clock = clocks(event).black.as_mut().expect("a clock");
                clock.time_left = more(clock.time_left, 2_000);
            });
        },
        rehash: true,
        said: &["entry 2: clock: line 1: LEDGER_CAUSE_MOVE charges 1000 ms"],
    },
    Change {
        what: "a clock without a line",
        change: |record| {
            record.change(5, |event| {
                let clock = clocks(event).white.as_mut().expect("a clock");
                clock.time_left = more(clock.time_left, 60_000);
            });
        },
        rehash: true,
        said: &["entry 5: clock: White has", "entry 5: ruling: clocks is"],
    },
    Change {
        what: "a greater bonus",
        change: |record| {
            record.change(2, |event| {
                let line = &mut event.ledger[1];
                line.credited = more(line.credited, 1_000);
                line.left = more(line.left, 1_000);
                let clock = clocks(event).black.as_mut().expect("a clock");
                clock.time_left = more(clock.time_left, 1_000);
            });
        },
        rehash: true,
        said: &["credits 6000 ms, which the time control does not have"],
    },
    Change {
        what: "a line left out",
        change: |record| {
            record.change(2, |event| {
                event.ledger.remove(0);
            });
        },
        rehash: true,
        said: &["entry 2: clock: Black has made 1 moves, but its lines come to 0"],
    },
    Change {
        what: "an earlier time",
        change: |record| {
            record.change(5, |event| {
                event.conduct.as_mut().expect("it stands").time = line(ms(2));
            });
        },
        rehash: true,
        said: &["entry 5: clock: it stands at 2 ms, before the entry before"],
    },
    Change {
        what: "an earlier time of the server",
        change: |record| {
            record.change(5, |event| {
                event.event_time.as_mut().expect("a time").seconds -= 9
            });
        },
        rehash: true,
        said: &["entry 5: clock: the server recorded it before the entry before"],
    },
    Change {
        what: "a clock that runs since later",
        change: |record| {
            record.change(5, |event| {
                clocks(event).since_time = more_line(clocks(event).since_time, 900)
            });
        },
        rehash: true,
        said: &["entry 5: clock: the flag falls at"],
    },
    Change {
        what: "a verdict",
        change: |record| {
            record.change(3, |event| {
                event.ruling.as_mut().expect("a ruling").verdict = ruling::Verdict::Accepted.into();
            });
        },
        rehash: true,
        said: &["entry 3: ruling: verdict is Accepted, but was to be Penalized"],
    },
    Change {
        what: "the words of a ruling",
        change: |record| {
            record.change(3, |event| {
                event.ruling.as_mut().expect("a ruling").text = "\u{1b}[2J".into();
            });
        },
        rehash: true,
        said: &["entry 3: ruling: ruling is"],
    },
    Change {
        what: "an action",
        change: |record| {
            record.change(1, |event| {
                let action = event.action.as_mut().expect("an action");
                action.kind = Some(referee_tests::wire::make_move("e2e4"));
            });
        },
        rehash: true,
        said: &["entry 1: ruling: move is"],
    },
    Change {
        what: "an illegal move on the board",
        change: |record| {
            record.change(1, |event| {
                event.r#move.as_mut().expect("a move").uci = "a1a5".into()
            });
        },
        rehash: true,
        said: &["entry 1: board: \"a1a5\" is not legal on rnbqkbnr/pppppppp/8"],
    },
    Change {
        what: "a legal move marked as illegal",
        change: |record| record.change(1, |event| event.move_illegal = true),
        rehash: true,
        said: &["entry 1: board: \"g1f3\" is marked as illegal, but it is legal"],
    },
    Change {
        what: "the sign of check",
        change: |record| {
            record.change(1, |event| event.r#move.as_mut().expect("a move").san += "+");
        },
        rehash: true,
        said: &["entry 1: board: san \"Nf3+\" has the wrong sign for check"],
    },
    Change {
        what: "a position",
        change: |record| record.change(1, |event| event.fen = event.fen.replace(" b ", " w ")),
        rehash: true,
        said: &["entry 1: board: fen is"],
    },
    Change {
        what: "a count of repetitions",
        change: |record| record.change(5, |event| event.repetitions = 3),
        rehash: true,
        said: &["entry 5: board: repetitions is \"3\", but the board says \"2\""],
    },
    Change {
        what: "a halfmove clock",
        change: |record| record.change(5, |event| event.halfmove_clock = 0),
        rehash: true,
        said: &["entry 5: board: halfmove_clock is \"0\", but the board says \"4\""],
    },
    Change {
        what: "the result",
        change: |record| {
            record.change(9, |event| {
                let outcome = event.outcome.as_mut().expect("an outcome");
                outcome.result = GameResult::WhiteWins.into();
            });
        },
        rehash: true,
        said: &[
            "entry 9: ruling: result is WhiteWins, but was to be Draw",
            "entry 9: board: TERMINATION_THREEFOLD_CLAIM cannot lead to GAME_RESULT_WHITE_WINS",
        ],
    },
    Change {
        what: "the plies of a repetition",
        change: |record| {
            record.change(9, |event| {
                let outcome = event.outcome.as_mut().expect("an outcome");
                for one in &mut outcome.evidence {
                    if let Some(evidence::Kind::Repetition(found)) = &mut one.kind {
                        found.plies[0] += 1;
                    }
                }
            });
        },
        rehash: true,
        said: &["entry 9: board: the position did not stand at all of the plies"],
    },
    Change {
        what: "more than an entry",
        change: |record| {
            let mut event = bytes(&record.entry(2)["event"]);
            // Field 2,000, which no event has, with the number 1.
            event.extend([0x80, 0x7d, 0x01]);
            record.entry(2)["event"] = text(&event);
        },
        rehash: true,
        said: &["entry 2: ruling: its bytes hold more than an entry of this version"],
    },
    Change {
        what: "no event at all",
        change: |record| record.entry(2)["event"] = text(b"\xff\xff"),
        rehash: true,
        said: &["entry 2: ruling: its bytes are no event"],
    },
    Change {
        what: "another number inside",
        change: |record| record.change(2, |event| event.sequence = 7),
        rehash: true,
        said: &["entry 2: ruling: its event says that it is entry 7"],
    },
    Change {
        what: "no version",
        change: |record| record.change(2, |event| event.judged_by = None),
        rehash: true,
        said: &["entry 2: ruling: it does not say what judged it"],
    },
    Change {
        what: "other rules",
        change: |record| {
            record.change_genesis(|game| {
                let profile = game.rule_profile.as_mut().expect("a profile");
                let parameters = profile.parameters.as_mut().expect("parameters");
                parameters.illegal_penalty_ms = Some(1_000);
            });
        },
        rehash: true,
        said: &[
            "entry 3: ruling: ledger is",
            "genesis: ruling: rule_profile is",
        ],
    },
    Change {
        what: "other rules, said to be of another revision",
        change: |record| {
            record.change_genesis(|game| {
                let profile = game.rule_profile.as_mut().expect("a profile");
                let parameters = profile.parameters.as_mut().expect("parameters");
                parameters.illegal_penalty_ms = Some(1_000);
                game.judged_by.as_mut().expect("a judge").revision = "0123456789ab".into();
            });
        },
        rehash: true,
        said: &[
            "entry 3: ruling: ledger is",
            "differs: genesis: ruling: rule_profile is",
            "judged by 0.1.0 (0123456789ab)",
        ],
    },
    Change {
        what: "an edition of the start that is not that of the rules",
        change: |record| {
            record.change_genesis(|game| {
                game.judged_by.as_mut().expect("a judge").edition = "FIDE-E01-1997".into();
            });
        },
        rehash: true,
        said: &["genesis: ruling: edition is \"FIDE-E01-1997\", but was to be \"FIDE-E01-2023\""],
    },
    Change {
        what: "a start without a judge",
        change: |record| record.change_genesis(|game| game.judged_by = None),
        rehash: true,
        said: &["genesis: ruling: it does not say what judged it"],
    },
    Change {
        what: "an end at the beginning",
        change: |record| {
            record.change_genesis(|game| {
                let outcome = game.outcome.as_mut().expect("an outcome");
                outcome.result = GameResult::Draw.into();
                outcome.termination = v1::Termination::Stalemate.into();
            });
        },
        rehash: true,
        said: &["genesis: ruling: outcome is"],
    },
    Change {
        what: "a position from which nobody can play",
        change: |record| {
            record.change_genesis(|game| {
                game.initial_position =
                    Some(referee_tests::wire::from_fen("8/8/8/8/8/8/8/8 w - -"));
            });
        },
        rehash: true,
        said: &["genesis: ruling: the stored record cannot be read"],
    },
];

fn ms(ms: i64) -> Option<Duration> {
    Some(Duration {
        seconds: ms / 1_000,
        nanos: (ms % 1_000) as i32 * 1_000_000,
    })
}

/// A point of the line of the platform.
fn line(time: Option<Duration>) -> Option<v1::GameTime> {
    let kind = time.map(v1::game_time::Kind::PlatformTime);
    Some(v1::GameTime { kind })
}

fn more_line(time: Option<v1::GameTime>, more_ms: i64) -> Option<v1::GameTime> {
    match time.and_then(|time| time.kind) {
        Some(v1::game_time::Kind::PlatformTime(time)) => line(more(Some(time), more_ms)),
        other => panic!("{other:?} is not on the line of the platform"),
    }
}

fn more(value: Option<Duration>, more_ms: i64) -> Option<Duration> {
    let value = value.expect("there is a time");
    ms(value.seconds * 1_000 + i64::from(value.nanos) / 1_000_000 + more_ms)
}

fn clocks(event: &mut v1::GameEvent) -> &mut v1::Clocks {
    let conduct = event.conduct.as_mut().expect("it stands");
    conduct.clocks.as_mut().expect("there are clocks")
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_changed_is_told() {
    let sound = sample().await;
    verify_text(&sound.text(), &[]).expect(0, "-: 9 entries verified");
    for Change {
        what,
        change,
        rehash,
        said: expected,
    } in CHANGES
    {
        let mut record = sound.clone();
        change(&mut record);
        if *rehash {
            record.rehash();
        }
        let said = verify_text(&record.text(), &[]);
        assert_eq!(said.code, Some(1), "{what}:\n{}{}", said.out, said.err);
        for text in *expected {
            assert!(
                said.out.contains(text),
                "{what}: no {text:?} in\n{}",
                said.out
            );
        }
        let is_plain = |c: char| !c.is_control() || c == '\n';
        assert!(said.out.chars().all(is_plain), "{what}: {:?}", said.out);
        let is_problem = |line: &&str| !line.contains(": note: ") && !line.contains(": differs: ");
        let count = said.out.lines().filter(is_problem).count() - 1;
        let sum = if count == 1 {
            "-: 1 problem".to_owned()
        } else {
            format!("-: {count} problems")
        };
        assert_eq!(said.last_line(), sum, "{what}:\n{}", said.out);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signatures_are_of_one_record_and_one_key() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let referee = start_with_key(folder.path());
    let mut games = referee.games().await;
    play_sample(&mut games, "sample").await;
    play_sample(&mut games, "another").await;
    let mut sound = Record::read(&export(&referee, "sample"));
    let mut other = Record::read(&export(&referee, "another"));
    let key = referee_record::RecordKey::read(SECRET).expect("a key");
    let public_key = key.public_key();

    let said = verify_text(&sound.text(), &["--public-key", &public_key]);
    said.expect(0, &format!("note: signed with key {}", key.id()));
    let said = verify_text(&sound.text(), &["--require-signature"]);
    said.expect(0, "which --public-key would compare");
    let pem = folder.path().join("public");
    std::fs::write(&pem, format!("{public_key}\n")).expect("the folder can be written to");
    let pem = pem.to_str().expect("the folder has a plain name");
    verify_text(&sound.text(), &["--public-key", pem]).expect(0, "9 entries verified");

    let mut swapped = sound.clone();
    swapped.seal()["signature"] = other.seal()["signature"].clone();
    verify_text(&swapped.text(), &[]).expect(1, "signature: it does not hold");

    let mut resigned = sound.clone();
    let mallory = referee_record::RecordKey::read(&"11".repeat(32)).expect("a key");
    let said = verify_text(&sound.text(), &["--public-key", &mallory.public_key()]);
    said.expect(
        1,
        "signature: it is of another key than --public-key demands",
    );
    resigned.seal()["signature"]["publicKey"] = text(&[9; 32]);
    verify_text(&resigned.text(), &[]).expect(1, "signature: it");
    resigned.seal()["signature"]["publicKey"] = text(&[9; 31]);
    verify_text(&resigned.text(), &[]).expect(1, "signature: its public key has not 32 bytes");

    let mut unsigned = sound.clone();
    unsigned.seal()["signature"] = json!(null);
    verify_text(&unsigned.text(), &[]).expect(0, "note: not signed");
    let said = verify_text(&unsigned.text(), &["--require-signature"]);
    said.expect(1, "signature: there is none");
    let said = verify_text(&unsigned.text(), &["--public-key", &public_key]);
    said.expect(1, "signature: there is none");
    // The honest limit of a record without a signature: cut and sealed anew it looks whole.
    unsigned.parts.remove(9);
    unsigned.rehash();
    verify_text(&unsigned.text(), &[]).expect(0, "8 entries verified");
    assert_eq!(sound.event(9).sequence, 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_version_ruled_may_differ_but_not_the_board() {
    let sound = sample().await;
    let mut record = sound.clone();
    for (version, revision) in [("0.0.9", REVISION), (VERSION, "0123456789ab")] {
        record.change(3, |event| {
            let judge = event.judged_by.as_mut().expect("a judge");
            judge.referee_version = version.into();
            judge.revision = revision.into();
            event.ruling.as_mut().expect("a ruling").text = "No.".into();
        });
        record.rehash();
        record.seal()["signature"] = json!(null);
        let said = verify_text(&record.text(), &[]);
        said.expect(0, "-: differs: entry 3: ruling: ruling is");
        said.expect(0, &format!("judged by {version} ({revision}), this is"));
        said.expect(0, "9 entries verified");
    }

    record.change(3, |event| event.halfmove_clock = 40);
    record.rehash();
    let said = verify_text(&record.text(), &[]);
    said.expect(1, "-: entry 3: board: halfmove_clock is \"40\"");
}

/// Every byte of an entry counts, but for the request id and the principal, which nothing rests on,
/// the version and the revision, which say that the ruling may differ, and the server's own time,
/// of which only the order can be known. A record that is signed holds them too.
#[tokio::test(flavor = "multi_thread")]
async fn no_byte_of_an_entry_can_be_changed() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let mut sound = sample().await;
    sound.seal()["signature"] = json!(null);
    let mut changed = 0;
    for sequence in [3, 9] {
        let original = bytes(&sound.entry(sequence)["event"]);
        let mut files = Vec::new();
        for at in 0..original.len() {
            let mut flipped = original.clone();
            flipped[at] ^= 1;
            let event = v1::GameEvent::decode(flipped.as_slice());
            if event.is_ok_and(|event| bare(event) == bare(sound.event(sequence))) {
                continue;
            }
            let mut record = sound.clone();
            record.entry(sequence)["event"] = text(&flipped);
            record.rehash();
            let file = folder.path().join(format!("{sequence}-{at}"));
            std::fs::write(&file, record.text()).expect("the folder can be written to");
            files.push(file.to_str().expect("a plain name").to_owned());
        }
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let said = run(&[&["verify"], files.as_slice()].concat(), b"");
        assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
        let ends = |line: &&str| line.ends_with(" verified");
        let missed: Vec<&str> = said.out.lines().filter(ends).collect();
        assert!(missed.is_empty(), "{}", missed.join("\n"));
        changed += files.len();
    }
    assert!(changed > 500, "only {changed} bytes were changed");
}

fn bare(mut event: v1::GameEvent) -> v1::GameEvent {
    event.event_time = None;
    event.principal.clear();
    if let Some(action) = &mut event.action {
        action.request_id.clear();
    }
    if let Some(judge) = &mut event.judged_by {
        judge.referee_version.clear();
        judge.revision.clear();
    }
    event
}
