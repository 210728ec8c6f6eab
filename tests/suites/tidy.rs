//! What is true of every source file of the project.

use std::collections::BTreeSet;

use referee_tests::root;
use referee_tests::sources::{Source, functions, names, sources};

/// The greatest number of lines of a source file.
const FILE_LINES_MAX: usize = 600;
/// The greatest number of lines of a function.
const FUNCTION_LINES_MAX: usize = 70;
/// The greatest number of characters of a line.
const LINE_CHARS_MAX: usize = 100;

/// One arm for each variant, which nobody would look for elsewhere.
const EXHAUSTIVE: &str = "a match over all variants, one arm each";
/// Inputs and what is expected of them, one after another.
const DATA: &str = "data: one entry after another, no logic";
/// One course of events that is asserted step by step.
const STORY: &str = "one story, told and asserted step by step";

/// Functions that are longer for a reason: the file, the name, and the reason.
const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[
    ("crates/laws/src/outcome.rs", "sentence", EXHAUSTIVE),
    ("crates/server/src/error.rs", "fmt", EXHAUSTIVE),
    ("tests/suites/pages/limits.rs", "bounds", DATA),
    (
        "crates/referee/src/commands/game/action_words.rs",
        "kind",
        EXHAUSTIVE,
    ),
    (
        "crates/perft/tests/published.rs",
        "statistics_are_the_published_ones",
        DATA,
    ),
    ("crates/perft/tests/random/mod.rs", "setup", STORY),
    ("crates/pgn/src/fault.rs", "fmt", EXHAUSTIVE),
    ("crates/pgn/tests/cases.rs", "check", STORY),
    (
        "crates/pgn/tests/hostile.rs",
        "long_texts_are_read_in_bounded_memory",
        DATA,
    ),
    (
        "crates/record/tests/fold.rs",
        "an_update_folds_to_the_game_that_it_describes",
        STORY,
    ),
    (
        "crates/store/tests/model/history.rs",
        "question",
        EXHAUSTIVE,
    ),
    ("crates/store/tests/model/main.rs", "run_batch", EXHAUSTIVE),
    ("crates/store/tests/model/reference.rs", "append", STORY),
    (
        "crates/store/tests/sqlite/forget.rs",
        "of_a_game_that_was_deleted_its_name_is_left",
        STORY,
    ),
    (
        "tests/suites/forgetting/files.rs",
        "a_name_that_was_erased_is_in_no_file_though_the_program_is_killed",
        STORY,
    ),
    (
        "tests/suites/forgetting/mod.rs",
        "an_update_is_an_event_that_everybody_is_told",
        STORY,
    ),
    (
        "tests/suites/forgetting/mod.rs",
        "an_update_is_answered_once_and_refused_where_it_says_nothing",
        STORY,
    ),
    (
        "tests/suites/forgetting/mod.rs",
        "a_deleted_game_is_answered_with_a_reason_of_its_own",
        STORY,
    ),
    (
        "crates/server/src/transport/status/tests.rs",
        "errors",
        DATA,
    ),
    (
        "crates/store/tests/sqlite/main.rs",
        "reads_are_whole_while_the_index_is_written",
        STORY,
    ),
    (
        "tests/suites/bad_input.rs",
        "positions_and_moves_that_cannot_be_read_are_refused",
        DATA,
    ),
    (
        "tests/suites/bad_input.rs",
        "questions_about_games_that_make_no_sense_are_refused",
        DATA,
    ),
    ("tests/suites/bounds.rs", "positions", DATA),
    ("tests/suites/bounds.rs", "games", DATA),
    (
        "tests/suites/evidence.rs",
        "an_illegal_move_is_explained",
        DATA,
    ),
    ("tests/suites/limits.rs", "stated", DATA),
    ("tests/suites/limits.rs", "of_actions", DATA),
    (
        "tests/suites/pgn_games.rs",
        "what_is_imported_is_exported_again",
        STORY,
    ),
    ("crates/server/src/transport/status.rs", "parts", EXHAUSTIVE),
    (
        "crates/server/src/transport/status/tests.rs",
        "errors",
        DATA,
    ),
    (
        "tests/suites/timekeeping/healing.rs",
        "a_clock_that_ran_ahead_heals",
        STORY,
    ),
    ("tests/suites/ranges.rs", "wrong", DATA),
    (
        "tests/suites/jobs/limits.rs",
        "a_platform_has_so_many_jobs_and_each_request_one",
        STORY,
    ),
    (
        "tests/suites/identity/platforms.rs",
        "nothing_of_one_platform_shows_in_another",
        STORY,
    ),
    (
        "tests/suites/identity/seats.rs",
        "not_yours_and_not_there_are_one_answer",
        STORY,
    ),
];

