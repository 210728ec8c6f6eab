//! Reports about records of games: each text is put to `VerifyGames`, and the verdicts are held.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use referee_api::v1;
use referee_api::v1::game_finding::Kind;
use serde_json::{Value, json};
use tonic::Status;

use super::question::{Judged, Question, Unfit, is_refusal, no_answer};
use crate::fields::{CaseError, Fields};
use crate::limits;
use crate::target::Clients;
use crate::verdict::Failure;
use crate::words::result_word;

/// What a report can expect of a text.
pub(super) const KNOWN: &[&str] = &[
    "games",
    "games_any",
    "plies",
    "board",
    "results",
    "tags",
    "clocks",
    "illegal_at",
    "after_end",
    "error",
    "places",
];

/// Reads the text of a report: `b64`, or `text`, whose gap is filled where a `generator` is named.
pub(super) fn read_text(input: &Fields) -> Result<Vec<u8>, CaseError> {
    // It says in Python how a long text was made; the gap tells the same.
    let is_cut = input.text("generator")?.is_some();
    let (base64, text) = (input.text("b64")?, input.text("text")?);
    if let Some(base64) = base64 {
        let bytes = BASE64_STANDARD.decode(base64);
        return bytes.map_err(|error| input.error("b64", format!("is no base64: {error}")));
    }
    let text = match text {
        Some(text) => text,
        None => input.required_text("text")?,
    };
    if !is_cut {
        return Ok(text.as_bytes().to_vec());
    }
    let filled = fill(text).map_err(|reason| input.error("text", reason))?;
    Ok(filled.into_bytes())
}

/// Fills a text that is cut where `…[300176 bytes]…` stands with as many bytes of words.
fn fill(text: &str) -> Result<String, String> {
    let cut = text
        .split_once("…[")
        .and_then(|(head, rest)| Some((head, rest.split_once("]…")?)));
    let Some((head, (note, tail))) = cut else {
        return Err("must be cut at …[N bytes]…, since it has a generator".to_owned());
    };
    let length = note.strip_suffix(" bytes").and_then(|n| n.parse().ok());
    let length: usize = length.ok_or_else(|| format!("'{note}' is no number of bytes"))?;
    if length > limits::RECORD_LENGTH_MAX {
        let most = limits::RECORD_LENGTH_MAX;
        return Err(format!("{length} bytes are more than {most}"));
    }
    let gap = length.saturating_sub(head.len() + tail.len());
    let words = "word ".repeat(gap / 5 + 1);
    Ok(format!("{head} {words}{tail}"))
}

pub(super) async fn judge_record(question: &Question, clients: &mut Clients) -> Judged {
    let is_lenient = question.expects("lenient");
    let verdicts = match verify(question, clients).await {
        Ok(verdicts) => verdicts,
        Err(Unanswered::Status(status)) if is_lenient && is_refusal(&status) => {
            return Ok(Vec::new());
        }
        Err(Unanswered::Status(status)) => return Err(no_answer("verify the games", &status)),
        Err(Unanswered::Failure(failure)) => return Err(Unfit::Failure(failure)),
    };
    let wrong = compare(&question.expected(), &verdicts)?;
    // What may be read leniently may be refused as well, but not in silence.
    if is_lenient && first_error(&verdicts).is_some() {
        return Ok(Vec::new());
    }
    Ok(wrong)
}

/// Why there are no verdicts.
enum Unanswered {
    Status(Status),
    Failure(Failure),
}

impl From<Status> for Unanswered {
    fn from(status: Status) -> Unanswered {
        Unanswered::Status(status)
    }
}

