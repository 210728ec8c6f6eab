//! Rulings and outcomes in words: the verdict, the articles, and what another program needs to
//! check them.

use referee_api::v1;
use referee_api::v1::evidence::Kind;
use referee_api::v1::ruling::{Reason, Verdict};

use super::clocks::moment;
use super::times::{exact, ms_of};
use super::words::{one_line, piece_name, plain, result_sign, side_name};

/// How many half-moves of a line to mate are written; JSON has them all.
const LINE_SHOWN_MAX: usize = 8;

/// Returns the verdict in one word.
pub(super) fn verdict(ruling: &v1::Ruling) -> String {
    match ruling.verdict() {
        Verdict::Accepted => "accepted".to_owned(),
        Verdict::Refused => "refused".to_owned(),
        Verdict::Penalized => "penalized".to_owned(),
        Verdict::Noted => "noted, and does not stand".to_owned(),
        Verdict::Unspecified => "no verdict".to_owned(),
    }
}

/// Returns the sentence of a ruling; where it has none, the name of its reason.
pub(super) fn sentence(ruling: &v1::Ruling) -> String {
    match (ruling.text.as_str(), ruling.reason()) {
        ("", Reason::Unspecified) => String::new(),
        ("", reason) => plain(reason.as_str_name(), "REASON_"),
        (text, _) => one_line(text),
    }
}

/// Whether there is something to say about a ruling: it does not stand, or is remarkable.
pub(super) fn is_remarkable(ruling: &v1::Ruling) -> bool {
    ruling.verdict() != Verdict::Accepted || !ruling.text.is_empty() || ruling.improper
}

/// Returns the numbers of articles in brackets, with a blank before; empty where there are none.
pub(super) fn articles(citations: &[v1::Citation]) -> String {
    let mut numbers: Vec<String> = Vec::new();
    for citation in citations {
        let number = one_line(&citation.article);
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    match numbers.is_empty() {
        true => String::new(),
        false => format!(" ({})", numbers.join(", ")),
    }
}

/// Writes what a ruling or an outcome rests on: each article with what it says, then the evidence.
pub(super) fn push_grounds(
    lines: &mut Vec<String>,
    citations: &[v1::Citation],
    evidence: &[v1::Evidence],
) {
    for citation in citations {
        let v1::Citation {
            edition,
            article,
            text,
        } = citation;
        push_once(lines, format!("  {article} ({edition}): {text}"));
    }
    for text in evidence.iter().filter_map(describe) {
        push_once(lines, format!("  evidence: {text}"));
    }
}

/// Writes a line, unless the ruling before the outcome has said so already.
fn push_once(lines: &mut Vec<String>, line: String) {
    let line = one_line(&line);
    if !lines.contains(&line) {
        lines.push(line);
    }
}

/// Writes what a ruling says beyond its sentence.
pub(super) fn push_ruling(lines: &mut Vec<String>, ruling: &v1::Ruling) {
    push_grounds(lines, &ruling.citations, &ruling.evidence);
    if let Some(illegal) = &ruling.illegal_move {
        let fits = &illegal.candidates;
        if !fits.is_empty() {
            lines.push(one_line(&format!("  it fits {}", fits.join(", "))));
        }
    }
    if ruling.improper {
        lines.push("  it came at a moment that the Laws do not mean for it".to_owned());
    }
    if ruling.provisional {
        lines.push("  provisional: a later proof may change it".to_owned());
    }
}

/// Returns the result with its sentence and its articles, in one line.
pub(super) fn outcome_line(outcome: &v1::Outcome) -> String {
    let sign = result_sign(outcome.result());
    let text = match outcome.text.as_str() {
        "" => plain(outcome.termination().as_str_name(), "TERMINATION_"),
        text => one_line(text),
    };
    let articles = articles(&outcome.citations);
    let provisional = match outcome.provisional {
        true => ", provisional",
        false => "",
    };
    format!("{sign}: {text}{articles}{provisional}")
}

/// Whether an outcome is the end of a game.
pub(super) fn is_end(outcome: &v1::Outcome) -> bool {
    let result = outcome.result();
    result != v1::GameResult::Ongoing && result != v1::GameResult::Unspecified
}

fn describe(evidence: &v1::Evidence) -> Option<String> {
    Some(match evidence.kind.as_ref()? {
        Kind::Repetition(repetition) => {
            let plies: Vec<String> = repetition.plies.iter().map(u32::to_string).collect();
            format!(
                "the position stood {} times, after the half-moves {}",
                plies.len(),
                plies.join(", ")
            )
        }
        Kind::MoveCount(count) => format!(
            "{} half-moves without a capture or a pawn move, the last one made half-move {}",
            count.halfmove_clock, count.last_reset_ply
        ),
        Kind::Check(check) => {
            let attackers: Vec<String> = check.attackers.iter().map(piece_on).collect();
            format!(
                "the king on {} is in check from {}",
                check.king_square,
                attackers.join(" and ")
            )
        }
        Kind::NoMate(proof) => {
            let side = side_name(proof.side());
            format!("{side} cannot mate: {}", proof.text)
        }
        Kind::MatingLine(line) => {
            let (side, count) = (side_name(line.side()), line.moves.len());
            let shown = line.moves.iter().take(LINE_SHOWN_MAX);
            let shown: Vec<&str> = shown.map(String::as_str).collect();
            let more = if count > shown.len() { " ..." } else { "" };
            let shown = shown.join(" ");
            format!("{side} can still mate, in {count} half-moves: {shown}{more}")
        }
        Kind::Clock(clock) => clock_evidence(clock),
    })
}

fn piece_on(piece: &v1::PieceOnSquare) -> String {
    format!("the {} on {}", piece_name(piece.kind()), piece.square)
}

fn clock_evidence(clock: &v1::ClockEvidence) -> String {
    let side = side_name(clock.side());
    let ms = |time: &Option<prost_types::Duration>| time.as_ref().map_or(0, ms_of);
    let (left, elapsed) = (ms(&clock.left), ms(&clock.elapsed));
    let mut text = format!(
        "the clock of {side}: {} - {} = {}",
        exact(left),
        exact(elapsed),
        exact(left.saturating_sub(elapsed))
    );
    for (time, words) in [
        (&clock.deadline_time, ", the flag falls at "),
        (&clock.received_time, ", looked at "),
    ] {
        if let Some(time) = time.as_ref().and_then(moment) {
            text.push_str(words);
            text.push_str(&time);
        }
    }
    text
}
