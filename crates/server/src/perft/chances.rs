//! How often a single lie is seen where a tenth of the positions is counted again, over the service
//! functions and a real store.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use referee_api::v1;
use referee_api::worker::v1 as w;
use referee_chess::CastlingMode;
use referee_perft::{GENERATOR, KEY_LENGTH, key_from_bytes, oracle, read_key};
use referee_store::{JobKey, JobState, NewJob, SqliteStore};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{PerftJobs, token};
use crate::clock::ManualClock;

const JOBS: usize = 2_000;

/// The positions of each job: the first moves of the starting position.
const POSITIONS: u64 = 20;

/// The paths of two plies, which is what each job counts.
const NODES: &str = "400";

/// Numbers by chance, the same in each run (SplitMix64).
pub(super) struct Seeded(pub(super) u64);

impl Seeded {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// Files in memory, where the system has a place for them: each write is one to the disk.
pub(super) fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    made.expect("a folder for the test")
}

/// A server, and who counts for it.
struct House {
    jobs: PerftJobs,
    stop: CancellationToken,
    /// What positions have, by key and plies.
    known: HashMap<([u8; KEY_LENGTH], u32), u64>,
    _folder: TempDir,
}

impl House {
    fn open() -> House {
        let folder = folder();
        let store = SqliteStore::open(folder.path().join("referee.db")).expect("it opens");
        let clock = Arc::new(ManualClock::at_us(1_700_000_000_000_000));
        House {
            jobs: PerftJobs::new(
                Arc::new(store),
                clock,
                true,
                Arc::default(),
                folder.path().to_owned(),
            ),
            stop: CancellationToken::new(),
            known: HashMap::new(),
            _folder: folder,
        }
    }

    async fn create(&self, number: usize) -> JobKey {
        let spec = v1::PerftJob {
            depth: 2,
            redundancy: 1,
            recheck_share: 0.1,
            ..v1::PerftJob::default()
        };
        let key = JobKey {
            platform: "default".to_owned(),
            job: format!("job-{number}"),
        };
        let new = NewJob {
            key: key.clone(),
            request_id: format!("create {number}"),
            content_hash: [0; 32],
            spec: spec.encode_to_vec(),
            create_us: 0,
            keep_us: i64::MAX / 2,
            copies: 1,
            is_whole: true,
            under_way_max: 2,
            jobs_max: usize::MAX >> 1,
        };
        self.jobs.store.create_job(new).await.expect("a new job");
        key
    }

    async fn open_session(&self, credential: &str) -> [u8; 32] {
        let hello = w::OpenSessionRequest {
            worker_id: credential.to_owned(),
            threads: 1,
            generator: GENERATOR.to_owned(),
            ..w::OpenSessionRequest::default()
        };
        let opened = self.jobs.open_session(credential, &hello).await;
        opened.expect("it is not shut out")
    }

    /// Counts all that a session gets; of the position with the number `wrong`, in the order of its
    /// tasks, one path too few.
    async fn work(&mut self, session: &[u8; 32], wrong: Option<u64>) {
        let mut number = 0;
        loop {
            let leased =
                self.jobs
                    .lease_tasks(token(session), (Vec::new(), 16), Duration::ZERO, &self.stop);
            let tasks = leased.await.expect("the session is open").tasks;
            if tasks.is_empty() {
                return;
            }
            for task in tasks {
                let (keys, _) = task.keys.as_chunks::<KEY_LENGTH>();
                let mut counts = Vec::new();
                for &key in keys {
                    let known = self.known.entry((key, task.rest));
                    let count = *known.or_insert_with(|| {
                        let position = read_key(key_from_bytes(key), CastlingMode::Standard);
                        oracle::count(&position.expect("a position"), task.rest) as u64
                    });
                    counts.push(count - u64::from(wrong == Some(number)));
                    number += 1;
                }
                let part = w::CountedPart {
                    counts,
                    ..w::CountedPart::default()
                };
                let result = w::TaskResult {
                    lease: task.lease,
                    parts: vec![part],
                    ..w::TaskResult::default()
                };
                let told = self
                    .jobs
                    .take_result(token(session), GENERATOR, result)
                    .await;
                let verdict = told.expect("the store works").verdict();
                assert_eq!(verdict, w::Verdict::Accepted);
            }
        }
    }

    /// Does what jobs wait for, as long as there is something.
    async fn advance(&self) {
        while self.jobs.advance(&self.stop).await {}
    }
}

#[tokio::test]
async fn one_lie_is_seen_as_often_as_the_job_says() {
    let mut house = House::open();
    let mut chance = Seeded(17);
    let honest = [
        house.open_session("default/b").await,
        house.open_session("default/c").await,
    ];
    let mut liars = 0;
    let mut liar = house.open_session("default/liar-0").await;
    for number in 0..JOBS {
        let key = house.create(number).await;
        house.advance().await;
        let wrong = chance.below(POSITIONS);
        house.work(&liar, Some(wrong)).await;
        let mut turns = 0;
        let row = loop {
            house.advance().await;
            let row = house.jobs.store.job(&key).await.expect("it reads");
            let row = row.expect("it is there");
            if row.state.is_over() {
                break row;
            }
            house.work(&honest[turns % 2], None).await;
            turns += 1;
            assert!(turns < 10, "{row:?}");
        };
        assert_eq!(row.state, JobState::Succeeded);
        let job = house.jobs.view(&row).await.expect("it is shown");
        let trust = job.trust.expect("it is told");
        assert_eq!((trust.positions, trust.rechecked), (20, 2));
        assert_eq!(trust.unseen[0].probability, 0.9);
        let out = trust
            .credentials
            .iter()
            .filter(|it| !it.shut_out.is_empty());
        let out: Vec<&str> = out.map(|it| it.credential.as_str()).collect();
        if out.is_empty() {
            assert_eq!(job.nodes, "399", "nobody saw it");
        } else {
            assert_eq!(
                (&out[..], &job.nodes[..]),
                (&[&format!("default/liar-{liars}")[..]][..], NODES)
            );
            liars += 1;
            liar = house.open_session(&format!("default/liar-{liars}")).await;
        }
    }
    println!("{liars} of {JOBS} lies were seen");
    assert!((160..=240).contains(&liars), "{liars}");
}
