//! Checks what callers give against the limits, for every engine.

use crate::deadlines::Postponement;
use crate::error::{InvalidField, Problem};
use crate::games::{Append, Deletion, GameKey, ListFilter, NewGame, PrivateText, Write};
use crate::identities::{NewToken, TokenScope};
use crate::limits;
use crate::work::{Counting, JobKey, NewJob, NewSession, NewTask, TaskReport};

/// What a write costs in a queue beside its payload: rounded up from its fixed parts.
pub(crate) const FIXED_BYTES: usize = 512;

/// What a token costs in a queue: rounded up from the limits of its fields.
pub(crate) const TOKEN_BYTES: usize = 2 * FIXED_BYTES;

/// Checks a game to create.
pub(crate) fn new_game(game: &NewGame) -> Result<(), InvalidField> {
    key(&game.key)?;
    required("request_id", &game.request_id, limits::REQUEST_ID_BYTES_MAX)?;
    at_most("genesis", game.genesis.len(), limits::GENESIS_BYTES_MAX)?;
    private(game.private.as_ref())?;
    labels(&game.labels)
}

/// Checks a write to a game.
pub(crate) fn append(append: &Append) -> Result<(), InvalidField> {
    key(&append.key)?;
    required(
        "request_id",
        &append.request.id,
        limits::REQUEST_ID_BYTES_MAX,
    )?;
    match &append.write {
        Write::Entry {
            bytes,
            private: text,
            describes,
            ..
        } => {
            at_most("entry", bytes.len(), limits::ENTRY_BYTES_MAX)?;
            private(text.as_ref())?;
            labels(describes.as_deref().unwrap_or_default())
        }
        Write::Refusal { answer } => at_most("refusal", answer.len(), limits::REFUSAL_BYTES_MAX),
    }
}

/// Checks a deletion.
pub(crate) fn deletion(deletion: &Deletion) -> Result<(), InvalidField> {
    key(&deletion.key)?;
    let limit = limits::REQUEST_ID_BYTES_MAX;
    required("request_id", &deletion.request_id, limit)
}

/// Checks a postponement.
pub(crate) fn postponement(postponement: &Postponement) -> Result<(), InvalidField> {
    key(&postponement.key)
}

/// Checks a token to issue.
pub(crate) fn new_token(token: &NewToken) -> Result<(), InvalidField> {
    required("id", &token.id, limits::TOKEN_ID_BYTES_MAX)?;
    required("principal", &token.principal, limits::PRINCIPAL_BYTES_MAX)?;
    required("platform", &token.platform, limits::PLATFORM_BYTES_MAX)?;
    required("issuer", &token.issuer, limits::PRINCIPAL_BYTES_MAX)?;
    match &token.scope {
        TokenScope::Platform => Ok(()),
        TokenScope::Game { game, .. } => required("scope.game", game, limits::GAME_BYTES_MAX),
        TokenScope::Label { key, value } => {
            required("scope.label.key", key, limits::LABEL_KEY_BYTES_MAX)?;
            at_most(
                "scope.label.value",
                value.len(),
                limits::LABEL_VALUE_BYTES_MAX,
            )
        }
    }
}

/// Checks the filter of a list.
pub(crate) fn list_filter(filter: &ListFilter) -> Result<(), InvalidField> {
    count(
        "filter.states",
        filter.states.len(),
        limits::FILTER_STATES_MAX,
    )?;
    filter_labels("filter.labels", &filter.labels)
}

/// Checks the labels that games must have.
pub(crate) fn filter_labels(
    field: &'static str,
    labels: &[(String, String)],
) -> Result<(), InvalidField> {
    count(field, labels.len(), limits::FILTER_LABELS_MAX)
}

/// The bytes that a creation occupies while it waits.
pub(crate) fn new_game_bytes(game: &NewGame) -> usize {
    FIXED_BYTES + game.genesis.len() + text_bytes(game.private.as_ref(), &game.labels)
}

/// The bytes that a write occupies while it waits.
pub(crate) fn append_bytes(append: &Append) -> usize {
    FIXED_BYTES
        + match &append.write {
            Write::Entry {
                bytes,
                private,
                describes,
                ..
            } => {
                let labels = describes.as_deref().unwrap_or_default();
                bytes.len() + text_bytes(private.as_ref(), labels)
            }
            Write::Refusal { answer } => answer.len(),
        }
}

