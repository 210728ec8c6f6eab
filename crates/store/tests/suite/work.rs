//! Shared work: jobs, tasks, leases and reports.

use referee_store::{
    Claim, ClaimedJob, Counting, Dispute, Fold, JobKey, JobRow, JobState, Lease, LeaseRequest,
    Leases, NewJob, NewSession, NewTask, PlannedJob, Renewal, Reported, SessionToken, SplitPart,
    Store, Stretch, TaskReport,
};
use tokio::sync::{Mutex, MutexGuard};

mod children;
mod jobs;

pub(crate) use children::*;
pub(crate) use jobs::*;

use super::{hash, platform};

/// Work is leased from all platforms, so that cases over one store go one after the other.
static ONE: Mutex<()> = Mutex::const_new(());

/// Later than anything that a test lets pass by itself.
const FAR_US: i64 = 1_000_000_000;

fn key(platform: &str, job: &str) -> JobKey {
    JobKey {
        platform: platform.to_owned(),
        job: job.to_owned(),
    }
}

fn new_job(platform: &str, job: &str) -> NewJob {
    NewJob {
        key: key(platform, job),
        request_id: format!("create {job}"),
        content_hash: hash(1),
        spec: b"spec".to_vec(),
        create_us: 10,
        keep_us: FAR_US,
        under_way_max: 3,
        jobs_max: 5,
    }
}

async fn create(store: &dyn Store, job: NewJob) -> JobRow {
    store.create_job(job).await.expect("a new job")
}

async fn job(store: &dyn Store, key: &JobKey) -> JobRow {
    let found = store.job(key).await.expect("the store reads");
    found.expect("the job is there")
}

/// Claims jobs until that one comes.
async fn claim(store: &dyn Store, id: i64, now_us: i64) -> ClaimedJob {
    loop {
        let claimed = store.claim_job(now_us, 100).await.expect("it writes");
        let claimed = claimed.expect("the job is to be claimed");
        if claimed.row.id == id {
            return claimed;
        }
    }
}

fn task(first: i64, positions: i64) -> NewTask {
    NewTask {
        first,
        positions,
        rest: 3,
        cost: 2.0,
        is_urgent: false,
        bytes: format!("task from {first}").into_bytes(),
    }
}

/// Creates a job with tasks of ten positions each, and lets it run.
async fn running(store: &dyn Store, platform: &str, tasks: i64) -> JobRow {
    let row = create(store, new_job(platform, "job")).await;
    let claim = claim(store, row.id, 20).await.claim;
    let tasks: Vec<NewTask> = (0..tasks).map(|number| task(number * 10, 10)).collect();
    assert_eq!(store.add_tasks(claim, tasks).await, Ok(true));
    let planned = PlannedJob {
        plan: b"plan".to_vec(),
        now_us: 30,
    };
    assert_eq!(store.end_plan(claim, planned).await, Ok(true));
    job(store, &row.key).await
}

fn token(byte: u8) -> SessionToken {
    SessionToken(hash(byte))
}

async fn open_as(store: &dyn Store, name: u8, credential: &str, expires_us: i64) -> SessionToken {
    let session = NewSession {
        token: token(name),
        credential: credential.to_owned(),
        worker: vec![name],
        now_us: 40,
        expires_us,
        sessions_max: 10_000,
    };
    assert_eq!(store.open_session(session).await, Ok(true));
    token(name)
}

/// Sessions of different cases have different names.
async fn open(store: &dyn Store, name: u8) -> SessionToken {
    open_as(store, name, &format!("credential {name}"), FAR_US).await
}

async fn lease(store: &dyn Store, token: SessionToken, held: &[Lease], limit: usize) -> Leases {
    let request = LeaseRequest {
        token,
        held: held.to_vec(),
        limit,
        now_us: 50,
        expires_us: FAR_US,
    };
    let leased = store.lease(request).await.expect("the store writes");
    leased.expect("the session is open")
}

async fn lease_new(store: &dyn Store, token: SessionToken, limit: usize) -> Vec<Lease> {
    let leased = lease(store, token, &[], limit).await.leased;
    leased.into_iter().map(|task| task.lease).collect()
}

fn whole(token: SessionToken, lease: Lease, counts: &str) -> TaskReport {
    TaskReport {
        token,
        lease,
        counting: Counting::Whole {
            counts: counts.as_bytes().to_vec(),
        },
        probes: 7,
        thread_us: 8,
        now_us: 60,
    }
}

