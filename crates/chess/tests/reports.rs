//! Faults that people met in other programs: each case of `reports.jsonl` that the board alone
//! can answer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use referee_chess::{CastlingMode, FenIssue, Position, PositionIssue, Tolerance};
use serde_json::Value;

/// The kinds of cases that are answered here; the others are about rulings and files.
const KINDS: [&str; 9] = [
    "moves", "play", "fen", "fenout", "san", "tosan", "rep", "perft", "status",
];

/// What a case expects that is not for the board to say.
const RULINGS: [&str; 6] = [
    "insufficient",
    "dead",
    "ruling",
    "helpmate",
    "insuff_w",
    "insuff_b",
];

/// Cases that cannot be answered as they stand, with what speaks against them. The test holds that
/// the FEN is refused for that very reason; a case of our own stands in for each.
const REFUTED: [(&str, PositionIssue); 1] = [
    // The rook on g1 checks the king on g8, and White is to move (FIDE Laws 3.9.2). The case
    // FN-04 wants such a position refused. C9-24b has the king on f8.
    ("C9-24", PositionIssue::OpponentInCheck),
];

/// Why a case does not come out as expected.
type Verdict = Result<(), String>;

/// Returns an error with what was found unless a condition holds.
macro_rules! ensure {
    ($condition:expr, $($found:tt)+) => {
        if !$condition {
            return Err(format!($($found)+));
        }
    };
}

/// Returns the cases from the field and our own of the same kinds.
fn cases() -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = env::var_os("REFEREE_SHARED").map_or(root.join("../shared"), PathBuf::from);
    let field = fs::read_to_string(root.join("tests/data/cases/reports.jsonl"))
        .or_else(|_| fs::read_to_string(shared.join("cases/reports.jsonl")))
        .expect("the cases from the field are among the test data or the shared data");
    let own = fs::read_to_string(root.join("tests/data/chess/reports.jsonl"))
        .expect("our own cases are among the test data");
    field
        .lines()
        .chain(own.lines())
        .map(|line| serde_json::from_str(line).expect("each line is a case in JSON"))
        .collect()
}

#[test]
fn every_report_about_the_board_is_answered_rightly() {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in cases() {
        let kind = text(&case["kind"]);
        let kind = if kind == "statusafter" {
            "status"
        } else {
            kind
        };
        if !KINDS.contains(&kind) {
            continue;
        }
        *counts.entry(kind.to_owned()).or_default() += 1;
        if let Err(found) = Case::new(&case).check(text(&case["id"]), kind) {
            wrong.push(format!("{}: {found}\n  {}", case["id"], case["why"]));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} cases:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    for kind in KINDS {
        assert!(counts.contains_key(kind), "no case of the kind {kind}");
    }
    println!("cases by kind: {counts:?}");
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .map(|list| list.iter().map(text).collect())
        .unwrap_or_default()
}

/// A case and what it asks.
struct Case<'a> {
    input: &'a Value,
    expect: &'a Value,
    mode: CastlingMode,
}

