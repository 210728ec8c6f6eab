//! Random histories: the store answers as a simple model does that lives in this test only.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use referee_store::{
    Append, Appended, Created, Deadlines, Deletion, GameKey, Games, Liveness, Log, NewGame,
    Postponement, PrivateText, Questions, RequestKey, SqliteOptions, SqliteStore, Store, Write,
};

use compare::{compare, compare_times, strip};
use history::{Game, HOLD_US, Question, Step, history};
use reference::{Model, Told};
use suite::{Boxed, at_once};

mod compare;
mod history;
mod reference;
#[allow(dead_code, unused_imports, unused_macros)]
#[path = "../suite/mod.rs"]
mod suite;

/// So small that every housekeeping happens within a short history.
const OPTIONS: SqliteOptions = SqliteOptions {
    newest_requests: 4,
    checkpoint_pages: 10,
    cached_heads: 2,
};

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open_with(path, OPTIONS).expect("the store opens")
}

fn new_game(game: Game, request: u8, content: u8, label: u8, time: i64) -> NewGame {
    NewGame {
        key: game.key(),
        request_id: format!("r{request}"),
        content_hash: [content; 32],
        genesis: vec![content, request],
        private: (label == 1).then(|| text_of(request)),
        state: 1,
        labels: labels_of(label),
        create_time_us: time,
        deadline_us: (time > 0).then_some(10 * time),
    }
}

fn text_of(number: u8) -> PrivateText {
    PrivateText {
        salt: [number; 16],
        bytes: vec![number; 7 * usize::from(number)],
    }
}

fn labels_of(label: u8) -> Vec<(String, String)> {
    vec![
        ("label".into(), label.to_string()),
        ("one".into(), "1".into()),
    ]
}

/// Writes that were queued, and what the model says to them.
#[derive(Default)]
struct Queued {
    told: Vec<Boxed<'static, Told>>,
    expected: Vec<Told>,
}

impl Queued {
    fn push(&mut self, told: impl Future<Output = Told> + Send + 'static, expected: Told) {
        self.told.push(Box::pin(told));
        self.expected.push(expected);
    }

    /// Waits for all, and compares.
    async fn compare(&mut self) {
        let told = at_once(std::mem::take(&mut self.told)).await;
        assert_eq!(told, std::mem::take(&mut self.expected));
    }
}

/// Runs one batch against both, and compares the answers.
///
/// The writes to games are queued without waiting: those of a game keep their order. What is about
/// all games waits for its turn, since the order between games is nobody's promise.
async fn run_batch(store: &SqliteStore, model: &mut Model, questions: &[Question], step: usize) {
    let mut queued = Queued::default();
    let before: BTreeMap<GameKey, i64> = model
        .games
        .iter()
        .map(|(key, game)| (key.clone(), game.row.sequence))
        .collect();
    let before = |game: Game| *before.get(&game.key()).unwrap_or(&0);
    for (index, question) in questions.iter().cloned().enumerate() {
        match question {
            Question::Append { game, .. } => {
                let append = append_of(model, &question, before(game), &format!("{step} {index}"));
                let expected = model.append(append.clone()).unwrap_or_else(Told::Refused);
                let ack = store.append(append);
                let told = async {
                    match ack.await {
                        Ok(Appended::Stored {
                            sequence, chain, ..
                        }) => Told::Stored { sequence, chain },
                        Ok(Appended::Repeated(answer)) => Told::Repeated(answer),
                        Err(error) => Told::Refused(error),
                    }
                };
                queued.push(told, expected);
            }
            Question::Delete {
                game,
                request,
                ahead,
                time,
            } => {
                let head = model.games.get(&game.key());
                let head = head.map(|game| game.row.chain_head);
                let deletion = Deletion {
                    key: game.key(),
                    request_id: format!("r{request}"),
                    expected_sequence: before(game) + ahead,
                    previous: head.unwrap_or([9; 32]),
                    delete_time_us: time,
                };
                let expected = Told::Deleted(model.delete(deletion.clone()));
                let ack = store.delete(deletion);
                queued.push(async { Told::Deleted(ack.await) }, expected);
            }
            Question::Postpone {
                game,
                ahead,
                deadline,
            } => {
                let postponement = Postponement {
                    expected_sequence: before(game) + ahead,
                    key: game.key(),
                    deadline_us: deadline,
                };
                let expected = Told::Postponed(model.postpone(postponement.clone()));
                let ack = store.postpone(postponement);
                queued.push(async { Told::Postponed(ack.await) }, expected);
            }
            Question::Settle { game, ahead } => {
                let sequence = before(game) + ahead;
                model.settle(&game.key(), sequence);
                let ack = store.settle_question(game.key(), sequence);
                queued.push(async { Told::Settled(ack.await) }, Told::Settled(Ok(())));
            }
            alone => {
                queued.compare().await;
                run_alone(store, model, alone).await;
            }
        }
    }
    queued.compare().await;
}

