//! What a worker holds: tasks that wait, the one that is counted, and results that the server has
//! not answered. Nothing here waits or calls; the time comes in as an argument.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use referee_api::worker::v1::{Lease, Task, TaskResult};
use referee_perft::KEY_LENGTH;
use tokio::time::Instant;

use crate::limits::{
    EXPANDED_REST_MIN, PACE_RESULTS, RESULTS_REPORTED_MAX, SHARE_TIME, SPLIT_LEFT_MIN,
    SPLIT_POSITIONS_MIN, TASKS_IN_HAND, UNREPORTED_MAX,
};

/// The secret that names a session.
pub(crate) type Secret = Vec<u8>;

/// A task, and the session that leased it.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) session: Secret,
    pub(crate) task: Task,
}

impl Held {
    fn lease(&self) -> Lease {
        self.task.lease.unwrap_or_default()
    }
}

/// What the threads that count are told, and tell.
#[derive(Debug, Default)]
pub(crate) struct Course {
    /// They stop soon after this becomes true.
    pub(crate) stop: AtomicBool,
    /// How much is done, in thousandths.
    pub(crate) share: AtomicU32,
}

/// The task that is counted.
#[derive(Debug)]
struct Counting {
    session: Secret,
    lease: Lease,
    /// Whether what is counted of it can be told from what is not.
    can_split: bool,
    course: Arc<Course>,
    begun: Instant,
    /// Whether the server wants to hear of it.
    is_wanted: bool,
}

/// What was counted of a task.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) result: TaskResult,
    /// The paths of all positions that are counted, each once.
    pub(crate) nodes: f64,
    pub(crate) elapsed: Duration,
}

/// A result that the server has not answered.
#[derive(Debug)]
struct Unreported {
    session: Secret,
    result: TaskResult,
}

/// See the head of this file.
#[derive(Debug, Default)]
pub(crate) struct Hand {
    pub(crate) session: Option<Secret>,
    queued: VecDeque<Held>,
    counting: Option<Counting>,
    unreported: VecDeque<Unreported>,
    /// Until when no second task is taken, since others wait for tasks.
    shares_until: Option<Instant>,
    /// The paths and the times of the last results.
    pace: VecDeque<(f64, Duration)>,
    pub(crate) is_stopping: bool,
}

impl Hand {
    /// Returns all leases of this session that were not reported.
    pub(crate) fn held(&self) -> Vec<Lease> {
        let is_ours = |session: &Secret| Some(session) == self.session.as_ref();
        let queued = self.queued.iter().map(|held| (&held.session, held.lease()));
        let counting = self.counting.iter().filter(|counting| counting.is_wanted);
        let counting = counting.map(|counting| (&counting.session, counting.lease));
        let unreported = self.unreported.iter();
        let unreported = unreported.filter_map(|it| Some((&it.session, it.result.lease?)));
        queued
            .chain(counting)
            .chain(unreported)
            .filter(|(session, _)| is_ours(session))
            .map(|(_, lease)| lease)
            .collect()
    }

    /// Returns how many tasks it wants beside those that it holds.
    pub(crate) fn wants(&self, now: Instant) -> usize {
        if self.is_stopping || self.unreported.len() >= UNREPORTED_MAX {
            return 0;
        }
        let shares = self.shares_until.is_some_and(|until| now < until);
        let most = if shares { 1 } else { TASKS_IN_HAND };
        most.saturating_sub(self.to_count())
    }

    fn to_count(&self) -> usize {
        self.queued.len() + usize::from(self.counting.is_some())
    }

    /// Whether there is nothing to count.
    pub(crate) fn is_idle(&self) -> bool {
        self.to_count() == 0
    }

    /// Whether threads are at work.
    pub(crate) fn is_counting(&self) -> bool {
        self.counting.is_some()
    }

    /// Takes tasks that a session was leased; those that it has are passed over.
    pub(crate) fn take(&mut self, session: &Secret, tasks: Vec<Task>) {
        for task in tasks {
            let known = task.lease.is_none_or(|lease| self.held().contains(&lease));
            if !known && !self.is_stopping {
                self.queued.push_back(Held {
                    session: session.clone(),
                    task,
                });
            }
        }
    }