/// Files of the product that read the clock of the machine, each with its reason.
const CLOCKS: &[(&str, &str)] = &[
    (
        "crates/referee/src/commands/can_mate.rs",
        "shows how long an answer took",
    ),
    (
        "crates/referee/src/commands/perft/counting.rs",
        "shows how long a count took",
    ),
    (
        "crates/referee/src/commands/perft/progress.rs",
        "shows how long a count will take",
    ),
    ("crates/server/src/clock.rs", "the clock of the service"),
    (
        "crates/store/src/sqlite/backup.rs",
        "a copy rests beside the moves, on a thread of its own",
    ),
];

/// Tests that need real time, each with its reason. All others run on the virtual time of the
/// runtime or know no time at all.
const REAL_TIME: &[(&str, &str)] = &[
    (
        "crates/pgn/tests/hostile.rs",
        "holds how the time of reading grows with the text",
    ),
    (
        "crates/referee/tests/exit_codes.rs",
        "interrupts a process in the middle of its work",
    ),
    (
        "crates/referee/tests/perft_command.rs",
        "stops a process in the middle of a count",
    ),
    ("crates/store/tests/crash.rs", "kills a process"),
    (
        "crates/store/tests/wrap.rs",
        "gives a held disk time to show what it should not",
    ),
    ("tests/load/beside.rs", "measures what a process answers"),
    ("tests/load/fleet.rs", "measures processes"),
    ("tests/load/quiet.rs", "measures a process"),
    (
        "tests/src/deployment.rs",
        "the time of the real binary is that of the machine",
    ),
    (
        "tests/src/old_games/play.rs",
        "waits for what servers find by themselves",
    ),
    (
        "tests/suites/identity/allowances.rs",
        "places come back some time after their connections are gone",
    ),
    (
        "tests/suites/identity/revoked.rs",
        "a revocation counts within a time of the real binary",
    ),
    ("tests/src/pair.rs", "waits for signs of life of servers"),
    ("tests/src/process.rs", "waits for a process"),
    ("tests/suites/crash.rs", "kills a process"),
    (
        "tests/suites/jobs/desk.rs",
        "waits for a process to plan a job",
    ),
    (
        "tests/suites/jobs/measures.rs",
        "waits for a process to count what it has",
    ),
    ("tests/suites/jobs/small.rs", "measures a process"),
    ("tests/suites/fleet/commands.rs", "waits for processes"),
    ("tests/suites/fleet/mod.rs", "stops and kills processes"),
    ("tests/suites/fleet/station.rs", "waits for processes"),
    (
        "tests/suites/hostile/mod.rs",
        "measures what a process answers",
    ),
    (
        "tests/suites/hostile/connections.rs",
        "waits for a process to close what is silent",
    ),
    ("tests/suites/hostile/solver.rs", "measures a process"),
    ("tests/suites/hostile/streams.rs", "measures a process"),
    (
        "tests/suites/interop/backends.rs",
        "kills a process and waits for others",
    ),
    (
        "tests/suites/sequences/games.rs",
        "measures what a process answers",
    ),
    ("tests/suites/sequences/shutdown.rs", "stops a process"),
    (
        "tests/suites/telemetry/mod.rs",
        "waits until a process shows what happened",
    ),
    (
        "tests/suites/telemetry/life.rs",
        "measures how a process ends",
    ),
    (
        "tests/suites/tls/mod.rs",
        "waits until a process logs something",
    ),
    (
        "tests/suites/tls/reload.rs",
        "waits until a process looks at its files",
    ),
    ("tests/suites/verify/games.rs", "stops a process"),
    (
        "tests/suites/two_servers/disk.rs",
        "waits until a write waits for the disk",
    ),
    (
        "tests/suites/two_servers/log.rs",
        "measures how soon one server hears of the other",
    ),
    (
        "tests/suites/two_servers/time.rs",
        "waits until an action waits for its turn",
    ),
    (
        "tests/suites/store_truth/mod.rs",
        "waits until a process notices what happened to its files",
    ),
    (
        "tests/suites/store_truth/loss.rs",
        "waits until a process has put on record how far it came",
    ),
    (
        "crates/store/tests/sqlite/truth.rs",
        "waits until a store has put on record how far it came",
    ),
    ("tests/suites/all_games.rs", "waits until a stream is full"),
    (
        "tests/suites/watching.rs",
        "waits until a stream is full, and for a server to hear that one was dropped",
    ),
];

