//! Reads cases: their events as actions, their starts and profiles.

use referee_chess::{Position, Role, Square};
use referee_laws::{
    Action, Bonus, ClaimDecision, ClaimIntent, ClockSetup, Color, Decision, DrawClaim, GameResult,
    Intent, Keeper, MoveIntent, Period, Profile, Score, Seat, Sides, Start, TimeControl, Timing,
    TouchIntent, Variant,
};
use serde_json::Value;

/// What was read, or what is wrong with the text.
pub(crate) type Found<T> = Result<T, String>;

pub(crate) fn side_of(value: &Value) -> Found<Color> {
    match value.as_str() {
        Some("w" | "white") => Ok(Color::White),
        Some("b" | "black") => Ok(Color::Black),
        _ => Err(format!("{value} is no side")),
    }
}

fn text_of<'a>(event: &'a Value, key: &str) -> Found<&'a str> {
    event[key]
        .as_str()
        .ok_or_else(|| format!("{key} is missing in {event}"))
}

fn square_of(value: &Value) -> Found<Square> {
    let text = value
        .as_str()
        .ok_or_else(|| format!("{value} is no square"))?;
    text.parse().map_err(|_| format!("{text} is no square"))
}

fn role_of(text: &str) -> Found<Role> {
    let role = text.chars().next().and_then(Role::from_char);
    role.ok_or_else(|| format!("{text} is no piece"))
}

fn claim_of(kind: &str) -> Found<DrawClaim> {
    Ok(match kind {
        "threefold" => DrawClaim::Threefold,
        "fifty" => DrawClaim::Fifty,
        "perpetual_check" => DrawClaim::PerpetualCheck,
        "opponent_insufficient" => DrawClaim::OpponentInsufficient,
        "illegal_move" => DrawClaim::IllegalMove,
        "touch_move" => DrawClaim::TouchMove,
        "III.4" => DrawClaim::QuickplayIncrement,
        "III.5" => DrawClaim::QuickplayDraw,
        "opponent_gone" => DrawClaim::OpponentGone,
        _ => return Err(format!("{kind} is no claim")),
    })
}

fn result_of(text: &str) -> Found<GameResult> {
    use GameResult as R;
    [
        R::Win(Color::White),
        R::Win(Color::Black),
        R::Draw,
        R::BothLose,
        R::Half(Color::White),
        R::Half(Color::Black),
        R::WinByForfeit(Color::White),
        R::WinByForfeit(Color::Black),
        R::BothForfeit,
    ]
    .into_iter()
    .find(|result| result.score() == text)
    .ok_or_else(|| format!("{text} is no result"))
}

fn score_of(value: &Value) -> Score {
    match value.as_str() {
        Some("0") => Score::Zero,
        Some("1/2") => Score::Half,
        Some("1") => Score::One,
        _ => Score::Other,
    }
}

pub(crate) fn number(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok())
}

fn move_of(event: &Value) -> Found<MoveIntent> {
    Ok(MoveIntent {
        text: text_of(event, "uci")?.to_owned(),
        offer_draw: event["offer"] == true,
        completed: event["completed"] != false,
        two_hands: event["two_hands"] == true,
        undetected: event["detected"] == false,
    })
}

fn decision_of(event: &Value) -> Found<Decision> {
    Ok(match text_of(event, "action")? {
        "penalty_time" => Decision::PenaltyTime {
            side: side_of(&event["side"])?,
            deduct_ms: event["deduct_ms"].as_u64().unwrap_or(0),
            add_opponent_ms: event["add_opponent_ms"].as_u64().unwrap_or(0),
        },
        "extra_time" => Decision::ExtraTime {
            side: side_of(&event["side"])?,
            ms: event["ms"].as_u64().unwrap_or(0),
        },
        "found_colours_reversed" => Decision::ColorsReversed,
        "found_wrong_initial_position" => Decision::WrongInitialPosition,
        "observed_both_kings_in_check" | "observed_illegal_position" => {
            Decision::IllegalPositionSeen {
                still_after_next_move: event["still_after_next_move"] == true,
            }
        }
        "permit_draw_offer" => Decision::PermitDrawOffer,
        "accept_III_4" | "accept_III_5" | "declare_draw_III_5" => {
            Decision::DecideClaim(ClaimDecision::Accept)
        }
        "reject_III_4" | "reject_III_5" => Decision::DecideClaim(ClaimDecision::Reject),
        "postpone_III_5" => Decision::DecideClaim(ClaimDecision::Postpone),
        "declare_lost" => Decision::DeclareLost {
            side: side_of(&event["side"])?,
            opponent_score: score_of(&event["opponent_score"]),
            device_found: false,
        },
        "device_found" => Decision::DeclareLost {
            side: side_of(&event["side"])?,
            opponent_score: Score::One,
            device_found: true,
        },
        "declare_lost_both" => Decision::DeclareLostByBoth,
        "declare_forfeit" => Decision::DeclareForfeit {
            side: side_of(&event["side"]).ok(),
        },
        "set_score" => Decision::SetScore {
            white: score_of(&event["white"]),
            black: score_of(&event["black"]),
        },
        "set_clock" => Decision::SetClocks {
            white_ms: event["w_ms"].as_u64(),
            black_ms: event["b_ms"].as_u64(),
        },
        "reinstate" => Decision::Reinstate {
            ply: number(&event["ply"]).ok_or("ply is missing")?,
        },
        "confirm" => Decision::Confirm,
        "warn" => Decision::Warn {
            side: side_of(&event["side"])?,
        },
        other => return Err(format!("{other} is no action of the arbiter")),
    })
}

