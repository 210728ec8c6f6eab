//! Reports about rulings: repetition, counts, ends, claims and flags.

use referee_api::v1;
use referee_api::v1::action::Kind;
use serde_json::Value;

use super::question::{Judged, Question, Unfit, no_answer};
use crate::error_details::words_of;
use crate::fields::seat;
use crate::play::{can_mate, create, side_to_move};
use crate::target::Clients;
use crate::verdict::Failure;
use crate::words;

/// What a report can expect of a position.
pub(super) const KNOWN: &[&str] = &[
    "count",
    "third",
    "auto_over",
    "claim_with_move",
    "claim50",
    "checkmate",
    "stalemate",
    "insufficient",
    "dead",
    "auto75",
    "ongoing",
    "ruling",
    "helpmate",
    "insuff_w",
    "insuff_b",
];

/// What asks who can still mate.
const ASKS_CAN_MATE: [&str; 3] = ["helpmate", "insuff_w", "insuff_b"];

pub(super) async fn judge_position(question: &Question, clients: &mut Clients) -> Judged {
    let request = v1::AdjudicatePositionRequest {
        position: Some(question.position_after(question.moves.len())),
        rule_profile: None,
    };
    let answer = clients.rules.adjudicate_position(request).await;
    let answer = answer.map_err(|status| no_answer("judge the position", &status))?;
    let mut found = answer.into_inner().adjudication.unwrap_or_default();
    let expected = question.expected();
    let mut wrong = Vec::new();
    if expected.names().any(|name| ASKS_CAN_MATE.contains(&name)) {
        let position = question.position_after(question.moves.len());
        let asked = can_mate(clients, position).await;
        let asked = asked.map_err(|status| no_answer("ask who can mate", &status))?;
        // What is said at once must not contradict what is found by searching.
        for (quick, asked) in [found.white_can_mate(), found.black_can_mate()]
            .iter()
            .zip(asked)
        {
            if *quick != v1::CanMate::Unknown && *quick != asked {
                let (asked, quick) = (asked.as_str_name(), quick.as_str_name());
                wrong.push(Failure::new("can mate", asked, quick));
            }
        }
        found.set_white_can_mate(asked[0]);
        found.set_black_can_mate(asked[1]);
    }
    for name in expected.names() {
        let Some(value) = expected.value(name) else {
            continue;
        };
        if let Some(found) = differs(name, value, &found) {
            wrong.push(Failure::new(name, value.to_string(), found));
        }
    }
    Ok(wrong)
}

/// Returns what was found where it is not as expected.
fn differs(name: &str, expected: &Value, found: &v1::Adjudication) -> Option<String> {
    let outcome = found.outcome.clone().unwrap_or_default();
    let termination = outcome.termination();
    let is_over = outcome.result() != v1::GameResult::Ongoing;
    let ended_by = |wanted: v1::Termination| Value::Bool(termination == wanted);
    let fifty = v1::ClaimKind::Fifty;
    let claims = &found.available_claims;
    let shown = match name {
        "count" => Value::from(found.repetitions),
        "third" => Value::Bool(found.repetitions >= 3),
        "auto_over" => Value::Bool(is_over),
        "ongoing" => Value::Bool(!is_over),
        "claim50" => Value::Bool(claims.iter().any(|claim| claim.claim() == fifty)),
        "claim_with_move" => return claim_differs(expected, claims),
        "checkmate" => ended_by(v1::Termination::Checkmate),
        "stalemate" => ended_by(v1::Termination::Stalemate),
        "insufficient" | "dead" => ended_by(v1::Termination::DeadPosition),
        "auto75" => ended_by(v1::Termination::SeventyFive),
        "ruling" => {
            let result = words::result_word(outcome.result());
            let words = words::termination_word(termination).replace('_', " ");
            Value::String(format!("{result} {words}"))
        }
        "helpmate" => {
            let sides = [("w", found.white_can_mate()), ("b", found.black_can_mate())];
            return sides.iter().find_map(|(side, can_mate)| {
                let wanted = expected.get(side)?.as_bool()?;
                let holds = can_mate_is(*can_mate, wanted);
                (!holds).then(|| format!("{side}: {}", can_mate.as_str_name()))
            });
        }
        "insuff_w" => return insufficiency_differs(expected, found.white_can_mate()),
        "insuff_b" => return insufficiency_differs(expected, found.black_can_mate()),
        // What is not known is refused when the report is read.
        _ => return None,
    };
    (shown != *expected).then(|| format!("{shown} ({})", describe(found)))
}