/// What no source file may hold. The words are put together here, so that this file does not.
fn banned() -> Vec<(String, &'static str)> {
    let word = |parts: [&str; 2]| parts.concat();
    vec![
        (word(["todo", "!("]), "unfinished"),
        (word(["unimplemented", "!("]), "unfinished"),
        (word(["dbg", "!("]), "left from a search for a bug"),
        (word(["#[ig", "nore"]), "a test that does not run"),
        (
            word(["#[should_", "panic"]),
            "a test that cannot say where it panics",
        ),
        (word(["FIX", "ME"]), "unfinished"),
        (word(["/ro", "ot/"]), "a path of one machine"),
        (word(["/ho", "me/"]), "a path of one machine"),
        (word(["/wo", "rk/"]), "a path of one machine"),
    ]
}

fn all_sources() -> Vec<Source> {
    let files = sources(&root(), "");
    assert!(files.len() > 50, "only {} sources were found", files.len());
    files
}

#[test]
fn sources_are_short_and_finished() {
    let mut faults = Vec::new();
    for file in all_sources() {
        inspect(&file, &mut faults);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn inspect(file: &Source, faults: &mut Vec<String>) {
    let name = file.path.display();
    let lines = file.text.lines().count();
    if lines > FILE_LINES_MAX {
        faults.push(format!("{name}: {lines} lines, above {FILE_LINES_MAX}"));
    }
    if !file.text.starts_with("//!") && !file.text.starts_with("#!") {
        faults.push(format!(
            "{name}: the first line does not say what the module does"
        ));
    }
    let banned = banned();
    for (number, line) in file.text.lines().enumerate() {
        let place = format!("{name}:{}", number + 1);
        let chars = line.chars().count();
        // A single text that cannot be broken, such as a position, may be longer.
        if chars > LINE_CHARS_MAX && !line.contains('"') {
            faults.push(format!(
                "{place}: {chars} characters, above {LINE_CHARS_MAX}"
            ));
        }
        if line.ends_with(' ') || line.contains('\t') {
            faults.push(format!("{place}: a blank at the end, or a tab"));
        }
        for (word, why) in &banned {
            if line.contains(word) {
                faults.push(format!("{place}: {word} is {why}"));
            }
        }
    }
}

#[test]
fn functions_are_short_or_named_with_a_reason() {
    let mut faults = Vec::new();
    let mut unused: BTreeSet<(&str, &str)> = LONG_FUNCTIONS
        .iter()
        .map(|(file, function, _)| (*file, *function))
        .collect();
    for file in all_sources() {
        let path = file.path.display().to_string();
        for found in functions(&file.syntax()) {
            if found.lines <= FUNCTION_LINES_MAX {
                continue;
            }
            let is_named = LONG_FUNCTIONS
                .iter()
                .find(|(file, function, _)| *file == path && *function == found.name);
            match is_named {
                Some((file, function, _)) => _ = unused.remove(&(file, function)),
                None => faults.push(format!(
                    "{path}:{}: {} has {} lines, above {FUNCTION_LINES_MAX}",
                    found.line, found.name, found.lines
                )),
            }
        }
    }
    let stale = unused.iter();
    faults.extend(stale.map(|(file, function)| {
        format!("{file}: {function} is not longer than others, so it needs no exception")
    }));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// How a file reads the clock of the machine or waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    /// The clock of the machine, which no test can move.
    Real,
    /// A wait on the time of the runtime, which is virtual where a test says so.
    Runtime,
}

/// Returns the time that a path stands for, if it does.
fn time_of(path: &[String]) -> Option<Time> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["std" | "core", "time", "Instant" | "SystemTime", ..] => Some(Time::Real),
        [.., "thread", "sleep" | "sleep_ms"] => Some(Time::Real),
        [
            ..,
            "time",
            "sleep" | "sleep_until" | "interval" | "interval_at",
        ] => Some(Time::Runtime),
        _ => None,
    }
}

