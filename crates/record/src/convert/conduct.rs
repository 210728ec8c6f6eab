//! What stands in a game, between the contract and the rules: written with every event, and read
//! back from it.

use referee_api::v1;
use referee_chess::{Role, Square, UciMove};
use referee_laws::{
    Bound, Breach, CaptureCount, Color, DrawClaim, Game, PendingClaim, Phase, Seat, Sides,
    Standing, Touched,
};

use super::clocks::{stored_clocks, write_clocks};
use super::enums::{InContract, write_optional};
use super::position::stored_square;
use super::time::{stored_time, write_time};
use crate::error::Error;

/// Writes what stands in a game besides the position.
pub fn write_standing(game: &Game) -> v1::Standing {
    let standing = game.standing();
    let (phase, sealed_by, sealed_move) = match &standing.phase {
        Phase::Playing => (v1::standing::Phase::Unspecified, None, String::new()),
        Phase::Paused => (v1::standing::Phase::Paused, None, String::new()),
        Phase::Adjourned { by, text } => (v1::standing::Phase::Adjourned, Some(*by), text.clone()),
    };
    let breach = standing.breach.as_ref();
    v1::Standing {
        clocks: Some(write_clocks(&standing.clocks)),
        time: Some(write_time(standing.time)),
        touched_squares: names(&standing.touched),
        touch_order_unknown: standing.touched.order_unknown,
        adjusting: standing.adjusting,
        released_move: standing
            .released
            .map(|(from, to)| format!("{from}{to}"))
            .unwrap_or_default(),
        promotion_square: standing
            .promotion
            .map(|(square, _)| square.to_string())
            .unwrap_or_default(),
        promotion_role: standing
            .promotion
            .map_or(v1::Role::Unspecified, |(_, role)| role.to_v1())
            .into(),
        white_move_not_completed: standing.uncompleted.white,
        black_move_not_completed: standing.uncompleted.black,
        white_illegal_moves: standing.illegal_moves.white,
        black_illegal_moves: standing.illegal_moves.black,
        capture_count_ply: standing.capture_count.ply,
        capture_count: standing.capture_count.count,
        phase: phase.into(),
        sealed_by: write_optional(sealed_by).into(),
        sealed_move,
        start_time: standing.started.map(write_time),
        white_arrival: standing.arrived.white.map(write_time),
        black_arrival: standing.arrived.black.map(write_time),
        white_offer_barred: standing.offer_barred.white,
        black_offer_barred: standing.offer_barred.black,
        white_offer_ply: standing.offer_ply.white,
        black_offer_ply: standing.offer_ply.black,
        offer_permitted: standing.offer_permitted,
        pending_claim: standing.pending_claim.map(|claim| v1::PendingClaim {
            claim: claim.claim.to_v1().into(),
            side: claim.side.to_v1().into(),
            postponed: claim.postponed,
            flag_fallen: claim.flag_fallen,
        }),
        take_back_by: write_optional(standing.take_back_by).into(),
        abort_by: write_optional(standing.abort_by).into(),
        white_gone_since: standing.gone_since.white.map(write_time),
        black_gone_since: standing.gone_since.black.map(write_time),
        breach_ply: breach.map(|breach| breach.ply),
        breach_squares: breach
            .map(|breach| names(&breach.touched))
            .unwrap_or_default(),
        breach_order_unknown: breach.is_some_and(|breach| breach.touched.order_unknown),
        displaced_by: write_optional(standing.displaced_by).into(),
        illegal_plies: game.history().illegal_plies().collect(),
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
pub fn stored_standing(event: &v1::GameEvent, before: &Standing) -> Result<Standing, Error> {
    let message = event
        .standing
        .as_ref()
        .ok_or_else(|| Error::damaged("what stands after an event"))?;
    let clocks = message
        .clocks
        .as_ref()
        .ok_or_else(|| Error::damaged("the clocks"))?;
    let sides = |white, black| Sides { white, black };
    Ok(Standing {
        clocks: stored_clocks(clocks, &before.clocks)?,
        time: stored_time(message.time)?.unwrap_or_default(),
        draw_offer: stored_seat(event.draw_offer()),
        bound: stored_bound(event.bound_move.as_ref())?,
        touched: touched(&message.touched_squares, message.touch_order_unknown)?,
        adjusting: message.adjusting,
        released: stored_release(&message.released_move)?,
        promotion: stored_promotion(message)?,
        uncompleted: Sides {
            white: message.white_move_not_completed,
            black: message.black_move_not_completed,
        },
        illegal_moves: Sides {
            white: message.white_illegal_moves,
            black: message.black_illegal_moves,
        },
        capture_count: CaptureCount {
            ply: message.capture_count_ply,
            count: message.capture_count,
        },
        phase: stored_phase(message)?,
        started: stored_time(message.start_time)?,
        arrived: sides(
            stored_time(message.white_arrival)?,
            stored_time(message.black_arrival)?,
        ),
        offer_barred: Sides {
            white: message.white_offer_barred,
            black: message.black_offer_barred,
        },
        offer_ply: Sides {
            white: message.white_offer_ply,
            black: message.black_offer_ply,
        },
        offer_permitted: message.offer_permitted,
        pending_claim: stored_pending(message.pending_claim.as_ref())?,
        take_back_by: Color::from_v1(message.take_back_by()),
        abort_by: Color::from_v1(message.abort_by()),
        gone_since: sides(
            stored_time(message.white_gone_since)?,
            stored_time(message.black_gone_since)?,
        ),
        breach: stored_breach(message)?,
        displaced_by: Color::from_v1(message.displaced_by()),
    })
}

fn stored_phase(message: &v1::Standing) -> Result<Phase, Error> {
    Ok(match message.phase() {
        v1::standing::Phase::Unspecified => Phase::Playing,
        v1::standing::Phase::Paused => Phase::Paused,
        v1::standing::Phase::Adjourned => Phase::Adjourned {
            by: Color::from_v1(message.sealed_by())
                .ok_or_else(|| Error::damaged("who sealed a move"))?,
            text: message.sealed_move.clone(),
        },
    })
}

fn stored_breach(message: &v1::Standing) -> Result<Option<Breach>, Error> {
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

/// The seat of a player, where one has offered a draw.
fn stored_seat(seat: v1::Seat) -> Option<Color> {
    match Seat::from_v1(seat)? {
        Seat::Player(color) => Some(color),
        Seat::Arbiter | Seat::Referee => None,
    }
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

fn stored_promotion(message: &v1::Standing) -> Result<Option<(Square, Role)>, Error> {
    if message.promotion_square.is_empty() {
        return Ok(None);
    }
    let role = Role::from_v1(message.promotion_role());
    let role = role.ok_or_else(|| Error::damaged("a piece of promotion"))?;
    Ok(Some((stored_square(&message.promotion_square)?, role)))
}

fn stored_pending(message: Option<&v1::PendingClaim>) -> Result<Option<PendingClaim>, Error> {
    let Some(message) = message else {
        return Ok(None);
    };
    let claim = DrawClaim::from_v1(message.claim());
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