/// A claim with a move: any where `true` is expected, otherwise with the move that is named.
fn claim_differs(expected: &Value, claims: &[v1::AvailableClaim]) -> Option<String> {
    let mut moves = claims.iter().map(|claim| claim.intended_move.as_str());
    let holds = match expected {
        Value::Bool(wanted) => moves.any(|text| !text.is_empty()) == *wanted,
        Value::String(wanted) => moves.any(|text| text == wanted),
        _ => false,
    };
    (!holds).then(|| format!("{} claims, none of them so", claims.len()))
}

fn can_mate_is(found: v1::CanMate, wanted: bool) -> bool {
    match wanted {
        true => found == v1::CanMate::Yes,
        false => found == v1::CanMate::No,
    }
}

/// Men that do not suffice cannot mate; men that do may still stand so that they cannot.
fn insufficiency_differs(expected: &Value, found: v1::CanMate) -> Option<String> {
    let is_insufficient = expected.as_bool()?;
    let holds = !is_insufficient || found == v1::CanMate::No;
    (!holds).then(|| found.as_str_name().to_owned())
}

fn describe(found: &v1::Adjudication) -> String {
    let outcome = found.outcome.clone().unwrap_or_default();
    let termination = words::termination_word(outcome.termination());
    let result = words::result_word(outcome.result());
    format!("{result} {termination}, occurs {} times", found.repetitions)
}

/// Plays the moves of a report in a game, and lets a flag fall.
pub(super) async fn judge_timeout(question: &Question, clients: &mut Clients, tag: &str) -> Judged {
    let flagged = question.input().required_side("flagged")?;
    let wanted = words::result(&question.expected(), "result")?.unwrap_or_default();
    let game = v1::Game {
        rule_profile: None,
        initial_position: Some(question.position_after(0)),
        clock_settings: Some(v1::ClockSettings {
            keeper: v1::ClockKeeper::Platform.into(),
            ..v1::ClockSettings::default()
        }),
        ..v1::Game::default()
    };
    let created = create(clients, tag, game).await;
    let created = created.map_err(|status| no_answer("create the game", &status))?;
    let mut side = side_to_move(&created.fen);
    let mut actions = Vec::new();
    for text in &question.moves {
        actions.push((seat(side), crate::event::make_move(text.clone())));
        side = match side {
            v1::Color::White => v1::Color::Black,
            _ => v1::Color::White,
        };
    }
    let flag = v1::ReportFlag {
        side: flagged.into(),
        ..v1::ReportFlag::default()
    };
    actions.push((v1::Seat::Arbiter, Kind::ReportFlag(flag)));
    for (number, (seat, kind)) in actions.into_iter().enumerate() {
        submit(clients, &created.name, (tag, number), seat, kind).await?;
    }
    let name = created.name;
    let read = clients.games.get_game(v1::GetGameRequest { name }).await;
    let read = read.map_err(|status| no_answer("read the game", &status))?;
    let outcome = read.into_inner().game.unwrap_or_default().outcome;
    let found = words::result_word(outcome.unwrap_or_default().result());
    let wanted = words::result_word(wanted);
    let wrong = Failure::new("result", wanted, found);
    Ok(if found == wanted {
        Vec::new()
    } else {
        vec![wrong]
    })
}

/// Puts an action to the referee. Whatever it says is fine; the result is compared at the end.
async fn submit(
    clients: &mut Clients,
    name: &str,
    (tag, number): (&str, usize),
    seat: v1::Seat,
    kind: Kind,
) -> Result<(), Unfit> {
    let request = v1::SubmitActionRequest {
        name: name.to_owned(),
        action: Some(v1::Action {
            seat: seat.into(),
            request_id: format!("{tag}-{number}"),
            kind: Some(kind),
            ..v1::Action::default()
        }),
    };
    let answered = clients.games.submit_action(request).await;
    let failed = |status: tonic::Status| Failure::new("action", "a ruling", words_of(&status));
    answered.map_err(failed)?;
    Ok(())
}