    /// Lets go of leases of a session that nobody wants any more.
    pub(crate) fn let_go(&mut self, session: &Secret, leases: &[Lease]) {
        let goes = |of: &Secret, lease: Lease| of == session && leases.contains(&lease);
        self.queued
            .retain(|held| !goes(&held.session, held.lease()));
        self.unreported.retain(|it| {
            let lease = it.result.lease.unwrap_or_default();
            !goes(&it.session, lease)
        });
        if let Some(counting) = &mut self.counting
            && goes(&counting.session, counting.lease)
        {
            counting.is_wanted = false;
            counting.course.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Gives back what others wait for: tasks that are not begun, and the rest of a long one, of
    /// which what is whole is reported.
    pub(crate) fn share(&mut self, session: &Secret, leases: &[Lease], now: Instant) {
        if leases.is_empty() {
            return;
        }
        self.shares_until = Some(now + SHARE_TIME);
        let is_named = |of: &Secret, lease: Lease| of == session && leases.contains(&lease);
        // The next one to be counted is kept where nothing else is.
        let kept = usize::from(self.counting.is_none());
        let mut place = 0;
        let unreported = &mut self.unreported;
        self.queued.retain(|held| {
            place += 1;
            let stays = place <= kept || !is_named(&held.session, held.lease());
            if !stays {
                unreported.push_back(Unreported {
                    session: held.session.clone(),
                    result: TaskResult {
                        lease: held.task.lease,
                        ..TaskResult::default()
                    },
                });
            }
            stays
        });
        if let Some(counting) = &self.counting
            && is_named(&counting.session, counting.lease)
            && counting.can_split
            && counting.left(now) >= SPLIT_LEFT_MIN
        {
            counting.course.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Begins with the next task.
    pub(crate) fn begin(&mut self, now: Instant) -> Option<(Held, Arc<Course>)> {
        let held = self.queued.pop_front()?;
        let course = Arc::new(Course::default());
        self.counting = Some(Counting {
            session: held.session.clone(),
            lease: held.lease(),
            can_split: is_expanded(&held.task) || positions(&held.task) >= SPLIT_POSITIONS_MIN,
            course: Arc::clone(&course),
            begun: now,
            is_wanted: true,
        });
        Some((held, course))
    }

    /// Takes what came of the task that was counted.
    pub(crate) fn end(&mut self, counted: Counted) {
        let Some(counting) = self.counting.take() else {
            return;
        };
        self.pace.push_back((counted.nodes, counted.elapsed));
        if self.pace.len() > PACE_RESULTS {
            self.pace.pop_front();
        }
        if counting.is_wanted {
            self.unreported.push_back(Unreported {
                session: counting.session,
                result: counted.result,
            });
        }
    }

    /// Returns results of one session that are to be reported.
    pub(crate) fn reports(&self) -> Option<(Secret, Vec<TaskResult>)> {
        let session = &self.unreported.front()?.session;
        let ours = self.unreported.iter().filter(|it| it.session == *session);
        let results = ours.take(RESULTS_REPORTED_MAX).map(|it| it.result.clone());
        Some((session.clone(), results.collect()))
    }

    /// Forgets results of a session that were answered.
    pub(crate) fn answered(&mut self, session: &Secret, results: &[TaskResult]) {
        self.unreported.retain(|it| {
            let mut same = results
                .iter()
                .filter(|result| result.lease == it.result.lease);
            it.session != *session || same.next().is_none()
        });
    }

    /// Lets go of a session that is not there any more, with what is not begun. What is counted is
    /// counted to its end: a late report is compared.
    pub(crate) fn lose(&mut self, session: &Secret) {
        if self.session.as_ref() == Some(session) {
            self.session = None;
        }
        self.queued.retain(|held| held.session != *session);
    }

    /// Stops: what is counted ends soon, nothing else is begun.
    pub(crate) fn stop(&mut self) {
        self.is_stopping = true;
        self.queued.clear();
        if let Some(counting) = &self.counting {
            counting.course.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the paths that are counted in a second, by the last results.
    pub(crate) fn nodes_per_second(&self) -> f64 {
        let (nodes, time) = self.pace.iter().fold((0.0, Duration::ZERO), |sum, it| {
            (sum.0 + it.0, sum.1 + it.1)
        });
        if time.is_zero() {
            return 0.0;
        }
        nodes / time.as_secs_f64()
    }
}

fn positions(task: &Task) -> usize {
    task.keys.len() / KEY_LENGTH
}

/// Whether a task is counted by the children of its positions: one of few positions, each of which
/// may be heavy.
pub(crate) fn is_expanded(task: &Task) -> bool {
    positions(task) < SPLIT_POSITIONS_MIN && task.rest >= EXPANDED_REST_MIN
}

impl Counting {
    /// About how long it takes yet; nothing before that can be told.
    fn left(&self, now: Instant) -> Duration {
        let share = f64::from(self.course.share.load(Ordering::Relaxed)) / 1_000.0;
        if share <= 0.0 {
            return Duration::ZERO;
        }
        let begun = now.saturating_duration_since(self.begun);
        begun.mul_f64((1.0 - share).max(0.0) / share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: &[u8] = b"ours";

    fn lease(task: u32) -> Lease {
        Lease {
            job: 1,
            task,
            attempt: 1,
        }
    }

    fn task(number: u32) -> Task {
        Task {
            lease: Some(lease(number)),
            rest: 4,
            keys: vec![0; 10 * KEY_LENGTH].into(),
            ..Task::default()
        }
    }

    fn hand() -> Hand {
        let mut hand = Hand {
            session: Some(US.to_vec()),
            ..Hand::default()
        };
        hand.take(&US.to_vec(), vec![task(1), task(2), task(1)]);
        hand
    }

    fn counted(number: u32) -> Counted {
        Counted {
            result: TaskResult {
                lease: Some(lease(number)),
                ..TaskResult::default()
            },
            nodes: 6e6,
            elapsed: Duration::from_millis(2),
        }
    }

    fn reported(hand: &Hand) -> Vec<Lease> {
        let (_, results) = hand.reports().unwrap_or_default();
        results.iter().filter_map(|result| result.lease).collect()
    }

    #[test]
    fn a_task_is_held_until_its_report_is_answered() {
        let now = Instant::now();
        let mut hand = hand();
        assert_eq!(
            (hand.held(), hand.wants(now)),
            (vec![lease(1), lease(2)], 0)
        );
        let (held, _) = hand.begin(now).expect("there are two");
        assert_eq!(held.lease(), lease(1));
        assert_eq!(hand.held().len(), 2);
        hand.end(counted(1));
        assert_eq!((hand.held().len(), hand.wants(now)), (2, 1));
        assert_eq!(hand.nodes_per_second(), 3e9);
        let (session, results) = hand.reports().expect("there is one");
        assert_eq!(session, US);
        hand.answered(&session, &results);
        assert_eq!(hand.held(), [lease(2)]);
        assert!(hand.reports().is_none());
    }

    #[test]
    fn what_is_not_wanted_is_let_go_and_not_reported() {
        let now = Instant::now();
        let mut hand = hand();
        let (_, course) = hand.begin(now).expect("there are two");
        hand.let_go(&b"other".to_vec(), &[lease(1), lease(2)]);
        assert_eq!(hand.held().len(), 2);
        hand.let_go(&US.to_vec(), &[lease(1), lease(2)]);
        assert!(course.stop.load(Ordering::Relaxed));
        assert!(hand.held().is_empty() && hand.is_counting());
        hand.end(counted(1));
        assert!(hand.reports().is_none());
    }

    #[test]
    fn what_others_wait_for_is_given_back() {
        let now = Instant::now();
        let mut hand = hand();
        let all = [lease(1), lease(2)];
        // The first one is begun at once, so that it is kept.
        hand.share(&US.to_vec(), &all, now);
        assert_eq!(reported(&hand), [lease(2)]);
        let (session, results) = hand.reports().expect("there is one");
        hand.answered(&session, &results);
        let (_, course) = hand.begin(now).expect("there is one");
        assert_eq!(hand.wants(now), 0);
        // How long it takes is not known before a part is done.
        let later = now + Duration::from_secs(3);
        hand.share(&US.to_vec(), &all, later);
        assert!(!course.stop.load(Ordering::Relaxed));
        course.share.store(900, Ordering::Relaxed);
        hand.share(&US.to_vec(), &all, later);
        assert!(!course.stop.load(Ordering::Relaxed), "it is almost done");
        course.share.store(500, Ordering::Relaxed);
        hand.share(&US.to_vec(), &all, later);
        assert!(course.stop.load(Ordering::Relaxed));
        assert_eq!(hand.wants(later + SHARE_TIME), 1);
    }

    #[test]
    fn a_single_position_is_given_back_in_parts_where_it_may_be_heavy() {
        for (rest, can_split) in [(4, false), (5, true), (9, true)] {
            let now = Instant::now();
            let mut hand = Hand {
                session: Some(US.to_vec()),
                ..Hand::default()
            };
            let single = Task {
                rest,
                keys: vec![0; KEY_LENGTH].into(),
                ..task(1)
            };
            hand.take(&US.to_vec(), vec![single]);
            let (_, course) = hand.begin(now).expect("there is one");
            course.share.store(500, Ordering::Relaxed);
            hand.share(&US.to_vec(), &[lease(1)], now + Duration::from_secs(3));
            assert_eq!(course.stop.load(Ordering::Relaxed), can_split, "{rest}");
        }
    }

    #[test]
    fn a_lost_session_keeps_what_is_counted_and_reports_it_as_its_own() {
        let now = Instant::now();
        let mut hand = hand();
        let _ = hand.begin(now).expect("there are two");
        hand.lose(&US.to_vec());
        hand.session = Some(b"new".to_vec());
        assert!(hand.held().is_empty(), "the new session holds nothing");
        hand.take(&b"new".to_vec(), vec![task(1)]);
        hand.end(counted(1));
        let (session, _) = hand.reports().expect("there is one");
        assert_eq!(session, US);
        assert_eq!(hand.held(), [lease(1)]);
    }

    #[test]
    fn with_many_results_unanswered_nothing_is_asked_for() {
        let now = Instant::now();
        let mut hand = Hand {
            session: Some(US.to_vec()),
            ..Hand::default()
        };
        for number in 0..UNREPORTED_MAX as u32 {
            assert_eq!(hand.wants(now), TASKS_IN_HAND);
            hand.take(&US.to_vec(), vec![task(number)]);
            let _ = hand.begin(now).expect("it was taken");
            hand.end(counted(number));
        }
        assert_eq!(hand.wants(now), 0);
        hand.stop();
        hand.take(&US.to_vec(), vec![task(99)]);
        assert!(hand.begin(now).is_none() && hand.reports().is_some());
    }
}