/// Sends the text in pieces, and collects the verdicts.
async fn verify(
    question: &Question,
    clients: &mut Clients,
) -> Result<Vec<v1::VerifyGamesResponse>, Unanswered> {
    use v1::verify_games_request::Kind;
    let options = v1::VerifyOptions {
        rule_profile: Some(v1::RuleProfile::default()),
    };
    let mut messages = vec![Kind::Options(options)];
    let pieces = question.record.chunks(limits::PIECE_LENGTH);
    messages.extend(pieces.map(|piece| Kind::Pgn(piece.to_vec().into())));
    let messages = messages
        .into_iter()
        .map(|kind| v1::VerifyGamesRequest { kind: Some(kind) });
    let collected = tokio::time::timeout(limits::CALL_TIMEOUT, async {
        let answer = clients
            .rules
            .verify_games(tokio_stream::iter(messages))
            .await?;
        let mut stream = answer.into_inner();
        let mut verdicts = Vec::new();
        while let Some(verdict) = stream.message().await? {
            if verdicts.len() == limits::VERDICTS_MAX {
                let most = format!("at most {}", limits::VERDICTS_MAX);
                let failure = Failure::new("counts the verdicts", most, "more");
                return Err(Unanswered::Failure(failure));
            }
            verdicts.push(verdict);
        }
        Ok(verdicts)
    });
    collected.await.unwrap_or_else(|_| {
        let patience = format!("within {} seconds", limits::CALL_TIMEOUT.as_secs());
        let failure = Failure::new("verify the games", patience, "no end of the verdicts");
        Err(Unanswered::Failure(failure))
    })
}

fn compare(expected: &Fields, verdicts: &[v1::VerifyGamesResponse]) -> Judged {
    // What is wrong between games has a verdict of its own, with the number 0.
    let games: Vec<&v1::VerifyGamesResponse> = verdicts
        .iter()
        .filter(|verdict| verdict.number > 0)
        .collect();
    let mut wrong = Vec::new();
    let numbers: Vec<u64> = games.iter().map(|game| game.number).collect();
    if !numbers.iter().copied().eq((1..).take(games.len())) {
        let found = json!(numbers).to_string();
        wrong.push(Failure::new("counts the games", "1, 2, 3, …", found));
    }
    for name in expected.names() {
        let Some(value) = expected.value(name) else {
            continue;
        };
        let found = match name {
            "clocks" => clocks(&games, expected.list(name)?),
            "tags" => tags(&games, expected.list(name)?),
            _ => told(name, &games, verdicts),
        };
        let is_met = match name {
            "games_any" => expected.list(name)?.contains(&found),
            "clocks" => shows_same(value, &found),
            "lenient" => true,
            _ => *value == found,
        };
        if !is_met {
            wrong.push(Failure::new(name, value.to_string(), found.to_string()));
        }
    }
    // A case that expects moves expects that nothing of them was lost.
    let expects = |name| expected.value(name).is_some();
    if expects("plies")
        && !expects("error")
        && let Some(fault) = first_error(verdicts)
    {
        let found = format!(
            "line {}, column {}: {}",
            fault.line, fault.column, fault.text
        );
        wrong.push(Failure::new("reads all moves", "no error", found));
    }
    Ok(wrong)
}

/// What the verdicts tell of an expectation.
fn told(
    name: &str,
    games: &[&v1::VerifyGamesResponse],
    verdicts: &[v1::VerifyGamesResponse],
) -> Value {
    let of_each = |part: fn(&v1::VerifyGamesResponse) -> Value| {
        Value::from(games.iter().map(|game| part(game)).collect::<Vec<_>>())
    };
    match name {
        "games" | "games_any" => json!(games.len()),
        "plies" => of_each(|game| json!(game.plies)),
        "board" => of_each(|game| json!(game.fen.split(' ').next())),
        "results" => of_each(|game| json!(result_word(game.recorded_result()))),
        "illegal_at" => json!(games.first().and_then(|game| illegal_ply(game))),
        "after_end" => json!(games.first().is_some_and(|game| is_played_on(game))),
        "error" => json!(first_error(verdicts).is_some()),
        "places" => {
            let faults = verdicts.iter().flat_map(|verdict| &verdict.faults);
            json!(
                faults
                    .map(|fault| [fault.line, fault.column])
                    .collect::<Vec<_>>()
            )
        }
        _ => Value::Null,
    }
}

fn first_error(verdicts: &[v1::VerifyGamesResponse]) -> Option<&v1::TextFault> {
    let mut faults = verdicts.iter().flat_map(|verdict| &verdict.faults);
    faults.find(|fault| fault.error)
}

