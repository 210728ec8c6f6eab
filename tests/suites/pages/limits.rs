//! `docs/LIMITS.md`: each bound of a process, against the constant of its name.

use std::collections::BTreeMap;
use std::time::Duration;

use referee_server::limits as l;

fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn bytes(number: usize) -> String {
    match number {
        mib if mib.is_multiple_of(1 << 20) => format!("{} MiB", mib >> 20),
        kib => format!("{} KiB", kib >> 10),
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

/// What each caller and each platform may take.
fn allowances() -> Vec<(&'static str, String)> {
    vec![
        (
            "GUEST_CALLS_PER_SECOND_MAX",
            count(l::GUEST_CALLS_PER_SECOND_MAX as usize),
        ),
        (
            "GUEST_REFUSALS_PER_SECOND_MAX",
            count(l::GUEST_REFUSALS_PER_SECOND_MAX as usize),
        ),
        (
            "GUEST_SOLVER_NODES_PER_SECOND_MAX",
            count(l::GUEST_SOLVER_NODES_PER_SECOND_MAX as usize),
        ),
        (
            "GUEST_BYTES_PER_SECOND_MAX",
            bytes(l::GUEST_BYTES_PER_SECOND_MAX as usize),
        ),
        ("GUEST_CONNECTIONS_MAX", count(l::GUEST_CONNECTIONS_MAX)),
        ("GUEST_STREAMS_MAX", count(l::GUEST_STREAMS_MAX)),
        (
            "PRINCIPAL_CALLS_PER_SECOND_MAX",
            count(l::PRINCIPAL_CALLS_PER_SECOND_MAX as usize),
        ),
        (
            "PRINCIPAL_REFUSALS_PER_SECOND_MAX",
            count(l::PRINCIPAL_REFUSALS_PER_SECOND_MAX as usize),
        ),
        (
            "PRINCIPAL_SOLVER_NODES_PER_SECOND_MAX",
            count(l::PRINCIPAL_SOLVER_NODES_PER_SECOND_MAX as usize),
        ),
        (
            "PRINCIPAL_BYTES_PER_SECOND_MAX",
            bytes(l::PRINCIPAL_BYTES_PER_SECOND_MAX as usize),
        ),
        (
            "PRINCIPAL_CONNECTIONS_MAX",
            count(l::PRINCIPAL_CONNECTIONS_MAX),
        ),
        ("PRINCIPAL_STREAMS_MAX", count(l::PRINCIPAL_STREAMS_MAX)),
        (
            "PLATFORM_CALLS_PER_SECOND_MAX",
            count(l::PLATFORM_CALLS_PER_SECOND_MAX as usize),
        ),
        (
            "PLATFORM_REFUSALS_PER_SECOND_MAX",
            count(l::PLATFORM_REFUSALS_PER_SECOND_MAX as usize),
        ),
        (
            "PLATFORM_SOLVER_NODES_PER_SECOND_MAX",
            count(l::PLATFORM_SOLVER_NODES_PER_SECOND_MAX as usize),
        ),
        (
            "PLATFORM_BYTES_PER_SECOND_MAX",
            bytes(l::PLATFORM_BYTES_PER_SECOND_MAX as usize),
        ),
        (
            "PLATFORM_CONNECTIONS_MAX",
            count(l::PLATFORM_CONNECTIONS_MAX),
        ),
        ("PLATFORM_STREAMS_MAX", count(l::PLATFORM_STREAMS_MAX)),
    ]
}

fn bounds() -> BTreeMap<&'static str, String> {
    [
        ("CONNECTIONS_MAX", count(l::CONNECTIONS_MAX)),
        ("TLS_HANDSHAKE_TIMEOUT", seconds(l::TLS_HANDSHAKE_TIMEOUT)),
        ("HTTP_1_BUFFER_BYTES_MAX", bytes(l::HTTP_1_BUFFER_BYTES_MAX)),
        ("WEB_ORIGINS_MAX", count(l::WEB_ORIGINS_MAX)),
        ("TLS_FILE_BYTES_MAX", bytes(l::TLS_FILE_BYTES_MAX)),
        ("PREFACE_TIMEOUT", seconds(l::PREFACE_TIMEOUT)),
        ("CONNECTION_QUIET_MAX", seconds(l::CONNECTION_QUIET_MAX)),
        ("CONNECTION_AGE_CUT", seconds(l::CONNECTION_AGE_CUT)),
        ("KEEPALIVE_INTERVAL", seconds(l::KEEPALIVE_INTERVAL)),
        ("KEEPALIVE_TIMEOUT", seconds(l::KEEPALIVE_TIMEOUT)),
        (
            "CONCURRENT_STREAMS_MAX",
            count(l::CONCURRENT_STREAMS_MAX as usize),
        ),
        ("RESETS_PENDING_MAX", count(l::RESETS_PENDING_MAX)),
        (
            "HEADER_LIST_BYTES_MAX",
            bytes(l::HEADER_LIST_BYTES_MAX as usize),
        ),
        ("CALLS_PENDING_MAX", count(l::CALLS_PENDING_MAX)),
        ("OPEN_STREAMS_MAX", count(l::OPEN_STREAMS_MAX)),
        ("UNDER_WAY_BYTES_MAX", bytes(l::UNDER_WAY_BYTES_MAX)),
        (
            "CONNECTION_RECEIVED_BYTES_MAX",
            bytes(l::CONNECTION_RECEIVED_BYTES_MAX),
        ),
        (
            "CONNECTION_UNSENT_BYTES_MAX",
            bytes(l::CONNECTION_UNSENT_BYTES_MAX),
        ),
        ("STREAM_UNSENT_BYTES_MAX", bytes(l::STREAM_UNSENT_BYTES_MAX)),
        (
            "STREAM_WINDOW_BYTES",
            bytes(l::STREAM_WINDOW_BYTES as usize),
        ),
        (
            "CONNECTION_WINDOW_BYTES",
            bytes(l::CONNECTION_WINDOW_BYTES as usize),
        ),
        ("STREAM_QUEUE_MAX", count(l::STREAM_QUEUE_MAX)),
        ("STREAM_QUEUE_BYTES_MAX", bytes(l::STREAM_QUEUE_BYTES_MAX)),
        ("SLOW_CONSUMER_TIMEOUT", seconds(l::SLOW_CONSUMER_TIMEOUT)),
        ("CALL_TIMEOUT", seconds(l::CALL_TIMEOUT)),
        ("MESSAGE_TIMEOUT", seconds(l::MESSAGE_TIMEOUT)),
        ("FIRST_MESSAGE_TIMEOUT", seconds(l::FIRST_MESSAGE_TIMEOUT)),
        ("PIECE_TIMEOUT", seconds(l::PIECE_TIMEOUT)),
        ("VERIFY_STREAMS_MAX", count(l::VERIFY_STREAMS_MAX)),
        ("PGN_EXPORTS_MAX", count(l::PGN_EXPORTS_MAX)),
        ("IMPORTS_AT_ONCE_MAX", count(l::IMPORTS_AT_ONCE_MAX)),
        ("IMPORTS_WAITING_MAX", count(l::IMPORTS_WAITING_MAX)),
        ("SOLVERS_AT_ONCE_MAX", count(l::SOLVERS_AT_ONCE_MAX)),
        ("SOLVER_BYTES_MAX", bytes(l::SOLVER_BYTES_MAX as usize)),
        (
            "MATE_QUESTIONS_AT_ONCE_MAX",
            count(l::MATE_QUESTIONS_AT_ONCE_MAX),
        ),
        (
            "MATE_QUESTIONS_WAITING_MAX",
            count(l::MATE_QUESTIONS_WAITING_MAX),
        ),
        ("JUDGMENTS_WAITING_MAX", count(l::JUDGMENTS_WAITING_MAX)),
        ("BULK_READS_AT_ONCE_MAX", count(l::BULK_READS_AT_ONCE_MAX)),
        ("READS_AT_ONCE_MAX", count(l::READS_AT_ONCE_MAX)),
        ("READS_WAITING_MAX", count(l::READS_WAITING_MAX)),
        ("READS_WAITING_BYTES_MAX", bytes(l::READS_WAITING_BYTES_MAX)),
        ("CACHE_BYTES_MAX", bytes(l::CACHE_BYTES_MAX)),
    ]
    .into_iter()
    .chain(allowances())
    .chain(of_perft())
    .collect()
}

fn of_perft() -> Vec<(&'static str, String)> {
    vec![
        (
            "PERFT_COUNTS_AT_ONCE_MAX",
            count(l::PERFT_COUNTS_AT_ONCE_MAX),
        ),
        (
            "PERFT_COUNTS_WAITING_MAX",
            count(l::PERFT_COUNTS_WAITING_MAX),
        ),
        (
            "PERFT_JOBS_UNDER_WAY_MAX",
            count(l::PERFT_JOBS_UNDER_WAY_MAX),
        ),
        ("PERFT_JOBS_MAX", count(l::PERFT_JOBS_MAX)),
        (
            "PERFT_POSITIONS_MAX",
            count(l::PERFT_POSITIONS_MAX as usize),
        ),
        (
            "PERFT_SPILL_BYTES_MAX",
            format!("{} MiB", count((l::PERFT_SPILL_BYTES_MAX >> 20) as usize)),
        ),
        (
            "PERFT_SPILL_ROOM_BYTES",
            bytes(l::PERFT_SPILL_ROOM_BYTES as usize),
        ),
        (
            "COUNTED_TASKS_MAX",
            count(referee_store::limits::COUNTED_TASKS_MAX as usize),
        ),
        (
            "EXPANDED_POSITIONS_MAX",
            count(referee_perft::limits::EXPANDED_POSITIONS_MAX),
        ),
        ("SESSIONS_MAX", count(l::SESSIONS_MAX)),
        ("SESSION_TIME", seconds(l::SESSION_TIME)),
        ("LEASES_HELD_MAX", count(l::LEASES_HELD_MAX)),
        ("TASK_POSITIONS_MAX", count(l::TASK_POSITIONS_MAX)),
    ]
}

#[test]
fn the_page_has_every_bound_of_a_process() {
    let mut open = bounds();
    let page = super::read("LIMITS.md");
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = line.trim_matches(['|', ' ']).splitn(3, " | ");
        let name = cells.next().unwrap_or_default().trim_matches('`');
        let value = open.remove(name);
        assert_eq!(value.as_deref(), cells.next(), "{name}");
        let what = cells.next().unwrap_or_default();
        assert!(what.ends_with('.'), "{name}: a sentence");
    }
    assert!(open.is_empty(), "docs/LIMITS.md lacks {open:?}");
}
