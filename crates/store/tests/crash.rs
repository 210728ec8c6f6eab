//! A process that is killed loses nothing that it acknowledged.
//!
//! The test starts itself again as a child that writes and prints each acknowledgement, kills it
//! at odd moments, and looks for everything that was printed in what is left.

#![expect(
    clippy::disallowed_methods,
    reason = "another process reads the same clock"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use referee_store::{
    AnswerBody, Append, AppendError, Appended, Created, Deadlines, GameKey, Games, NewGame,
    Questions, RequestKey, SqliteOptions, SqliteStore, Store, StoredEntry, Write, chain,
};

/// Where the child writes; its presence makes the child.
const CHILD: &str = "REFEREE_STORE_CRASH_CHILD";
/// The number of the child, so that its requests differ from those of the children before it.
const ROUND: &str = "REFEREE_STORE_CRASH_ROUND";

const ROUNDS: usize = 16;
const GAMES: usize = 12;

/// Small enough that the index and checkpoints are killed too.
const OPTIONS: SqliteOptions = SqliteOptions {
    newest_requests: 12,
    checkpoint_pages: 100,
    cached_heads: 8,
};

/// What the child printed for one game.
#[derive(Default)]
struct Acknowledged {
    created: bool,
    /// Sequence, request id and link of entries.
    entries: Vec<(i64, String, String)>,
    /// Sequence and request id of refusals.
    refusals: Vec<(i64, String)>,
}

/// The child: writes until it is killed.
async fn child(path: &str) {
    let round = std::env::var(ROUND).expect("the parent numbers its children");
    let store = SqliteStore::open_with(path, OPTIONS).expect("the lock of a dead process is free");
    let store = Arc::new(store);
    let mut tasks = Vec::new();
    for game in 0..GAMES {
        // Two writers for each game, who race.
        for writer in 0..2 {
            let (store, round) = (store.clone(), round.clone());
            tasks.push(tokio::spawn(async move {
                write(&*store, game, &round, writer).await
            }));
        }
    }
    for task in tasks {
        task.await.expect("writers write until they are killed");
    }
}

async fn write(store: &dyn Games, game: usize, round: &str, writer: usize) {
    let key = GameKey::new("p", format!("g{game}"));
    let new = NewGame {
        key: key.clone(),
        request_id: format!("create {game}"),
        content_hash: [1; 32],
        genesis: vec![b'g'; 100 * game],
        private: None,
        state: 0,
        labels: vec![("game".into(), game.to_string())],
        create_time_us: game as i64,
        deadline_us: None,
    };
    let created = store.create(new).await.expect("the store writes");
    if let Created::New(_) = created {
        acknowledge(&format!("created {game}"));
    }
    let row = created.into_row();
    let (mut sequence, mut previous) = (row.sequence, row.chain_head);
    for count in 0_u64.. {
        let request_id = format!("{round} {writer} {count}");
        let write = if count % 7 == 3 {
            Write::Refusal {
                answer: request_id.clone().into_bytes(),
            }
        } else {
            let text = format!("{request_id};").repeat(1 + (count as usize * 31) % 60);
            let bytes = text.into_bytes();
            Write::Entry {
                bytes,
                private: None,
                describes: None,
                state: (count % 5) as i32,
                update_time_us: count as i64,
                deadline_us: deadline_of(count),
                asks: asks(count),
            }
        };
        let refusal = matches!(write, Write::Refusal { .. });
        loop {
            let append = Append {
                key: key.clone(),
                expected_sequence: sequence,
                previous,
                request: RequestKey::new(writer as u8, &request_id),
                content_hash: [2; 32],
                write: write.clone(),
            };
            match store.append(append).await {
                Ok(Appended::Stored {
                    sequence: stored,
                    chain,
                    ..
                }) => {
                    (sequence, previous) = (stored, chain);
                    let kind = if refusal { "refusal" } else { "entry" };
                    acknowledge(&format!(
                        "{kind} {game} {stored} {} {request_id}",
                        hex(&chain)
                    ));
                    break;
                }
                Err(AppendError::Moved { actual, chain }) => (sequence, previous) = (actual, chain),
                Err(AppendError::TooManyRefusals { .. }) => break,
                other => panic!("{other:?}"),
            }
        }
    }
}

