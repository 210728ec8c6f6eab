//! The events of a case, and the actions of the contract that they stand for.

use referee_api::v1;
use referee_api::v1::action::Kind;
use referee_api::v1::platform_time;

use crate::decision;
use crate::fields::{CaseError, Fields, seat, side};
use crate::words;

/// Who acts in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Actor {
    /// Whoever has the move.
    OnMove,
    /// This seat.
    Seat(v1::Seat),
}

/// What is put to the referee in a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// An action.
    Act(Actor, Kind),
    /// A move of this side was completed, whatever move it was: where one was made and not
    /// completed, the clock is pressed; otherwise a legal move is made.
    Complete(v1::Color),
    /// Nothing: time passes.
    Wait,
}

/// One event: what is put to the referee, one action after another, and what it must answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    /// The event in short, to name it by.
    pub(crate) name: String,
    /// The answer to each step.
    pub(crate) expected: String,
    /// The actions.
    pub(crate) steps: Vec<Step>,
    /// When it happened; it is told with the first step.
    pub(crate) time: Option<v1::PlatformTime>,
}

impl Event {
    /// Reads an event.
    pub(crate) fn read(fields: &Fields) -> Result<Event, CaseError> {
        let kind = fields.required_text("t")?;
        let steps = read_steps(kind, fields)?;
        let event = Event {
            name: name(kind, fields),
            expected: words::answer(fields, "exp")?,
            steps,
            time: read_time(fields)?,
        };
        // Words for the reader.
        for words in ["why", "note", "reason"] {
            fields.value(words);
        }
        Ok(event)
    }
}

/// Names an event by what tells it from its neighbours.
fn name(kind: &str, fields: &Fields) -> String {
    let mut name = kind.to_owned();
    for detail in ["uci", "move", "san", "kind", "action", "by", "side"] {
        if let Some(serde_json::Value::String(text)) = fields.value(detail) {
            name.push(' ');
            name.push_str(text);
        }
    }
    name
}

fn read_time(fields: &Fields) -> Result<Option<v1::PlatformTime>, CaseError> {
    let at = fields.time("at_ms")?.map(platform_time::Kind::At);
    let elapsed = fields.time("elapsed_ms")?;
    if at.is_some() && elapsed.is_some() {
        return Err(fields.error(
            "elapsed_ms",
            "cannot stand beside at_ms; leave one of them out",
        ));
    }
    let time = at.or(elapsed.map(platform_time::Kind::Elapsed));
    Ok(time.map(|time| v1::PlatformTime { kind: Some(time) }))
}

fn read_steps(kind: &str, fields: &Fields) -> Result<Vec<Step>, CaseError> {
    let read = [read_play, read_hands, read_draws, read_times, read_others];
    for read in read {
        if let Some(steps) = read(kind, fields)? {
            return Ok(steps);
        }
    }
    Err(fields.error("t", format!("'{kind}' is no kind of event")))
}

/// What a group of kinds makes of an event; `None` where it is of another group.
type Steps = Result<Option<Vec<Step>>, CaseError>;

/// An action of the player that `by` names.
fn player(fields: &Fields, kind: Kind) -> Result<Vec<Step>, CaseError> {
    let by = fields.required_side("by")?;
    Ok(vec![Step::Act(Actor::Seat(seat(by)), kind)])
}

/// An action of the arbiter.
fn arbiter(kind: Kind) -> Vec<Step> {
    vec![Step::Act(Actor::Seat(v1::Seat::Arbiter), kind)]
}

/// An action of the player that `by` names, or of the arbiter where it names none.
fn anyone(fields: &Fields, kind: Kind) -> Result<Vec<Step>, CaseError> {
    match fields.side("by")? {
        Some(by) => Ok(vec![Step::Act(Actor::Seat(seat(by)), kind)]),
        None => Ok(arbiter(kind)),
    }
}

/// The side that an event is about: `side`, or else `by`.
fn about(fields: &Fields) -> Result<v1::Color, CaseError> {
    match fields.side("side")? {
        Some(side) => Ok(side),
        None => fields.required_side("by"),
    }
}

