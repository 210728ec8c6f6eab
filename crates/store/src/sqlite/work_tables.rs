//! The tables of shared work.

/// Jobs, tasks and sessions.
///
/// A number of a job is never given again, so that what a worker still holds of a job that was
/// deleted is not taken for a task of another.
pub(super) const TABLES: &str = "
CREATE TABLE perft_jobs (
    job_id INTEGER PRIMARY KEY AUTOINCREMENT,
    platform_id INTEGER NOT NULL REFERENCES platforms,
    -- None once the job was deleted.
    name TEXT,
    request_id TEXT,
    content_hash BLOB NOT NULL,
    spec BLOB NOT NULL,
    state INTEGER NOT NULL,
    -- The number of the next task, and how many tasks were replaced by parts of them.
    tasks INTEGER NOT NULL DEFAULT 0,
    splits INTEGER NOT NULL DEFAULT 0,
    -- Who plans the job or adds it up, and until when nobody else may.
    fence INTEGER NOT NULL DEFAULT 0,
    held_until_us INTEGER NOT NULL DEFAULT 0,
    create_us INTEGER NOT NULL,
    start_us INTEGER,
    end_us INTEGER,
    keep_us INTEGER NOT NULL,
    leases_expired INTEGER NOT NULL DEFAULT 0,
    disagreements INTEGER NOT NULL DEFAULT 0,
    plan BLOB NOT NULL DEFAULT X'',
    outcome BLOB NOT NULL DEFAULT X'',
    UNIQUE (platform_id, name),
    UNIQUE (platform_id, request_id)
) STRICT;
CREATE INDEX perft_jobs_by_time ON perft_jobs (platform_id, create_us, job_id);
CREATE INDEX perft_jobs_by_state ON perft_jobs (state, job_id);

-- What is to be counted. Never changed.
CREATE TABLE perft_inputs (
    job_id INTEGER NOT NULL,
    task INTEGER NOT NULL,
    first INTEGER NOT NULL,
    positions INTEGER NOT NULL,
    rest INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (job_id, task)
) STRICT, WITHOUT ROWID;
CREATE INDEX perft_inputs_in_order ON perft_inputs (job_id, first);

-- One row for each count that is wanted of a task.
CREATE TABLE perft_copies (
    job_id INTEGER NOT NULL,
    task INTEGER NOT NULL,
    copy INTEGER NOT NULL,
    -- 0 open, 1 leased, 2 done, 3 replaced by its parts.
    state INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    cost REAL NOT NULL,
    credential_id INTEGER,
    session_id INTEGER,
    attempt INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, task, copy)
) STRICT, WITHOUT ROWID;
-- The engine uses these only where a statement has the same numbers.
CREATE INDEX perft_open ON perft_copies (job_id, turn, task, cost) WHERE state = 0;
CREATE INDEX perft_leased ON perft_copies (job_id, session_id, cost) WHERE state = 1;
CREATE INDEX perft_by_session ON perft_copies (session_id, job_id, task) WHERE state = 1;
-- Two counts of a task are of two credentials.
CREATE UNIQUE INDEX perft_distinct ON perft_copies (job_id, task, credential_id)
    WHERE state IN (1, 2);

-- What was reported; verdict 1 is what counts, 2 came too late.
CREATE TABLE perft_results (
    job_id INTEGER NOT NULL,
    task INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    credential_id INTEGER NOT NULL,
    session_id INTEGER NOT NULL,
    verdict INTEGER NOT NULL,
    probes INTEGER NOT NULL,
    thread_us INTEGER NOT NULL,
    received_us INTEGER NOT NULL,
    counts BLOB NOT NULL,
    PRIMARY KEY (job_id, task, attempt)
) STRICT, WITHOUT ROWID;
-- A task is counted once.
CREATE UNIQUE INDEX perft_accepted ON perft_results (job_id, task) WHERE verdict = 1;

