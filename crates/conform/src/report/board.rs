//! Reports about the board: positions, moves and how they are written.

use std::collections::BTreeSet;

use referee_api::v1;

use super::question::{Judged, Question, is_refusal, no_answer};
use crate::error_details::{reason_of, words_of};
use crate::target::Clients;
use crate::verdict::Failure;

pub(super) async fn judge_moves(question: &Question, clients: &mut Clients) -> Judged {
    let request = v1::GenerateLegalMovesRequest {
        position: Some(question.position_after(0)),
        from_square: String::new(),
    };
    let moves = match clients.rules.generate_legal_moves(request).await {
        Ok(response) => response.into_inner().moves,
        Err(status) if question.expects("fen_may_reject") && is_refusal(&status) => {
            return Ok(Vec::new());
        }
        Err(status) => return Err(no_answer("legal moves", &status)),
    };
    let found: Vec<String> = moves.into_iter().map(|one| one.uci).collect();
    let unique: BTreeSet<String> = found.iter().cloned().collect();
    let expected = question.expected();
    let mut wrong = Vec::new();
    let mut hold = |holds: bool, what: &str, moves: String| {
        if !holds {
            wrong.push(Failure::new(what, moves, found.join(" ")));
        }
    };
    if expected.value("exact").is_some() {
        let exact = expected.texts("exact")?;
        let moves: BTreeSet<String> = exact.iter().cloned().collect();
        hold(moves == unique, "exactly", exact.join(" "));
    }
    for text in expected.texts("include")? {
        hold(unique.contains(&text), "includes", text);
    }
    for name in ["exclude", "exclude_soft"] {
        for text in expected.texts(name)? {
            hold(!unique.contains(&text), "is without", text);
        }
    }
    if let Some(count) = expected.number("count")? {
        let holds = u64::try_from(found.len()).is_ok_and(|found| found == count);
        hold(holds, "counts", count.to_string());
    }
    if question.expects("no_dups") {
        hold(unique.len() == found.len(), "repeats", "nothing".to_owned());
    }
    Ok(wrong)
}

pub(super) async fn judge_play(question: &Question, clients: &mut Clients) -> Judged {
    let expected = question.expected();
    let mut fen = question.fen.clone();
    let mut refused = None;
    for (ply, text) in question.moves.iter().enumerate() {
        let request = v1::ValidateMoveRequest {
            position: Some(question.position_after(ply)),
            r#move: text.clone(),
            rule_profile: None,
        };
        match clients.rules.validate_move(request).await {
            Ok(response) => match response.into_inner().answer {
                Some(v1::validate_move_response::Answer::Legal(legal)) => fen = legal.fen,
                Some(v1::validate_move_response::Answer::Illegal(illegal)) => {
                    clients.note(&illegal.citation);
                    refused = Some((ply, illegal.text));
                    break;
                }
                None => {
                    let step = format!("move {} ({text})", ply + 1);
                    return Err(Failure::new(step, "an answer", "none").into());
                }
            },
            Err(status) if question.expects("fen_may_reject") && is_refusal(&status) => {
                return Ok(Vec::new());
            }
            Err(status) => return Err(no_answer(&format!("move {} ({text})", ply + 1), &status)),
        }
    }
    let accept = expected.flag("accept")?.unwrap_or(true);
    match refused {
        Some(_) if accept && question.expects("lenient") => Ok(Vec::new()),
        Some((ply, text)) if accept => {
            let step = format!("move {} ({})", ply + 1, question.moves[ply]);
            Ok(vec![Failure::new(step, "legal", text)])
        }
        Some((ply, _)) => {
            let at = expected.number("at")?;
            let is_there = at.is_none_or(|at| u64::try_from(ply).is_ok_and(|ply| ply == at));
            let wrong = Failure::new("at", format!("{at:?}"), ply.to_string());
            Ok(if is_there { Vec::new() } else { vec![wrong] })
        }
        None if !accept => Ok(vec![Failure::new("moves", "refused", "all are legal")]),
        None => {
            let mut wrong = Vec::new();
            let placement = fen.split(' ').next().unwrap_or_default();
            for (name, found) in [("fen", fen.as_str()), ("xfen", &fen), ("board", placement)] {
                if let Some(text) = expected.text(name)?
                    && text != found
                {
                    wrong.push(Failure::new(name, text, found));
                }
            }
            Ok(wrong)
        }
    }
}

