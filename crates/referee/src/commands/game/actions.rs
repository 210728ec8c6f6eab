//! Actions in words, as those who follow a game read them.

use referee_api::v1;
use referee_api::v1::action::Kind;
use referee_api::v1::{arbiter_decision as decision, referee_finding as finding};

use super::times::{amount, ms_of};
use super::words::{
    claim_name, one_line, piece_name, plain, result_sign, score_sign, seat_name, side_name,
};

/// Says who did what: `White offers a draw`.
pub(super) fn describe(action: &v1::Action) -> String {
    let who = seat_name(action.seat());
    let Some(kind) = &action.kind else {
        return format!("{who} does what this version does not know");
    };
    if let Kind::RefereeFinding(found) = kind {
        return describe_finding(found);
    }
    one_line(&format!("{who} {}", what(kind)))
}

/// Says what was done, with the doer before it.
fn what(kind: &Kind) -> String {
    let side = |side: i32| side_name(v1::Color::try_from(side).unwrap_or_default());
    match kind {
        Kind::MakeMove(made) if made.offer_draw => {
            format!("plays {} and offers a draw", made.r#move)
        }
        Kind::MakeMove(made) => format!("plays {}", made.r#move),
        Kind::OfferDraw(_) => "offers a draw".to_owned(),
        Kind::AnswerDraw(answer) => match answer.answer() {
            v1::DrawAnswer::Accept => "accepts the draw".to_owned(),
            _ => "declines the draw".to_owned(),
        },
        Kind::MakeClaim(claim) => match claim.intended_move.as_str() {
            "" => format!("claims {}", claim_name(claim.claim())),
            intended => format!("claims {} with {intended}", claim_name(claim.claim())),
        },
        Kind::Resign(_) => "resigns".to_owned(),
        Kind::PressClock(_) => "presses the clock".to_owned(),
        Kind::TouchPieces(touch) => format!("touches {}", touch.squares.join(", ")),
        Kind::AnnounceAdjust(_) => "announces that pieces will be adjusted".to_owned(),
        Kind::ReleasePiece(moved) => format!("releases {} on {}", moved.from, moved.to),
        Kind::PlacePromotion(placed) => {
            format!(
                "places a {} on {}",
                piece_name(placed.piece()),
                placed.square
            )
        }
        Kind::DisplacePieces(pieces) => format!("displaces {}", pieces.squares.join(", ")),
        Kind::RestorePieces(_) => "puts the pieces back".to_owned(),
        Kind::WithdrawOffer(_) => "withdraws the offer".to_owned(),
        Kind::WithdrawClaim(_) => "withdraws the claim".to_owned(),
        Kind::ReportFlag(flag) => format!("says that the flag of {} is down", side(flag.side)),
        Kind::ReportBothFlags(_) => "says that both flags are down".to_owned(),
        Kind::StartGame(_) => "starts the game".to_owned(),
        Kind::Arrive(_) => "arrives".to_owned(),
        Kind::ReportDefaultTime(_) => "says that the default time is over".to_owned(),
        Kind::PauseGame(pause) => match pause.reason.as_str() {
            "" => "stops the clocks".to_owned(),
            reason => format!("stops the clocks: {reason}"),
        },
        Kind::ResumeGame(_) => "resumes the game".to_owned(),
        Kind::AbortGame(_) => "breaks the game off".to_owned(),
        Kind::ReportNoStart(late) => format!("says that {} did not begin", side(late.side)),
        Kind::ReportConnection(is) => match is.connected {
            Some(true) => format!("says that {} is back", side(is.side)),
            _ => format!("says that {} has lost the connection", side(is.side)),
        },
        Kind::TakeBack(back) => match back.intent() {
            v1::TakeBackIntent::Accept => "lets the move be taken back".to_owned(),
            v1::TakeBackIntent::Decline => "does not let the move be taken back".to_owned(),
            _ => "asks for the move to be taken back".to_owned(),
        },
        Kind::SealMove(_) => "seals a move".to_owned(),
        Kind::SignResult(signed) => format!("signs {}", result_sign(signed.result())),
        Kind::ArbiterDecision(decided) => describe_decision(decided),
        Kind::RefereeFinding(found) => describe_finding(found),
    }
}

fn describe_decision(decided: &v1::ArbiterDecision) -> String {
    let mut text = decided.kind.as_ref().map_or_else(
        || "decides what this version does not know".to_owned(),
        decision_words,
    );
    for (before, value, after) in [
        (" (", decided.arbiter.as_str(), ")"),
        (": ", decided.reason.as_str(), ""),
    ] {
        if !value.is_empty() {
            text.extend([before, value, after]);
        }
    }
    text
}

fn decision_words(kind: &decision::Kind) -> String {
    use decision::Kind;
    let side = |side: i32| side_name(v1::Color::try_from(side).unwrap_or_default());
    let time = |time: &Option<prost_types::Duration>| time.as_ref().map_or(0, ms_of);
    match kind {
        Kind::SetClocks(_) => "sets the clocks".to_owned(),
        Kind::PenaltyTime(penalty) => {
            let (off, on) = (time(&penalty.deduct), time(&penalty.add_opponent));
            let mut text = format!("punishes {}", side(penalty.side));
            if off > 0 {
                text.push_str(&format!(", {} off", amount(off)));
            }
            if on > 0 {
                text.push_str(&format!(", {} more for the opponent", amount(on)));
            }
            text
        }
        Kind::ExtraTime(extra) => {
            format!(
                "gives {} {} more",
                side(extra.side),
                amount(time(&extra.time))
            )
        }
        Kind::ReinstatePosition(back) => {
            let ply = back.ply.unwrap_or_default();
            format!("puts back the position after half-move {ply}")
        }
        Kind::DeclareLost(lost) => {
            let score = score_sign(lost.opponent_score());
            format!(
                "declares the game lost for {}, {score} for the opponent",
                side(lost.side)
            )
        }
        Kind::DeclareLostByBoth(_) => "declares the game lost by both".to_owned(),
        Kind::SetScore(score) => {
            let (white, black) = (score_sign(score.white()), score_sign(score.black()));
            format!("sets the score to {white} : {black}")
        }
        Kind::DeclareForfeit(forfeit) => format!("forfeits the game for {}", side(forfeit.side)),
        Kind::DeclareDoubleForfeit(_) => "forfeits the game for both".to_owned(),
        Kind::ColorsReversed(_) => "finds the colors reversed".to_owned(),
        Kind::WrongInitialPosition(_) => "finds a wrong initial position".to_owned(),
        Kind::IllegalPositionSeen(_) => "finds the position on the board illegal".to_owned(),
        Kind::PermitDrawOffer(_) => "permits an early offer of a draw".to_owned(),
        Kind::DecideClaim(decided) => {
            let decided = plain(decided.decision().as_str_name(), "CLAIM_DECISION_");
            format!("decides the claim: {decided}")
        }
        Kind::SetCounters(_) => "sets what is counted".to_owned(),
        Kind::Confirm(_) => "confirms what stands".to_owned(),
        Kind::Warn(warned) => format!("warns {}", side(warned.side)),
    }
}

fn describe_finding(found: &v1::RefereeFinding) -> String {
    let can = |answer: v1::CanMate| plain(answer.as_str_name(), "CAN_MATE_");
    match &found.kind {
        Some(finding::Kind::FlagFallen(side)) => {
            let side = v1::Color::try_from(*side).unwrap_or_default();
            format!("the flag of {} has fallen", side_name(side))
        }
        Some(finding::Kind::MateDecided(decided)) => format!(
            "it is decided who can still mate: White {}, Black {}",
            can(decided.white()),
            can(decided.black())
        ),
        Some(finding::Kind::DownTime(time)) => {
            format!("the service was away for {}", amount(ms_of(time)))
        }
        Some(finding::Kind::Confirmed(_)) => "the time for corrections has passed".to_owned(),
        None => "the referee finds what this version does not know".to_owned(),
    }
}
