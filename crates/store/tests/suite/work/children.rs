//! A task is replaced by children of its positions, and gets its counts from them.

use super::*;

fn child(first: i64, positions: i64, counts: Option<&str>) -> SplitPart {
    SplitPart {
        first,
        positions,
        cost_per_mille: 500,
        bytes: format!("children from {first}").into_bytes(),
        counts: counts.map(|text| text.as_bytes().to_vec()),
    }
}

fn children(token: SessionToken, lease: Lease, parts: Vec<SplitPart>) -> TaskReport {
    TaskReport {
        counting: Counting::Children { rest: 2, parts },
        ..whole(token, lease, "")
    }
}

async fn expanded(store: &dyn Store, job: i64) -> Option<i64> {
    let found = store.expanded(job).await.expect("it reads");
    found.map(|task| task.task)
}

async fn fold(store: &dyn Store, claim: Claim, task: i64, counts: &str) -> bool {
    let fold = Fold {
        task,
        counts: counts.as_bytes().to_vec(),
        now_us: 80,
    };
    store.fold_task(claim, fold).await.expect("it writes")
}

pub(crate) async fn children_replace_their_task_until_they_are_counted(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("children"), 2).await;
    let a = open(store, 41).await;
    let leases = lease_new(store, a, 2).await;
    let parts = vec![child(0, 6, Some("six")), child(6, 4, None)];
    let report_children = children(a, leases[0], parts);
    assert_eq!(report(store, report_children.clone()).await, ACCEPTED);
    assert_eq!(report(store, report_children).await, Reported::Known);
    let progress = store.progress(row.id).await.expect("it reads");
    assert_eq!((progress.tasks, progress.tasks_open), (3, 1));
    // The task is not counted before all of its children are; what comes of it is kept.
    let late = report(store, whole(a, leases[0], "late")).await;
    assert_eq!(late, Reported::Late);
    assert_eq!(counted(store, row.id).await, []);
    let six = (0, 6, "six".to_owned());
    assert_eq!(counted_of(store, row.id, Some(0)).await, [six]);
    // The child that is open comes at once, and is replaced by children of its own.
    let open = lease(store, a, &leases[1..], 1).await.leased;
    assert_eq!((open[0].lease.task, open[0].cost), (3, 1.0));
    let stored = store.tasks(&[open[0].lease]).await.expect("it reads");
    assert_eq!((stored[0].parent, stored[0].rest), (Some(0), 2));
    let deeper = children(a, open[0].lease, vec![child(0, 3, Some("three"))]);
    assert_eq!(report(store, deeper).await, ACCEPTED);
    assert_eq!(report(store, whole(a, leases[1], "one")).await, ACCEPTED);
    assert_eq!(job(store, &row.key).await.state, JobState::Counted);
    // Those that were replaced last get their counts first.
    let claim = claim(store, row.id, 70).await.claim;
    let stale = Claim {
        fence: claim.fence - 1,
        ..claim
    };
    assert_eq!(expanded(store, row.id).await, Some(3));
    assert!(!fold(store, stale, 3, "stale").await);
    assert!(fold(store, claim, 3, "four").await);
    let four = (6, 4, "four".to_owned());
    let six = (0, 6, "six".to_owned());
    assert_eq!(counted_of(store, row.id, Some(0)).await, [six, four]);
    assert_eq!(expanded(store, row.id).await, Some(0));
    for counts in ["ten", "other"] {
        assert!(fold(store, claim, 0, counts).await);
    }
    assert_eq!(expanded(store, row.id).await, None);
    let (ten, one) = ((0, 10, "ten".to_owned()), (10, 10, "one".to_owned()));
    assert_eq!(counted(store, row.id).await, [ten, one]);
    let late = store.late_counts(row.id, 0).await.expect("it reads");
    assert_eq!(late, [b"late".to_vec()]);
    // From now on it is known.
    let known = report(store, whole(a, leases[0], "late")).await;
    assert_eq!(known, Reported::Known);
    leave(store, &[&row]).await;
}

pub(crate) async fn a_part_of_a_child_stays_with_its_parent(store: &dyn Store) {
    let _one = one().await;
    let row = running(store, &platform("children-parts"), 1).await;
    let a = open(store, 42).await;
    let whole_task = lease_new(store, a, 1).await[0];
    let parts = vec![child(0, 10, None)];
    let replaced = report(store, children(a, whole_task, parts)).await;
    assert_eq!(replaced, ACCEPTED);
    let open = lease_new(store, a, 1).await[0];
    let halves = Counting::Split {
        parts: vec![child(0, 5, Some("half")), child(5, 5, None)],
    };
    let split = TaskReport {
        counting: halves,
        ..whole(a, open, "")
    };
    assert_eq!(report(store, split).await, ACCEPTED);
    let rest = lease_new(store, a, 1).await[0];
    let stored = store.tasks(&[rest]).await.expect("it reads");
    assert_eq!((stored[0].parent, stored[0].first), (Some(0), 5));
    // Halves of which none is counted are halves all the same; one part is the task as it was.
    let halves = |parts: Vec<SplitPart>, lease: Lease| TaskReport {
        counting: Counting::Split { parts },
        ..whole(a, lease, "")
    };
    let back = report(store, halves(vec![child(5, 5, None)], rest)).await;
    assert_eq!(back, ACCEPTED);
    let again = lease_new(store, a, 1).await[0];
    assert_eq!((again.task, again.attempt), (rest.task, 2));
    let cut = vec![child(5, 2, None), child(7, 3, None)];
    assert_eq!(report(store, halves(cut, again)).await, ACCEPTED);
    let both = lease_new(store, a, 2).await;
    assert_eq!(both.len(), 2);
    for lease in both {
        assert_eq!(report(store, whole(a, lease, "x")).await, ACCEPTED);
    }
    let found = counted_of(store, row.id, Some(0)).await;
    let places: Vec<(i64, i64)> = found.iter().map(|task| (task.0, task.1)).collect();
    assert_eq!(places, [(0, 5), (5, 2), (7, 3)]);
    leave(store, &[&row]).await;
}
