//! Positions with known verdicts: our own, and, where they are there, those of other projects.

mod common;

use std::path::Path;

use referee_chess::Color;
use referee_mate::suite::{cases, judge};
use referee_mate::{Budget, CanMate, can_mate, is_dead_quick, quick};

/// The position that had been decided by no program when the file was written.
const UNDECIDED: &str = "3k1b2/2p1pBp1/KpP1P1P1/1P3B2/4B1B1/5B2/8/8 w - - 0 1";

fn own_vectors() -> Vec<(String, [bool; 2])> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/dead");
    let read = |name| std::fs::read_to_string(folder.join(name)).expect("it is in the repository");
    let texts = ["own_vectors.tsv", "proof_traps.tsv"].map(read);
    let rows = texts
        .iter()
        .flat_map(|text| text.lines().skip(1))
        .map(|row| {
            let fields: Vec<&str> = row.split('\t').collect();
            let can = |field: &str| field.starts_with("yes");
            (fields[0].to_owned(), [can(fields[1]), can(fields[2])])
        });
    rows.collect()
}

#[test]
fn own_vectors_are_all_decided() {
    let vectors = own_vectors();
    assert!(vectors.len() > 60, "the file has its rows");
    let mut failures = Vec::new();
    for (fen, expected) in vectors {
        let position = common::read(&fen);
        for winner in Color::ALL {
            let answer = can_mate(&position, winner, Budget::FULL, &|| false);
            let is_right = match &answer {
                CanMate::Yes(line) => {
                    assert!(
                        common::is_mating_line(&position, line, winner),
                        "{fen} {line:?}"
                    );
                    expected[winner.index()]
                }
                CanMate::No(_) => !expected[winner.index()],
                CanMate::Unknown { .. } => false,
            };
            if !is_right {
                failures.push(format!("{winner} {fen}: {answer:?}"));
            }
            if quick(&position, winner).is_no() {
                assert!(
                    !expected[winner.index()],
                    "quick is wrong about {winner} {fen}"
                );
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn the_position_of_issue_48_is_dead_by_its_structure() {
    let position = common::read(UNDECIDED);
    for winner in Color::ALL {
        assert!(quick(&position, winner).is_no(), "{winner}");
    }
    assert!(is_dead_quick(&position));
}

/// Asks about every `stride`th position of a file that is not ours.
fn check_outside(name: &str, stride: usize) {
    let Some(path) = common::shared(&format!("dead/outside/{name}")) else {
        return;
    };
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let (mut queries, mut unknown) = (0, Vec::new());
    for case in cases(&text).step_by(stride) {
        let case = case.unwrap_or_else(|error| panic!("{name}: {error}"));
        for verdict in judge(&case, Budget::of(400_000), &|| false) {
            queries += 1;
            assert!(!verdict.is_wrong(), "{name}: {verdict:?} {}", case.fen);
            if let CanMate::Yes(line) = &verdict.answer {
                let is_mate = common::is_mating_line(&case.position, line, verdict.winner);
                assert!(is_mate, "{name}: {} {line:?}", case.fen);
            }
            if !verdict.is_passed() {
                unknown.push(format!("{} {}", verdict.winner, case.fen));
            }
            if quick(&case.position, verdict.winner).is_no() {
                assert!(
                    !verdict.expected,
                    "{name}: quick is wrong about {}",
                    case.fen
                );
            }
        }
    }
    println!(
        "{name}: {queries} queries, {} unknown: {unknown:#?}",
        unknown.len()
    );
    assert!(
        unknown.len() * 50 <= queries,
        "too many unknown: {unknown:#?}"
    );
}

#[test]
fn lichess_positions() {
    check_outside("chasolver_lichess.txt", 61);
}

#[test]
fn hard_positions() {
    check_outside("chasolver_positions.txt", 17);
}

#[test]
fn d3_positions() {
    check_outside("d3chess_test_vector.txt", 11);
}
