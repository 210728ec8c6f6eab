//! What makes a total trustworthy: counts that are compared, disputes, and who is shut out.

use super::StoredTask;

/// What a task is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum TaskKind {
    /// It counts positions of the plan.
    #[default]
    Count = 0,
    /// It counts some of them again.
    Recheck = 1,
    /// It is asked in a dispute.
    Dispute = 2,
}

impl TaskKind {
    /// Returns the kind of a number.
    pub(crate) fn from_number(number: i64) -> Option<TaskKind> {
        [Self::Count, Self::Recheck, Self::Dispute]
            .into_iter()
            .find(|kind| *kind as i64 == number)
    }
}

/// A task that counts again, or that is asked in a dispute. It comes before others.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCheck {
    /// What it is for.
    pub kind: TaskKind,
    /// The number of its first position.
    pub first: i64,
    /// The number of its positions.
    pub positions: i64,
    /// How deep each of them is to be counted.
    pub rest: u32,
    /// What it costs, in seconds of one thread.
    pub cost: f64,
    /// What is to be counted.
    pub bytes: Vec<u8>,
    /// What the caller knows it by.
    pub note: Vec<u8>,
    /// Who may not count it.
    pub barred: Vec<String>,
    /// Who alone may count it.
    pub only: Option<String>,
    /// Until when it can be counted.
    pub deadline_us: Option<i64>,
}

/// One step of checking a job that is counted.
#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    /// Positions were drawn from tasks that are accepted, to be counted again.
    Draw {
        /// The numbers of these tasks.
        tasks: Vec<i64>,
        /// What counts again.
        checks: Vec<NewCheck>,
    },
    /// Counts were compared with those that are accepted.
    Compared {
        /// Each of them.
        results: Vec<ComparedResult>,
    },
    /// A dispute is opened, or goes on, or is settled.
    Dispute {
        /// Its number in the job.
        number: i64,
        /// What is said of it.
        bytes: Vec<u8>,
        /// What is asked.
        checks: Vec<NewCheck>,
        /// Whether nothing more comes.
        is_settled: bool,
    },
    /// Credentials are shut out: their sessions end, and what was accepted of them in jobs that are
    /// under way is void and open again. A job that is over is in doubt by that. A dispute is
    /// settled with it.
    ShutOut {
        /// Each credential, with why.
        out: Vec<(String, String)>,
        /// The dispute, by its number, and what is said of it.
        dispute: Option<(i64, Vec<u8>)>,
        /// Now.
        now_us: i64,
    },
    /// What is open is counted, if there is anything.
    Resume,
}

/// What came of comparing a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparedResult {
    /// The number of the task.
    pub task: i64,
    /// The number of the attempt.
    pub attempt: i64,
    /// How many positions agree.
    pub agreed: i64,
    /// Whether all do: it is not compared again then.
    pub agrees: bool,
}

/// A result that is to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncompared {
    /// The task; its counts are those that were accepted, if it counts positions of the plan.
    pub task: StoredTask,
    /// The counts to compare with those.
    pub counts: Vec<u8>,
    /// Whose they are.
    pub credential: String,
    /// The number of the attempt.
    pub attempt: i64,
}

/// What is known of the worth of a job's counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobTrust {
    /// Each credential that has counted or was compared.
    pub credentials: Vec<CredentialTrust>,
    /// How many times tables were asked for what was accepted.
    pub probes: f64,
    /// The accepted positions from which none were drawn yet.
    pub undrawn: i64,
    /// The positions that were counted again, and compared.
    pub rechecked: i64,
    /// How many more credentials the job needs than have workers now.
    pub needed: i64,
    /// The disputes, in the order of their numbers: what is said of each, and whether it is
    /// settled.
    pub disputes: Vec<(Vec<u8>, bool)>,
}

/// What is known of a credential in a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CredentialTrust {
    /// The credential.
    pub credential: String,
    /// The positions of the plan that were accepted of it.
    pub positions: i64,
    /// How many of these were counted again by others, and compared.
    pub rechecked: i64,
    /// How many of these agreed.
    pub agreed: i64,
    /// Why it is shut out; empty where it is not.
    pub shut_out: String,
}

/// What became of a session that was to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// It is open.
    Open,
    /// There are as many as there may be.
    TooMany,
    /// Its credential is shut out.
    ShutOut {
        /// Why.
        reason: String,
    },
}
