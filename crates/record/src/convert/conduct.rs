//! What stands in a game, between the contract and the rules: written with every event, and read
//! back from it.

use referee_api::v1;
use referee_chess::{Role, Square, UciMove};
use referee_laws::{
    Bound, Breach, CaptureCount, ClaimKind, Color, Conduct, Game, PendingClaim, Phase, Sides, Time,
    Touched,
};

use super::clocks::{stored_clocks, write_clocks};
use super::enums::{InContract, stored_enum, write_optional};
use super::position::stored_square;
use super::time::{stored_time, write_time};
use crate::error::Error;

/// Writes what stands in a game besides the position.
pub fn write_conduct(game: &Game) -> v1::Conduct {
    let conduct = game.conduct();
    let time = |time| write_time(time, game.keeper());
    let (phase, sealed_by, sealed_move) = match &conduct.phase {
        Phase::Playing => (v1::conduct::Phase::Playing, None, String::new()),
        Phase::Paused => (v1::conduct::Phase::Paused, None, String::new()),
        Phase::Adjourned { by, text } => (v1::conduct::Phase::Adjourned, Some(*by), text.clone()),
    };
    let breach = conduct.breach.as_ref();
    v1::Conduct {
        clocks: Some(write_clocks(&conduct.clocks, game.keeper())),
        time: Some(time(conduct.time)),
        phase: phase.into(),
        white: Some(write_side(game, Color::White)),
        black: Some(write_side(game, Color::Black)),
        start_time: conduct.started.map(time),
        touched_squares: names(&conduct.touched),
        touch_order_unknown: conduct.touched.order_unknown,
        adjusting: conduct.adjusting,
        released_move: conduct
            .released
            .map(|(from, to)| format!("{from}{to}"))
            .unwrap_or_default(),
        promotion_square: conduct
            .promotion
            .map(|(square, _)| square.to_string())
            .unwrap_or_default(),
        promotion_piece: conduct
            .promotion
            .map_or(v1::PieceKind::Unspecified, |(_, role)| role.to_v1())
            .into(),
        capture_count_ply: conduct.capture_count.ply,
        capture_count: conduct.capture_count.count,
        sealed_by: write_optional(sealed_by).into(),
        sealed_move,
        offer_permitted: conduct.offer_permitted,
        pending_claim: conduct.pending_claim.map(|claim| v1::PendingClaim {
            claim: claim.claim.to_v1().into(),
            side: claim.side.to_v1().into(),
            postponed: claim.postponed,
            flag_fallen: claim.flag_fallen,
        }),
        take_back_by: write_optional(conduct.take_back_by).into(),
        abort_by: write_optional(conduct.abort_by).into(),
        breach_ply: breach.map(|breach| breach.ply),
        breach_squares: breach
            .map(|breach| names(&breach.touched))
            .unwrap_or_default(),
        breach_order_unknown: breach.is_some_and(|breach| breach.touched.order_unknown),
        displaced_by: write_optional(conduct.displaced_by).into(),
        illegal_plies: game.history().illegal_plies().collect(),
    }
}

fn write_side(game: &Game, side: Color) -> v1::SideConduct {
    let conduct = game.conduct();
    let time = |time| write_time(time, game.keeper());
    v1::SideConduct {
        move_uncompleted: conduct.uncompleted.of(side),
        illegal_moves: conduct.illegal_moves.of(side),
        arrival_time: conduct.arrived.of(side).map(time),
        offer_barred: conduct.offer_barred.of(side),
        offer_ply: conduct.offer_ply.of(side),
        gone_time: conduct.gone_since.of(side).map(time),
    }
}

fn names(touched: &Touched) -> Vec<String> {
    touched.squares.iter().map(ToString::to_string).collect()
}

