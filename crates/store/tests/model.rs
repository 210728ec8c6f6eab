//! Random histories: the store answers as a simple model does that lives in this file only.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use referee_store::{
    Answer, AnswerBody, Append, AppendError, Appended, Beat, BoxFuture, CreateError, Created,
    DownSpan, DueGame, GameKey, GameRow, ListFilter, NewGame, Postponement, SqliteOptions,
    SqliteStore, Store, Write, chain,
};
use suite::at_once;

#[allow(dead_code, unused_imports, unused_macros)]
mod suite;

/// So small that every housekeeping happens within a short history.
const OPTIONS: SqliteOptions = SqliteOptions {
    unindexed_entries: 6,
    indexed_per_slice: 2,
    checkpoint_pages: 10,
    cached_heads: 2,
};

const PLATFORMS: [&str; 2] = ["p", "q"];

/// One step of a history.
#[derive(Debug, Clone)]
enum Step {
    /// Questions that are sent in this order, before any answer is waited for.
    Batch(Vec<Question>),
    /// The store is closed and opened again.
    Reopen,
    /// The store is dropped and opened again.
    Drop,
}

#[derive(Debug, Clone)]
enum Question {
    Create {
        game: Game,
        request: u8,
        content: u8,
        label: u8,
        time: i64,
    },
    /// Expects the sequence before the batch plus `ahead`.
    Append {
        game: Game,
        request: u8,
        content: u8,
        ahead: i64,
        refusal: bool,
        state: i32,
        deadline: Option<i64>,
    },
    /// Expects the sequence before the batch plus `ahead`.
    Postpone {
        game: Game,
        ahead: i64,
        deadline: Option<i64>,
    },
    Beat(Beat),
}

#[derive(Debug, Clone, Copy)]
struct Game {
    platform: usize,
    name: u8,
}

impl Game {
    fn key(self) -> GameKey {
        GameKey::new(PLATFORMS[self.platform], format!("g{}", self.name))
    }
}

fn game() -> impl Strategy<Value = Game> {
    (0..PLATFORMS.len(), 0..4_u8).prop_map(|(platform, name)| Game { platform, name })
}

fn question() -> impl Strategy<Value = Question> {
    let create = (game(), 0..6_u8, 0..4_u8, 0..2_u8, 0..3_i64).prop_map(
        |(game, request, content, label, time)| Question::Create {
            game,
            request,
            // Mostly the same content.
            content: content / 3,
            label,
            time,
        },
    );
    let deadline = || proptest::option::weighted(0.8, 0..20_i64);
    let append = (
        (game(), 0..40_u8, 0..8_u8, -1..5_i64),
        (any::<bool>(), 0..3, deadline()),
    );
    let append = append.prop_map(
        |((game, request, content, ahead), (refusal, state, deadline))| Question::Append {
            game,
            request,
            content: content / 7,
            ahead,
            refusal,
            state,
            deadline,
        },
    );
    let postpone =
        (game(), -1..3_i64, deadline()).prop_map(|(game, ahead, deadline)| Question::Postpone {
            game,
            ahead,
            deadline,
        });
    let beat = (0..60_i64, 0..10_i64).prop_map(|(at_us, silence_max_us)| {
        Question::Beat(Beat {
            at_us,
            silence_max_us,
        })
    });
    prop_oneof![2 => create, 12 => append, 2 => postpone, 1 => beat]
}

fn history() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => proptest::collection::vec(question(), 1..14).prop_map(Step::Batch),
        1 => Just(Step::Reopen),
        1 => Just(Step::Drop),
    ];
    proptest::collection::vec(step, 1..25)
}

/// The model: what the documentation says, in the simplest way.
#[derive(Default)]
struct Model {
    games: BTreeMap<GameKey, ModelGame>,
    /// Platform and request id of each creation, with its content and its game.
    creations: BTreeMap<(String, String), ([u8; 32], GameKey)>,
    /// Game and bytes of each entry, in the order of commits.
    log: Vec<(GameKey, Vec<u8>)>,
    heartbeat: Option<i64>,
    down_spans: Vec<DownSpan>,
}