impl<'a> Case<'a> {
    fn new(case: &'a Value) -> Case<'a> {
        let input = &case["input"];
        Case {
            input,
            expect: &case["expect"],
            mode: match input["x960"].as_bool() {
                Some(true) => CastlingMode::Chess960,
                _ => CastlingMode::Standard,
            },
        }
    }

    fn check(&self, id: &str, kind: &str) -> Verdict {
        if let Some((_, issue)) = REFUTED.iter().find(|(refuted, _)| *refuted == id) {
            let issues = Position::from_fen(text(&self.input["fen"]), self.mode)
                .err()
                .map(|error| error.issues);
            let expected = Some(vec![FenIssue::Position(*issue)]);
            ensure!(issues == expected, "the FEN has {issues:?}");
            return Ok(());
        }
        match kind {
            "moves" => self.check_moves(),
            "play" => self.check_play(),
            "fen" => self.check_fen(),
            "fenout" => self.check_fen_out(),
            "san" => self.check_san(),
            "tosan" => self.check_to_san(),
            "rep" => self.check_repetition(),
            "perft" => self.check_perft(),
            "status" => self.check_status(),
            other => Err(format!("nothing answers the kind {other}")),
        }
    }

    /// A case that expects what nobody looks at would pass without a reason.
    fn expects_only(&self, known: &[&str]) -> Verdict {
        let object = self.expect.as_object();
        let unknown = object
            .into_iter()
            .flat_map(|object| object.keys())
            .find(|key| !known.contains(&key.as_str()));
        match unknown {
            Some(key) => Err(format!("nothing looks at the expected {key:?}")),
            None => Ok(()),
        }
    }

    /// Returns the position as each way of reading has it; the strict one may refuse it where
    /// the case says so.
    fn positions(&self) -> Result<Vec<Position>, String> {
        let fen = text(&self.input["fen"]);
        let may_reject = self.expect["fen_may_reject"] == true;
        match Position::from_fen(fen, self.mode) {
            Ok(position) => Ok(vec![position]),
            Err(_) if may_reject => Position::from_fen_with(fen, self.mode, Tolerance::LENIENT)
                .map(|position| vec![position])
                .or(Ok(Vec::new())),
            Err(error) => Err(format!("the FEN is refused: {error}")),
        }
    }

    fn position(&self) -> Result<Position, String> {
        Position::from_fen(text(&self.input["fen"]), self.mode).map_err(|error| error.to_string())
    }

    /// Makes the moves of the case.
    fn play(&self, mut position: Position) -> Result<Position, (usize, String)> {
        for (index, uci) in texts(&self.input["moves"]).into_iter().enumerate() {
            let mv = position
                .read_uci(uci)
                .map_err(|error| (index, format!("{uci}: {error}")))?;
            position.play_unchecked(mv);
        }
        Ok(position)
    }

    fn check_moves(&self) -> Verdict {
        self.expects_only(&[
            "exact",
            "include",
            "exclude",
            "exclude_soft",
            "count",
            "no_dups",
            "fen_may_reject",
        ])?;
        for position in self.positions()? {
            let list = position.legal_moves();
            let mut found: Vec<String> = list
                .into_iter()
                .map(|mv| position.uci(mv).to_string())
                .collect();
            found.sort_unstable();
            let has = |uci: &&str| found.iter().any(|found| found == uci);
            if self.expect["exact"].is_array() {
                let mut exact = texts(&self.expect["exact"]);
                exact.sort_unstable();
                ensure!(found == exact, "the moves are {found:?}");
            }
            let include = texts(&self.expect["include"]);
            ensure!(include.iter().all(has), "the moves are {found:?}");
            for key in ["exclude", "exclude_soft"] {
                let exclude = texts(&self.expect[key]);
                ensure!(!exclude.iter().any(has), "the moves are {found:?}");
                let is_refused = |uci: &&str| position.read_uci(uci).is_err();
                ensure!(exclude.iter().all(is_refused), "a move was read");
            }
            if let Some(count) = self.expect["count"].as_u64() {
                ensure!(found.len() as u64 == count, "the moves are {found:?}");
            }
            let length = found.len();
            found.dedup();
            ensure!(found.len() == length, "a move is listed twice");
        }
        Ok(())
    }

    fn check_play(&self) -> Verdict {
        let known = [
            "accept",
            "at",
            "fen",
            "board",
            "xfen",
            "fen_may_reject",
            "lenient",
        ];
        self.expects_only(&known)?;
        for position in self.positions()? {
            let accept = self.expect["accept"] == true;
            let end = match self.play(position) {
                Ok(end) => end,
                Err((at, error)) => {
                    ensure!(!accept, "{error}");
                    let expected = self.expect["at"].as_u64();
                    ensure!(expected == Some(at as u64), "refused at {at}: {error}");
                    continue;
                }
            };
            ensure!(accept, "the moves lead to {end}");
            for key in ["fen", "xfen"] {
                let expected = self.expect[key].as_str();
                ensure!(expected.is_none_or(|fen| fen == end.to_string()), "{end}");
            }
            let board = self.expect["board"].as_str();
            ensure!(
                board.is_none_or(|board| board == end.board().to_string()),
                "{end}"
            );
        }
        Ok(())
    }

    /// What is left open (`accept: null`) is refused by the strict reader, as `fen.rs` says.
    fn check_fen(&self) -> Verdict {
        self.expects_only(&["accept", "or_fen", "lenient"])?;
        let fen = text(&self.input["fen"]);
        let strict = Position::from_fen(fen, self.mode);
        let lenient = Position::from_fen_with(fen, self.mode, Tolerance::LENIENT);
        let readings = texts(&self.expect["or_fen"]);
        match (&strict, self.expect["accept"] == true) {
            (Ok(position), true) => {
                let written = position.to_string();
                let is_known = readings.is_empty() || readings.contains(&written.as_str());
                ensure!(is_known, "read as {written}");
                ensure!(
                    lenient.as_ref() == Ok(position),
                    "read leniently as {lenient:?}"
                );
            }
            (Err(error), true) => return Err(error.to_string()),
            (Ok(position), false) => return Err(format!("read as {position}")),
            (Err(_), false) => {
                let written = lenient.map(|position| position.to_string());
                let is_known = written
                    .as_ref()
                    .is_ok_and(|fen| readings.contains(&fen.as_str()));
                // Where the case has no reading, the lenient reader may have one only where the
                // case leaves the question open.
                let is_open = readings.is_empty() && self.expect["accept"].is_null();
                ensure!(
                    written.is_err() || is_known || is_open,
                    "read leniently as {written:?}"
                );
            }
        }
        Ok(())
    }

    fn check_fen_out(&self) -> Verdict {
        self.expects_only(&["fen_any"])?;
        let end = self.play(self.position()?).map_err(|(_, error)| error)?;
        let written = end.to_string();
        let any = texts(&self.expect["fen_any"]);
        ensure!(any.contains(&written.as_str()), "written as {written}");
        for fen in any {
            let read = Position::from_fen(fen, self.mode);
            ensure!(read.as_ref() == Ok(&end), "{fen} is read as {read:?}");
        }
        Ok(())
    }

    fn check_san(&self) -> Verdict {
        self.expects_only(&["uci", "reject", "lenient"])?;
        let position = self.position()?;
        let san = text(&self.input["san"]);
        let read = position
            .read_san(san)
            .map(|mv| position.uci(mv).to_string());
        match self.expect["uci"].as_str() {
            Some(uci) => ensure!(read.as_deref() == Ok(uci), "read as {read:?}"),
            None => ensure!(read.is_err(), "read as {read:?}"),
        }
        let either = position
            .read_move(san)
            .map(|mv| position.uci(mv).to_string());
        ensure!(read == either, "read as {read:?} and as {either:?}");
        Ok(())
    }

    fn check_to_san(&self) -> Verdict {
        self.expects_only(&["san"])?;
        let position = self.position()?;
        let mv = position
            .read_uci(text(&self.input["uci"]))
            .map_err(|error| error.to_string())?;
        let written = position.san(mv).to_string();
        ensure!(written == text(&self.expect["san"]), "written as {written}");
        ensure!(
            position.read_san(&written) == Ok(mv),
            "{written} is not read back"
        );
        Ok(())
    }

    fn check_repetition(&self) -> Verdict {
        let known = ["count", "third", "auto_over", "claim_with_move", "claim50"];
        self.expects_only(&known)?;
        let mut seen = vec![self.position()?];
        for uci in texts(&self.input["moves"]) {
            let mut next = seen[seen.len() - 1].clone();
            let mv = next.read_uci(uci).map_err(|error| error.to_string())?;
            next.play_unchecked(mv);
            seen.push(next);
        }
        let count = |end: &Position| seen.iter().filter(|position| *position == end).count();
        let end = &seen[seen.len() - 1];
        let by_key = seen
            .iter()
            .filter(|position| position.exact_key() == end.exact_key());
        ensure!(by_key.count() == count(end), "keys and equality differ");
        let facts = [
            ("third", count(end) >= 3),
            ("auto_over", count(end) >= 5),
            ("claim50", end.halfmove_clock() >= 100),
        ];
        for (key, fact) in facts {
            let expected = self.expect[key].as_bool();
            ensure!(expected.is_none_or(|it| it == fact), "{key} is {fact}");
        }
        if let Some(expected) = self.expect["count"].as_u64() {
            ensure!(count(end) as u64 == expected, "counted {}", count(end));
        }
        if let Some(uci) = self.expect["claim_with_move"].as_str() {
            let mv = end.read_uci(uci).map_err(|error| error.to_string())?;
            let times = count(&end.after_unchecked(mv)) + 1;
            ensure!(times >= 3, "the position would occur {times} times");
        }
        Ok(())
    }

    fn check_perft(&self) -> Verdict {
        self.expects_only(&["nodes"])?;
        fn perft(position: &Position, depth: u64) -> u64 {
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
        let depth = self.input["depth"].as_u64();
        let nodes = perft(&self.position()?, depth.ok_or("no depth")?);
        ensure!(self.expect["nodes"] == nodes, "counted {nodes}");
        Ok(())
    }

    /// Mate, stalemate and the count of moves; rulings are for `referee-laws`.
    fn check_status(&self) -> Verdict {
        let mut known = vec!["checkmate", "stalemate", "ongoing", "claim50", "auto75"];
        known.extend(RULINGS);
        self.expects_only(&known)?;
        let end = self.play(self.position()?).map_err(|(_, error)| error)?;
        let is_over = end.is_checkmate() || end.is_stalemate();
        let facts = [
            ("checkmate", end.is_checkmate()),
            ("stalemate", end.is_stalemate()),
            ("claim50", end.halfmove_clock() >= 100 && !is_over),
            ("auto75", end.halfmove_clock() >= 150 && !is_over),
        ];
        for (key, fact) in facts {
            let expected = self.expect[key].as_bool();
            ensure!(expected.is_none_or(|it| it == fact), "{key} is {fact}");
        }
        ensure!(self.expect["ongoing"] != true || !is_over, "it is over");
        Ok(())
    }
}