/// The deadline that the entry of this number leaves its game with: none for each third.
fn deadline_of(count: u64) -> Option<i64> {
    (!count.is_multiple_of(3)).then_some(1_000 - (count as i64 * 37) % 500)
}

/// Whether the entry of this number leaves a question.
fn asks(count: u64) -> bool {
    count.is_multiple_of(4)
}

/// The count that a request id ends with.
fn count_of(request_id: &str) -> u64 {
    let count = request_id.rsplit(' ').next().unwrap_or_default();
    count.parse().expect("a request id ends with its count")
}

/// The request of this id: its second word is the writer, which is its scope.
fn request(id: &str) -> RequestKey {
    let writer = id.split(' ').nth(1).unwrap_or_default();
    RequestKey::new(writer.parse().expect("the second word is the writer"), id)
}

/// Prints one line past every buffer of ours; with the newline it is complete.
fn acknowledge(line: &str) {
    let line = format!("#{line}\n");
    std::io::stderr()
        .write_all(line.as_bytes())
        .expect("the parent reads");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acknowledged_write_survives_the_kill() {
    if let Ok(path) = std::env::var(CHILD) {
        return child(&path).await;
    }
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("referee.db");
    let mut acknowledged = BTreeMap::new();
    // Odd moments: the times are not the same in each run, and printed with each failure.
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("it is after 1970");
    let mut random = now.subsec_nanos();
    for round in 0..ROUNDS {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let after = Duration::from_micros(u64::from(random >> 14));
        let lines = run_and_kill(&path, round, after);
        note(&mut acknowledged, &lines);
        println!(
            "round {round}: {} acknowledgements, killed after {after:?}",
            lines.len()
        );
        // Every second child finds what the killed one left, the others a store that was closed.
        if round % 2 == 1 {
            check(&path, &acknowledged).await;
        }
    }
    let entries: usize = acknowledged.values().map(|game| game.entries.len()).sum();
    let refusals: usize = acknowledged.values().map(|game| game.refusals.len()).sum();
    println!("{entries} entries and {refusals} refusals were acknowledged, and all are there");
    assert!(
        entries > ROUNDS * GAMES && refusals > ROUNDS,
        "the children hardly wrote"
    );
}

/// Runs a child, kills it some time after its first acknowledgement, and returns all of them.
fn run_and_kill(path: &Path, round: usize, after: Duration) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().expect("the test knows itself"))
        .args(["--exact", "an_acknowledged_write_survives_the_kill"])
        .args(["--nocapture", "--test-threads=1"])
        .env(CHILD, path)
        .env(ROUND, round.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the child starts");
    let stderr = child.stderr.take().expect("the standard error is piped");
    let (first, started) = mpsc::channel();
    let reader = std::thread::spawn(move || read_lines(round, BufReader::new(stderr), &first));
    let started = started.recv_timeout(Duration::from_secs(60)).is_ok();
    std::thread::sleep(after);
    // SIGKILL: no handler, no destructor, no flush.
    child.kill().expect("the child runs");
    let status = child.wait().expect("the child is gone");
    let lines = reader.join().expect("the reader ends");
    assert!(
        started && !status.success(),
        "round {round}: {status}, {lines:?}"
    );
    lines
}

/// Collects acknowledgements until the pipe ends, and passes on what else the child says.
fn read_lines(round: usize, mut pipe: impl BufRead, first: &mpsc::Sender<()>) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    while pipe.read_line(&mut line).expect("the pipe is readable") > 0 {
        // The last line may be cut by the kill: it is an acknowledgement to nobody.
        match line
            .strip_suffix('\n')
            .map(|line| (line, line.strip_prefix('#')))
        {
            Some((_, Some(line))) => {
                lines.push(line.to_owned());
                // The parent listens for the first only.
                let _ = first.send(());
            }
            Some((line, None)) => println!("child {round}: {line}"),
            None => {}
        }
        line.clear();
    }
    lines
}