fn read_play(kind: &str, fields: &Fields) -> Steps {
    let steps = match kind {
        "moves" => fields
            .texts("uci")?
            .into_iter()
            .map(|text| Step::Act(Actor::OnMove, make_move(text)))
            .collect(),
        "move" => {
            let text = match fields.text("uci")? {
                Some(text) => text,
                None => fields.required_text("san")?,
            };
            // Whether somebody claimed it or the arbiter saw it, it was noticed.
            fields.flag("claimed")?;
            let made = v1::MakeMove {
                r#move: text.to_owned(),
                offer_draw: fields.flag("offer")?.unwrap_or_default(),
                completed: fields.flag("completed")?,
                two_hands: fields.flag("two_hands")?.unwrap_or_default(),
                undetected: !fields.flag("detected")?.unwrap_or(true),
            };
            player(fields, Kind::MakeMove(made))?
        }
        "press" => {
            let two_hands = fields.flag("two_hands")?.unwrap_or_default();
            player(fields, Kind::PressClock(v1::PressClock { two_hands }))?
        }
        "clock_complete" => {
            // The number is told by the set-up.
            fields.number("move_number")?;
            vec![Step::Complete(fields.required_side("by")?)]
        }
        "wait" => vec![Step::Wait],
        _ => return Ok(None),
    };
    Ok(Some(steps))
}

/// Returns a move that is made and completed.
pub(crate) fn make_move(text: String) -> Kind {
    Kind::MakeMove(v1::MakeMove {
        r#move: text,
        ..v1::MakeMove::default()
    })
}

fn read_hands(kind: &str, fields: &Fields) -> Steps {
    let kind = match kind {
        "touch" => Kind::TouchPieces(v1::TouchPieces {
            squares: fields.texts("squares")?,
            order_unknown: fields.text("order")? == Some("unknown"),
            intent: touch_intent(fields)?.into(),
        }),
        "adjust" => Kind::AnnounceAdjust(v1::AnnounceAdjust {}),
        "release" => Kind::ReleasePiece(v1::ReleasePiece {
            from: match fields.text("frm")? {
                Some(from) => from.to_owned(),
                None => fields.required_text("from")?.to_owned(),
            },
            to: fields.required_text("to")?.to_owned(),
        }),
        "promote_touch" => Kind::PlacePromotion(v1::PlacePromotion {
            square: fields.required_text("square")?.to_owned(),
            piece: words::role(fields, "piece")?.into(),
        }),
        "displace" => Kind::DisplacePieces(v1::DisplacePieces {
            squares: fields.texts("squares")?,
        }),
        "restore" => Kind::RestorePieces(v1::RestorePieces {}),
        _ => return Ok(None),
    };
    player(fields, kind).map(Some)
}

fn touch_intent(fields: &Fields) -> Result<v1::TouchIntent, CaseError> {
    match fields.text("intent")? {
        None | Some("move" | "play") => Ok(v1::TouchIntent::Move),
        Some("adjust") => Ok(v1::TouchIntent::Adjust),
        Some("accidental") => Ok(v1::TouchIntent::Accidental),
        Some(text) => {
            let reason = format!("must be adjust or accidental, but is '{text}'");
            Err(fields.error("intent", reason))
        }
    }
}

fn read_draws(kind: &str, fields: &Fields) -> Steps {
    // What the arbiter finds himself is claimed by nobody.
    if kind == "claim" {
        let claim = Kind::MakeClaim(read_claim(fields)?);
        return anyone(fields, claim).map(Some);
    }
    let kind = match kind {
        "offer" => Kind::OfferDraw(v1::OfferDraw {
            condition: fields.text("condition")?.unwrap_or_default().to_owned(),
        }),
        "accept" => answer_draw(v1::DrawAnswer::Accept),
        "decline" => answer_draw(v1::DrawAnswer::Decline),
        "withdraw_offer" => Kind::WithdrawOffer(v1::WithdrawOffer {}),
        "withdraw_claim" => Kind::WithdrawClaim(v1::WithdrawClaim {}),
        _ => return Ok(None),
    };
    player(fields, kind).map(Some)
}

fn read_claim(fields: &Fields) -> Result<v1::MakeClaim, CaseError> {
    Ok(v1::MakeClaim {
        claim: words::claim(fields, "kind")?,
        intended_move: fields.text("intended")?.unwrap_or_default().to_owned(),
        ply: fields.small_number("ply")?,
        gone: fields.time("gone_ms")?,
    })
}

