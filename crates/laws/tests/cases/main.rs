//! The conformance cases, played against the laws themselves with virtual time on platform
//! clocks. The format is that of `tests/data/cases/README.md`.

use std::fmt::Write as _;
use std::path::Path;

use referee_chess::{Piece, Square};
use referee_laws::{
    Action, Color, Game, LedgerCause, LedgerLine, MATE_BUDGET_ON_END, Ruling, Tier, Time, Verdict,
    can_mate,
};
use serde_json::Value;

mod script;

use script::{Found, action_of, number, profile_of, start_of};

/// The answer to an action, as the cases write it.
fn code_of(ruling: &Ruling) -> String {
    let Some(reason) = ruling.reason else {
        return match (ruling.verdict, ruling.improper) {
            (Verdict::Accepted, true) => "ok_improper".into(),
            (Verdict::Accepted, false) => "ok".into(),
            (verdict, _) => format!("{verdict:?}"),
        };
    };
    snake(&format!("{reason:?}")).to_uppercase()
}

fn snake(camel: &str) -> String {
    let mut text = String::new();
    for letter in camel.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// A case while it is played.
struct Play {
    game: Game,
    now: Time,
    ledger: Vec<LedgerLine>,
    faults: String,
}

impl Play {
    fn act(&mut self, action: &Action, expected: &str) {
        let judgment = self.game.judge(action, self.now);
        let code = code_of(&judgment.ruling);
        if code != expected {
            let text = &judgment.ruling.text;
            let _ = writeln!(self.faults, "  {action:?}: {code}, not {expected} ({text})");
        }
        if let Some(entry) = judgment.entry {
            if let Err(error) = self.game.apply(&entry.effects) {
                let _ = writeln!(self.faults, "  {action:?}: cannot be applied: {error}");
            }
            self.ledger.extend(entry.effects.ledger);
        }
    }

    fn event(&mut self, event: &Value) -> Found<()> {
        let at_ms = event["at_ms"].as_u64();
        let elapsed_ms = event["elapsed_ms"].as_u64().unwrap_or(0);
        let now_ms = at_ms.unwrap_or(self.now.ms() + elapsed_ms);
        self.now = Time::from_ms(now_ms).map_err(|error| error.to_string())?;
        let expected = event["exp"].as_str().unwrap_or("ok");
        if event["t"] == "moves" {
            for text in event["uci"].as_array().into_iter().flatten() {
                let side = self.game.position().turn();
                self.act(
                    &Action::play(side, text.as_str().unwrap_or_default()),
                    expected,
                );
            }
            return Ok(());
        }
        self.act(&action_of(event)?, expected);
        Ok(())
    }

    fn check<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, is: &T, expected: &T) {
        if is != expected {
            let _ = writeln!(self.faults, "  {what} is {is:?}, not {expected:?}");
        }
    }

    fn check_end(&mut self, expect: &Value) {
        let outcome = self.game.outcome().cloned();
        let result = outcome
            .as_ref()
            .map_or("*", |outcome| outcome.result.score());
        self.check("result", &result, &expect["result"].as_str().unwrap_or("*"));
        self.check("over", &outcome.is_some(), &(expect["over"] == true));
        let ended = outcome
            .as_ref()
            .map(|it| termination_name(&format!("{:?}", it.termination)));
        if let Some(termination) = expect["termination"].as_str() {
            self.check("termination", &ended.as_deref(), &Some(termination));
        }
        let points =
            outcome.and_then(|it| it.result.half_points(self.game.profile().parameters.points));
        if let Some(points_due) = expect["points"].as_object() {
            let due = |side| points_due[side].as_f64().map(|points| points * 2.0);
            let is = points.map(|(white, black)| (f64::from(white), f64::from(black)));
            self.check("points", &is, &due("w").zip(due("b")));
        }
        let standing = self.game.standing().clone();
        for (key, side) in [("w", Color::White), ("b", Color::Black)] {
            if let Some(count) = number(&expect["illegal"][key]) {
                self.check("illegal moves", &standing.illegal_moves.of(side), &count);
            }
            self.check_clock(&expect["clock"], key, side);
        }
        if let Some(plies) = number(&expect["plies"]) {
            self.check("plies", &self.game.history().ply(), &plies);
        }
        if let Some(halfmove) = number(&expect["halfmove"]) {
            self.check(
                "halfmove clock",
                &self.game.position().halfmove_clock(),
                &halfmove,
            );
        }
        for (square, piece) in expect["position_contains"]
            .as_object()
            .into_iter()
            .flatten()
        {
            let square: Square = square.parse().expect("cases name squares");
            let is = self.game.position().board().piece_at(square);
            let is = is.map_or('-', Piece::to_char).to_string();
            self.check("piece", &is.as_str(), &piece.as_str().unwrap_or_default());
        }
    }

    fn check_clock(&mut self, clock: &Value, key: &str, side: Color) {
        let standing = self.game.standing().clone();
        if let Some(ms) = clock[format!("{key}_ms")].as_u64() {
            self.check(
                "time left",
                &standing.clocks.left_at(side, self.now),
                &Some(ms),
            );
        }
        if let Some(delta) = clock[format!("{key}_delta_ms")].as_i64() {
            let causes = [
                LedgerCause::Penalty,
                LedgerCause::Grant,
                LedgerCause::ArbiterSet,
                LedgerCause::TakenBack,
            ];
            let of_rulings = self.ledger.iter().filter(|line| line.side == side);
            let sum: i64 = of_rulings
                .filter(|line| causes.contains(&line.cause))
                .map(|line| line.credited_ms as i64 - line.charged_ms as i64)
                .sum();
            self.check("change by rulings", &sum, &delta);
        }
        if let Some(mode) = clock["mode"].as_str() {
            let bonus = standing.clocks.side(side).bonus();
            // A side without a clock has no use for a bonus.
            if standing.clocks.side(side).left_ms.is_some() {
                self.check("mode", &bonus.mode(), &mode);
                self.check("bonus", &Some(bonus.ms()), &clock["inc_ms"].as_u64());
            }
        }
    }

    /// The chess facts, which two other programs found.
    fn check_facts(&mut self, facts: &Value) {
        if let Some(fen) = facts["final_fen"].as_str() {
            self.check("position", &self.game.position().to_string().as_str(), &fen);
        }
        for (key, side) in [("white", Color::White), ("black", Color::Black)] {
            if let Some(possible) = facts["helpmate_possible"][key].as_bool() {
                let tier = Tier::Full(MATE_BUDGET_ON_END);
                let answer = can_mate(self.game.position(), side, tier);
                let is_possible = answer.no_mate().is_none();
                self.check("helpmate", &is_possible, &possible);
            }
        }
        if let Some(repetitions) = number(&facts["repetitions"]) {
            self.check(
                "repetitions",
                &self.game.history().repetitions(),
                &repetitions,
            );
        }
        if let Some(halfmove) = number(&facts["halfmove"]) {
            self.check(
                "halfmove clock",
                &self.game.position().halfmove_clock(),
                &halfmove,
            );
        }
    }
}