async fn report(store: &dyn Store, report: TaskReport) -> Reported {
    store.report(report).await.expect("the store writes")
}

const ACCEPTED: Reported = Reported::Accepted { has_late: false };

/// The accepted counts of a job, in the order of their positions.
async fn counted(store: &dyn Store, job: i64) -> Vec<(i64, i64, String)> {
    counted_of(store, job, None).await
}

/// Those of the children of a task.
async fn counted_of(store: &dyn Store, job: i64, parent: Option<i64>) -> Vec<(i64, i64, String)> {
    let stretch = Stretch {
        job,
        parent,
        first: 0,
        end: i64::MAX,
    };
    let tasks = store.counted(stretch).await.expect("it reads");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("tests write texts");
    tasks
        .into_iter()
        .map(|task| {
            let counts = task.counts.expect("it is counted");
            (task.first, task.positions, text(counts))
        })
        .collect()
}

/// Ends all that a case has left, so that the next one finds nothing to lease.
async fn leave(store: &dyn Store, jobs: &[&JobRow]) {
    for row in jobs {
        let cancelled = store.cancel_job(row.key.clone(), 70).await;
        cancelled.expect("the store writes");
    }
}

async fn one() -> MutexGuard<'static, ()> {
    ONE.lock().await
}

pub(crate) async fn leases_each_task_once(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("leases"), 3).await;
    let (a, b) = (open(store, 1).await, open(store, 2).await);
    let first = lease_new(store, a, 2).await;
    let tasks: Vec<i64> = first.iter().map(|lease| lease.task).collect();
    assert_eq!(tasks, [0, 1]);
    let other = lease_new(store, b, 2).await;
    assert_eq!(other.len(), 1);
    assert_eq!((other[0].task, other[0].attempt), (2, 1));
    // The answer was lost: what was leased comes again, and nothing new.
    assert_eq!(lease_new(store, a, 2).await, first);
    let rest = lease(store, a, &first[..1], 2).await;
    assert_eq!(rest.leased[0].lease, first[1]);
    assert_eq!((rest.leased.len(), rest.dropped.len()), (1, 0));
    // What is not held is told.
    let wrong = Lease {
        attempt: 9,
        ..first[0]
    };
    let held = lease(store, a, &[first[0], first[1], wrong, other[0]], 0).await;
    assert_eq!(
        (held.leased.len(), held.dropped),
        (0, vec![wrong, other[0]])
    );
    let stored = store.tasks(&first).await.expect("it reads");
    assert_eq!(stored[1].bytes, b"task from 10");
    assert_eq!((stored[1].first, stored[1].positions), (10, 10));
    let sessions = store.sessions(row.id, 10).await.expect("it reads");
    let held: Vec<_> = sessions.iter().map(|it| &it.tasks[..]).collect();
    assert!(
        held.contains(&&[0, 1][..]) && held.contains(&&[2][..]),
        "{held:?}"
    );
    leave(store, &[&row]).await;
}

pub(crate) async fn takes_each_count_once(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("reports"), 2).await;
    let a = open(store, 3).await;
    let leases = lease_new(store, a, 2).await;
    assert_eq!(report(store, whole(a, leases[0], "one")).await, ACCEPTED);
    // Twice, and with something else: the first stands.
    let again = report(store, whole(a, leases[0], "one")).await;
    assert_eq!(again, Reported::Known);
    let other = report(store, whole(a, leases[0], "other")).await;
    assert_eq!(other, Reported::Known);
    assert_eq!(job(store, &row.key).await.state, JobState::Running);
    assert_eq!(report(store, whole(a, leases[1], "two")).await, ACCEPTED);
    let row = job(store, &row.key).await;
    assert_eq!(row.state, JobState::Counted);
    let one = (0, 10, "one".to_owned());
    assert_eq!(
        counted(store, row.id).await,
        [one, (10, 10, "two".to_owned())]
    );
    let nowhere = Lease {
        task: 9,
        ..leases[0]
    };
    let unwanted = report(store, whole(a, nowhere, "x")).await;
    assert_eq!(unwanted, Reported::Unwanted);
    let stranger = report(store, whole(token(99), leases[0], "x")).await;
    assert_eq!(stranger, Reported::Unwanted);
    leave(store, &[&row]).await;
}