fn read_times(kind: &str, fields: &Fields) -> Steps {
    let steps = match kind {
        "flag" => {
            let flag = v1::ReportFlag {
                side: fields.required_side("side")?.into(),
                unnoticed: !fields.flag("observed")?.unwrap_or(true),
                moves_completed: fields.small_number("moves_completed")?,
            };
            anyone(fields, Kind::ReportFlag(flag))?
        }
        "both_flags" => {
            let first = match fields.text("first")? {
                None | Some("unknown") => v1::FirstFlag::Unknown,
                Some("w") => v1::FirstFlag::White,
                Some("b") => v1::FirstFlag::Black,
                Some(text) => {
                    let reason = format!("must be w, b or unknown, but is '{text}'");
                    return Err(fields.error("first", reason));
                }
            };
            arbiter(Kind::ReportBothFlags(v1::ReportBothFlags {
                first: first.into(),
                last_period: Some(fields.flag("last_period")?.unwrap_or_default()),
            }))
        }
        "start" => arbiter(Kind::StartGame(v1::StartGame {})),
        "arrive" => player(fields, Kind::Arrive(v1::Arrive {}))?,
        "default_time" => arbiter(Kind::ReportDefaultTime(v1::ReportDefaultTime {})),
        "pause" => {
            let reason = fields.text("reason")?.unwrap_or_default().to_owned();
            anyone(fields, Kind::PauseGame(v1::PauseGame { reason }))?
        }
        "resume" => {
            let absent = fields.texts("absent")?;
            let read = |text: &String| {
                let wrong = || fields.error("absent", format!("'{text}' is no side; use w and b"));
                side(text).map(i32::from).ok_or_else(wrong)
            };
            let absent = absent.iter().map(read).collect::<Result<Vec<i32>, _>>()?;
            arbiter(Kind::ResumeGame(v1::ResumeGame { absent }))
        }
        _ => return Ok(None),
    };
    Ok(Some(steps))
}

fn read_others(kind: &str, fields: &Fields) -> Steps {
    let steps = match kind {
        "resign" => player(fields, Kind::Resign(v1::Resign {}))?,
        "abort" => player(fields, Kind::AbortGame(v1::AbortGame {}))?,
        "no_start" => {
            let side = about(fields)?.into();
            arbiter(Kind::ReportNoStart(v1::ReportNoStart { side }))
        }
        "disconnect" | "connect" | "reconnect" => {
            arbiter(Kind::ReportConnection(v1::ReportConnection {
                side: about(fields)?.into(),
                connected: Some(kind != "disconnect"),
            }))
        }
        "takeback_offer" => player(fields, take_back(v1::TakeBackIntent::Request))?,
        "takeback_accept" => player(fields, take_back(v1::TakeBackIntent::Accept))?,
        "takeback_decline" => player(fields, take_back(v1::TakeBackIntent::Decline))?,
        "seal" => {
            let text = match fields.text("move")? {
                Some(text) => text,
                None => fields.required_text("san")?,
            };
            let r#move = text.to_owned();
            player(fields, Kind::SealMove(v1::SealMove { r#move }))?
        }
        "sign_result" => {
            // Who signed: both, or it is no signed result.
            fields.value("by");
            let result = words::result(fields, "result")?;
            let missing = || fields.error("result", "is missing");
            let result = result.ok_or_else(missing)?.into();
            arbiter(Kind::SignResult(v1::SignResult { result }))
        }
        "set_counter" => arbiter(decision::wrap(decision::set_counters(fields)?)),
        "arbiter" if fields.text("action")? == Some("found_illegal_move") => {
            arbiter(Kind::MakeClaim(v1::MakeClaim {
                claim: v1::ClaimKind::IllegalMove.into(),
                ply: fields.small_number("ply")?,
                ..v1::MakeClaim::default()
            }))
        }
        "arbiter" => arbiter(decision::wrap(decision::read(fields)?)),
        _ => return Ok(None),
    };
    Ok(Some(steps))
}

fn take_back(intent: v1::TakeBackIntent) -> Kind {
    let intent = intent.into();
    Kind::TakeBack(v1::TakeBack { intent })
}

fn answer_draw(answer: v1::DrawAnswer) -> Kind {
    let answer = answer.into();
    Kind::AnswerDraw(v1::AnswerDraw { answer })
}