/// Writes moves, and the position that they lead to.
async fn convert(
    question: &Question,
    clients: &mut Clients,
    moves: Vec<String>,
    target: v1::Notation,
) -> Result<v1::ConvertNotationResponse, tonic::Status> {
    let request = v1::ConvertNotationRequest {
        position: Some(question.position(&question.fen, moves)),
        target: target.into(),
        ..v1::ConvertNotationRequest::default()
    };
    let response = clients.rules.convert_notation(request).await?;
    Ok(response.into_inner())
}

pub(super) async fn judge_fen(question: &Question, clients: &mut Clients) -> Judged {
    let expected = question.expected();
    let accept = expected.flag("accept")?;
    let readings = expected.texts("or_fen")?;
    let answer = convert(question, clients, Vec::new(), v1::Notation::Uci).await;
    let failed = |expected: &str, found: String| Ok(vec![Failure::new("fen", expected, found)]);
    match (accept, answer) {
        (_, Ok(found)) if readings.contains(&found.fen) => Ok(Vec::new()),
        (Some(false), Ok(found)) => failed("refused", found.fen),
        (_, Ok(found)) if !readings.is_empty() => failed(&readings.join(" or "), found.fen),
        (_, Ok(_)) => Ok(Vec::new()),
        (Some(false) | None, Err(status)) if reason_of(&status) == "INVALID_POSITION" => {
            Ok(Vec::new())
        }
        (Some(true), Err(status)) if question.expects("lenient") && is_refusal(&status) => {
            Ok(Vec::new())
        }
        (Some(true), Err(status)) => failed("accepted", words_of(&status)),
        (Some(false) | None, Err(status)) => failed("INVALID_POSITION", words_of(&status)),
    }
}

pub(super) async fn judge_fen_out(question: &Question, clients: &mut Clients) -> Judged {
    let expected = question.expected();
    let mut any = expected.texts("fen_any")?;
    any.extend(expected.text("fen")?.map(str::to_owned));
    let answer = convert(question, clients, question.moves.clone(), v1::Notation::Uci).await;
    let found = answer
        .map_err(|status| no_answer("write the position", &status))?
        .fen;
    if any.contains(&found) {
        return Ok(Vec::new());
    }
    Ok(vec![Failure::new("fen", any.join(" or "), found)])
}

pub(super) async fn judge_to_san(question: &Question, clients: &mut Clients) -> Judged {
    let uci = question.input().required_text("uci")?.to_owned();
    let answer = convert(question, clients, vec![uci], v1::Notation::San).await;
    let moves = answer
        .map_err(|status| no_answer("write the move", &status))?
        .moves;
    let found = moves.into_iter().next().unwrap_or_default();
    let expected = question.expected().required_text("san")?.to_owned();
    if found == expected {
        return Ok(Vec::new());
    }
    Ok(vec![Failure::new("san", expected, found)])
}

pub(super) async fn judge_san(question: &Question, clients: &mut Clients) -> Judged {
    use v1::validate_move_response::Answer;

    let request = v1::ValidateMoveRequest {
        position: Some(question.position_after(0)),
        r#move: question.input().required_text("san")?.to_owned(),
        rule_profile: None,
    };
    let found = match clients.rules.validate_move(request).await {
        Ok(response) => match response.into_inner().answer {
            Some(Answer::Legal(legal)) => Ok(legal.r#move.unwrap_or_default().uci),
            Some(Answer::Illegal(illegal)) => {
                clients.note(&illegal.citation);
                Err(illegal.text)
            }
            None => return Err(Failure::new("san", "an answer", "none").into()),
        },
        Err(status) if is_refusal(&status) => Err(words_of(&status)),
        Err(status) => return Err(no_answer("san", &status)),
    };
    let expected = question.expected();
    match found {
        Ok(uci) if question.expects("reject") => Ok(vec![Failure::new("san", "refused", uci)]),
        Ok(uci) => {
            let wanted = expected.required_text("uci")?;
            let wrong = Failure::new("san", wanted, &uci);
            Ok(if uci == wanted {
                Vec::new()
            } else {
                vec![wrong]
            })
        }
        Err(_) if question.expects("reject") || question.expects("lenient") => Ok(Vec::new()),
        Err(text) => {
            let wanted = expected.required_text("uci")?;
            Ok(vec![Failure::new("san", wanted, text)])
        }
    }
}
