//! Jobs and their tasks.

use std::error::Error;
use std::fmt;

use crate::error::{Fault, InvalidField};

/// The name of a job within its platform.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobKey {
    /// The platform.
    pub platform: String,
    /// The job.
    pub job: String,
}

/// A job to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// Its name.
    pub key: JobKey,
    /// The request that creates it.
    pub request_id: String,
    /// The hash of the content of the request.
    pub content_hash: [u8; 32],
    /// What is to be done.
    pub spec: Vec<u8>,
    /// When it is created.
    pub create_us: i64,
    /// How long it is kept after its end, in microseconds.
    pub keep_us: i64,
    /// How many jobs of the platform may be under way, this one included.
    pub under_way_max: usize,
    /// How many jobs the platform may have, this one included.
    pub jobs_max: usize,
}

/// A stage in the life of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum JobState {
    /// It is to be cut into tasks.
    Planning = 1,
    /// Its tasks are counted.
    Running = 2,
    /// All are counted, and it is to be added up.
    Counted = 3,
    /// It is added up.
    Succeeded = 4,
    /// It was given up.
    Failed = 5,
    /// A caller cancelled it.
    Cancelled = 6,
}

impl JobState {
    /// Returns whether nothing more happens to a job.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }

    /// Returns the state of a number.
    pub(crate) fn from_number(number: i64) -> Option<JobState> {
        [
            Self::Planning,
            Self::Running,
            Self::Counted,
            Self::Succeeded,
            Self::Failed,
            Self::Cancelled,
        ]
        .into_iter()
        .find(|state| *state as i64 == number)
    }
}

/// A job as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRow {
    /// Its number.
    pub id: i64,
    /// Its name.
    pub key: JobKey,
    /// What is to be done.
    pub spec: Vec<u8>,
    /// Its stage.
    pub state: JobState,
    /// What planning came to; empty before.
    pub plan: Vec<u8>,
    /// What the job came to; empty before.
    pub outcome: Vec<u8>,
    /// When it was created.
    pub create_us: i64,
    /// When its tasks were there.
    pub start_us: Option<i64>,
    /// When it was over.
    pub end_us: Option<i64>,
    /// How long it is kept after that, in microseconds.
    pub keep_us: i64,
    /// How many leases of it were taken back from sessions that ran out.
    pub leases_expired: i64,
    /// How many reports disagreed with others.
    pub disagreements: i64,
}

/// Why a job was not created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobError {
    /// Another request created a job of this name.
    NameTaken,
    /// The request id came before with other content.
    RequestIdReused,
    /// The platform has as many jobs under way as it may.
    TooManyUnderWay {
        /// The most.
        limit: usize,
    },
    /// The platform has as many jobs as it may.
    TooMany {
        /// The most.
        limit: usize,
    },
    /// A field cannot be stored.
    Invalid(InvalidField),
    /// The store could not do it.
    Fault(Fault),
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken => f.write_str("another request created a job of this name"),
            Self::RequestIdReused => f.write_str("the request id came before with other content"),
            Self::TooManyUnderWay { limit } => {
                write!(f, "the platform has {limit} jobs under way, the limit")
            }
            Self::TooMany { limit } => write!(f, "the platform has {limit} jobs, the limit"),
            Self::Invalid(invalid) => invalid.fmt(f),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl Error for JobError {}

impl From<InvalidField> for JobError {
    fn from(invalid: InvalidField) -> Self {
        Self::Invalid(invalid)
    }
}

impl From<Fault> for JobError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// A job is not over, so that it cannot be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfinished;

/// The right of one process to plan a job or to add it up, as long as nobody else claims it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// The number of the job.
    pub job: i64,
    /// How many times the job was claimed.
    pub fence: i64,
}

/// A job that was claimed.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedJob {
    /// The claim.
    pub claim: Claim,
    /// The job.
    pub row: JobRow,
}

/// A task to add. The first one of a job has the number 0, and each further one the next.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTask {
    /// The number of its first position.
    pub first: i64,
    /// The number of its positions.
    pub positions: i64,
    /// How deep each of them is to be counted.
    pub rest: u32,
    /// What it costs, in seconds of one thread.
    pub cost: f64,
    /// Whether it comes before those that are not urgent.
    pub is_urgent: bool,
    /// What is to be counted.
    pub bytes: Vec<u8>,
}

/// What planning came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedJob {
    /// What is said of it.
    pub plan: Vec<u8>,
    /// When its tasks were there.
    pub now_us: i64,
}

/// How a job ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobEnd {
    /// The state that it ends in.
    pub state: JobState,
    /// What it came to.
    pub outcome: Vec<u8>,
    /// When.
    pub now_us: i64,
}

/// The counts of a task, as its children come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fold {
    /// The number of the task in the job.
    pub task: i64,
    /// The counts.
    pub counts: Vec<u8>,
    /// Now.
    pub now_us: i64,
}

/// Positions of a job that follow each other: those of its plan, or children of those of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The number of the job.
    pub job: i64,
    /// The task whose children they are; `None` where they are of the plan.
    pub parent: Option<i64>,
    /// The number of the first of them.
    pub first: i64,
    /// The number at which they end.
    pub end: i64,
}

/// A task, with its counts where they were accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTask {
    /// The number of its job.
    pub job: i64,
    /// Its number in the job.
    pub task: i64,
    /// The number of the task whose children its positions are; `None` where they are of the plan.
    pub parent: Option<i64>,
    /// The number of its first position.
    pub first: i64,
    /// The number of its positions.
    pub positions: i64,
    /// How deep each of them is to be counted.
    pub rest: u32,
    /// What is to be counted.
    pub bytes: Vec<u8>,
    /// The counts that were accepted.
    pub counts: Option<Vec<u8>>,
    /// How many times a table was asked for them.
    pub probes: i64,
}

/// How far a job is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct JobProgress {
    /// The number of tasks, without those that were split.
    pub tasks: i64,
    /// The tasks that nobody has leased.
    pub tasks_open: i64,
    /// The tasks that sessions have leased.
    pub tasks_leased: i64,
    /// The cost of the tasks that are open or leased, in seconds of one thread.
    pub cost_left: f64,
}

/// What is left to do in all jobs that run, and by whom.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WorkCensus {
    /// The sessions that are open and have not run out.
    pub sessions: i64,
    /// The tasks that are open or leased.
    pub tasks: i64,
    /// Their cost, in seconds of one thread.
    pub cost_left: f64,
}

/// A place in a list of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobCursor {
    /// When the last job of a page was created.
    pub create_us: i64,
    /// Its number.
    pub id: i64,
}

/// A page of jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPage {
    /// The jobs.
    pub jobs: Vec<JobRow>,
    /// Where the next page begins; none at the end.
    pub next: Option<JobCursor>,
}
