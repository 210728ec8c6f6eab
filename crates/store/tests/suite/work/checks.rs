//! Counts by different credentials, counts that are compared, and credentials that are shut out.

use referee_store::{
    Check, Claim, ComparedResult, JobState, NewCheck, NewJob, NewSession, Opened, PlannedJob,
    Reported, Store, TaskKind,
};

use super::super::platform;
use super::{
    ACCEPTED, FAR_US, claim, counted, create, job, lease, lease_new, leave, new_job, one, open_as,
    report, running, task, token, whole,
};

/// A task that counts positions of task 0 again.
fn recheck(barred: &str) -> NewCheck {
    NewCheck {
        kind: TaskKind::Recheck,
        first: 3,
        positions: 2,
        rest: 3,
        cost: 1.0,
        bytes: b"again".to_vec(),
        note: b"3, 7".to_vec(),
        barred: vec![barred.to_owned()],
        only: None,
        deadline_us: None,
    }
}

async fn check(store: &dyn Store, claim: Claim, check: Check) {
    assert_eq!(store.check_job(claim, check).await, Ok(true));
}

pub(crate) async fn counts_copies_by_different_credentials(store: &dyn Store) {
    let _one = one().await;
    let row = create(
        store,
        NewJob {
            copies: 2,
            ..new_job(&platform("copies"), "job")
        },
    )
    .await;
    let planned = claim(store, row.id, 20).await.claim;
    assert_eq!(store.add_tasks(planned, vec![task(0, 10)]).await, Ok(true));
    let plan = PlannedJob {
        plan: Vec::new(),
        now_us: 30,
    };
    assert_eq!(store.end_plan(planned, plan).await, Ok(true));
    // Two sessions of one credential hold one copy together.
    let a = open_as(store, 101, "copies-a", FAR_US).await;
    let other = open_as(store, 102, "copies-a", FAR_US).await;
    let b = open_as(store, 103, "copies-b", FAR_US).await;
    let first = lease_new(store, a, 4).await;
    assert_eq!(first.len(), 1);
    assert_eq!(lease_new(store, other, 4).await, []);
    let second = lease_new(store, b, 4).await;
    assert_eq!(second.len(), 1);
    assert_ne!(second[0].attempt, first[0].attempt);
    let held = lease(store, b, &[], 0).await.leased;
    assert!(!held[0].can_split, "another counts the same");
    assert_eq!(report(store, whole(b, second[0], "b")).await, ACCEPTED);
    let trust = store.trust(row.id).await.expect("it reads");
    assert_eq!(trust.needed, 0, "one copy is leased");
    assert_eq!(job(store, &row.key).await.state, JobState::Running);
    assert_eq!(report(store, whole(a, first[0], "a")).await, ACCEPTED);
    assert_eq!(
        report(store, whole(a, first[0], "a")).await,
        Reported::Known
    );
    let done = job(store, &row.key).await;
    assert_eq!(done.state, JobState::Counted);
    // What came first counts; the other is compared with it.
    assert_eq!(counted(store, row.id).await, [(0, 10, "b".to_owned())]);
    let compared = store.uncompared(row.id, (-1, i64::MIN)).await;
    let compared = compared.expect("it reads");
    let [found] = &compared[..] else {
        panic!("{compared:?}")
    };
    assert_eq!(
        (&found.counts[..], &found.credential[..]),
        (&b"a"[..], "copies-a")
    );
    assert_eq!(found.task.credential, "copies-b");
    leave(store, &[&row]).await;
}

pub(crate) async fn says_how_many_credentials_are_needed(store: &dyn Store) {
    let _one = one().await;
    let row = create(
        store,
        NewJob {
            copies: 100,
            ..new_job(&platform("needs"), "job")
        },
    )
    .await;
    let planned = claim(store, row.id, 20).await.claim;
    assert_eq!(store.add_tasks(planned, vec![task(0, 10)]).await, Ok(true));
    let plan = PlannedJob {
        plan: Vec::new(),
        now_us: 30,
    };
    assert_eq!(store.end_plan(planned, plan).await, Ok(true));
    let needed = async || store.trust(row.id).await.expect("it reads").needed;
    let before = needed().await;
    let a = open_as(store, 104, "needs-a", FAR_US).await;
    assert_eq!(needed().await, before - 1);
    let held = lease_new(store, a, 1).await;
    assert_eq!(report(store, whole(a, held[0], "a")).await, ACCEPTED);
    assert_eq!(needed().await, before - 1, "it cannot count another copy");
    open_as(store, 105, "needs-b", FAR_US).await;
    assert_eq!(needed().await, before - 2);
    leave(store, &[&row]).await;
}