/// The ply at which a game has an illegal move. It is read up to the move, which is told as an
/// error at the place where it stands, and the game is not sound.
fn illegal_ply(game: &v1::VerifyGamesResponse) -> Option<u32> {
    let illegal = game
        .findings
        .iter()
        .find_map(|finding| match &finding.kind {
            Some(Kind::IllegalMove(illegal)) => Some(illegal),
            _ => None,
        })?;
    let is_told = game
        .faults
        .iter()
        .any(|fault| fault.error && (fault.line, fault.column) == (illegal.line, illegal.column));
    (is_told && !game.sound && illegal.ply == game.plies).then_some(illegal.ply)
}

fn is_played_on(game: &v1::VerifyGamesResponse) -> bool {
    let mut findings = game.findings.iter();
    let found = findings.any(|finding| matches!(finding.kind, Some(Kind::PlayedOn(_))));
    found && !game.sound
}

/// The clocks of the first game after as many of its first moves as are expected, in seconds.
fn clocks(games: &[&v1::VerifyGamesResponse], expected: &[Value]) -> Value {
    let shown = games.first().map_or(&[][..], |game| &game.clocks);
    let seconds = |ply: usize| {
        let clock = shown
            .iter()
            .find(|clock| usize::try_from(clock.ply).is_ok_and(|found| found == ply))?;
        let left = clock.left.as_ref()?;
        Some(left.seconds as f64 + f64::from(left.nanos) / 1e9)
    };
    json!((1..=expected.len()).map(seconds).collect::<Vec<_>>())
}

/// Whether two lists of clocks show the same; a whole number of seconds may be written either way.
fn shows_same(expected: &Value, found: &Value) -> bool {
    let (Some(expected), Some(found)) = (expected.as_array(), found.as_array()) else {
        return false;
    };
    let same = |(one, other): (&Value, &Value)| {
        one.is_null() && other.is_null() || one.is_number() && one.as_f64() == other.as_f64()
    };
    expected.len() == found.len() && expected.iter().zip(found).all(same)
}

/// The tags of each game that are expected of it; `null` where it does not have one.
fn tags(games: &[&v1::VerifyGamesResponse], expected: &[Value]) -> Value {
    let of_game = |(index, wanted): (usize, &Value)| {
        let game = games.get(index)?;
        let names = wanted.as_object()?.keys();
        Some(Value::Object(
            names
                .map(|name| (name.clone(), json!(game.tags.get(name))))
                .collect(),
        ))
    };
    json!(expected.iter().enumerate().map(of_game).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_it_is_written() {
        let read = |input: Value| {
            let text = read_text(&Fields::new("input", &input).expect("an object"));
            text.map_err(|error| error.to_string())
        };
        assert_eq!(read(json!({"text": "1. e4 *"})), Ok(b"1. e4 *".to_vec()));
        // The bytes are what counts where there are both.
        let both = json!({"text": "1. e4 *", "b64": "MS4gZDQgKg=="});
        assert_eq!(read(both), Ok(b"1. d4 *".to_vec()));
        let filled = read(json!({"generator": "words", "text": "{ a …[300 bytes]… b }"}));
        let filled = String::from_utf8(filled.expect("a text")).expect("UTF-8");
        assert!(filled.starts_with("{ a  word word ") && filled.ends_with("word  b }"));
        assert!((300..310).contains(&filled.len()), "{}", filled.len());
        for (input, reason) in [
            (json!({}), "input.text: is missing"),
            (json!({"b64": "1"}), "input.b64: is no base64"),
            (
                json!({"generator": "", "text": "whole"}),
                "input.text: must be cut at",
            ),
            (
                json!({"generator": "", "text": "…[many bytes]…"}),
                "input.text: 'many bytes' is no number",
            ),
            (
                json!({"generator": "", "text": "…[1048577 bytes]…"}),
                "input.text: 1048577 bytes are more than 1048576",
            ),
        ] {
            let said = read(input).expect_err(reason);
            assert!(said.starts_with(reason), "{said}");
        }
    }
}
