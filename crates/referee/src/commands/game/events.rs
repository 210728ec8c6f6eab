//! Events in words: a line with the move or the action, what the referee said about it, the clocks,
//! and how the game ended.

use referee_api::v1;

use super::words::{one_line, seat_name};
use super::{actions, clocks, rulings};

/// Writes an event for those who follow a game: the sequence, what happened, the clocks; and below,
/// what is remarkable.
pub(super) fn event(event: &v1::GameEvent) -> String {
    let mut first = format!("{:>4}  {}", event.sequence, happened(event));
    let conduct = event.conduct.as_ref();
    let clocks = conduct.and_then(|conduct| conduct.clocks.as_ref());
    if let Some(shown) = clocks.and_then(clocks::both) {
        first = format!("{first:<36}  {shown}");
    }
    let mut lines = vec![first];
    if let Some(ruling) = event
        .ruling
        .as_ref()
        .filter(|one| rulings::is_remarkable(one))
    {
        let verdict = rulings::verdict(ruling);
        let articles = rulings::articles(&ruling.citations);
        lines.push(format!(
            "{verdict}: {}{articles}",
            rulings::sentence(ruling)
        ));
    }
    let changes = event.ledger.iter();
    lines.extend(
        changes
            .filter(|line| clocks::is_remarkable(line))
            .map(clocks::ledger),
    );
    if let Some(outcome) = event.outcome.as_ref().filter(|one| rulings::is_end(one)) {
        lines.push(rulings::outcome_line(outcome));
    }
    indented(&lines)
}

/// Joins lines, all but the first further in.
fn indented(lines: &[String]) -> String {
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            text.push_str("      ");
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Says what happened: the move as it was played, or the action.
fn happened(event: &v1::GameEvent) -> String {
    let Some(played) = &event.r#move else {
        return match (&event.action, &event.update) {
            (Some(action), _) => actions::describe(action),
            (None, Some(update)) => {
                let changed = update
                    .update_mask
                    .as_ref()
                    .map(|mask| mask.paths.join(", "));
                format!(
                    "platform changes {}",
                    one_line(&changed.unwrap_or_default())
                )
            }
            (None, None) => format!("{} acts", seat_name(v1::Seat::Referee)),
        };
    };
    let mut text = match number(&event.fen) {
        Some(number) => format!("{number} {}", one_line(&played.san)),
        None => one_line(&played.san),
    };
    if let Some(ply) = event.reinstated_ply {
        text = format!("back to half-move {ply}, then {text}");
    }
    if event.move_illegal {
        text.push_str(", which is illegal and stands");
    }
    use v1::action::Kind;
    match event
        .action
        .as_ref()
        .and_then(|action| action.kind.as_ref())
    {
        Some(Kind::MakeMove(made)) if made.offer_draw => text.push_str(", and offers a draw"),
        Some(Kind::MakeMove(_)) | None => {}
        // A move that another action brought, such as a claim with an announced one.
        Some(_) => {
            let action = event.action.as_ref().map(actions::describe);
            text = format!("{text}: {}", action.unwrap_or_default());
        }
    }
    text
}

/// Returns the number before a move, by the position after it: `3.` or `3...`.
fn number(fen: &str) -> Option<String> {
    let mut fields = fen.split(' ');
    let turn = fields.nth(1)?;
    let next: u32 = fields.nth(3)?.parse().ok()?;
    Some(match turn {
        "b" => format!("{next}."),
        _ => format!("{}...", next.saturating_sub(1)),
    })
}

/// Writes the answer to an action: the verdict with all that it rests on, the arithmetic of the
/// clocks, and how the game ended.
pub(super) fn answer(answer: &v1::SubmitActionResponse) -> String {
    let mut lines = Vec::new();
    let ruling = answer.ruling.clone().unwrap_or_default();
    let event = answer.event.as_ref();
    let mut first = rulings::verdict(&ruling);
    if let Some(event) = event {
        first = format!("{first}: {} (sequence {})", happened(event), event.sequence);
    }
    let said = rulings::sentence(&ruling);
    if !said.is_empty() && event.is_some() {
        lines.extend([first, said]);
    } else if !said.is_empty() {
        lines.push(format!("{first}: {said}"));
    } else {
        lines.push(first);
    }
    rulings::push_ruling(&mut lines, &ruling);
    if let Some(event) = event {
        let changes = event.ledger.iter().filter(|line| clocks::changes(line));
        lines.extend(changes.map(clocks::ledger));
        if let Some(outcome) = event.outcome.as_ref().filter(|one| rulings::is_end(one)) {
            lines.push(rulings::outcome_line(outcome));
            rulings::push_grounds(&mut lines, &outcome.citations, &outcome.evidence);
        }
    }
    lines.push(String::new());
    lines.join("\n")
}
