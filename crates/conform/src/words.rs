//! The words of the cases, and the values of the contract that they stand for.

use referee_api::v1;
use serde_json::Value;

use crate::fields::{CaseError, Fields};

/// The results, as cases and as the contract name them.
const RESULTS: [(&str, v1::GameResult); 12] = [
    ("*", v1::GameResult::Ongoing),
    ("1-0", v1::GameResult::WhiteWins),
    ("0-1", v1::GameResult::BlackWins),
    ("1/2-1/2", v1::GameResult::Draw),
    ("0-0", v1::GameResult::BothLose),
    ("1/2-0", v1::GameResult::WhiteHalf),
    ("0-1/2", v1::GameResult::BlackHalf),
    ("+/-", v1::GameResult::WhiteWinsForfeit),
    ("-/+", v1::GameResult::BlackWinsForfeit),
    ("-/-", v1::GameResult::BothForfeit),
    ("cancelled", v1::GameResult::Cancelled),
    ("aborted", v1::GameResult::Aborted),
];

/// Reads a result.
pub(crate) fn result(fields: &Fields, name: &str) -> Result<Option<v1::GameResult>, CaseError> {
    let Some(text) = fields.text(name)? else {
        return Ok(None);
    };
    let found = RESULTS.iter().find(|(word, _)| *word == text);
    let unknown = || {
        let words: Vec<&str> = RESULTS.iter().map(|(word, _)| *word).collect();
        let words = words.join(" ");
        fields.error(name, format!("must be one of {words}, but is '{text}'"))
    };
    found.map(|(_, result)| Some(*result)).ok_or_else(unknown)
}

/// Returns the word for a result.
pub(crate) fn result_word(result: v1::GameResult) -> &'static str {
    let found = RESULTS.iter().find(|(_, value)| *value == result);
    found.map_or("?", |(word, _)| word)
}

/// Reads how a game ended.
pub(crate) fn termination(
    fields: &Fields,
    name: &str,
) -> Result<Option<v1::Termination>, CaseError> {
    let Some(text) = fields.text(name)? else {
        return Ok(None);
    };
    // The contract has American spelling.
    let word = text.replace("colours", "colors").to_uppercase();
    match v1::Termination::from_str_name(&format!("TERMINATION_{word}")) {
        Some(termination) => Ok(Some(termination)),
        None => Err(fields.error(name, format!("'{text}' is no way in which a game ends"))),
    }
}

/// Returns the word for how a game ended; empty where it has not.
pub(crate) fn termination_word(termination: v1::Termination) -> String {
    match termination {
        v1::Termination::Unspecified => String::new(),
        other => strip(other.as_str_name(), "TERMINATION_").to_lowercase(),
    }
}

/// Answers that are no reasons of rulings.
const ANSWERS: [&str; 2] = ["ok", "ok_improper"];

/// Reads the answer that is expected; `ok` where nothing is said.
pub(crate) fn answer(fields: &Fields, name: &str) -> Result<String, CaseError> {
    let text = fields.text(name)?.unwrap_or("ok");
    let is_known = ANSWERS.contains(&text)
        || v1::ruling::Reason::from_str_name(&format!("REASON_{text}")).is_some();
    if is_known {
        Ok(text.to_owned())
    } else {
        let reason = format!(
            "'{text}' is no answer; it is ok, ok_improper or a value of Ruling.Reason without \
             REASON_"
        );
        Err(fields.error(name, reason))
    }
}

/// Returns the answer that a ruling amounts to.
pub(crate) fn answer_of(ruling: &v1::Ruling) -> String {
    use v1::ruling::{Reason, Verdict};
    match (ruling.verdict(), ruling.reason()) {
        (Verdict::Accepted, Reason::Stands) => "STANDS".to_owned(),
        (Verdict::Accepted, _) if ruling.improper => "ok_improper".to_owned(),
        (Verdict::Accepted, _) | (Verdict::Noted, Reason::Unspecified) => "ok".to_owned(),
        (_, reason) => strip(reason.as_str_name(), "REASON_").to_owned(),
    }
}