/// Reads what stands after a stored event, from what stood before it.
///
/// # Errors
///
/// Where this program could not have written it.
pub fn stored_conduct(event: &v1::GameEvent, before: &Conduct) -> Result<Conduct, Error> {
    let message = event
        .conduct
        .as_ref()
        .ok_or_else(|| Error::damaged("what stands after an event"))?;
    let clocks = message
        .clocks
        .as_ref()
        .ok_or_else(|| Error::damaged("the clocks"))?;
    let side = |message: Option<&v1::SideConduct>| {
        let message = message.cloned();
        message.ok_or_else(|| Error::damaged("what stands for a side"))
    };
    let sides = Sides {
        white: side(message.white.as_ref())?,
        black: side(message.black.as_ref())?,
    };
    Ok(Conduct {
        clocks: stored_clocks(clocks, &before.clocks)?,
        time: stored_time(message.time)?.unwrap_or_default(),
        draw_offer: stored_enum("an offer", event.draw_offer)?,
        bound: stored_bound(event.bound_move.as_ref())?,
        touched: touched(&message.touched_squares, message.touch_order_unknown)?,
        adjusting: message.adjusting,
        released: stored_release(&message.released_move)?,
        promotion: stored_promotion(message)?,
        uncompleted: both(&sides, |side| side.move_uncompleted),
        illegal_moves: both(&sides, |side| side.illegal_moves),
        capture_count: CaptureCount {
            ply: message.capture_count_ply,
            count: message.capture_count,
        },
        phase: stored_phase(message)?,
        started: stored_time(message.start_time)?,
        arrived: stored_times(&sides, |side| side.arrival_time)?,
        offer_barred: both(&sides, |side| side.offer_barred),
        offer_ply: both(&sides, |side| side.offer_ply),
        offer_permitted: message.offer_permitted,
        pending_claim: stored_pending(message.pending_claim.as_ref())?,
        take_back_by: stored_enum("a wish to take back", message.take_back_by)?,
        abort_by: stored_enum("a wish to abort", message.abort_by)?,
        gone_since: stored_times(&sides, |side| side.gone_time)?,
        breach: stored_breach(message)?,
        displaced_by: stored_enum("who displaced pieces", message.displaced_by)?,
    })
}

/// Returns something of what stands for each side.
fn both<T>(sides: &Sides<v1::SideConduct>, of: impl Fn(&v1::SideConduct) -> T) -> Sides<T> {
    Sides {
        white: of(&sides.white),
        black: of(&sides.black),
    }
}

/// Reads a time of each side.
fn stored_times(
    sides: &Sides<v1::SideConduct>,
    of: impl Fn(&v1::SideConduct) -> Option<v1::GameTime>,
) -> Result<Sides<Option<Time>>, Error> {
    Ok(Sides {
        white: stored_time(of(&sides.white))?,
        black: stored_time(of(&sides.black))?,
    })
}

fn stored_phase(message: &v1::Conduct) -> Result<Phase, Error> {
    Ok(match message.phase() {
        v1::conduct::Phase::Unspecified => return Err(Error::damaged("the stage of play")),
        v1::conduct::Phase::Playing => Phase::Playing,
        v1::conduct::Phase::Paused => Phase::Paused,
        v1::conduct::Phase::Adjourned => Phase::Adjourned {
            by: Color::from_v1(message.sealed_by())
                .ok_or_else(|| Error::damaged("who sealed a move"))?,
            text: message.sealed_move.clone(),
        },
    })
}

fn stored_breach(message: &v1::Conduct) -> Result<Option<Breach>, Error> {
    let Some(ply) = message.breach_ply else {
        return Ok(None);
    };
    let touched = touched(&message.breach_squares, message.breach_order_unknown)?;
    Ok(Some(Breach { ply, touched }))
}

fn touched(squares: &[String], order_unknown: bool) -> Result<Touched, Error> {
    Ok(Touched {
        squares: squares
            .iter()
            .map(|name| stored_square(name))
            .collect::<Result<_, _>>()?,
        order_unknown,
    })
}

fn stored_release(text: &str) -> Result<Option<(Square, Square)>, Error> {
    if text.is_empty() {
        return Ok(None);
    }
    let uci: UciMove = text
        .parse()
        .map_err(|_| Error::damaged("a released move"))?;
    Ok(Some((uci.from, uci.to)))
}

fn stored_promotion(message: &v1::Conduct) -> Result<Option<(Square, Role)>, Error> {
    if message.promotion_square.is_empty() {
        return Ok(None);
    }
    let role = Role::from_v1(message.promotion_piece());
    let role = role.ok_or_else(|| Error::damaged("a piece of promotion"))?;
    Ok(Some((stored_square(&message.promotion_square)?, role)))
}

fn stored_pending(message: Option<&v1::PendingClaim>) -> Result<Option<PendingClaim>, Error> {
    let Some(message) = message else {
        return Ok(None);
    };
    let claim = ClaimKind::from_v1(message.claim());
    let side = Color::from_v1(message.side());
    let (Some(claim), Some(side)) = (claim, side) else {
        return Err(Error::damaged("a claim that waits"));
    };
    Ok(Some(PendingClaim {
        claim,
        side,
        postponed: message.postponed,
        flag_fallen: message.flag_fallen,
    }))
}

fn stored_bound(message: Option<&v1::BoundMove>) -> Result<Option<Bound>, Error> {
    use v1::bound_move::Kind;
    let wrong = |_| Error::damaged("what binds the side to move");
    Ok(match message.and_then(|bound| bound.kind.as_ref()) {
        None => None,
        Some(Kind::Move(text)) => Some(Bound::Move(text.parse().map_err(wrong)?)),
        Some(Kind::Square(text)) => Some(Bound::Piece(stored_square(text)?)),
    })
}