pub(crate) async fn a_late_count_is_kept_to_be_compared(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("reports-late"), 1).await;
    let slow = open_as(store, 4, "slow", 100).await;
    let request = LeaseRequest {
        token: slow,
        held: Vec::new(),
        limit: 1,
        now_us: 50,
        expires_us: 100,
    };
    let leased = store.lease(request.clone()).await.expect("it writes");
    let old = leased.expect("it is open").leased[0].lease;
    // Nothing happens before its time.
    assert_eq!(store.sweep(99, 0).await.expect("it writes").sessions, 0);
    let swept = store.sweep(100, 0).await.expect("it writes");
    assert_eq!((swept.sessions, swept.leases), (1, 1));
    assert_eq!(store.sweep(100, 0).await.expect("it writes").sessions, 0);
    assert_eq!(store.lease(request).await, Ok(None));
    let quick = open(store, 5).await;
    let new = lease_new(store, quick, 1).await[0];
    assert_eq!((old.attempt, new.attempt), (1, 2));
    // The attempt is a fence, however often it is tried.
    for counts in ["late", "later"] {
        let late = report(store, whole(slow, old, counts)).await;
        assert_eq!(late, Reported::Late);
    }
    assert_eq!(counted(store, row.id).await, []);
    let compared = Reported::Accepted { has_late: true };
    assert_eq!(report(store, whole(quick, new, "new")).await, compared);
    let late = store.late_counts(row.id, 0).await.expect("it reads");
    assert_eq!(late, [b"late".to_vec()]);
    assert_eq!(counted(store, row.id).await, [(0, 10, "new".to_owned())]);
    let row = job(store, &row.key).await;
    assert_eq!(row.leases_expired, 1);
    leave(store, &[&row]).await;
}

pub(crate) async fn a_count_of_a_lost_lease_is_taken_while_nobody_has_it(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("reports-lost"), 1).await;
    let slow = open_as(store, 6, "slow", FAR_US).await;
    let old = lease_new(store, slow, 1).await[0];
    assert_eq!(store.close_session(slow, 60).await, Ok(true));
    assert_eq!(store.close_session(slow, 60).await, Ok(true));
    assert_eq!(store.close_session(token(98), 60).await, Ok(false));
    assert_eq!(report(store, whole(slow, old, "lost")).await, ACCEPTED);
    assert_eq!(counted(store, row.id).await, [(0, 10, "lost".to_owned())]);
    // A session that is over is forgotten in the end.
    store.sweep(61, 61).await.expect("it writes");
    assert_eq!(store.session(&slow).await, Ok(None));
    leave(store, &[&row]).await;
}

pub(crate) async fn an_expiry_takes_back_nothing_that_was_leased_since(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("expiry"), 1).await;
    let slow = open_as(store, 7, "slow", 100).await;
    let old = lease_new(store, slow, 1).await[0];
    // It gives a sign at the last moment.
    let renewal = Renewal {
        token: slow,
        held: vec![old],
        nodes_per_second: 5.0,
        is_stopping: false,
        now_us: 99,
        expires_us: 200,
    };
    let renewed = store.renew(renewal.clone()).await.expect("it writes");
    assert_eq!(renewed.expect("it is open").held[0].lease, old);
    assert_eq!(store.sweep(150, 0).await.expect("it writes").leases, 0);
    assert_eq!(store.sweep(200, 0).await.expect("it writes").leases, 1);
    assert_eq!(store.renew(renewal).await, Ok(None));
    let quick = open(store, 8).await;
    let new = lease_new(store, quick, 1).await[0];
    // Nothing that comes for the old lease changes the new one.
    assert_eq!(store.close_session(slow, 210).await, Ok(true));
    assert_eq!(store.sweep(220, 0).await.expect("it writes").leases, 0);
    assert_eq!(store.refuse_report(slow, old).await, Ok(0));
    let held = lease(store, quick, &[new], 0).await;
    assert_eq!((held.leased.len(), held.dropped.len()), (0, 0));
    leave(store, &[&row]).await;
}

