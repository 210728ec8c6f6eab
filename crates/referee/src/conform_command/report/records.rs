//! Reports about records of games in Portable Game Notation, put to `VerifyGames`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use referee_api::v1;
use referee_api::v1::game_finding::Kind as Finding;
use referee_api::v1::verify_games_request::Kind as Sent;
use referee_pgn::{GameReader, Item};
use serde_json::Value;

use super::super::fields::CaseError;
use super::super::limits;
use super::super::target::Clients;
use super::super::verdict::Failure;
use super::{Judged, Report, no_answer};

/// What a report can expect of a record.
pub(super) const KNOWN: &[&str] = &[
    "games",
    "games_any",
    "plies",
    "board",
    "clocks",
    "illegal_at",
    "error",
    "after_end",
    "result_conflict",
];

/// How much text is sent at once, in bytes.
const PIECE_BYTES: usize = 65_536;

pub(super) async fn judge_record(report: &Report, clients: &mut Clients) -> Judged {
    let text = read_text(report)?;
    let pieces: Vec<v1::VerifyGamesRequest> = text
        .chunks(PIECE_BYTES)
        .map(|piece| v1::VerifyGamesRequest {
            kind: Some(Sent::Pgn(piece.to_vec().into())),
        })
        .collect();
    let failed = |status: tonic::Status| no_answer("verify the record", &status);
    let answer = clients.rules.verify_games(tokio_stream::iter(pieces)).await;
    let mut answers = answer.map_err(failed)?.into_inner();
    let (mut games, mut faults) = (Vec::new(), Vec::new());
    while let Some(game) = answers.message().await.map_err(failed)? {
        faults.extend(game.faults.iter().cloned());
        // Faults between games are in no game.
        if game.number > 0 {
            games.push(game);
        }
    }
    // A record that may be refused is refused where a fault says so.
    if report.expects("lenient") && faults.iter().any(|fault| fault.error) {
        return Ok(Vec::new());
    }
    let expected = report.expected();
    let mut wrong = Vec::new();
    for name in expected.names() {
        let Some(value) = expected.value(name) else {
            continue;
        };
        let found = match name {
            "clocks" => clocks(&text),
            name => found(name, value, &games, &faults),
        };
        let holds = match (name, value) {
            ("games_any", Value::Array(any)) => any.contains(&found),
            ("clocks", _) => begins_with(&found, value),
            _ => found == *value,
        };
        if !holds && name != "lenient" {
            wrong.push(Failure::new(name, value.to_string(), found.to_string()));
        }
    }
    let is_whole = expected.value("plies").is_some() && !report.expects("error");
    if let Some(fault) = faults.iter().find(|fault| fault.error && is_whole) {
        let place = format!("line {}, column {}", fault.line, fault.column);
        wrong.push(Failure::new(place, "no error", fault.text.clone()));
    }
    Ok(wrong)
}

/// What the verdicts say about one expectation.
fn found(
    name: &str,
    expected: &Value,
    games: &[v1::VerifyGamesResponse],
    faults: &[v1::TextFault],
) -> Value {
    let findings = || games.iter().flat_map(|game| &game.findings);
    let has = |wanted: fn(&Finding) -> bool| {
        let mut kinds = findings().filter_map(|finding| finding.kind.as_ref());
        Value::Bool(kinds.any(wanted))
    };
    match name {
        "games" | "games_any" => Value::from(games.len()),
        "plies" => games.iter().map(|game| game.plies).collect(),
        "board" => {
            let boards = games.iter().map(|game| game.fen.split(' ').next());
            boards.map(Value::from).collect()
        }
        "illegal_at" => {
            let plies = findings().find_map(|finding| match &finding.kind {
                Some(Finding::IllegalMove(illegal)) => Some(illegal.ply),
                _ => None,
            });
            // A null move is no move at all, so that it is a fault of the text.
            let stopped = games
                .iter()
                .find(|game| game.faults.iter().any(|fault| fault.error));
            let plies = plies.or(stopped.map(|game| game.plies));
            plies.map_or(Value::Null, Value::from)
        }
        "error" => Value::Bool(faults.iter().any(|fault| fault.error)),
        "after_end" => has(|kind| matches!(kind, Finding::PlayedOn(_))),
        "result_conflict" => has(|kind| matches!(kind, Finding::ResultConflict(_))),
        // What is not known is refused when the report is read.
        _ => expected.clone(),
    }
}

/// The clocks in the comments of the first game, in seconds, as this process reads them: the
/// verdicts do not tell them.
fn clocks(text: &[u8]) -> Value {
    let mut clocks = None;
    let mut take = |item: Item<'_>| {
        if let Item::Game(reading) = item
            && clocks.is_none()
        {
            let game = &reading.game;
            let read = (0..game.moves.len()).map(|index| {
                let clock = game.notes.get(index).clock;
                clock.map(|clock| Value::from(clock.as_secs_f64()))
            });
            clocks = Some(read.map(Value::from).collect());
        }
    };
    let mut reader = GameReader::new();
    reader.push(text, &mut take);
    reader.finish(&mut take);
    clocks.unwrap_or_default()
}

/// Whether a list of numbers begins as expected; whole numbers are the same as others.
fn begins_with(found: &Value, expected: &Value) -> bool {
    let (Value::Array(found), Value::Array(expected)) = (found, expected) else {
        return false;
    };
    let mut pairs = expected.iter().zip(found);
    expected.len() <= found.len() && pairs.all(|(one, other)| one.as_f64() == other.as_f64())
}

/// Returns the bytes of a record. Of a text that is cut where `…[300176 bytes]…` stands, words
/// fill the gap.
fn read_text(report: &Report) -> Result<Vec<u8>, CaseError> {
    let input = report.input();
    if let Some(text) = input.text("b64")? {
        let decoded = STANDARD.decode(text);
        return decoded.map_err(|error| input.error("b64", format!("is no base64: {error}")));
    }
    let text = input.required_text("text")?;
    if input.value("generator").is_none() {
        return Ok(text.as_bytes().to_vec());
    }
    let cut = text.split_once("…[").and_then(|(head, rest)| {
        let (note, tail) = rest.split_once("]…")?;
        let length: usize = note.strip_suffix(" bytes")?.parse().ok()?;
        Some((head, length, tail))
    });
    let (head, length, tail) = cut.ok_or_else(|| {
        input.error(
            "generator",
            "wants a text that is cut as …[300176 bytes]… is",
        )
    })?;
    if length > limits::LINE_LENGTH_MAX {
        let reason = format!("asks for more than {} bytes", limits::LINE_LENGTH_MAX);
        return Err(input.error("text", reason));
    }
    let gap = length.saturating_sub(head.len() + tail.len());
    let words = "word ".repeat(gap.div_ceil(5));
    Ok(format!("{head} {words}{tail}").into_bytes())
}