pub(crate) async fn lets_nobody_count_what_is_compared_with_theirs(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("rechecks"), 1).await;
    let a = open_as(store, 106, "rechecks-a", FAR_US).await;
    let b = open_as(store, 107, "rechecks-b", FAR_US).await;
    let held = lease_new(store, a, 1).await;
    assert_eq!(report(store, whole(a, held[0], "a")).await, ACCEPTED);
    let checking = claim(store, row.id, 100).await.claim;
    let undrawn = store.undrawn(row.id, 0).await.expect("it reads");
    assert_eq!(
        (undrawn.len(), &undrawn[0].credential[..]),
        (1, "rechecks-a")
    );
    let draw = Check::Draw {
        tasks: vec![0],
        checks: vec![recheck("rechecks-a")],
    };
    check(store, checking, draw).await;
    assert_eq!(store.undrawn(row.id, 0).await, Ok(Vec::new()));
    check(store, checking, Check::Resume).await;
    assert_eq!(job(store, &row.key).await.state, JobState::Running);
    // The claim is over with that.
    assert_eq!(store.check_job(checking, Check::Resume).await, Ok(false));
    assert_eq!(lease_new(store, a, 4).await, []);
    let again = lease_new(store, b, 4).await;
    assert_eq!(again.len(), 1);
    assert_eq!(report(store, whole(b, again[0], "b")).await, ACCEPTED);
    // What was counted again is no count of the plan.
    assert_eq!(counted(store, row.id).await, [(0, 10, "a".to_owned())]);
    let checking = claim(store, row.id, 200).await.claim;
    let page = store.uncompared(row.id, (-1, i64::MIN)).await;
    let page = page.expect("it reads");
    let [found] = &page[..] else {
        panic!("{page:?}")
    };
    assert_eq!(
        (found.task.kind, &found.task.note[..]),
        (TaskKind::Recheck, &b"3, 7"[..])
    );
    let compared = ComparedResult {
        task: found.task.task,
        attempt: found.attempt,
        agreed: 2,
        agrees: true,
    };
    let results = vec![compared];
    check(store, checking, Check::Compared { results }).await;
    assert_eq!(
        store.uncompared(row.id, (-1, i64::MIN)).await,
        Ok(Vec::new())
    );
    let trust = store.trust(row.id).await.expect("it reads");
    assert_eq!(trust.rechecked, 2);
    let known = trust.credentials.iter();
    let known: Vec<_> = known
        .map(|it| (&it.credential[..], it.positions, it.rechecked, it.agreed))
        .collect();
    assert_eq!(known, [("rechecks-a", 10, 2, 2)]);
    leave(store, &[&row]).await;
}

