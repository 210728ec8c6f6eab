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

/// Tasks of children of the positions of another task, which get numbers of their own that begin
/// at 0. The parent of tasks of a plan is -1. A copy has the state 4 while its task is replaced by
/// tasks of its children that are not all counted.
pub(super) const CHILDREN: &str = "
ALTER TABLE perft_inputs ADD COLUMN parent INTEGER NOT NULL DEFAULT -1;
DROP INDEX perft_inputs_in_order;
CREATE INDEX perft_inputs_in_order ON perft_inputs (job_id, parent, first);
CREATE INDEX perft_expanded ON perft_copies (job_id, task) WHERE state = 4;
";
