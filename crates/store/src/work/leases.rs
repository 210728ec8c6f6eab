//! Sessions, leases and reports.

/// The hash of the secret that names a session: the store never sees the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionToken(pub [u8; 32]);

/// A session to open.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSession {
    /// By what it is found.
    pub token: SessionToken,
    /// Whose it is.
    pub credential: String,
    /// What is known of the worker, for the caller.
    pub worker: Vec<u8>,
    /// When it is opened.
    pub now_us: i64,
    /// When it runs out.
    pub expires_us: i64,
    /// How many sessions may be open, this one included.
    pub sessions_max: usize,
}

/// One lease of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The number of the job.
    pub job: i64,
    /// The number of the task in it.
    pub task: i64,
    /// How many times the task was leased, this time included.
    pub attempt: i64,
}

/// Asks for leases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRequest {
    /// The session.
    pub token: SessionToken,
    /// What the session says that it holds.
    pub held: Vec<Lease>,
    /// How many tasks it wants beside that and beside what is leased to it already.
    pub limit: usize,
    /// Now.
    pub now_us: i64,
    /// When the session runs out from now on.
    pub expires_us: i64,
}

/// A task that a session has leased.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeasedTask {
    /// The lease.
    pub lease: Lease,
    /// What the task costs, in seconds of one thread.
    pub cost: f64,
}

/// What a session has leased.
#[derive(Debug, Clone, PartialEq)]
pub struct Leases {
    /// What is not among that which it says that it holds: first what it has leased before.
    pub leased: Vec<LeasedTask>,
    /// Of what it says that it holds, what it does not.
    pub dropped: Vec<Lease>,
}

/// Keeps a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Renewal {
    /// The session.
    pub token: SessionToken,
    /// What the session says that it holds.
    pub held: Vec<Lease>,
    /// How many paths a second it counts, by its own account.
    pub nodes_per_second: f64,
    /// Whether it is stopping.
    pub is_stopping: bool,
    /// Now.
    pub now_us: i64,
    /// When the session runs out from now on.
    pub expires_us: i64,
}

/// A session that was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Renewed {
    /// What it holds, with its cost.
    pub held: Vec<LeasedTask>,
    /// Of what it says that it holds, what it does not.
    pub dropped: Vec<Lease>,
}

/// What was counted of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counting {
    /// All of it.
    Whole {
        /// The counts.
        counts: Vec<u8>,
    },
    /// A part of it. The task is replaced by parts of it, which together are the whole; where that
    /// is one part that is not counted, it is opened again as it is.
    Split {
        /// The parts, in the order of their positions.
        parts: Vec<SplitPart>,
    },
    /// Some of the children of its positions, or none. The task is replaced by tasks of its
    /// children, which together are all of them. It gets its own counts when they have theirs,
    /// with [`Work::fold_task`](super::Work::fold_task).
    Children {
        /// How deep the children are to be counted.
        rest: u32,
        /// The parts, in the order of their positions, which begin at 0.
        parts: Vec<SplitPart>,
    },
}

/// A part of a task that becomes a task of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitPart {
    /// The number of its first position.
    pub first: i64,
    /// The number of its positions.
    pub positions: i64,
    /// Its share of the cost, in thousandths.
    pub cost_per_mille: i64,
    /// What is to be counted.
    pub bytes: Vec<u8>,
    /// The counts, where it is counted.
    pub counts: Option<Vec<u8>>,
}

/// A report of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskReport {
    /// The session, open or not.
    pub token: SessionToken,
    /// The lease.
    pub lease: Lease,
    /// What was counted.
    pub counting: Counting,
    /// How many times a table was asked.
    pub probes: i64,
    /// How long that took, all threads together, in microseconds.
    pub thread_us: i64,
    /// Now.
    pub now_us: i64,
}

/// What became of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// It was taken.
    Accepted {
        /// Whether counts of the same task came from a lease before, to compare with.
        has_late: bool,
    },
    /// The task was counted or split before.
    Known,
    /// The task was leased to somebody else since; a whole count is kept to be compared.
    Late,
    /// There is no such job or task any more, or the job is over.
    Unwanted,
}

/// Why a job cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispute {
    /// The number of the job.
    pub job: i64,
    /// Whether two reports disagree.
    pub disagrees: bool,
    /// What the job came to by that, where it is not over.
    pub outcome: Vec<u8>,
    /// Now.
    pub now_us: i64,
}

/// What time brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// The sessions that ran out.
    pub sessions: usize,
    /// The leases that were taken back from them.
    pub leases: usize,
    /// Whether there is more to do at once.
    pub more: bool,
}

/// A session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    /// Whose it is.
    pub credential: String,
    /// What is known of the worker.
    pub worker: Vec<u8>,
    /// Whether it is open.
    pub is_open: bool,
    /// Whether it is stopping.
    pub is_stopping: bool,
    /// When it last gave a sign.
    pub seen_us: i64,
    /// When it last asked for tasks.
    pub asked_us: i64,
    /// How many paths a second it counts, by its own account.
    pub nodes_per_second: f64,
    /// How many tasks of it were accepted.
    pub tasks_done: i64,
    /// How many reports of it could not be right.
    pub refused: i64,
    /// The tasks of the job in question that it holds.
    pub tasks: Vec<i64>,
    /// How many tasks of other jobs it holds.
    pub other_tasks: i64,
}
