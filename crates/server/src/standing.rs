//! What stands in a game, between the contract and the rules: written with every event, and read
//! back from it.

use referee_api::v1;
use referee_chess::{Color, Role, Square, UciMove};
use referee_laws::{
    Bound, Breach, CaptureCount, DrawClaim, Game, PendingClaim, Phase, Sides, Standing, Time,
    Touched,
};

use crate::clocks::{
    duration, stored_clocks, stored_color, stored_time, write_clocks, write_color,
};
use crate::record::damaged;
use crate::status::ApiError;

/// Writes what stands in a game besides the position.
pub(crate) fn write_standing(game: &Game) -> v1::Standing {
    let standing = game.standing();
    let time = |time: Option<Time>| time.map(|time| duration(time.ms()));
    let (phase, sealed_by, sealed_move) = match &standing.phase {
        Phase::Playing => (v1::standing::Phase::Unspecified, None, String::new()),
        Phase::Paused => (v1::standing::Phase::Paused, None, String::new()),
        Phase::Adjourned { by, text } => (v1::standing::Phase::Adjourned, Some(*by), text.clone()),
    };
    let breach = standing.breach.as_ref();
    v1::Standing {
        clocks: Some(write_clocks(&standing.clocks)),
        time: Some(duration(standing.time.ms())),
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
            .map_or(v1::Role::Unspecified, |(_, role)| write_role(role))
            .into(),
        white_move_not_completed: standing.uncompleted.white,
        black_move_not_completed: standing.uncompleted.black,
        white_illegal_moves: standing.illegal_moves.white,
        black_illegal_moves: standing.illegal_moves.black,
        capture_count_ply: standing.capture_count.ply,
        capture_count: standing.capture_count.count,
        phase: phase.into(),
        sealed_by: write_color(sealed_by).into(),
        sealed_move,
        start_time: time(standing.started),
        white_arrival: time(standing.arrived.white),
        black_arrival: time(standing.arrived.black),
        white_offer_barred: standing.offer_barred.white,
        black_offer_barred: standing.offer_barred.black,
        white_offer_ply: standing.offer_ply.white,
        black_offer_ply: standing.offer_ply.black,
        offer_permitted: standing.offer_permitted,
        pending_claim: standing.pending_claim.map(|claim| v1::PendingClaim {
            claim: write_claim(claim.claim).into(),
            side: write_color(Some(claim.side)).into(),
            postponed: claim.postponed,
            flag_fallen: claim.flag_fallen,
        }),
        take_back_by: write_color(standing.take_back_by).into(),
        abort_by: write_color(standing.abort_by).into(),
        white_gone_since: time(standing.gone_since.white),
        black_gone_since: time(standing.gone_since.black),
        breach_ply: breach.map(|breach| breach.ply),
        breach_squares: breach
            .map(|breach| names(&breach.touched))
            .unwrap_or_default(),
        breach_order_unknown: breach.is_some_and(|breach| breach.touched.order_unknown),
        displaced_by: write_color(standing.displaced_by).into(),
        illegal_plies: game.history().illegal_plies().collect(),
    }
}

fn names(touched: &Touched) -> Vec<String> {
    touched.squares.iter().map(ToString::to_string).collect()
}

/// Writes a kind of piece.
pub(crate) fn write_role(role: Role) -> v1::Role {
    match role {
        Role::Pawn => v1::Role::Pawn,
        Role::Knight => v1::Role::Knight,
        Role::Bishop => v1::Role::Bishop,
        Role::Rook => v1::Role::Rook,
        Role::Queen => v1::Role::Queen,
        Role::King => v1::Role::King,
    }
}

/// Reads a kind of piece, where one is named.
pub(crate) fn stored_role(message: v1::Role) -> Option<Role> {
    Role::ALL
        .into_iter()
        .find(|&role| write_role(role) == message)
}

/// Writes a kind of claim.
pub(crate) fn write_claim(claim: DrawClaim) -> v1::DrawClaim {
    match claim {
        DrawClaim::Threefold => v1::DrawClaim::Threefold,
        DrawClaim::Fifty => v1::DrawClaim::Fifty,
        DrawClaim::PerpetualCheck => v1::DrawClaim::PerpetualCheck,
        DrawClaim::OpponentInsufficient => v1::DrawClaim::OpponentInsufficient,
        DrawClaim::IllegalMove => v1::DrawClaim::IllegalMove,
        DrawClaim::TouchMove => v1::DrawClaim::TouchMove,
        DrawClaim::QuickplayIncrement => v1::DrawClaim::QuickplayIncrement,
        DrawClaim::QuickplayDraw => v1::DrawClaim::QuickplayDraw,
        DrawClaim::OpponentGone => v1::DrawClaim::OpponentGone,
    }
}