fn note(acknowledged: &mut BTreeMap<usize, Acknowledged>, lines: &[String]) {
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let game = words[1].parse().expect("the second word is the game");
        let game: &mut Acknowledged = acknowledged.entry(game).or_default();
        match words[..] {
            ["created", _] => {
                assert!(!game.created, "created twice: {line}");
                game.created = true;
            }
            ["entry", _, sequence, link, ..] => {
                let sequence = sequence.parse().expect("a sequence");
                game.entries
                    .push((sequence, words[4..].join(" "), link.to_owned()));
            }
            ["refusal", _, sequence, ..] => {
                let sequence = sequence.parse().expect("a sequence");
                game.refusals.push((sequence, words[4..].join(" ")));
            }
            _ => panic!("an unknown line: {line}"),
        }
    }
}

/// Everything that was acknowledged is there; every record is whole.
async fn check(path: &Path, acknowledged: &BTreeMap<usize, Acknowledged>) {
    let store = SqliteStore::open_with(path, OPTIONS).expect("the lock of a dead process is free");
    let due = store.claim_due(0, i64::MAX, 1, 100).await;
    let due = due.expect("the store writes");
    let open = store.claim_questions(i64::MAX, 0, 100).await;
    let open = open.expect("the store writes");
    for (number, game) in acknowledged {
        let key = GameKey::new("p", format!("g{number}"));
        let row = store.game(&key).await.expect("the store reads");
        let row = row.unwrap_or_else(|| panic!("game {number} was acknowledged"));
        let entries = entries_of(&store, &key).await;
        let head = chain::verify(&key, &row.genesis, &entries).expect("the record is whole");
        assert_eq!((entries.len() as i64, head), (row.sequence, row.chain_head));
        assert_eq!(row.last_entry.as_ref(), entries.last());
        // The deadline was written with the last entry, and the question with the last that asked,
        // or neither entry is there.
        let counts: Vec<u64> = entries
            .iter()
            .map(|entry| count_of(&id_of(entry)))
            .collect();
        let deadline = counts.last().and_then(|count| deadline_of(*count));
        let named = due.iter().find(|named| named.key == key);
        match (named, deadline) {
            (None, None) => {}
            (Some(named), Some(deadline)) if named.due_us <= deadline => {}
            other => panic!("game {number} is due at {other:?}"),
        }
        let asked = counts.iter().rposition(|count| asks(*count));
        let question = open.iter().find(|question| question.key == key);
        assert_eq!(
            question.map(|question| question.sequence),
            asked.map(|index| index as i64 + 1),
            "the question of game {number}"
        );
        check_answers(&store, &key, game, &entries).await;
    }
    store.close().await.expect("the store closes");
    let connection = rusqlite::Connection::open(path).expect("the database opens");
    let check: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("sql");
    assert_eq!(check, "ok");
}

async fn entries_of(store: &dyn Games, key: &GameKey) -> Vec<StoredEntry> {
    let mut entries = Vec::new();
    loop {
        let page = store.entries(key, entries.len() as i64, 1_000).await;
        let page = page.expect("the store reads");
        if page.is_empty() {
            return entries;
        }
        entries.extend(page);
    }
}

/// The request id of an entry, which its bytes repeat.
fn id_of(entry: &StoredEntry) -> String {
    let text = String::from_utf8_lossy(&entry.bytes);
    text.split(';').next().unwrap_or_default().to_owned()
}

/// Every acknowledged request has its answer.
async fn check_answers(
    store: &dyn Games,
    key: &GameKey,
    game: &Acknowledged,
    entries: &[StoredEntry],
) {
    for (sequence, id, link) in &game.entries {
        let index = usize::try_from(sequence - 1).expect("sequences begin with 1");
        let entry = entries.get(index);
        let entry = entry.unwrap_or_else(|| panic!("entry {sequence} of {key:?} is lost"));
        assert_eq!(hex(&entry.chain), *link, "entry {sequence} of {key:?}");
        let answer = store.answer(key, &request(id)).await;
        let answer = answer.expect("the store reads");
        let answer = answer.unwrap_or_else(|| panic!("the answer to {id} is lost"));
        assert_eq!(answer.sequence, *sequence);
        assert_eq!(answer.body, AnswerBody::Entry(entry.bytes.clone()));
    }
    for (sequence, id) in &game.refusals {
        let answer = store.answer(key, &request(id)).await;
        let answer = answer.expect("the store reads");
        let answer = answer.unwrap_or_else(|| panic!("the answer to {id} is lost"));
        assert_eq!(answer.sequence, *sequence);
        assert_eq!(answer.body, AnswerBody::Refusal(id.clone().into_bytes()));
    }
}