CREATE TABLE perft_credentials (
    credential_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE perft_sessions (
    session_id INTEGER PRIMARY KEY AUTOINCREMENT,
    token BLOB NOT NULL UNIQUE,
    credential_id INTEGER NOT NULL REFERENCES perft_credentials,
    worker BLOB NOT NULL,
    is_open INTEGER NOT NULL DEFAULT 1,
    is_stopping INTEGER NOT NULL DEFAULT 0,
    seen_us INTEGER NOT NULL,
    asked_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL,
    nodes_per_second REAL NOT NULL DEFAULT 0,
    tasks_done INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX perft_sessions_by_time ON perft_sessions (is_open, expires_us);
";

/// What makes a total trustworthy: copies of tasks, tasks that count again, disputes, and who was
/// shut out.
///
/// A copy may be leased by nobody who is barred from its task: the triggers hold that, as the
/// indexes hold that two counts of a task are of two credentials.
pub(super) const CHECKS: &str = "
-- How many counts of each task are wanted.
ALTER TABLE perft_jobs ADD COLUMN copies INTEGER NOT NULL DEFAULT 1;
-- Whether a task is never replaced by its children, so that each position has one who counted it.
ALTER TABLE perft_jobs ADD COLUMN is_whole INTEGER NOT NULL DEFAULT 0;
-- 0 counts positions of the plan, 1 counts some of them again, 2 is asked in a dispute.
ALTER TABLE perft_inputs ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
-- Which positions of the plan these are, or what the dispute asks, for the caller.
ALTER TABLE perft_inputs ADD COLUMN note BLOB NOT NULL DEFAULT X'';
ALTER TABLE perft_copies ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
ALTER TABLE perft_copies ADD COLUMN positions INTEGER NOT NULL DEFAULT 0;
-- The only one who may count it, and until when.
ALTER TABLE perft_copies ADD COLUMN only_credential_id INTEGER;
ALTER TABLE perft_copies ADD COLUMN deadline_us INTEGER;
UPDATE perft_copies SET positions = coalesce((SELECT positions FROM perft_inputs i
    WHERE i.job_id = perft_copies.job_id AND i.task = perft_copies.task), 0);
-- Of what is accepted: whether positions to count again were drawn from it. Of anything else: 1
-- where it was compared and agrees, 2 where it differs.
ALTER TABLE perft_results ADD COLUMN settled INTEGER NOT NULL DEFAULT 0;
-- How many positions agreed.
ALTER TABLE perft_results ADD COLUMN agreed INTEGER NOT NULL DEFAULT 0;

CREATE INDEX perft_done ON perft_copies (job_id, credential_id, kind, positions) WHERE state = 2;
CREATE INDEX perft_deadlines ON perft_copies (deadline_us) WHERE deadline_us IS NOT NULL;
-- Two counts of a task that are good are of two credentials.
CREATE UNIQUE INDEX perft_witnesses ON perft_results (job_id, task, credential_id)
    WHERE verdict IN (1, 3);
CREATE INDEX perft_unsettled ON perft_results (job_id, verdict, task, attempt) WHERE settled <> 1;

-- Who may not count a task, since the count that it is compared with is theirs.
CREATE TABLE perft_barred (
    job_id INTEGER NOT NULL,
    task INTEGER NOT NULL,
    credential_id INTEGER NOT NULL,
    PRIMARY KEY (job_id, task, credential_id)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER perft_copies_barred BEFORE UPDATE OF credential_id ON perft_copies
WHEN NEW.state IN (1, 2) AND NEW.kind > 0 BEGIN
    SELECT RAISE(ROLLBACK, 'the credential is barred from the task')
    WHERE EXISTS (SELECT 1 FROM perft_barred b WHERE b.job_id = NEW.job_id
        AND b.task = NEW.task AND b.credential_id = NEW.credential_id);
END;

CREATE TABLE perft_disputes (
    job_id INTEGER NOT NULL,
    dispute INTEGER NOT NULL,
    is_settled INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (job_id, dispute)
) STRICT, WITHOUT ROWID;

-- Whose counts are not taken any more.
CREATE TABLE perft_shut_out (
    credential_id INTEGER PRIMARY KEY REFERENCES perft_credentials,
    job_id INTEGER NOT NULL,
    reason TEXT NOT NULL,
    time_us INTEGER NOT NULL
) STRICT;
";

/// Tasks of children of the positions of another task, which get numbers of their own that begin
/// at 0. The parent of tasks of a plan is -1. A copy has the state 4 while its task is replaced by
/// tasks of its children that are not all counted.
pub(super) const CHILDREN: &str = "
ALTER TABLE perft_inputs ADD COLUMN parent INTEGER NOT NULL DEFAULT -1;
DROP INDEX perft_inputs_in_order;
CREATE INDEX perft_inputs_in_order ON perft_inputs (job_id, parent, first);
CREATE INDEX perft_expanded ON perft_copies (job_id, task) WHERE state = 4;
";
