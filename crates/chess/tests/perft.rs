//! Counts of move trees, held to published totals: by the fast generator with both ways of
//! sliding, and by the oracle.
//!
//! A case is a line (`.epd`: `FEN ;D1 n ;D2 n`) or a block (`.perft`: `id`, `epd`, `perft d n`) of
//! a file in `tests/data/perft` or in the shared folder's `perft/outside`. Adding one needs no
//! Rust.

use std::path::{Path, PathBuf};
use std::{env, fs};

use referee_chess::mailbox::Mailbox;
use referee_chess::{CastlingMode, MoveList, Position, Tolerance};

/// Counts above these are left out, for each position, to bound the time of a run.
const OWN_NODES_MAX: u64 = 20_000_000;
const OWN_NODES_PORTABLE_MAX: u64 = 5_000_000;
const OWN_NODES_ORACLE_MAX: u64 = 100_000;
const OUTSIDE_NODES_MAX: u64 = 500_000;
const OUTSIDE_NODES_PORTABLE_MAX: u64 = 100_000;
const OUTSIDE_NODES_ORACLE_MAX: u64 = 2_000;

/// A position with its published counts.
struct Case {
    place: String,
    fen: String,
    counts: Vec<(u32, u64)>,
}

/// Reads a number that the test data promises to be there.
fn number<T: std::str::FromStr>(text: Option<&str>, place: &str) -> T {
    text.and_then(|text| text.trim().parse().ok())
        .unwrap_or_else(|| panic!("{place}: a number is missing or wrong"))
}

/// Reads `FEN ;D1 n ;D2 n` lines.
fn read_epd(text: &str, file: &str) -> Vec<Case> {
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|(index, line)| {
            let place = format!("{file}:{}", index + 1);
            let mut fields = line.split(';');
            let fen = fields.next().unwrap_or_default().trim().to_owned();
            let count = |field: &str| {
                let mut words = field.trim().trim_start_matches('D').split_whitespace();
                (number(words.next(), &place), number(words.next(), &place))
            };
            let counts = fields.map(count).collect();
            Case { place, fen, counts }
        })
        .collect()
}

/// Reads blocks of `id`, `epd` and `perft` lines.
fn read_blocks(text: &str, file: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut id = "";
    for (index, line) in text.lines().enumerate() {
        let place = format!("{file}:{} ({id})", index + 1);
        match line.trim().split_once(' ') {
            Some(("id", name)) => id = name,
            Some(("epd", fen)) => cases.push(Case {
                place,
                fen: fen.trim().to_owned(),
                counts: Vec::new(),
            }),
            Some(("perft", rest)) => {
                let mut words = rest.split_whitespace();
                let count = (number(words.next(), &place), number(words.next(), &place));
                let case = cases.last_mut();
                case.expect("a count follows its position")
                    .counts
                    .push(count);
            }
            _ => {}
        }
    }
    cases
}

/// Reads all cases of a folder; `None` where there is no such folder.
fn read_folder(folder: &Path) -> Option<Vec<Case>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .ok()?
        .map(|entry| entry.expect("the folder can be listed").path())
        .collect();
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let read = match path.extension().and_then(|extension| extension.to_str()) {
            Some("epd") => read_epd,
            Some("perft") => read_blocks,
            _ => continue,
        };
        let text = fs::read_to_string(&path).expect("the file can be read");
        cases.extend(read(&text, &name));
    }
    Some(cases)
}

fn own_cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/perft");
    let cases = read_folder(&folder).expect("the project's own counts are in its tree");
    assert!(cases.len() >= 50, "only {} cases of our own", cases.len());
    cases
}

/// The published suites, where the shared folder is there.
fn outside_cases() -> Vec<Case> {
    let shared = env::var_os("REFEREE_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let folder = shared.join("perft/outside");
    read_folder(&folder).unwrap_or_else(|| {
        println!(
            "skipped: no published suites at {}; REFEREE_SHARED names another shared folder",
            folder.display()
        );
        Vec::new()
    })
}

/// Reads the position of a case. Castling is read as in Chess960, since some files mix both and a
/// standard right means the same there; some positions could not arise in play.
fn position(case: &Case) -> Position {
    Position::from_fen_with(&case.fen, CastlingMode::Chess960, Tolerance::PERFT)
        .unwrap_or_else(|error| panic!("{}: {}: {error}", case.place, case.fen))
}

/// Compares the counts up to `nodes_max`, and returns how many there were.
fn check(cases: &[Case], nodes_max: u64, count: impl Fn(&Position, u32) -> u64) -> usize {
    let mut compared = 0;
    for case in cases {
        let position = position(case);
        for &(depth, nodes) in &case.counts {
            if nodes <= nodes_max {
                assert_eq!(
                    count(&position, depth),
                    nodes,
                    "{}: {} at depth {depth}",
                    case.place,
                    case.fen
                );
                compared += 1;
            }
        }
    }
    println!("{compared} counts of {} positions agree", cases.len());
    compared
}

/// Counts with a way of listing, without the last moves being made.
fn perft_by_list(position: &Position, depth: u32, list: &impl Fn(&Position) -> MoveList) -> u64 {
    if depth == 0 {
        return 1;
    }
    let moves = list(position);
    if depth == 1 {
        return moves.len() as u64;
    }
    moves
        .into_iter()
        .map(|mv| perft_by_list(&position.after_unchecked(mv), depth - 1, list))
        .sum()
}

/// Counts with the sliders of this machine, the last moves neither made nor listed.
fn perft(position: &Position, depth: u32) -> u64 {
    match depth {
        0 => 1,
        1 => u64::from(position.count_legal_moves()),
        _ => position
            .legal_moves()
            .into_iter()
            .map(|mv| perft(&position.after_unchecked(mv), depth - 1))
            .sum(),
    }
}

fn perft_portable(position: &Position, depth: u32) -> u64 {
    perft_by_list(position, depth, &Position::legal_moves_portable)
}

fn perft_oracle(position: &Position, depth: u32) -> u64 {
    let count = Mailbox::from(&position.to_setup()).perft(depth);
    u64::try_from(count).expect("the counts of the test fit in 64 bits")
}

#[test]
fn own_counts_agree() {
    assert!(check(&own_cases(), OWN_NODES_MAX, perft) > 200);
}

#[test]
fn own_counts_agree_portably() {
    assert!(check(&own_cases(), OWN_NODES_PORTABLE_MAX, perft_portable) > 150);
}

#[test]
fn own_counts_agree_with_the_oracle() {
    assert!(check(&own_cases(), OWN_NODES_ORACLE_MAX, perft_oracle) > 100);
}

#[test]
fn published_counts_agree() {
    check(&outside_cases(), OUTSIDE_NODES_MAX, perft);
}

#[test]
fn published_counts_agree_portably() {
    check(&outside_cases(), OUTSIDE_NODES_PORTABLE_MAX, perft_portable);
}

#[test]
fn published_counts_agree_with_the_oracle() {
    check(&outside_cases(), OUTSIDE_NODES_ORACLE_MAX, perft_oracle);
}