/// The write that a question means, for a game that was at `before`. Its bytes are unique, so that
/// a wrong answer cannot look like the right one.
fn append_of(model: &Model, question: &Question, before: i64, unique: &str) -> Append {
    let Question::Append {
        game,
        scope,
        request,
        content,
        ahead,
        astray,
        refusal,
        state,
        deadline,
        asks,
        text,
        label,
    } = *question
    else {
        panic!("an append was asked for: {question:?}")
    };
    let bytes = unique.as_bytes().to_vec();
    let head = model.games.get(&game.key());
    let head = head.map(|game| game.row.chain_head);
    Append {
        expected_sequence: before + ahead,
        previous: head.filter(|_| !astray).unwrap_or([9; 32]),
        key: game.key(),
        request: match label {
            Some(_) if !refusal => RequestKey::new(RequestKey::PLATFORM, format!("r{request}")),
            _ => RequestKey::new(scope, format!("r{request}")),
        },
        content_hash: [content; 32],
        write: if refusal {
            Write::Refusal { answer: bytes }
        } else {
            Write::Entry {
                bytes,
                private: text.map(text_of),
                describes: label.map(labels_of),
                state,
                update_time_us: before,
                deadline_us: deadline,
                asks,
            }
        },
    }
}

/// Asks what is about all games.
async fn run_alone(store: &SqliteStore, model: &mut Model, question: Question) {
    match question {
        Question::Create {
            game,
            request,
            content,
            label,
            time,
        } => {
            let new = new_game(game, request, content, label, time);
            let expected = model.create(new.clone());
            let told = store.create(new).await.map(without_position);
            assert_eq!(told, expected);
        }
        Question::Beat(beat) => {
            assert_eq!(store.beat(beat).await, Ok(model.beat(beat)));
        }
        Question::ClaimDue { now, until, limit } => {
            let due = store.claim_due(now, until, HOLD_US, limit).await;
            model.claim_due(&due.expect("the store writes"), now, until, limit, HOLD_US);
        }
        Question::ClaimQuestions { now, limit } => {
            let open = store.claim_questions(now, HOLD_US, limit).await;
            model.claim_questions(&open.expect("the store writes"), now, limit);
        }
        other => panic!("a write to one game: {other:?}"),
    }
}

/// The answer as the model gives it, which knows no positions.
fn without_position(created: Created) -> Created {
    match created {
        Created::New(row) => Created::New(strip(row)),
        Created::Existing(row) => Created::Existing(strip(row)),
    }
}

async fn run(history: &[Step]) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("referee.db");
    let (mut store, mut model) = (open(&path), Model::default());
    for (step, what) in history.iter().enumerate() {
        match what {
            Step::Batch(questions) => run_batch(&store, &mut model, questions, step).await,
            Step::Reopen => {
                store.close().await.expect("the store closes");
                store = open(&path);
            }
            Step::Drop => {
                let mut moved = store.moved();
                drop(store);
                while moved.changed().await.is_ok() {}
                store = open(&path);
            }
        }
        if !matches!(what, Step::Batch(_)) {
            model.reopen();
            compare_times(&store, &mut model).await;
        }
        compare(&store, &model).await;
    }
    compare_times(&store, &mut model).await;
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 32,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_store_answers_as_the_model_does(history in history()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime for the test");
        runtime.block_on(run(&history));
    }
}