fn text_bytes(private: Option<&PrivateText>, labels: &[(String, String)]) -> usize {
    let labels = labels.iter().map(|(key, value)| key.len() + value.len());
    private.map_or(0, |text| text.bytes.len()) + labels.sum::<usize>()
}

fn key(key: &GameKey) -> Result<(), InvalidField> {
    required("platform", &key.platform, limits::PLATFORM_BYTES_MAX)?;
    required("game", &key.game, limits::GAME_BYTES_MAX)
}

fn private(text: Option<&PrivateText>) -> Result<(), InvalidField> {
    let bytes = text.map_or(0, |text| text.bytes.len());
    at_most("private", bytes, limits::PRIVATE_BYTES_MAX)
}

fn labels(labels: &[(String, String)]) -> Result<(), InvalidField> {
    count("labels", labels.len(), limits::LABELS_MAX)?;
    for (key, value) in labels {
        required("labels.key", key, limits::LABEL_KEY_BYTES_MAX)?;
        at_most("labels.value", value.len(), limits::LABEL_VALUE_BYTES_MAX)?;
    }
    if labels.is_sorted_by(|(one, _), (other, _)| one < other) {
        Ok(())
    } else {
        Err(InvalidField {
            field: "labels",
            problem: Problem::NotSorted,
        })
    }
}

fn required(field: &'static str, value: &str, limit: usize) -> Result<(), InvalidField> {
    if value.is_empty() {
        return Err(InvalidField {
            field,
            problem: Problem::Empty,
        });
    }
    at_most(field, value.len(), limit)
}

fn at_most(field: &'static str, actual: usize, limit: usize) -> Result<(), InvalidField> {
    if actual <= limit {
        return Ok(());
    }
    Err(InvalidField {
        field,
        problem: Problem::TooLong { limit, actual },
    })
}

fn count(field: &'static str, actual: usize, limit: usize) -> Result<(), InvalidField> {
    if actual <= limit {
        return Ok(());
    }
    Err(InvalidField {
        field,
        problem: Problem::TooMany { limit, actual },
    })
}

/// Checks a shared job to create.
pub(crate) fn new_job(job: &NewJob) -> Result<(), InvalidField> {
    job_key(&job.key)?;
    required("request_id", &job.request_id, limits::REQUEST_ID_BYTES_MAX)?;
    at_most("spec", job.spec.len(), limits::JOB_TEXT_BYTES_MAX)
}

/// Checks the name of a shared job.
fn job_key(key: &JobKey) -> Result<(), InvalidField> {
    required("platform", &key.platform, limits::PLATFORM_BYTES_MAX)?;
    required("job", &key.job, limits::JOB_BYTES_MAX)
}

/// Checks tasks to add.
pub(crate) fn new_tasks(tasks: &[NewTask]) -> Result<(), InvalidField> {
    let bytes: usize = tasks.iter().map(|task| task.bytes.len()).sum();
    let limit = match tasks {
        [_] => limits::TASK_BYTES_MAX,
        _ => limits::TASKS_BYTES_MAX,
    };
    at_most("tasks", bytes, limit)
}

/// Checks a session to open.
pub(crate) fn new_session(session: &NewSession) -> Result<(), InvalidField> {
    let limit = limits::CREDENTIAL_BYTES_MAX;
    required("credential", &session.credential, limit)?;
    at_most("worker", session.worker.len(), limits::WORKER_BYTES_MAX)
}

/// The bytes of a report.
pub(crate) fn report_bytes(report: &TaskReport) -> usize {
    let bytes = match &report.counting {
        Counting::Whole { counts } => counts.len(),
        Counting::Split { parts } | Counting::Children { parts, .. } => parts
            .iter()
            .map(|part| part.bytes.len() + part.counts.as_ref().map_or(0, Vec::len) + FIXED_BYTES)
            .sum(),
    };
    bytes + FIXED_BYTES
}

/// Checks a report.
pub(crate) fn report(report: &TaskReport) -> Result<(), InvalidField> {
    // Parts repeat what the task had, each with some bytes of its own.
    at_most("report", report_bytes(report), limits::QUEUE_BYTES_MAX / 16)
}
