//! The conformance cases, played against the laws themselves with virtual time on platform
//! clocks. The format is that of `tests/data/cases/README.md`.

use std::fmt::Write as _;
use std::path::Path;

use referee_chess::{Piece, Position, Role, Square};
use referee_laws::{
    Action, Bonus, ClaimDecision, ClaimIntent, ClockSetup, Color, Decision, DrawClaim, Game,
    GameResult, Intent, Keeper, LedgerCause, LedgerLine, MATE_BUDGET_ON_END, MoveIntent, Period,
    Profile, Ruling, Score, Seat, Sides, Start, Tier, Time, TimeControl, Timing, TouchIntent,
    Variant, Verdict, can_mate,
};
use serde_json::Value;

type Found<T> = Result<T, String>;

fn side_of(value: &Value) -> Found<Color> {
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

fn number(value: &Value) -> Option<u32> {
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
fn action_of(event: &Value) -> Found<Action> {
    let intent = match text_of(event, "t")? {
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
        "resign" => Intent::Resign,
        "abort" => Intent::Abort,
        "no_start" => Intent::NoStart {
            side: side_of(&event["side"])?,
        },
        "disconnect" | "connect" => Intent::Connection {
            side: side_of(&event["side"])?,
            connected: event["t"] == "connect",
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
        "arbiter" => Intent::Decide(decision_of(event)?),
        other => return Err(format!("{other} is no kind of event")),
    };
    let seat = match &intent {
        Intent::SignResult { .. } => Seat::Arbiter,
        _ => side_of(&event["by"]).map_or(Seat::Arbiter, Seat::Player),
    };
    Ok(Action { seat, intent })
}

/// The answer to an action, as the cases write it.
fn code_of(ruling: &Ruling) -> String {
    let Some(reason) = ruling.reason else {
        return match (ruling.verdict, ruling.improper) {
            (Verdict::Accepted, true) => "ok_improper".into(),
            (Verdict::Accepted, false) => "ok".into(),
            (verdict, _) => format!("{verdict:?}"),
        };
    };
    snake(&format!("{reason:?}")).to_uppercase()
}

fn snake(camel: &str) -> String {
    let mut text = String::new();
    for letter in camel.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

fn profile_of(case: &Value) -> Found<Profile> {
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

fn start_of(case: &Value, profile: &Profile) -> Found<Start> {
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

/// A case while it is played.
struct Play {
    game: Game,
    now: Time,
    ledger: Vec<LedgerLine>,
    faults: String,
}

impl Play {
    fn act(&mut self, action: &Action, expected: &str) {
        let judgment = self.game.judge(action, self.now);
        let code = code_of(&judgment.ruling);
        if code != expected {
            let text = &judgment.ruling.text;
            let _ = writeln!(self.faults, "  {action:?}: {code}, not {expected} ({text})");
        }
        if let Some(entry) = judgment.entry {
            if let Err(error) = self.game.apply(&entry.effects) {
                let _ = writeln!(self.faults, "  {action:?}: cannot be applied: {error}");
            }
            self.ledger.extend(entry.effects.ledger);
        }
    }

    fn event(&mut self, event: &Value) -> Found<()> {
        let at_ms = event["at_ms"].as_u64();
        let elapsed_ms = event["elapsed_ms"].as_u64().unwrap_or(0);
        let now_ms = at_ms.unwrap_or(self.now.ms() + elapsed_ms);
        self.now = Time::from_ms(now_ms).map_err(|error| error.to_string())?;
        if event["t"] == "wait" {
            return Ok(());
        }
        let expected = event["exp"].as_str().unwrap_or("ok");
        if event["t"] == "moves" {
            for text in event["uci"].as_array().into_iter().flatten() {
                let side = self.game.position().turn();
                self.act(
                    &Action::play(side, text.as_str().unwrap_or_default()),
                    expected,
                );
            }
            return Ok(());
        }
        self.act(&action_of(event)?, expected);
        Ok(())
    }

    fn check<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, is: &T, expected: &T) {
        if is != expected {
            let _ = writeln!(self.faults, "  {what} is {is:?}, not {expected:?}");
        }
    }

    fn check_end(&mut self, expect: &Value) {
        let outcome = self.game.outcome().cloned();
        let result = outcome
            .as_ref()
            .map_or("*", |outcome| outcome.result.score());
        self.check("result", &result, &expect["result"].as_str().unwrap_or("*"));
        self.check("over", &outcome.is_some(), &(expect["over"] == true));
        let ended = outcome
            .as_ref()
            .map(|it| termination_name(&format!("{:?}", it.termination)));
        if let Some(termination) = expect["termination"].as_str() {
            self.check("termination", &ended.as_deref(), &Some(termination));
        }
        let points =
            outcome.and_then(|it| it.result.half_points(self.game.profile().parameters.points));
        if let Some(points_due) = expect["points"].as_object() {
            let due = |side| points_due[side].as_f64().map(|points| points * 2.0);
            let is = points.map(|(white, black)| (f64::from(white), f64::from(black)));
            self.check("points", &is, &due("w").zip(due("b")));
        }
        let standing = self.game.standing().clone();
        for (key, side) in [("w", Color::White), ("b", Color::Black)] {
            if let Some(count) = number(&expect["illegal"][key]) {
                self.check("illegal moves", &standing.illegal_moves.of(side), &count);
            }
            self.check_clock(&expect["clock"], key, side);
        }
        if let Some(plies) = number(&expect["plies"]) {
            self.check("plies", &self.game.history().ply(), &plies);
        }
        if let Some(halfmove) = number(&expect["halfmove"]) {
            self.check(
                "halfmove clock",
                &self.game.position().halfmove_clock(),
                &halfmove,
            );
        }
        for (square, piece) in expect["position_contains"]
            .as_object()
            .into_iter()
            .flatten()
        {
            let square: Square = square.parse().expect("cases name squares");
            let is = self.game.position().board().piece_at(square);
            let is = is.map_or('-', Piece::to_char).to_string();
            self.check("piece", &is.as_str(), &piece.as_str().unwrap_or_default());
        }
    }

    fn check_clock(&mut self, clock: &Value, key: &str, side: Color) {
        let standing = self.game.standing().clone();
        if let Some(ms) = clock[format!("{key}_ms")].as_u64() {
            self.check(
                "time left",
                &standing.clocks.left_at(side, self.now),
                &Some(ms),
            );
        }
        if let Some(delta) = clock[format!("{key}_delta_ms")].as_i64() {
            let causes = [
                LedgerCause::Penalty,
                LedgerCause::Grant,
                LedgerCause::ArbiterSet,
                LedgerCause::TakenBack,
            ];
            let of_rulings = self.ledger.iter().filter(|line| line.side == side);
            let sum: i64 = of_rulings
                .filter(|line| causes.contains(&line.cause))
                .map(|line| line.credited_ms as i64 - line.charged_ms as i64)
                .sum();
            self.check("change by rulings", &sum, &delta);
        }
        if let Some(mode) = clock["mode"].as_str() {
            let bonus = standing.clocks.side(side).bonus();
            // A side without a clock has no use for a bonus.
            if standing.clocks.side(side).left_ms.is_some() {
                self.check("mode", &bonus.mode(), &mode);
                self.check("bonus", &Some(bonus.ms()), &clock["inc_ms"].as_u64());
            }
        }
    }

    /// The chess facts, which two other programs found.
    fn check_facts(&mut self, facts: &Value) {
        if let Some(fen) = facts["final_fen"].as_str() {
            self.check("position", &self.game.position().to_string().as_str(), &fen);
        }
        for (key, side) in [("white", Color::White), ("black", Color::Black)] {
            if let Some(possible) = facts["helpmate_possible"][key].as_bool() {
                let tier = Tier::Full(MATE_BUDGET_ON_END);
                let answer = can_mate(self.game.position(), side, tier);
                let is_possible = answer.no_mate().is_none();
                self.check("helpmate", &is_possible, &possible);
            }
        }
        if let Some(repetitions) = number(&facts["repetitions"]) {
            self.check(
                "repetitions",
                &self.game.history().repetitions(),
                &repetitions,
            );
        }
        if let Some(halfmove) = number(&facts["halfmove"]) {
            self.check(
                "halfmove clock",
                &self.game.position().halfmove_clock(),
                &halfmove,
            );
        }
    }
}

fn termination_name(debug: &str) -> String {
    match debug {
        "ThreefoldAutomatic" => "threefold_auto".into(),
        "FiftyAutomatic" => "fifty_auto".into(),
        "ClaimOpponentInsufficient" => "claim_opponent_insufficient".into(),
        "ColorsReversed" => "colours_reversed".into(),
        other => snake(other),
    }
}

/// Plays a case and returns what is wrong with it.
fn play(case: &Value) -> Found<String> {
    let profile = profile_of(case)?;
    let start = match (start_of(case, &profile), &case["expect"]["start_rejected"]) {
        (Ok(start), Value::Null) => start,
        (Err(error), Value::Null) => return Err(error),
        (Ok(_), _) => return Err("the start is not rejected".into()),
        (Err(_), _) => return Ok(String::new()),
    };
    let game = Game::new(profile, &start).map_err(|error| error.to_string())?;
    let mut play = Play {
        game,
        now: Time::ORIGIN,
        ledger: Vec::new(),
        faults: String::new(),
    };
    for event in case["events"].as_array().into_iter().flatten() {
        play.event(event)?;
    }
    play.check_end(&case["expect"]);
    play.check_facts(&case["facts"]);
    Ok(play.faults)
}

fn play_file(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/cases")
        .join(name);
    let text = std::fs::read_to_string(&path).expect("the cases are in the tree");
    let (mut count, mut report) = (0, String::new());
    for line in text.lines().filter(|line| !line.is_empty()) {
        let case: Value = serde_json::from_str(line).expect("a case is a line of JSON");
        count += 1;
        let faults = play(&case).unwrap_or_else(|error| format!("  {error}\n"));
        if !faults.is_empty() {
            let _ = write!(
                report,
                "{} ({}): {}\n{faults}",
                case["id"], case["law"], case["why"]
            );
        }
    }
    assert!(count > 0, "there are no cases in {name}");
    assert!(
        report.is_empty(),
        "of {count} cases in {name} some fail:\n{report}"
    );
}

#[test]
fn the_cases_hold() {
    play_file("laws.jsonl");
}
