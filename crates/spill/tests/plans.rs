//! A large plan is made within the memory that is promised, and one that has no room says so and
//! leaves nothing behind. Each is done by a process of its own, which is this test again, under
//! limits of the system.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use referee_chess::Position;
use referee_perft::{Cut, Means, Plan, PlanError};
use referee_spill::{Room, SpillFolder};

/// Names the folder in a process under limits.
const FOLDER: &str = "REFEREE_TEST_SPILL_FOLDER";

/// The test that plans six plies.
const SIX: &str = "six_plies_are_planned_within_512_mib_of_addresses";

/// The distinct positions six plies on, and the paths that lead to them (OEIS A083276, A048987).
const SIX_PLIES: (u64, u128) = (9_417_681, 119_060_324);

fn place(bytes_max: u64, left_free: u64) -> (tempfile::TempDir, SpillFolder) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let room = Room {
        bytes_max,
        left_free,
    };
    let place = SpillFolder::new(folder.path(), room);
    (folder, place)
}

fn build(plies: u32, place: &SpillFolder) -> Result<Plan<SpillFolder>, PlanError> {
    let root = Position::startpos();
    place.plan(&root, plies, Cut::at(plies), Means::default())
}

/// Runs the test that plans six plies again, in a process of its own, after a command of the shell.
fn run_under(shell: &str, folder: &Path) -> Output {
    let program = env::current_exe().expect("a test knows its own file");
    Command::new("sh")
        .arg("-c")
        .arg(format!("{shell}; exec \"$0\" \"$@\""))
        .arg(program)
        .args(["--exact", SIX, "--nocapture"])
        .env(FOLDER, folder)
        // The stacks and the memory of threads count, and there may be many cores.
        .env("RAYON_NUM_THREADS", "2")
        .env("MALLOC_ARENA_MAX", "2")
        .output()
        .expect("there is a shell")
}

fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    format!("{out}{err}")
}

/// What the child of a test does, under the limit that the test sets.
fn plan_six_plies(folder: &OsStr) {
    let room = Room {
        bytes_max: 2 << 30,
        left_free: 0,
    };
    let place = SpillFolder::new(Path::new(folder), room);
    let plan = build(6, &place).unwrap_or_else(|error| panic!("{error:?}"));
    println!("found {} {}", plan.positions(), plan.paths());
}

#[test]
fn six_plies_are_planned_within_512_mib_of_addresses() {
    if let Some(folder) = env::var_os(FOLDER) {
        return plan_six_plies(&folder);
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let limit = 512 << 10;
    let output = run_under(&format!("ulimit -v {limit}"), folder.path());
    let (positions, paths) = SIX_PLIES;
    let found = text(&output);
    assert!(output.status.success(), "{found}");
    let expected = format!("found {positions} {paths}");
    assert!(found.lines().any(|line| line == expected), "{found}");
    let left = fs::read_dir(folder.path()).expect("the folder is there");
    assert_eq!(left.count(), 0);
    // A tenth of that is not enough, so that the limit is one.
    let output = run_under("ulimit -v 51200", folder.path());
    assert!(!output.status.success(), "{}", text(&output));
}

#[test]
fn files_that_may_not_grow_are_told() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    // In blocks of 512 bytes; the signal is what a process without handlers dies of.
    let output = run_under("trap '' XFSZ; ulimit -f 2000", folder.path());
    let found = text(&output);
    assert!(!output.status.success(), "{found}");
    assert!(
        found.contains("Spill(") && found.contains("FileTooLarge"),
        "{found}"
    );
    let left = fs::read_dir(folder.path()).expect("the folder is there");
    assert_eq!(left.count(), 0);
}

#[test]
fn the_room_that_may_be_taken_is_held() {
    for (bytes_max, left_free, says) in [
        (0, 0, "sorting needs more than the 0 bytes"),
        (1 << 20, 0, "sorting needs more than the 1048576 bytes"),
        (1 << 30, u64::MAX, "leaves 18446744073709551615 of them"),
    ] {
        let (folder, place) = place(bytes_max, left_free);
        match build(5, &place) {
            Err(PlanError::Spill(error)) => {
                assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
                assert!(error.to_string().contains(says), "{error}");
            }
            other => panic!("{other:?} in {bytes_max} bytes"),
        }
        assert_eq!(place.used(), 0);
        let left = fs::read_dir(folder.path()).expect("the folder is there");
        assert_eq!(left.count(), 0);
    }
    let (folder, place) = place(1 << 30, 0);
    let plan = build(5, &place).expect("there is room");
    assert!(place.used() > 1 << 20);
    // Two read it at the same time, each from the begin.
    let size = referee_perft::TaskSize {
        cost: u128::MAX,
        positions: 1_000,
    };
    for (one, two) in plan.tasks(|_| size).zip(plan.tasks(|_| size)) {
        assert_eq!(one.expect("it reads"), two.expect("it reads"));
    }
    drop(plan);
    assert_eq!(place.used(), 0);
    drop(folder);
    assert!(place.check().is_err(), "the folder is gone");
}