pub(crate) async fn voids_what_a_liar_has_counted(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("liars"), 2).await;
    let liar = open_as(store, 108, "liars-a", FAR_US).await;
    let honest = open_as(store, 109, "liars-b", FAR_US).await;
    let of_liar = lease_new(store, liar, 1).await;
    let of_honest = lease_new(store, honest, 1).await;
    assert_eq!(
        report(store, whole(liar, of_liar[0], "lie")).await,
        ACCEPTED
    );
    assert_eq!(
        report(store, whole(honest, of_honest[0], "true")).await,
        ACCEPTED
    );
    let checking = claim(store, row.id, 100).await.claim;
    let draw = Check::Draw {
        tasks: vec![0, 1],
        checks: vec![recheck("liars-a"), recheck("liars-b")],
    };
    check(store, checking, draw).await;
    let out = Check::ShutOut {
        out: vec![("liars-a".to_owned(), "counted 7".to_owned())],
        dispute: Some((0, b"said".to_vec())),
        now_us: 110,
    };
    check(store, checking, out).await;
    assert_eq!(job(store, &row.key).await.state, JobState::Running);
    let trust = store.trust(row.id).await.expect("it reads");
    assert_eq!(trust.disputes, [(b"said".to_vec(), true)]);
    let out = trust
        .credentials
        .iter()
        .find(|it| it.credential == "liars-a");
    let out = out.expect("it is told");
    assert_eq!((out.positions, &out.shut_out[..]), (0, "counted 7"));
    assert_eq!(counted(store, row.id).await, [(10, 10, "true".to_owned())]);
    // Its sessions are over, it gets no other, and what it reports is nothing.
    let session = store.session(&liar).await.expect("it reads");
    assert!(!session.expect("it is known").is_open);
    assert_eq!(
        report(store, whole(liar, of_liar[0], "lie")).await,
        Reported::Unwanted
    );
    let session = NewSession {
        token: token(110),
        credential: "liars-a".to_owned(),
        worker: Vec::new(),
        now_us: 120,
        expires_us: FAR_US,
        sessions_max: 10_000,
    };
    let reason = "counted 7".to_owned();
    assert_eq!(
        store.open_session(session).await,
        Ok(Opened::ShutOut { reason })
    );
    // What is open is what it had counted; what its counts were compared with is given up, and
    // nobody else is barred from that.
    let open = lease_new(store, honest, 8).await;
    let tasks: Vec<i64> = open.iter().map(|lease| lease.task).collect();
    assert_eq!(tasks, [0]);
    leave(store, &[&row]).await;
}

pub(crate) async fn gives_up_what_a_side_does_not_answer(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("silent"), 1).await;
    let a = open_as(store, 111, "silent-a", FAR_US).await;
    let b = open_as(store, 112, "silent-b", FAR_US).await;
    let held = lease_new(store, a, 1).await;
    assert_eq!(report(store, whole(a, held[0], "a")).await, ACCEPTED);
    let checking = claim(store, row.id, 100).await.claim;
    let asked = NewCheck {
        kind: TaskKind::Dispute,
        barred: Vec::new(),
        only: Some("silent-a".to_owned()),
        deadline_us: Some(1_000),
        ..recheck("")
    };
    let dispute = Check::Dispute {
        number: 0,
        bytes: b"begun".to_vec(),
        checks: vec![asked],
        is_settled: false,
    };
    check(store, checking, dispute).await;
    check(store, checking, Check::Resume).await;
    assert_eq!(lease_new(store, b, 4).await, [], "another is asked");
    let held = lease_new(store, a, 4).await;
    assert_eq!(held.len(), 1);
    assert_eq!(store.sweep(999, 0).await.expect("it writes").overdue, 0);
    assert_eq!(store.sweep(1_000, 0).await.expect("it writes").overdue, 1);
    assert_eq!(job(store, &row.key).await.state, JobState::Counted);
    assert_eq!(
        report(store, whole(a, held[0], "late")).await,
        Reported::Unwanted
    );
    let tasks = store.dispute_tasks(row.id).await.expect("it reads");
    assert_eq!((tasks.len(), &tasks[0].counts), (1, &None));
    let trust = store.trust(row.id).await.expect("it reads");
    assert_eq!(trust.disputes, [(b"begun".to_vec(), false)]);
    leave(store, &[&row]).await;
}

pub(crate) async fn keeps_what_differs_from_what_was_accepted(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("differs"), 2).await;
    let a = open_as(store, 113, "differs-a", FAR_US).await;
    let held = lease_new(store, a, 1).await;
    for (counts, becomes) in [
        ("one", ACCEPTED),
        ("one", Reported::Known),
        ("two", Reported::Known),
    ] {
        assert_eq!(report(store, whole(a, held[0], counts)).await, becomes);
    }
    let page = store.uncompared(row.id, (-1, i64::MIN)).await;
    let page = page.expect("it reads");
    let [found] = &page[..] else {
        panic!("{page:?}")
    };
    assert_eq!(
        (&found.counts[..], found.task.counts.as_deref()),
        (&b"two"[..], Some(&b"one"[..]))
    );
    leave(store, &[&row]).await;
}