fn termination_name(debug: &str) -> String {
    match debug {
        "ThreefoldAutomatic" => "threefold_auto".into(),
        "FiftyAutomatic" => "fifty_auto".into(),
        "ClaimOpponentInsufficient" => "claim_opponent_insufficient".into(),
        "ColorsReversed" => "colours_reversed".into(),
        other => snake(other),
    }
}

/// Plays a case and returns what is wrong with it.
fn play(case: &Value) -> Found<String> {
    let profile = profile_of(case)?;
    let start = match (start_of(case, &profile), &case["expect"]["start_rejected"]) {
        (Ok(start), Value::Null) => start,
        (Err(error), Value::Null) => return Err(error),
        (Ok(_), _) => return Err("the start is not rejected".into()),
        (Err(_), _) => return Ok(String::new()),
    };
    let game = Game::new(profile, &start).map_err(|error| error.to_string())?;
    let mut play = Play {
        game,
        now: Time::ORIGIN,
        ledger: Vec::new(),
        faults: String::new(),
    };
    for event in case["events"].as_array().into_iter().flatten() {
        play.event(event)?;
    }
    play.check_end(&case["expect"]);
    play.check_facts(&case["facts"]);
    Ok(play.faults)
}

fn play_file(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/cases")
        .join(name);
    let text = std::fs::read_to_string(&path).expect("the cases are in the tree");
    let (mut count, mut report) = (0, String::new());
    for line in text.lines().filter(|line| !line.is_empty()) {
        let case: Value = serde_json::from_str(line).expect("a case is a line of JSON");
        count += 1;
        let faults = play(&case).unwrap_or_else(|error| format!("  {error}\n"));
        if !faults.is_empty() {
            let _ = write!(
                report,
                "{} ({}): {}\n{faults}",
                case["id"], case["law"], case["why"]
            );
        }
    }
    assert!(count > 0, "there are no cases in {name}");
    assert!(
        report.is_empty(),
        "of {count} cases in {name} some fail:\n{report}"
    );
}

#[test]
fn the_cases_hold() {
    play_file("laws.jsonl");
}

#[test]
fn the_own_cases_hold() {
    play_file("own_laws.jsonl");
}
