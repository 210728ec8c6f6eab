//! Real files: each is read in place and compared with the best of nine other readers.
//!
//! Where ours differs, `tests/data/pgn/differences.json` says how and why; a difference that is
//! not there, or no longer there, fails. Without the folder of files the test has nothing to do.

mod support;

use std::collections::BTreeMap;
use std::fs;

use referee_pgn::Severity;
use serde_json::Value;
use support::{read, read_in_pieces, root, shared};

/// What a reader made of a file: games, moves, and faults that stopped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    games: u64,
    plies: u64,
    errors: u64,
}

impl Count {
    /// Reads `2g 0p 1err`.
    fn read(text: &str) -> Count {
        let number = |suffix: &str| {
            let mut words = text.split(' ').filter_map(|word| word.strip_suffix(suffix));
            words
                .next()
                .map_or(0, |word| word.parse().expect("a count is a number"))
        };
        Count {
            games: number("g"),
            plies: number("p"),
            errors: number("err"),
        }
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}g {}p", self.games, self.plies)?;
        match self.errors {
            0 => Ok(()),
            errors => write!(f, " {errors}err"),
        }
    }
}

/// The best readers are those that read the most moves. Among them, the number of games is the
/// one that most of them agree on (some count the end of the text as a game), and of these the
/// one with the fewest errors counts. pgn-extract's errors are left out: it has 1 for nearly every
/// file.
fn best(readers: &serde_json::Map<String, Value>) -> Count {
    let counts = readers.iter().map(|(name, count)| {
        let count = Count::read(count.as_str().expect("a count is a text"));
        let errors = if name == "pgn-extract" {
            0
        } else {
            count.errors
        };
        Count { errors, ..count }
    });
    let counts: Vec<Count> = counts.collect();
    let plies = counts.iter().map(|count| count.plies).max();
    let able = counts.iter().filter(|count| Some(count.plies) == plies);
    let agreeing = |games: u64| able.clone().filter(|count| count.games == games).count();
    let best = able
        .clone()
        .max_by_key(|count| (agreeing(count.games), count.games, u64::MAX - count.errors));
    *best.expect("every file was read by somebody")
}

#[test]
fn real_files_are_read_as_well_as_by_the_best() {
    let Some(folder) = shared().map(|shared| shared.join("pgn")) else {
        println!("skipped: there is no folder of files");
        return;
    };
    let manifest = fs::read_to_string(folder.join("manifest.json")).expect("a manifest");
    let manifest: Vec<Value> = serde_json::from_str(&manifest).expect("a list of files");
    let differences = fs::read_to_string(root().join("tests/data/pgn/differences.json"))
        .expect("the explained differences");
    let mut differences: BTreeMap<String, Value> =
        serde_json::from_str(&differences).expect("differences by file");
    let mut wrong = Vec::new();
    for file in &manifest {
        let name = file["file"].as_str().expect("a file has a name");
        let bytes = fs::read(folder.join("outside").join(name)).expect("the file is there");
        let (readings, stray) = read(&bytes);
        assert_eq!(
            format!("{:?}", (&readings, &stray)),
            format!("{:?}", read_in_pieces(&bytes, 61)),
            "{name} is read otherwise in pieces"
        );
        let ours = Count {
            games: readings.len() as u64,
            plies: readings
                .iter()
                .map(|reading| reading.game.moves.len() as u64)
                .sum(),
            errors: readings
                .iter()
                .filter(|reading| reading.first_error().is_some())
                .count() as u64,
        };
        let best = best(file["read_as"].as_object().expect("counts by reader"));
        let explained = differences.remove(name);
        let expected = explained.as_ref().map_or(best, |difference| {
            Count::read(difference["ours"].as_str().expect("a count"))
        });
        let is_needless = explained.is_some() && ours == best;
        if ours != expected || is_needless {
            let faults = readings
                .iter()
                .flat_map(|reading| &reading.faults)
                .chain(&stray);
            let faults: Vec<String> = faults
                .filter(|fault| fault.severity() == Severity::Error)
                .map(ToString::to_string)
                .collect();
            wrong.push(format!(
                "{name}: {ours}, expected {expected}, best {best}\n  {faults:#?}"
            ));
        }
    }
    assert!(
        manifest.len() >= 37,
        "the manifest has {} files",
        manifest.len()
    );
    assert!(
        wrong.is_empty(),
        "{} files differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        differences.is_empty(),
        "no such files: {:?}",
        differences.keys()
    );
}