/// Reads a piece: a letter or its name.
pub(crate) fn role(fields: &Fields, name: &str) -> Result<v1::PieceKind, CaseError> {
    let text = fields.required_text(name)?;
    match text.to_lowercase().as_str() {
        "p" | "pawn" => Ok(v1::PieceKind::Pawn),
        "n" | "knight" => Ok(v1::PieceKind::Knight),
        "b" | "bishop" => Ok(v1::PieceKind::Bishop),
        "r" | "rook" => Ok(v1::PieceKind::Rook),
        "q" | "queen" => Ok(v1::PieceKind::Queen),
        "k" | "king" => Ok(v1::PieceKind::King),
        _ => Err(fields.error(name, format!("'{text}' is no piece"))),
    }
}

/// Reads the points of a player: `0`, `1/2` or `1`; any other number is none that the Laws allow.
pub(crate) fn score(fields: &Fields, name: &str) -> Result<Option<v1::Score>, CaseError> {
    let Some(value) = fields.value(name) else {
        return Ok(None);
    };
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err(fields.error(name, "must be a number of points, such as \"1/2\"")),
    };
    Ok(Some(match text.as_str() {
        "0" | "0.0" => v1::Score::Zero,
        "1/2" | "0.5" => v1::Score::Half,
        "1" | "1.0" => v1::Score::One,
        _ => v1::Score::Other,
    }))
}

/// Reads a claim. A kind that nobody knows is sent as a value that the contract does not have.
pub(crate) fn claim(fields: &Fields, name: &str) -> Result<i32, CaseError> {
    use v1::ClaimKind;
    let claim = match fields.required_text(name)? {
        "threefold" => ClaimKind::Threefold,
        "fifty" => ClaimKind::Fifty,
        "perpetual_check" => ClaimKind::PerpetualCheck,
        "opponent_insufficient" => ClaimKind::OpponentInsufficient,
        "illegal_move" => ClaimKind::IllegalMove,
        "touch_move" => ClaimKind::TouchMove,
        "III.4" => ClaimKind::QuickplayIncrement,
        "III.5" => ClaimKind::QuickplayDraw,
        "opponent_gone" => ClaimKind::OpponentGone,
        _ => return Ok(CLAIM_UNKNOWN),
    };
    Ok(claim.into())
}

/// A number that is no claim and is not going to be one.
pub(crate) const CLAIM_UNKNOWN: i32 = 99_999;

/// Reads the chess that is played.
pub(crate) fn variant(fields: &Fields, name: &str) -> Result<v1::Variant, CaseError> {
    match fields.text(name)? {
        None | Some("standard") => Ok(v1::Variant::Unspecified),
        Some("chess960") => Ok(v1::Variant::Chess960),
        Some(text) => {
            let reason = format!("must be standard or chess960, but is '{text}'");
            Err(fields.error(name, reason))
        }
    }
}

/// Reads what a clock gives for each move.
pub(crate) fn bonus_mode(fields: &Fields, name: &str) -> Result<v1::BonusMode, CaseError> {
    match fields.text(name)? {
        None | Some("none") => Ok(v1::BonusMode::None),
        Some("fischer") => Ok(v1::BonusMode::Fischer),
        Some("bronstein") => Ok(v1::BonusMode::Bronstein),
        Some("delay") => Ok(v1::BonusMode::Delay),
        Some(text) => {
            let reason = format!("must be none, fischer, bronstein or delay, but is '{text}'");
            Err(fields.error(name, reason))
        }
    }
}

/// Returns the word for what a clock gives.
pub(crate) fn bonus_mode_word(mode: v1::BonusMode) -> &'static str {
    match mode {
        v1::BonusMode::Unspecified | v1::BonusMode::None => "none",
        v1::BonusMode::Fischer => "fischer",
        v1::BonusMode::Bronstein => "bronstein",
        v1::BonusMode::Delay => "delay",
    }
}

/// Returns the name of a value without the prefix of its enum.
pub(crate) fn strip<'a>(name: &'a str, prefix: &str) -> &'a str {
    name.strip_prefix(prefix).unwrap_or(name)
}