/// Returns where a file has to do with time.
fn times(file: &Source) -> Vec<(usize, Time)> {
    let paths = names(&file.syntax(), true).full_paths();
    let found = paths.iter().filter_map(|path| {
        let time = time_of(&path.segments)?;
        Some((path.line, time))
    });
    found.collect()
}

/// Whether a file may have to do with such a time without a reason of its own.
fn is_free(file: &Source, time: Time) -> bool {
    let measures = ["benches", "examples"];
    let mut parts = file.path.iter().filter_map(|part| part.to_str());
    if parts.any(|part| measures.contains(&part)) {
        return true;
    }
    match time {
        Time::Real => false,
        // What is shipped waits on the runtime; a test does so where its time is virtual.
        Time::Runtime => !file.is_proof() || file.text.contains("start_paused = true"),
    }
}

#[test]
fn clocks_are_read_and_waited_for_where_a_reason_stands() {
    let lists = CLOCKS.iter().chain(REAL_TIME);
    let mut unused: BTreeSet<&str> = lists.clone().map(|(file, _)| *file).collect();
    let mut faults = Vec::new();
    for file in all_sources() {
        let path = file.path.display().to_string();
        for (line, time) in times(&file) {
            if is_free(&file, time) {
                continue;
            }
            match lists.clone().find(|(named, _)| *named == path) {
                Some((named, _)) => _ = unused.remove(named),
                None => faults.push(format!(
                    "{path}:{line}: {time:?} time; take it as an argument, run on virtual time, or \
                     give the file a reason on a list of this suite"
                )),
            }
        }
    }
    let stale = unused.iter();
    faults.extend(stale.map(|file| format!("{file}: stands on a list and reads no clock")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_clock_is_found_however_it_is_named() {
    let count = |text: &str| {
        let file = Source {
            path: "crates/room/src/file.rs".into(),
            text: text.to_owned(),
        };
        times(&file).len()
    };
    assert_eq!(
        count("use std::time::Duration; fn f() { g(Duration::ZERO) }"),
        0
    );
    assert_eq!(
        count("use tokio::time::Instant; fn f() { Instant::now(); }"),
        0
    );
    assert_eq!(count("use std::time::{Duration, Instant};"), 1);
    assert_eq!(count("use std::time; fn f() { time::Instant::now(); }"), 1);
    assert_eq!(
        count("use std::time as t; fn f() { t::SystemTime::now(); }"),
        1
    );
    assert_eq!(
        count("fn f() { assert!(std::time::Instant::now() > g()); }"),
        1
    );
    assert_eq!(count("use std::thread; fn f() { thread::sleep(g()); }"), 1);
    assert_eq!(count("use tokio::time::sleep; fn f() { sleep(g()); }"), 1);
}
