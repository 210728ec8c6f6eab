//! What is said of one side of one position: words for people, one JSON object for machines.

use referee_chess::{Color, Position, UciMove};
use referee_mate::CanMate;
use serde_json::json;

/// The moves of a line in UCI notation.
fn line_of(position: &Position, found: &CanMate) -> Vec<UciMove> {
    let CanMate::Yes(moves) = found else {
        return Vec::new();
    };
    let mut at = position.clone();
    moves
        .iter()
        .map(|&mv| {
            let uci = at.uci(mv);
            at.play_unchecked(mv);
            uci
        })
        .collect()
}

/// Says an answer in words.
pub(super) fn describe(position: &Position, found: &CanMate) -> String {
    match found {
        CanMate::Yes(moves) if moves.is_empty() => "yes: mate is on the board".into(),
        CanMate::Yes(_) => {
            let line: Vec<String> = line_of(position, found)
                .iter()
                .map(ToString::to_string)
                .collect();
            format!("yes: {}", line.join(" "))
        }
        CanMate::No(proof) => format!("no ({}): {proof}", proof.name()),
        CanMate::Unknown { nodes } => format!("unknown after {nodes} positions"),
    }
}

/// Says an answer as a JSON object, with the time that it took.
pub(super) fn describe_json(
    position: &Position,
    side: Color,
    found: &CanMate,
    micros: u64,
) -> serde_json::Value {
    let line: Vec<String> = line_of(position, found)
        .iter()
        .map(ToString::to_string)
        .collect();
    let side = match side {
        Color::White => "white",
        Color::Black => "black",
    };
    match found {
        CanMate::Yes(_) => {
            json!({"side": side, "can_mate": "yes", "line": line, "micros": micros})
        }
        CanMate::No(proof) => json!({
            "side": side, "can_mate": "no", "proof": proof.name(), "text": proof.to_string(),
            "micros": micros
        }),
        CanMate::Unknown { nodes } => {
            json!({"side": side, "can_mate": "unknown", "nodes": nodes, "micros": micros})
        }
    }
}