/// What an event of one side or of the arbiter is to the laws.
pub(crate) fn action_of(event: &Value) -> Found<Action> {
    let kind = text_of(event, "t")?;
    let mut found = None;
    for read in [hands_of, draws_of, times_of, others_of] {
        found = found.or(read(event, kind)?);
    }
    let intent = found.ok_or_else(|| format!("{kind} is no kind of event"))?;
    let seat = match &intent {
        Intent::SignResult { .. } => Seat::Arbiter,
        _ => side_of(&event["by"]).map_or(Seat::Arbiter, Seat::Player),
    };
    Ok(Action { seat, intent })
}

/// Moves and hands.
fn hands_of(event: &Value, kind: &str) -> Found<Option<Intent>> {
    Ok(Some(match kind {
        "move" => Intent::Move(move_of(event)?),
        "press" => Intent::Press {
            two_hands: event["two_hands"] == true,
        },
        "touch" => Intent::Touch {
            squares: event["squares"]
                .as_array()
                .into_iter()
                .flatten()
                .map(square_of)
                .collect::<Found<_>>()?,
            order_unknown: event["order"] == "unknown",
            intent: match event["intent"].as_str() {
                Some("adjust") => TouchIntent::Adjust,
                Some("accidental") => TouchIntent::Accidental,
                _ => TouchIntent::Play,
            },
        },
        "adjust" => Intent::Adjust,
        "release" => Intent::Release {
            from: square_of(&event["frm"])?,
            to: square_of(&event["to"])?,
        },
        "promote_touch" => Intent::PlacePromotion {
            square: square_of(&event["square"])?,
            role: role_of(text_of(event, "piece")?)?,
        },
        "displace" => Intent::Displace,
        "restore" => Intent::Restore,
        _ => return Ok(None),
    }))
}

/// Offers and claims of draws.
fn draws_of(event: &Value, kind: &str) -> Found<Option<Intent>> {
    Ok(Some(match kind {
        "offer" => Intent::OfferDraw {
            conditional: event.get("condition").is_some(),
        },
        "accept" => Intent::AcceptDraw,
        "decline" => Intent::DeclineDraw,
        "withdraw_offer" => Intent::WithdrawOffer,
        "claim" => Intent::Claim(ClaimIntent {
            claim: claim_of(text_of(event, "kind")?)?,
            intended: event["intended"].as_str().map(str::to_owned),
            ply: number(&event["ply"]),
            gone_ms: event["gone_ms"].as_u64(),
        }),
        "withdraw_claim" => Intent::WithdrawClaim,
        _ => return Ok(None),
    }))
}

/// Clocks and being there.
fn times_of(event: &Value, kind: &str) -> Found<Option<Intent>> {
    Ok(Some(match kind {
        "flag" => Intent::Flag {
            side: side_of(&event["side"])?,
            observed: event["observed"] != false,
            moves_completed: number(&event["moves_completed"]),
        },
        "both_flags" => Intent::BothFlags {
            first: side_of(&event["first"]).ok(),
            last_period: event["last_period"] == true,
        },
        "start" => Intent::Start,
        "arrive" => Intent::Arrive,
        "default_time" => Intent::DefaultTime,
        "pause" => Intent::Pause,
        "resume" => Intent::Resume {
            absent: event["absent"]
                .as_array()
                .into_iter()
                .flatten()
                .map(side_of)
                .collect::<Found<_>>()?,
        },
        _ => return Ok(None),
    }))
}

