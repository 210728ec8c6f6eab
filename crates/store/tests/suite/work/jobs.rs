//! Jobs: created, bounded, listed, planned and ended.

use referee_store::{JobCursor, JobEnd, JobError, JobState, NewJob, PlannedJob, Store, Unfinished};

use super::super::{hash, platform};
use super::{claim, create, job, key, leave, new_job, one, running, task};

pub(crate) async fn creates_a_job_once_for_each_request(store: &dyn Store) {
    let _one = one().await;
    let platform = platform("jobs");
    let row = create(store, new_job(&platform, "a")).await;
    assert_eq!(
        (row.state, &row.spec[..]),
        (JobState::Planning, &b"spec"[..])
    );
    assert_eq!(create(store, new_job(&platform, "a")).await, row);
    let other = NewJob {
        content_hash: hash(2),
        ..new_job(&platform, "a")
    };
    assert_eq!(
        store.create_job(other).await,
        Err(JobError::RequestIdReused)
    );
    let taken = NewJob {
        request_id: "another".into(),
        ..new_job(&platform, "a")
    };
    assert_eq!(store.create_job(taken).await, Err(JobError::NameTaken));
    // Names and requests belong to their platform.
    let elsewhere = super::super::platform("jobs-elsewhere");
    let other = create(store, new_job(&elsewhere, "a")).await;
    assert_ne!(other.id, row.id);
    assert_eq!(job(store, &row.key).await, row);
    assert_eq!(store.job(&key(&elsewhere, "b")).await, Ok(None));
    leave(store, &[&row, &other]).await;
}

pub(crate) async fn bounds_the_jobs_of_a_platform(store: &dyn Store) {
    let _one = one().await;
    let platform = platform("jobs-bounded");
    let mut rows = Vec::new();
    for name in ["a", "b", "c"] {
        rows.push(create(store, new_job(&platform, name)).await);
    }
    let more = store.create_job(new_job(&platform, "d")).await;
    assert_eq!(more, Err(JobError::TooManyUnderWay { limit: 3 }));
    leave(store, &rows.iter().collect::<Vec<_>>()).await;
    for name in ["d", "e"] {
        rows.push(create(store, new_job(&platform, name)).await);
    }
    let more = store.create_job(new_job(&platform, "f")).await;
    assert_eq!(more, Err(JobError::TooMany { limit: 5 }));
    // A job that goes on cannot be deleted; one that is deleted makes room, and its name is free.
    let deleted = store.delete_job(key(&platform, "d")).await;
    assert_eq!(deleted, Ok(Err(Unfinished)));
    for name in ["a", "a", "never"] {
        assert_eq!(store.delete_job(key(&platform, name)).await, Ok(Ok(())));
    }
    assert_eq!(store.job(&key(&platform, "a")).await, Ok(None));
    let again = create(store, new_job(&platform, "a")).await;
    assert_ne!(again.id, rows[0].id);
    rows.push(again);
    leave(store, &rows.iter().collect::<Vec<_>>()).await;
}

pub(crate) async fn lists_jobs_newest_first(store: &dyn Store) {
    let _one = one().await;
    let platform = platform("jobs-listed");
    let mut rows = Vec::new();
    for (name, create_us) in [("a", 5), ("b", 7), ("c", 7)] {
        let job = NewJob {
            create_us,
            ..new_job(&platform, name)
        };
        rows.push(create(store, job).await);
    }
    store
        .cancel_job(key(&platform, "b"), 9)
        .await
        .expect("it writes");
    let list = async |states: &[JobState], after: Option<JobCursor>, limit| {
        let page = store.jobs(&platform, states, after, limit).await;
        let page = page.expect("it reads");
        let names: Vec<String> = page.jobs.into_iter().map(|row| row.key.job).collect();
        (names, page.next)
    };
    let (names, next) = list(&[], None, 2).await;
    assert_eq!(names, ["c", "b"]);
    let (names, next) = list(&[], next, 2).await;
    assert_eq!((names, next), (vec!["a".to_owned()], None));
    let (names, next) = list(&[JobState::Cancelled], None, 2).await;
    assert_eq!((names, next), (vec!["b".to_owned()], None));
    leave(store, &rows.iter().collect::<Vec<_>>()).await;
}

pub(crate) async fn one_process_plans_a_job(store: &dyn Store) {
    let _one = one().await;
    let platform = platform("jobs-planned");
    let row = create(store, new_job(&platform, "a")).await;
    let old = claim(store, row.id, 20).await.claim;
    assert_eq!(store.add_tasks(old, vec![task(0, 10)]).await, Ok(true));
    // Held until 120, and then until 200.
    assert_eq!(store.hold_job(old, 200).await, Ok(true));
    assert_eq!(store.claim_job(199, 100).await, Ok(None));
    let new = claim(store, row.id, 200).await.claim;
    assert!(new.fence > old.fence);
    // Whoever planned before finds the fence.
    assert_eq!(store.add_tasks(old, vec![task(10, 10)]).await, Ok(false));
    assert_eq!(store.hold_job(old, 900).await, Ok(false));
    assert_eq!(store.clear_tasks(old).await, Ok(None));
    let planned = |plan: &str| PlannedJob {
        plan: plan.as_bytes().to_vec(),
        now_us: 30,
    };
    assert_eq!(store.end_plan(old, planned("old")).await, Ok(false));
    let end = JobEnd {
        state: JobState::Failed,
        outcome: Vec::new(),
        now_us: 31,
    };
    assert_eq!(store.end_job(old, end).await, Ok(false));
    // The half of a plan that is left goes before the next one.
    while store
        .clear_tasks(new)
        .await
        .expect("it writes")
        .expect("claimed")
    {}
    let tasks = vec![task(0, 5), task(5, 5)];
    assert_eq!(store.add_tasks(new, tasks).await, Ok(true));
    assert_eq!(store.end_plan(new, planned("new")).await, Ok(true));
    let row = job(store, &row.key).await;
    assert_eq!((row.state, &row.plan[..]), (JobState::Running, &b"new"[..]));
    let progress = store.progress(row.id).await.expect("it reads");
    assert_eq!((progress.tasks, progress.tasks_open), (2, 2));
    assert_eq!((progress.tasks_leased, progress.cost_left), (0, 4.0));
    // A plan is made once.
    assert_eq!(store.add_tasks(new, vec![task(10, 1)]).await, Ok(false));
    leave(store, &[&row]).await;
}

pub(crate) async fn a_job_without_tasks_is_counted(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("jobs-empty"), 0).await;
    assert_eq!(row.state, JobState::Counted);
    let claimed = claim(store, row.id, 300).await;
    let end = JobEnd {
        state: JobState::Succeeded,
        outcome: b"0".to_vec(),
        now_us: 301,
    };
    assert_eq!(store.end_job(claimed.claim, end.clone()).await, Ok(true));
    // The outcome is written once.
    assert_eq!(store.end_job(claimed.claim, end).await, Ok(false));
    let row = job(store, &row.key).await;
    assert_eq!((row.state, row.end_us), (JobState::Succeeded, Some(301)));
}