pub(crate) async fn a_part_splits_its_task(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("reports-split"), 2).await;
    let a = open(store, 9).await;
    let leases = lease_new(store, a, 1).await;
    let part = |first: i64, counts: Option<&str>| SplitPart {
        first,
        positions: 5,
        cost_per_mille: 500,
        bytes: format!("part from {first}").into_bytes(),
        counts: counts.map(|counts| counts.as_bytes().to_vec()),
    };
    let split = |parts: Vec<SplitPart>| TaskReport {
        counting: Counting::Split { parts },
        ..whole(a, leases[0], "")
    };
    let parts = vec![part(0, Some("half")), part(5, None)];
    assert_eq!(report(store, split(parts.clone())).await, ACCEPTED);
    assert_eq!(report(store, split(parts)).await, Reported::Known);
    let progress = store.progress(row.id).await.expect("it reads");
    assert_eq!((progress.tasks, progress.tasks_open), (3, 2));
    assert_eq!(progress.cost_left, 3.0);
    // What is left comes first.
    let rest = lease_new(store, a, 2).await;
    let stored = store.tasks(&rest).await.expect("it reads");
    assert_eq!((stored[0].first, stored[0].rest), (5, 3));
    assert_eq!(stored[0].bytes, b"part from 5");
    for (lease, counts) in rest.iter().zip(["rest", "second"]) {
        assert_eq!(report(store, whole(a, *lease, counts)).await, ACCEPTED);
    }
    let found = counted(store, row.id).await;
    let texts: Vec<&str> = found.iter().map(|(_, _, counts)| &counts[..]).collect();
    assert_eq!(texts, ["half", "rest", "second"]);
    assert_eq!(job(store, &row.key).await.state, JobState::Counted);
    leave(store, &[&row]).await;
}

pub(crate) async fn a_task_can_be_given_back(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("given-back"), 1).await;
    let (a, b) = (open(store, 10).await, open(store, 11).await);
    let old = lease_new(store, a, 1).await[0];
    let nothing = TaskReport {
        counting: Counting::Split { parts: Vec::new() },
        ..whole(a, old, "")
    };
    assert_eq!(report(store, nothing.clone()).await, ACCEPTED);
    let new = lease_new(store, b, 1).await[0];
    assert_eq!((new.task, new.attempt), (old.task, 2));
    // Repeated, it takes nothing from who has it now.
    assert_eq!(report(store, nothing).await, Reported::Late);
    assert_eq!(lease(store, b, &[new], 1).await.dropped, []);
    leave(store, &[&row]).await;
}

pub(crate) async fn a_report_that_cannot_be_right_opens_its_task(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("refused"), 1).await;
    let bad = open(store, 12).await;
    for refused in 1..=8 {
        let lease = lease_new(store, bad, 1).await[0];
        assert_eq!(lease.attempt, refused);
        assert_eq!(store.refuse_report(bad, lease).await, Ok(refused));
        assert_eq!(store.refuse_report(bad, lease).await, Ok(0));
    }
    // Whose reports are never right gets no more.
    assert_eq!(lease_new(store, bad, 1).await, []);
    let good = open(store, 13).await;
    assert_eq!(lease_new(store, good, 1).await[0].attempt, 9);
    leave(store, &[&row]).await;
}

pub(crate) async fn a_dispute_ends_a_job(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("disputed"), 1).await;
    let a = open(store, 14).await;
    let lease = lease_new(store, a, 1).await[0];
    let dispute = Dispute {
        job: row.id,
        disagrees: true,
        outcome: b"they differ".to_vec(),
        now_us: 80,
    };
    store.dispute(dispute.clone()).await.expect("it writes");
    store.dispute(dispute).await.expect("it writes");
    let row = job(store, &row.key).await;
    assert_eq!((row.state, row.disagreements), (JobState::Failed, 2));
    assert_eq!(
        (&row.outcome[..], row.end_us),
        (&b"they differ"[..], Some(80))
    );
    let unwanted = report(store, whole(a, lease, "x")).await;
    assert_eq!(unwanted, Reported::Unwanted);
}