/// All others.
fn others_of(event: &Value, kind: &str) -> Found<Option<Intent>> {
    Ok(Some(match kind {
        "resign" => Intent::Resign,
        "abort" => Intent::Abort,
        "no_start" => Intent::NoStart {
            side: side_of(&event["side"])?,
        },
        "disconnect" | "reconnect" => Intent::Connection {
            side: side_of(&event["side"])?,
            connected: event["t"] == "reconnect",
        },
        "takeback_offer" => Intent::TakeBack,
        "takeback_accept" | "takeback_decline" => Intent::AnswerTakeBack {
            accept: event["t"] == "takeback_accept",
        },
        "seal" => Intent::Seal {
            text: text_of(
                event,
                if event["san"].is_null() {
                    "move"
                } else {
                    "san"
                },
            )?
            .to_owned(),
        },
        "sign_result" => Intent::SignResult {
            result: result_of(text_of(event, "result")?)?,
        },
        "set_counter" => Intent::Decide(Decision::SetCounters {
            white_illegal_moves: number(&event["illegal"]["w"]),
            black_illegal_moves: number(&event["illegal"]["b"]),
            plies_without_capture: number(&event["no_capture_plies"]),
        }),
        "arbiter" if event["action"] == "found_illegal_move" => Intent::Claim(ClaimIntent {
            claim: DrawClaim::IllegalMove,
            intended: None,
            ply: number(&event["ply"]),
            gone_ms: None,
        }),
        "arbiter" => Intent::Decide(decision_of(event)?),
        _ => return Ok(None),
    }))
}

pub(crate) fn profile_of(case: &Value) -> Found<Profile> {
    let variant = match case["variant"].as_str() {
        Some("chess960") => Variant::Chess960,
        _ => Variant::Standard,
    };
    let mut overrides: Vec<(String, String)> = Vec::new();
    for (name, value) in case["overrides"].as_object().into_iter().flatten() {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Object(points) => {
                format!("{}/{}/{}", points["win"], points["draw"], points["loss"])
            }
            other => other.to_string(),
        };
        overrides.push((name.clone(), text));
    }
    // The cases give the default time with what was so before the game.
    if let Some(ms) = case["setup"]["default_time_ms"].as_u64() {
        overrides.push(("default_time_ms".into(), ms.to_string()));
    }
    let overrides: Vec<(&str, &str)> = overrides
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    Profile::resolve(
        case["profile"].as_str().unwrap_or_default(),
        variant,
        &overrides,
    )
    .map_err(|error| error.to_string())
}

fn control_of(clock: &Value, profile: &Profile) -> Found<Option<TimeControl>> {
    let Some(periods) = clock["periods"].as_array() else {
        return Ok(None);
    };
    let mode = clock["mode"].as_str().unwrap_or("none");
    let bonus = Bonus::of(mode, clock["inc_ms"].as_u64().unwrap_or(0))
        .ok_or_else(|| format!("{mode} is no mode of a clock"))?;
    let periods = periods.iter().map(|period| Period {
        moves: number(&period["moves"]),
        time_ms: period["ms"].as_u64().unwrap_or(0),
        bonus,
    });
    let at_start = clock["increment_at_start"].as_bool();
    let at_start = at_start.unwrap_or(profile.parameters.increment_at_start);
    TimeControl::new(periods.collect(), at_start)
        .map(Some)
        .map_err(|error| error.to_string())
}

pub(crate) fn start_of(case: &Value, profile: &Profile) -> Found<Start> {
    let setup = &case["setup"];
    let mode = profile.variant.castling_mode();
    let base = match case["start"].as_str() {
        None | Some("startpos") => Position::startpos(),
        Some(fen) => Position::from_fen(fen, mode).map_err(|error| error.to_string())?,
    };
    let mut control = control_of(&setup["clock"], profile)?;
    let left_ms = [setup["w_ms"].as_u64(), setup["b_ms"].as_u64()];
    let inc_ms = setup["clock"]["inc_ms"].as_u64().unwrap_or(0);
    if control.is_none() && inc_ms > 0 {
        let bonus = Bonus::of(setup["clock"]["mode"].as_str().unwrap_or_default(), inc_ms);
        let time_ms = left_ms[0].or(left_ms[1]).unwrap_or(0);
        let all = TimeControl::sudden_death(time_ms, bonus.unwrap_or_default());
        control = Some(all.map_err(|error| error.to_string())?);
    }
    let moves = [&setup["w_moves"], &setup["b_moves"]];
    Ok(Start {
        base,
        moves: Vec::new(),
        timing: Timing {
            keeper: Keeper::Platform,
            white: control.clone(),
            black: control,
            setup: ClockSetup {
                left_ms,
                moves: moves.map(|value| number(value).unwrap_or(0)),
            },
        },
        illegal_moves: Sides {
            white: number(&setup["illegal"]["w"]).unwrap_or(0),
            black: number(&setup["illegal"]["b"]).unwrap_or(0),
        },
        plies_without_capture: number(&setup["no_capture_plies"]),
    })
}