struct ModelGame {
    row: GameRow,
    /// In the order of creation.
    number: usize,
    answers: BTreeMap<String, Answer>,
    deadline: Option<i64>,
}

/// An answer without the position, which a model does not know.
#[derive(Debug, PartialEq)]
enum Told {
    Created(Result<Created, CreateError>),
    Stored { sequence: i64, chain: [u8; 32] },
    Repeated(Answer),
    Refused(AppendError),
    Postponed(Result<(), AppendError>),
    Beaten(Option<DownSpan>),
}

impl Model {
    fn create(&mut self, new: NewGame) -> Result<Created, CreateError> {
        let request = (new.key.platform.clone(), new.request_id);
        if let Some((content_hash, key)) = self.creations.get(&request) {
            if *content_hash != new.content_hash {
                return Err(CreateError::RequestIdReused);
            }
            return Ok(Created::Existing(self.games[key].row.clone()));
        }
        if self.games.contains_key(&new.key) {
            return Err(CreateError::NameTaken);
        }
        let row = GameRow {
            chain_head: chain::genesis(&new.key, &new.genesis),
            key: new.key.clone(),
            genesis: new.genesis,
            state: new.state,
            labels: new.labels,
            sequence: 0,
            create_time_us: new.create_time_us,
            update_time_us: new.create_time_us,
        };
        let number = self.games.len();
        let game = ModelGame {
            row: row.clone(),
            number,
            answers: BTreeMap::new(),
            deadline: new.deadline_us,
        };
        self.games.insert(new.key.clone(), game);
        self.creations.insert(request, (new.content_hash, new.key));
        Ok(Created::New(row))
    }

    fn append(&mut self, append: Append) -> Result<Told, AppendError> {
        let game = self
            .games
            .get_mut(&append.key)
            .ok_or(AppendError::NotFound)?;
        if let Some(answer) = game.answers.get(&append.request_id) {
            if answer.content_hash != append.content_hash {
                return Err(AppendError::RequestIdReused);
            }
            return Ok(Told::Repeated(answer.clone()));
        }
        let row = &mut game.row;
        if row.sequence != append.expected_sequence {
            return Err(AppendError::SequenceMismatch {
                actual: row.sequence,
            });
        }
        let body = match append.write {
            Write::Entry {
                bytes,
                state,
                update_time_us,
                deadline_us,
            } => {
                game.deadline = deadline_us;
                row.sequence += 1;
                row.state = state;
                row.update_time_us = update_time_us;
                row.chain_head = chain::next(&row.chain_head, &bytes);
                self.log.push((append.key, bytes.clone()));
                AnswerBody::Entry(bytes)
            }
            Write::Refusal { answer } => AnswerBody::Refusal(answer),
        };
        let stored = Told::Stored {
            sequence: row.sequence,
            chain: row.chain_head,
        };
        let answer = Answer {
            content_hash: append.content_hash,
            sequence: row.sequence,
            body,
        };
        game.answers.insert(append.request_id, answer);
        Ok(stored)
    }

    fn postpone(&mut self, postponement: Postponement) -> Result<(), AppendError> {
        let game = self.games.get_mut(&postponement.key);
        let game = game.ok_or(AppendError::NotFound)?;
        if game.row.sequence != postponement.expected_sequence {
            let actual = game.row.sequence;
            return Err(AppendError::SequenceMismatch { actual });
        }
        game.deadline = postponement.deadline_us;
        Ok(())
    }

    fn beat(&mut self, beat: Beat) -> Option<DownSpan> {
        let (to_us, last) = (beat.at_us, self.heartbeat);
        if last.is_some_and(|last| last >= to_us) {
            return None;
        }
        self.heartbeat = Some(to_us);
        let from_us = last.filter(|last| to_us - last > beat.silence_max_us)?;
        let span = DownSpan { from_us, to_us };
        self.down_spans.push(span);
        Some(span)
    }

