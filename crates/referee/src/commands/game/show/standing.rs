//! What stands in a game that goes on: whose move it is, offers, claims, touched pieces, illegal
//! moves that count.

use referee_api::v1;
use referee_api::v1::bound_move::Kind;

use super::super::words::{claim_name, one_line, side_name};

/// How many of the claims with an announced move are shown.
const CLAIMS_SHOWN_MAX: usize = 3;

/// Writes what stands, a line each.
pub(super) fn push_standing(lines: &mut Vec<String>, game: &v1::Game) {
    lines.push(to_move(game));
    let offered = v1::Color::try_from(game.draw_offer).unwrap_or_default();
    if offered != v1::Color::Unspecified {
        lines.push(format!("{} has offered a draw.", side_name(offered)));
    }
    let bound = game
        .bound_move
        .as_ref()
        .and_then(|bound| bound.kind.as_ref());
    match bound {
        Some(Kind::Move(text)) => {
            lines.push(one_line(&format!(
                "{text} was announced and must be played (9.5.3)."
            )));
        }
        Some(Kind::Square(square)) => {
            lines.push(one_line(&format!(
                "The piece on {square} must move (9.5.3)."
            )));
        }
        None => {}
    }
    if let Some(conduct) = &game.conduct {
        push_conduct(lines, conduct);
    }
    push_claims(lines, game);
}

fn to_move(game: &v1::Game) -> String {
    let side = match game.fen.split(' ').nth(1) {
        Some("b") => "Black",
        _ => "White",
    };
    let in_check = game.adjudication.as_ref().is_some_and(|found| found.check);
    match in_check {
        true => format!("{side} is to move, and in check."),
        false => format!("{side} is to move."),
    }
}

fn push_conduct(lines: &mut Vec<String>, conduct: &v1::Conduct) {
    let mut say = |color: i32, words: &str| {
        let side = v1::Color::try_from(color).unwrap_or_default();
        if side != v1::Color::Unspecified {
            lines.push(format!("{} {words}.", side_name(side)));
        }
    };
    say(conduct.sealed_by, "has sealed a move");
    say(conduct.take_back_by, "asks for a move to be taken back");
    say(conduct.abort_by, "wants to break the game off");
    say(conduct.displaced_by, "has displaced pieces");
    if let Some(claim) = &conduct.pending_claim {
        let words = format!(
            "claims {}; the arbiter has to decide",
            claim_name(claim.claim())
        );
        say(claim.side, &words);
    }
    for (color, side) in [
        (v1::Color::White, &conduct.white),
        (v1::Color::Black, &conduct.black),
    ] {
        let Some(side) = side else { continue };
        match side.illegal_moves {
            0 => {}
            1 => say(color.into(), "has made an illegal move"),
            more => say(color.into(), &format!("has made {more} illegal moves")),
        }
        if side.move_uncompleted {
            say(color.into(), "has made a move and not pressed the clock");
        }
        if side.gone_time.is_some() {
            say(color.into(), "has lost the connection");
        }
    }
    let touched = &conduct.touched_squares;
    if !touched.is_empty() {
        lines.push(one_line(&format!("Touched: {}.", touched.join(", "))));
    }
    if !conduct.released_move.is_empty() {
        lines.push(one_line(&format!(
            "{} was released and binds.",
            conduct.released_move
        )));
    }
}

fn push_claims(lines: &mut Vec<String>, game: &v1::Game) {
    let Some(found) = &game.adjudication else {
        return;
    };
    let claims = &found.available_claims;
    let (announced, on_board): (Vec<_>, Vec<_>) = claims
        .iter()
        .partition(|claim| !claim.intended_move.is_empty());
    for claim in on_board {
        lines.push(format!("Can be claimed: {}.", claim_name(claim.claim())));
    }
    for claim in announced.iter().take(CLAIMS_SHOWN_MAX) {
        let (name, intended) = (claim_name(claim.claim()), &claim.intended_move);
        lines.push(one_line(&format!(
            "Can be claimed with {intended}: {name}."
        )));
    }
    if announced.len() > CLAIMS_SHOWN_MAX {
        let more = announced.len() - CLAIMS_SHOWN_MAX;
        lines.push(format!("Can be claimed with {more} other moves, too."));
    }
}
