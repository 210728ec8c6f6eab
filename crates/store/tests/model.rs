//! Random histories: the store answers as a simple model does that lives in this file only.

use std::collections::BTreeMap;
use std::path::Path;

use oracle::{HOLD_US, Model, Told};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use referee_store::{
    Append, Appended, Beat, Created, Deadlines, DownSpan, GameHead, GameKey, GameRow, Games,
    ListFilter, Liveness, Log, LogCursor, NewGame, Postponement, Questions, ReplicaId, RequestKey,
    SqliteOptions, SqliteStore, Store, Write, chain,
};
use suite::{Boxed, at_once};

mod oracle;

#[allow(dead_code, unused_imports, unused_macros)]
mod suite;

/// So small that every housekeeping happens within a short history.
const OPTIONS: SqliteOptions = SqliteOptions {
    newest_requests: 4,
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
        scope: u8,
        request: u8,
        content: u8,
        ahead: i64,
        /// Judged on another past.
        astray: bool,
        refusal: bool,
        state: i32,
        deadline: Option<i64>,
        asks: bool,
    },
    /// Expects the sequence before the batch plus `ahead`.
    Postpone {
        game: Game,
        ahead: i64,
        deadline: Option<i64>,
    },
    Beat(Beat),
    /// Claims what is due at this time, in the past of all holds or after them.
    ClaimDue {
        now: i64,
        until: i64,
        limit: usize,
    },
    ClaimQuestions {
        now: i64,
        limit: usize,
    },
    /// Settles the question of the sequence before the batch plus `ahead`.
    Settle {
        game: Game,
        ahead: i64,
    },
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
        (game(), 0..2_u8, 0..20_u8, 0..8_u8, -1..5_i64),
        (any::<bool>(), 0..3, deadline(), 0..10_u8, any::<bool>()),
    );
    let append = append.prop_map(
        |((game, scope, request, content, ahead), (refusal, state, deadline, astray, asks))| {
            Question::Append {
                game,
                scope,
                request,
                content: content / 7,
                ahead,
                astray: astray == 0,
                refusal,
                state,
                deadline,
                asks,
            }
        },
    );
    let postpone =
        (game(), -1..3_i64, deadline()).prop_map(|(game, ahead, deadline)| Question::Postpone {
            game,
            ahead,
            deadline,
        });
    let beat = (0..3_u128, 0..60_i64, 0..10_i64, 0..5_u8).prop_map(
        |(replica, at_us, silence_max_us, stopping)| {
            Question::Beat(Beat {
                replica: ReplicaId(replica),
                at_us,
                silence_max_us,
                stopping: stopping == 0,
            })
        },
    );
    let claim_due = (0..60_i64, 0..25_i64, 1..4_usize)
        .prop_map(|(now, until, limit)| Question::ClaimDue { now, until, limit });
    let claim_questions =
        (0..60_i64, 1..4_usize).prop_map(|(now, limit)| Question::ClaimQuestions { now, limit });
    let settle = (game(), -2..2_i64).prop_map(|(game, ahead)| Question::Settle { game, ahead });
    prop_oneof![
        2 => create,
        12 => append,
        2 => postpone,
        1 => beat,
        1 => claim_due,
        1 => claim_questions,
        1 => settle,
    ]
}

fn history() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => proptest::collection::vec(question(), 1..14).prop_map(Step::Batch),
        1 => Just(Step::Reopen),
        1 => Just(Step::Drop),
    ];
    proptest::collection::vec(step, 1..25)
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
        request: RequestKey::new(scope, format!("r{request}")),
        content_hash: [content; 32],
        write: if refusal {
            Write::Refusal { answer: bytes }
        } else {
            Write::Entry {
                bytes,
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

fn strip(mut row: GameRow) -> GameRow {
    if let Some(last) = &mut row.last_entry {
        assert!(last.position > 0, "{last:?}");
        last.position = 0;
    }
    row
}

/// Compares everything that can be read.
async fn compare(store: &SqliteStore, model: &Model) {
    for (key, game) in &model.games {
        let row = store.game(key).await.expect("the store reads");
        assert_eq!(row.map(strip).as_ref(), Some(&game.row));
        let head = GameHead {
            sequence: game.row.sequence,
            chain: game.row.chain_head,
            state: game.row.state,
        };
        assert_eq!(store.head(key).await, Ok(Some(head)));
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
        for (scope, request) in (0..2).flat_map(|scope| (0..20).map(move |it| (scope, it))) {
            let request = RequestKey::new(scope, format!("r{request}"));
            let answer = store.answer(key, &request).await.expect("the store reads");
            assert_eq!(
                answer.as_ref(),
                game.answers.get(&request),
                "{request:?} of {key:?}"
            );
        }
    }
    compare_logs(store, model).await;
    for platform in PLATFORMS {
        compare_lists(store, model, platform).await;
    }
}

/// The log has the entries of each game in their order, each once, in both ways to read it.
async fn compare_logs(store: &SqliteStore, model: &Model) {
    let (mut changed, mut after) = (Vec::new(), LogCursor::start());
    loop {
        let page = store.changes(&after, 5).await.expect("the store reads");
        changed.extend(page.changes.into_iter().map(|it| (it.key, it.sequence)));
        if page.next == after {
            break;
        }
        after = page.next;
    }
    assert_eq!(store.newest().await, Ok(after));
    for platform in PLATFORMS {
        let (mut log, mut after) = (Vec::new(), LogCursor::start());
        loop {
            let page = store.tail(platform, &after, 5).await;
            let page = page.expect("the store reads");
            log.extend(page.entries.into_iter().map(|it| (it.key, it.entry)));
            if page.next == after {
                break;
            }
            after = page.next;
        }
        assert!(log.is_sorted_by(|(_, one), (_, next)| one.position < next.position));
        let log: Vec<_> = log
            .into_iter()
            .map(|(key, it)| (key, it.sequence))
            .collect();
        let of_platform = changed.iter().filter(|(key, _)| key.platform == platform);
        assert_eq!(log, of_platform.cloned().collect::<Vec<_>>());
        for (key, game) in model
            .games
            .iter()
            .filter(|(key, _)| key.platform == platform)
        {
            let of_game: Vec<i64> = log
                .iter()
                .filter(|it| it.0 == *key)
                .map(|it| it.1)
                .collect();
            assert_eq!(of_game, (1..=game.row.sequence).collect::<Vec<_>>());
        }
    }
}

/// No game is named later than at its deadline, and none that has no deadline.
///
/// The claims of this check hold nothing, so that the history goes on as if they were not.
async fn compare_times(store: &SqliteStore, model: &mut Model) {
    for until in [-1, 0, 5, 12, 40] {
        let due = store.claim_due(i64::MIN, until, 0, 100).await;
        let due = due.expect("the store writes");
        model.claim_due(&due, i64::MIN, until, 100, 0);
    }
    assert_eq!(store.last_beat().await, Ok(model.last_beat()));
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
            games.extend(page.games.into_iter().map(strip));
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