    /// The names of the games that pass, newest first.
    fn list(&self, platform: &str, filter: &ListFilter) -> Vec<GameRow> {
        let mut games: Vec<&ModelGame> = self
            .games
            .values()
            .filter(|game| game.row.key.platform == platform)
            .filter(|game| filter.states.is_empty() || filter.states.contains(&game.row.state))
            .filter(|game| {
                filter
                    .labels
                    .iter()
                    .all(|label| game.row.labels.contains(label))
            })
            .filter(|game| {
                filter
                    .min_create_time_us
                    .is_none_or(|min| game.row.create_time_us >= min)
            })
            .filter(|game| {
                filter
                    .max_create_time_us
                    .is_none_or(|max| game.row.create_time_us <= max)
            })
            .collect();
        games.sort_by_key(|game| std::cmp::Reverse((game.row.create_time_us, game.number)));
        games.iter().map(|game| game.row.clone()).collect()
    }
}

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open_with(path, OPTIONS).expect("the store opens")
}

fn new_game(game: Game, request: u8, content: u8, label: u8, time: i64) -> NewGame {
    NewGame {
        key: game.key(),
        request_id: format!("r{request}"),
        content_hash: [content; 32],
        genesis: vec![content, request],
        state: 1,
        labels: vec![
            ("label".into(), label.to_string()),
            ("one".into(), "1".into()),
        ],
        create_time_us: time,
        deadline_us: (time > 0).then_some(10 * time),
    }
}