/// Reads a kind of claim, where one is named.
pub(crate) fn read_claim_kind(message: v1::DrawClaim) -> Option<DrawClaim> {
    Some(match message {
        v1::DrawClaim::Unspecified => return None,
        v1::DrawClaim::Threefold => DrawClaim::Threefold,
        v1::DrawClaim::Fifty => DrawClaim::Fifty,
        v1::DrawClaim::PerpetualCheck => DrawClaim::PerpetualCheck,
        v1::DrawClaim::OpponentInsufficient => DrawClaim::OpponentInsufficient,
        v1::DrawClaim::IllegalMove => DrawClaim::IllegalMove,
        v1::DrawClaim::TouchMove => DrawClaim::TouchMove,
        v1::DrawClaim::QuickplayIncrement => DrawClaim::QuickplayIncrement,
        v1::DrawClaim::QuickplayDraw => DrawClaim::QuickplayDraw,
        v1::DrawClaim::OpponentGone => DrawClaim::OpponentGone,
    })
}

/// Reads what stands after a stored event, from what stood before it.
pub(crate) fn stored_standing(
    event: &v1::GameEvent,
    before: &Standing,
) -> Result<Standing, ApiError> {
    let message = event
        .standing
        .as_ref()
        .ok_or_else(|| damaged("what stands after an event"))?;
    let clocks = message
        .clocks
        .as_ref()
        .ok_or_else(|| damaged("the clocks"))?;
    let phase = match message.phase() {
        v1::standing::Phase::Unspecified => Phase::Playing,
        v1::standing::Phase::Paused => Phase::Paused,
        v1::standing::Phase::Adjourned => Phase::Adjourned {
            by: stored_color(message.sealed_by()).ok_or_else(|| damaged("who sealed a move"))?,
            text: message.sealed_move.clone(),
        },
    };
    let breach = message
        .breach_ply
        .map(|ply| {
            let touched = touched(&message.breach_squares, message.breach_order_unknown)?;
            Ok::<Breach, ApiError>(Breach { ply, touched })
        })
        .transpose()?;
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
        phase,
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
        take_back_by: stored_color(message.take_back_by()),
        abort_by: stored_color(message.abort_by()),
        gone_since: sides(
            stored_time(message.white_gone_since)?,
            stored_time(message.black_gone_since)?,
        ),
        breach,
        displaced_by: stored_color(message.displaced_by()),
    })
}

fn touched(squares: &[String], order_unknown: bool) -> Result<Touched, ApiError> {
    Ok(Touched {
        squares: squares
            .iter()
            .map(|name| stored_square(name))
            .collect::<Result<_, _>>()?,
        order_unknown,
    })
}

fn stored_square(name: &str) -> Result<Square, ApiError> {
    name.parse().map_err(|_| damaged("a square"))
}

fn stored_seat(seat: v1::Seat) -> Option<Color> {
    match seat {
        v1::Seat::White => Some(Color::White),
        v1::Seat::Black => Some(Color::Black),
        _ => None,
    }
}

fn stored_release(text: &str) -> Result<Option<(Square, Square)>, ApiError> {
    if text.is_empty() {
        return Ok(None);
    }
    let uci: UciMove = text.parse().map_err(|_| damaged("a released move"))?;
    Ok(Some((uci.from, uci.to)))
}

fn stored_promotion(message: &v1::Standing) -> Result<Option<(Square, Role)>, ApiError> {
    if message.promotion_square.is_empty() {
        return Ok(None);
    }
    let role = stored_role(message.promotion_role());
    let role = role.ok_or_else(|| damaged("a piece of promotion"))?;
    Ok(Some((stored_square(&message.promotion_square)?, role)))
}

fn stored_pending(message: Option<&v1::PendingClaim>) -> Result<Option<PendingClaim>, ApiError> {
    let Some(message) = message else {
        return Ok(None);
    };
    let claim = read_claim_kind(message.claim());
    let side = stored_color(message.side());
    let (Some(claim), Some(side)) = (claim, side) else {
        return Err(damaged("a claim that waits"));
    };
    Ok(Some(PendingClaim {
        claim,
        side,
        postponed: message.postponed,
        flag_fallen: message.flag_fallen,
    }))
}

fn stored_bound(message: Option<&v1::BoundMove>) -> Result<Option<Bound>, ApiError> {
    use v1::bound_move::Kind;
    let wrong = |_| damaged("what binds the side to move");
    Ok(match message.and_then(|bound| bound.kind.as_ref()) {
        None => None,
        Some(Kind::Move(text)) => Some(Bound::Move(text.parse().map_err(wrong)?)),
        Some(Kind::Square(text)) => Some(Bound::Piece(stored_square(text)?)),
    })
}