pub(crate) async fn a_cancelled_job_is_dropped(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("cancelled"), 2).await;
    let a = open(store, 15).await;
    let held = lease_new(store, a, 1).await;
    let cancelled = store.cancel_job(row.key.clone(), 90).await;
    let cancelled = cancelled.expect("it writes").expect("it is there");
    assert_eq!(
        (cancelled.state, cancelled.end_us),
        (JobState::Cancelled, Some(90))
    );
    // It stays as it is.
    let again = store.cancel_job(row.key.clone(), 95).await;
    assert_eq!(again, Ok(Some(cancelled)));
    assert_eq!(store.cancel_job(key("nobody", "job"), 95).await, Ok(None));
    let renewal = Renewal {
        token: a,
        held: held.clone(),
        nodes_per_second: 0.0,
        is_stopping: true,
        now_us: 95,
        expires_us: FAR_US,
    };
    let renewed = store.renew(renewal).await.expect("it writes");
    assert_eq!(renewed.expect("it is open").dropped, held);
    let leases = lease(store, a, &held, 2).await;
    assert_eq!((leases.leased.len(), leases.dropped), (0, held.clone()));
    let unwanted = report(store, whole(a, held[0], "x")).await;
    assert_eq!(unwanted, Reported::Unwanted);
    // Its tasks go, and the job stays until its time is over.
    while store.sweep(96, 0).await.expect("it writes").more {}
    assert_eq!(store.tasks(&held).await, Ok(Vec::new()));
    assert_eq!(job(store, &row.key).await.state, JobState::Cancelled);
    while store.sweep(90 + FAR_US, 0).await.expect("it writes").more {}
    assert_eq!(store.job(&row.key).await, Ok(None));
    assert_eq!(store.job_by_id(row.id).await, Ok(None));
}

pub(crate) async fn shares_workers_among_jobs(store: &dyn Store) {
    let _one = one().await;
    let large = running(store, &platform("shared-large"), 4).await;
    let small = running(store, &platform("shared-small"), 1).await;
    let a = open(store, 16).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let leased = lease(store, a, &held, 1).await.leased;
        held.push(leased[0].lease);
    }
    let jobs: Vec<i64> = held.iter().map(|lease| lease.job).collect();
    assert_eq!(jobs, [large.id, small.id, large.id]);
    // What one job does not have the other gives.
    assert_eq!(lease(store, a, &held, 5).await.leased.len(), 2);
    leave(store, &[&large, &small]).await;
}

/// A claim on no job changes nothing.
pub(crate) async fn knows_no_unknown_job(store: &dyn Store) {
    let nobody = Claim { job: -1, fence: 1 };
    assert_eq!(store.hold_job(nobody, 1).await, Ok(false));
    assert_eq!(store.add_tasks(nobody, vec![task(0, 1)]).await, Ok(false));
    assert_eq!(store.clear_tasks(nobody).await, Ok(None));
    assert_eq!(store.job_by_id(-1).await, Ok(None));
    let progress = store.progress(-1).await.expect("it reads");
    assert_eq!(progress.tasks, 0);
    assert_eq!(counted(store, -1).await, []);
}

pub(crate) async fn takes_a_census_of_all_platforms(store: &dyn Store) {
    let _one = one().await;
    let census = async |now_us: i64| store.work_census(now_us).await.expect("it reads");
    let before = census(50).await;
    let first = running(store, &platform("census-1"), 3).await;
    let second = running(store, &platform("census-2"), 2).await;
    let planned = create(store, new_job(&platform("census-3"), "job")).await;
    let token = open_as(store, 40, "census", 100).await;
    let all = census(50).await;
    assert_eq!(all.tasks - before.tasks, 5);
    assert_eq!(all.cost_left - before.cost_left, 10.0);
    assert_eq!(all.sessions - before.sessions, 1);
    // One that ran out is none, whether or not it was ended.
    assert_eq!(census(100).await.sessions, before.sessions);
    // What is leased is still left; what is counted is not.
    let request = LeaseRequest {
        token,
        held: Vec::new(),
        limit: 2,
        now_us: 50,
        expires_us: 100,
    };
    let leased = store.lease(request).await.expect("it writes");
    let leases = leased.expect("it is open").leased;
    assert_eq!(census(50).await, all);
    let taken = report(store, whole(token, leases[0].lease, "one")).await;
    assert_eq!(taken, ACCEPTED);
    assert_eq!(census(50).await.cost_left - before.cost_left, 8.0);
    leave(store, &[&first]).await;
    let left = census(50).await;
    assert!(left.tasks - before.tasks <= 2, "{left:?}");
    leave(store, &[&second, &planned]).await;
    assert_eq!(census(100).await, before);
    store.sweep(100, 0).await.expect("it writes");
}