/// Runs one batch against both, and compares the answers.
async fn run_batch(store: &SqliteStore, model: &mut Model, questions: &[Question], step: usize) {
    let (mut told, mut expected) = (Vec::<BoxFuture<'_, Told>>::new(), Vec::new());
    let before: BTreeMap<GameKey, i64> = model
        .games
        .iter()
        .map(|(key, game)| (key.clone(), game.row.sequence))
        .collect();
    for (index, question) in questions.iter().cloned().enumerate() {
        match question {
            Question::Create {
                game,
                request,
                content,
                label,
                time,
            } => {
                let new = new_game(game, request, content, label, time);
                expected.push(Told::Created(model.create(new.clone())));
                told.push(Box::pin(async { Told::Created(store.create(new).await) }));
            }
            Question::Append {
                game,
                request,
                content,
                ahead,
                refusal,
                state,
                deadline,
            } => {
                // Unique bytes, so that a wrong answer cannot look like the right one.
                let bytes = format!("{step} {index}").into_bytes();
                let append = Append {
                    expected_sequence: before.get(&game.key()).unwrap_or(&0) + ahead,
                    key: game.key(),
                    request_id: format!("r{request}"),
                    content_hash: [content; 32],
                    write: if refusal {
                        Write::Refusal { answer: bytes }
                    } else {
                        Write::Entry {
                            bytes,
                            state,
                            update_time_us: step as i64,
                            deadline_us: deadline,
                        }
                    },
                };
                expected.push(model.append(append.clone()).unwrap_or_else(Told::Refused));
                told.push(Box::pin(async {
                    match store.append(append).await {
                        Ok(Appended::Stored {
                            sequence, chain, ..
                        }) => Told::Stored { sequence, chain },
                        Ok(Appended::Repeated(answer)) => Told::Repeated(answer),
                        Err(error) => Told::Refused(error),
                    }
                }));
            }
            Question::Postpone {
                game,
                ahead,
                deadline,
            } => {
                let postponement = Postponement {
                    expected_sequence: before.get(&game.key()).unwrap_or(&0) + ahead,
                    key: game.key(),
                    deadline_us: deadline,
                };
                expected.push(Told::Postponed(model.postpone(postponement.clone())));
                told.push(Box::pin(async {
                    Told::Postponed(store.postpone(postponement).await)
                }));
            }
            Question::Beat(beat) => {
                expected.push(Told::Beaten(model.beat(beat)));
                told.push(Box::pin(async move {
                    Told::Beaten(store.beat(beat).await.expect("the store writes"))
                }));
            }
        }
    }
    assert_eq!(at_once(told).await, expected);
}

/// Compares everything that can be read.
async fn compare(store: &SqliteStore, model: &Model) {
    for (key, game) in &model.games {
        assert_eq!(store.game(key).await.as_ref(), Ok(&Some(game.row.clone())));
        let entries = store.entries(key, 0, 1_000).await.expect("the store reads");
        let head = chain::verify(key, &game.row.genesis, &entries).expect("the chain holds");
        assert_eq!(
            (entries.len() as i64, head),
            (game.row.sequence, game.row.chain_head)
        );
        let middle = game.row.sequence / 2;
        let rest = store
            .entries(key, middle, 3)
            .await
            .expect("the store reads");
        let end = entries.len().min(middle as usize + 3);
        assert_eq!(rest, entries[middle as usize..end]);
        for request in 0..40 {
            let request_id = format!("r{request}");
            let answer = store
                .answer(key, &request_id)
                .await
                .expect("the store reads");
            assert_eq!(
                answer.as_ref(),
                game.answers.get(&request_id),
                "{request_id} of {key:?}"
            );
        }
    }
    for platform in PLATFORMS {
        let (mut log, mut after) = (Vec::new(), 0);
        loop {
            let page = store
                .tail(Some(platform), after, 5)
                .await
                .expect("the store reads");
            if page.entries.is_empty() {
                break;
            }
            after = page.after_position;
            log.extend(
                page.entries
                    .into_iter()
                    .map(|entry| (entry.key, entry.entry.bytes)),
            );
        }
        let expected = model.log.iter().filter(|(key, _)| key.platform == platform);
        assert_eq!(log, expected.cloned().collect::<Vec<_>>());
        compare_lists(store, model, platform).await;
    }
}

/// No game is named later than at its deadline, and none that has no deadline.
async fn compare_times(store: &SqliteStore, model: &Model) {
    for until in [-1, 0, 5, 12, 40] {
        let due = store.due(until, 100).await.expect("the store reads");
        assert!(due.is_sorted_by_key(|game| game.due_us), "{due:?}");
        let named: BTreeMap<&GameKey, i64> =
            due.iter().map(|game| (&game.key, game.due_us)).collect();
        assert_eq!(named.len(), due.len(), "{due:?}");
        for (key, game) in &model.games {
            match (named.get(key), game.deadline) {
                (Some(&due), deadline) => {
                    assert!(
                        due <= until && deadline.is_some_and(|it| due <= it),
                        "{key:?}"
                    );
                }
                (None, deadline) => assert!(deadline.is_none_or(|it| it > until), "{key:?}"),
            }
        }
        let first: Vec<DueGame> = due.iter().take(1).cloned().collect();
        assert_eq!(store.due(until, 1).await, Ok(first));
    }
    assert_eq!(store.heartbeat().await, Ok(model.heartbeat));
    for after in [-1, 0, 10, 30] {
        let spans = model.down_spans.iter().filter(|span| span.to_us > after);
        let spans: Vec<DownSpan> = spans.copied().collect();
        assert_eq!(store.down_spans(after, 100).await, Ok(spans.clone()));
        let first = spans[..spans.len().min(1)].to_vec();
        assert_eq!(store.down_spans(after, 1).await, Ok(first));
    }
}

async fn compare_lists(store: &SqliteStore, model: &Model, platform: &str) {
    let label = |value: &str| vec![("label".to_owned(), value.to_owned())];
    for filter in [
        ListFilter::default(),
        ListFilter {
            states: vec![0, 2],
            ..ListFilter::default()
        },
        ListFilter {
            labels: label("1"),
            ..ListFilter::default()
        },
        ListFilter {
            labels: label("0"),
            states: vec![1],
            ..ListFilter::default()
        },
        ListFilter {
            min_create_time_us: Some(1),
            max_create_time_us: Some(1),
            ..ListFilter::default()
        },
    ] {
        let (mut games, mut after) = (Vec::new(), None);
        loop {
            let page = store
                .list(platform, &filter, after, 2)
                .await
                .expect("the store reads");
            games.extend(page.games);
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert_eq!(games, model.list(platform, &filter), "{filter:?}");
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
                let mut position = store.position();
                drop(store);
                while position.changed().await.is_ok() {}
                store = open(&path);
            }
        }
        compare(&store, &model).await;
        compare_times(&store, &model).await;
    }
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
