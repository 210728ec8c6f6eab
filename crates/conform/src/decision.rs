//! What an arbiter decides in a case, and the decisions of the contract.

use referee_api::v1;
use referee_api::v1::arbiter_decision::Kind;

use crate::fields::{CaseError, Fields};
use crate::words;

/// Who decides in the cases.
const ARBITER: &str = "conform";

/// Returns the action of a decision.
pub(crate) fn wrap(kind: Kind) -> v1::action::Kind {
    v1::action::Kind::ArbiterDecision(v1::ArbiterDecision {
        arbiter: ARBITER.to_owned(),
        reason: String::new(),
        kind: Some(kind),
    })
}

/// Reads a decision: what `action` names, with its details.
pub(crate) fn read(fields: &Fields) -> Result<Kind, CaseError> {
    let action = fields.required_text("action")?;
    if let Some(decision) = claim_decision(action) {
        let decision = decision.into();
        return Ok(Kind::DecideClaim(v1::DecideClaim { decision }));
    }
    Ok(match action {
        "set_clock" | "set_clocks" => Kind::SetClocks(v1::SetClocks {
            white: fields.time("w_ms")?,
            black: fields.time("b_ms")?,
        }),
        "penalty_time" => Kind::PenaltyTime(v1::PenaltyTime {
            side: fields.required_side("side")?.into(),
            deduct: fields.time("deduct_ms")?,
            add_opponent: fields.time("add_opponent_ms")?,
        }),
        "extra_time" => {
            let time = fields.time("ms")?;
            let missing = || fields.error("ms", "is missing");
            Kind::ExtraTime(v1::ExtraTime {
                side: fields.required_side("side")?.into(),
                time: Some(time.ok_or_else(missing)?),
            })
        }
        "reinstate" | "reinstate_position" => {
            let missing = || fields.error("ply", "is missing");
            let ply = fields.small_number("ply")?.ok_or_else(missing)?;
            Kind::ReinstatePosition(v1::ReinstatePosition { ply: Some(ply) })
        }
        "set_counter" | "set_counters" => set_counters(fields)?,
        _ => read_end(action, fields)?,
    })
}

/// Reads a decision about the end of a game, or about what may be done in it.
fn read_end(action: &str, fields: &Fields) -> Result<Kind, CaseError> {
    Ok(match action {
        "declare_lost" | "device_found" => Kind::DeclareLost(v1::DeclareLost {
            side: fields.required_side("side")?.into(),
            opponent_score: words::score(fields, "opponent_score")?
                .unwrap_or(v1::Score::One)
                .into(),
            device_found: action == "device_found",
        }),
        "declare_lost_both" | "declare_lost_by_both" => {
            Kind::DeclareLostByBoth(v1::DeclareLostByBoth {})
        }
        "set_score" => {
            let read = |name: &str| {
                let missing = || fields.error(name, "is missing");
                words::score(fields, name)?.ok_or_else(missing)
            };
            Kind::SetScore(v1::SetScore {
                white: read("white")?.into(),
                black: read("black")?.into(),
            })
        }
        "forfeit" | "declare_forfeit" => match fields.side("side")? {
            Some(side) => Kind::DeclareForfeit(v1::DeclareForfeit { side: side.into() }),
            None => Kind::DeclareDoubleForfeit(v1::DeclareDoubleForfeit {}),
        },
        "found_colours_reversed" => Kind::ColorsReversed(v1::ColorsReversed {}),
        "found_wrong_initial_position" => Kind::WrongInitialPosition(v1::WrongInitialPosition {}),
        "observed_both_kings_in_check"
        | "observed_pawn_on_last_rank"
        | "observed_illegal_position" => {
            let still_after_next_move = fields.flag("still_after_next_move")?;
            Kind::IllegalPositionSeen(v1::IllegalPositionSeen {
                still_after_next_move: Some(still_after_next_move.unwrap_or_default()),
            })
        }
        "permit_draw_offer" => Kind::PermitDrawOffer(v1::PermitDrawOffer {}),
        "confirm" => Kind::Confirm(v1::Confirm {}),
        "warn" => Kind::Warn(v1::Warn {
            side: fields.required_side("side")?.into(),
        }),
        _ => {
            let reason = format!("'{action}' is no decision of an arbiter");
            return Err(fields.error("action", reason));
        }
    })
}

/// Reads the decision of a claim, such as `accept_III_5`. One claim can wait at a time, so that
/// the rest of the word is not needed.
fn claim_decision(action: &str) -> Option<v1::ClaimDecision> {
    let decisions = [
        ("accept_", v1::ClaimDecision::Accept),
        ("declare_draw_", v1::ClaimDecision::Accept),
        ("reject_", v1::ClaimDecision::Reject),
        ("postpone_", v1::ClaimDecision::Postpone),
    ];
    let mut found = decisions.iter().filter_map(|(beginning, decision)| {
        let claim = action.strip_prefix(beginning)?;
        ["III_4", "III_5", "claim"]
            .contains(&claim)
            .then_some(*decision)
    });
    found.next()
}

/// Reads counters that are set.
pub(crate) fn set_counters(fields: &Fields) -> Result<Kind, CaseError> {
    let illegal = fields.object("illegal")?;
    let count = |name: &str| -> Result<Option<v1::SideCounters>, CaseError> {
        let count = illegal.as_ref().map(|illegal| illegal.small_number(name));
        let illegal_moves = count.transpose()?.flatten();
        Ok(illegal_moves.map(|_| v1::SideCounters { illegal_moves }))
    };
    Ok(Kind::SetCounters(v1::SetCounters {
        white: count("w")?,
        black: count("b")?,
        plies_without_capture: fields.small_number("no_capture_plies")?,
    }))
}
