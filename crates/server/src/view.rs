//! From the rules to the contract: positions, rulings, outcomes and evidence as messages.

use referee_api::v1;
use referee_chess::{Bitboard, Color, Move, MoveError, MoveKind, Piece, Position, Square};
use referee_laws::{
    Adjudication, Bound, CanMate, Citation, Evidence, GameResult, NoMate, NoMateKind, Outcome,
    Points, Reason, Ruling, Termination, Verdict,
};

use crate::clocks::duration;
use crate::read::reason_of;
use crate::standing::{write_claim, write_role};

pub(crate) fn color(color: Color) -> v1::Color {
    match color {
        Color::White => v1::Color::White,
        Color::Black => v1::Color::Black,
    }
}

pub(crate) fn seat(color: Option<Color>) -> v1::Seat {
    match color {
        None => v1::Seat::Unspecified,
        Some(Color::White) => v1::Seat::White,
        Some(Color::Black) => v1::Seat::Black,
    }
}

fn piece(&(square, piece): &(Square, Piece)) -> v1::PieceOnSquare {
    v1::PieceOnSquare {
        color: color(piece.color).into(),
        role: write_role(piece.role).into(),
        square: square.to_string(),
    }
}

/// A moment in microseconds since 1970.
pub(crate) fn timestamp(time_us: i64) -> prost_types::Timestamp {
    prost_types::Timestamp {
        seconds: time_us.div_euclid(1_000_000),
        nanos: time_us.rem_euclid(1_000_000) as i32 * 1_000,
    }
}

/// A legal move of a position, in all its forms.
pub(crate) fn legal_move(position: &Position, mv: Move) -> v1::Move {
    v1::Move {
        uci: position.uci(mv).to_string(),
        san: position.san(mv).to_string(),
        traits: traits(position, mv).into_iter().map(Into::into).collect(),
    }
}

fn traits(position: &Position, mv: Move) -> Vec<v1::MoveTrait> {
    let mut traits = Vec::new();
    let after = position.after_unchecked(mv);
    let kind = mv.kind();
    let captures = kind == MoveKind::EnPassant
        || (kind != MoveKind::Castle && position.board().color(!position.turn()).contains(mv.to()));
    let checkers = after.checkers();
    // The piece that moved is, after castling, the king or the rook.
    let moved = match kind {
        MoveKind::Castle => {
            after.board().color(position.turn()) - position.board().color(position.turn())
        }
        _ => Bitboard::of(mv.to()),
    };
    let found = [
        (captures, v1::MoveTrait::Capture),
        (kind == MoveKind::EnPassant, v1::MoveTrait::EnPassant),
        (kind == MoveKind::Castle, v1::MoveTrait::Castle),
        (
            matches!(kind, MoveKind::Promotion(_)),
            v1::MoveTrait::Promotion,
        ),
        (checkers.any(), v1::MoveTrait::Check),
        ((checkers - moved).any(), v1::MoveTrait::DiscoveredCheck),
        (checkers.more_than_one(), v1::MoveTrait::DoubleCheck),
        (
            checkers.any() && !after.has_legal_moves(),
            v1::MoveTrait::Checkmate,
        ),
        (after.halfmove_clock() == 0, v1::MoveTrait::Zeroing),
    ];
    traits.extend(
        found
            .into_iter()
            .filter_map(|(holds, name)| holds.then_some(name)),
    );
    traits
}

/// Why a text is no legal move.
pub(crate) fn illegal_move(error: &MoveError) -> v1::IllegalMove {
    let mut message = v1::IllegalMove {
        reason: reason_of(error).into(),
        text: sentence(&error.to_string()),
        ..v1::IllegalMove::default()
    };
    match error {
        MoveError::Unreadable(_) => {}
        MoveError::Ambiguous { candidates } => {
            message.candidates = candidates.iter().map(ToString::to_string).collect();
        }
        MoveError::Illegal(illegal) => {
            message.pieces = illegal.pieces.iter().map(piece).collect();
            message.squares = illegal
                .squares
                .into_iter()
                .map(|at| at.to_string())
                .collect();
            message.citation = Some(citation(&Citation::of(illegal.article())));
        }
    }
    message
}

/// The text as a sentence: a capital letter in front, a dot behind.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        None => String::new(),
        Some(first) => format!("{}{}.", first.to_uppercase(), chars.as_str()),
    }
}

pub(crate) fn citation(citation: &Citation) -> v1::Citation {
    v1::Citation {
        edition: citation.edition.to_string(),
        article: citation.article.to_string(),
        text: citation.text.to_string(),
    }
}

/// Why a side cannot mate.
pub(crate) fn no_mate(proof: &NoMate) -> v1::NoMateEvidence {
    v1::NoMateEvidence {
        side: color(proof.side).into(),
        kind: no_mate_kind(proof.kind).into(),
        text: proof.text.clone(),
    }
}

/// A kind of proof that a side cannot mate.
pub(crate) fn no_mate_kind(kind: NoMateKind) -> v1::no_mate_evidence::Kind {
    use v1::no_mate_evidence::Kind as Name;
    match kind {
        NoMateKind::Material => Name::Material,
        NoMateKind::GameOver => Name::GameOver,
        NoMateKind::ForcedLine => Name::ForcedLine,
        NoMateKind::BlockedStructure => Name::BlockedStructure,
        NoMateKind::ExhaustedSearch => Name::ExhaustedSearch,
        NoMateKind::MoveCount => Name::MoveCount,
        NoMateKind::Table => Name::Table,
    }
}

fn evidence(evidence: &Evidence) -> v1::Evidence {
    use v1::evidence::Kind;
    let kind = match evidence {
        Evidence::Repetition(plies) => Kind::Repetition(v1::RepetitionEvidence {
            plies: plies.clone(),
        }),
        Evidence::MoveCount {
            halfmove_clock,
            last_reset_ply,
        } => Kind::MoveCount(v1::MoveCountEvidence {
            halfmove_clock: *halfmove_clock,
            last_reset_ply: *last_reset_ply,
        }),
        Evidence::Check { king, attackers } => Kind::Check(v1::CheckEvidence {
            king_square: king.to_string(),
            attackers: attackers.iter().map(piece).collect(),
        }),
        Evidence::NoMate(proof) => Kind::NoMate(no_mate(proof)),
        Evidence::MatingLine { side, moves } => Kind::MatingLine(v1::MatingLineEvidence {
            side: color(*side).into(),
            moves: moves.iter().map(ToString::to_string).collect(),
        }),
        Evidence::Clock(reading) => Kind::Clock(v1::ClockEvidence {
            side: color(reading.side).into(),
            received: Some(duration(reading.received.ms())),
            deadline: reading.deadline.map(|time| duration(time.ms())),
            left: reading.left_ms.map(duration),
            elapsed: Some(duration(reading.elapsed_ms)),
        }),
    };
    v1::Evidence { kind: Some(kind) }
}

/// The end of a game, or that there is none; the points are those of a scoring.
pub(crate) fn outcome(outcome: Option<&Outcome>, points: Points) -> v1::Outcome {
    let Some(outcome) = outcome else {
        return v1::Outcome {
            result: v1::GameResult::Ongoing.into(),
            ..v1::Outcome::default()
        };
    };
    let half_points = outcome.result.half_points(points);
    v1::Outcome {
        result: result(outcome.result).into(),
        termination: termination(outcome.termination).into(),
        citations: outcome.citations.iter().map(citation).collect(),
        evidence: outcome.evidence.iter().map(evidence).collect(),
        provisional: outcome.provisional,
        text: outcome.text.clone(),
        white_half_points: half_points.map(|(white, _)| white),
        black_half_points: half_points.map(|(_, black)| black),
    }
}

/// The result of a game.
pub(crate) fn result(result: GameResult) -> v1::GameResult {
    match result {
        GameResult::Win(Color::White) => v1::GameResult::WhiteWins,
        GameResult::Win(Color::Black) => v1::GameResult::BlackWins,
        GameResult::Draw => v1::GameResult::Draw,
        GameResult::BothLose => v1::GameResult::BothLose,
        GameResult::Half(Color::White) => v1::GameResult::WhiteHalf,
        GameResult::Half(Color::Black) => v1::GameResult::BlackHalf,
        GameResult::WinByForfeit(Color::White) => v1::GameResult::WhiteWinsForfeit,
        GameResult::WinByForfeit(Color::Black) => v1::GameResult::BlackWinsForfeit,
        GameResult::BothForfeit => v1::GameResult::BothForfeit,
        GameResult::Cancelled => v1::GameResult::Cancelled,
        GameResult::Aborted => v1::GameResult::Aborted,
    }
}

/// Reads the result of a game that has ended; `None` where it has not.
pub(crate) fn read_result(message: v1::GameResult) -> Option<GameResult> {
    Some(match message {
        v1::GameResult::Unspecified | v1::GameResult::Ongoing => return None,
        v1::GameResult::WhiteWins => GameResult::Win(Color::White),
        v1::GameResult::BlackWins => GameResult::Win(Color::Black),
        v1::GameResult::Draw => GameResult::Draw,
        v1::GameResult::BothLose => GameResult::BothLose,
        v1::GameResult::WhiteHalf => GameResult::Half(Color::White),
        v1::GameResult::BlackHalf => GameResult::Half(Color::Black),
        v1::GameResult::WhiteWinsForfeit => GameResult::WinByForfeit(Color::White),
        v1::GameResult::BlackWinsForfeit => GameResult::WinByForfeit(Color::Black),
        v1::GameResult::BothForfeit => GameResult::BothForfeit,
        v1::GameResult::Cancelled => GameResult::Cancelled,
        v1::GameResult::Aborted => GameResult::Aborted,
    })
}

/// How a game ended.
pub(crate) fn termination(termination: Termination) -> v1::Termination {
    match termination {
        Termination::Checkmate => v1::Termination::Checkmate,
        Termination::Stalemate => v1::Termination::Stalemate,
        Termination::DeadPosition => v1::Termination::DeadPosition,
        Termination::Resignation => v1::Termination::Resignation,
        Termination::ResignationNoMate => v1::Termination::ResignationNoMate,
        Termination::Agreement => v1::Termination::Agreement,
        Termination::ThreefoldClaim => v1::Termination::ThreefoldClaim,
        Termination::ThreefoldAutomatic => v1::Termination::ThreefoldAuto,
        Termination::Fivefold => v1::Termination::Fivefold,
        Termination::FiftyClaim => v1::Termination::FiftyClaim,
        Termination::FiftyAutomatic => v1::Termination::FiftyAuto,
        Termination::SeventyFive => v1::Termination::SeventyFive,
        Termination::MaterialDraw => v1::Termination::MaterialDraw,
        Termination::PerpetualCheck => v1::Termination::PerpetualCheck,
        Termination::TimeForfeit => v1::Termination::TimeForfeit,
        Termination::TimeNoMate => v1::Termination::TimeNoMate,
        Termination::BothFlags => v1::Termination::BothFlags,
        Termination::DefaultForfeit => v1::Termination::DefaultForfeit,
        Termination::DoubleForfeit => v1::Termination::DoubleForfeit,
        Termination::NoStart => v1::Termination::NoStart,
        Termination::IllegalMoves => v1::Termination::IllegalMoves,
        Termination::IllegalMovesNoMate => v1::Termination::IllegalMovesNoMate,
        Termination::IllegalPositionDraw => v1::Termination::IllegalPositionDraw,
        Termination::ClaimOpponentInsufficient => v1::Termination::ClaimOpponentInsufficient,
        Termination::QuickplayClaim => v1::Termination::QuickplayClaim,
        Termination::SealedMove => v1::Termination::SealedMove,
        Termination::ArbiterDecision => v1::Termination::ArbiterDecision,
        Termination::SignedResult => v1::Termination::SignedResult,
        Termination::Abandonment => v1::Termination::Abandonment,
        Termination::WrongInitialPosition => v1::Termination::WrongInitialPosition,
        Termination::ColorsReversed => v1::Termination::ColorsReversed,
        Termination::Aborted => v1::Termination::Aborted,
    }
}

/// What the referee says to an action.
pub(crate) fn ruling(ruling: &Ruling) -> v1::Ruling {
    v1::Ruling {
        verdict: match ruling.verdict {
            Verdict::Accepted => v1::ruling::Verdict::Accepted,
            Verdict::Refused => v1::ruling::Verdict::Refused,
            Verdict::Penalized => v1::ruling::Verdict::Penalized,
            Verdict::Noted => v1::ruling::Verdict::Noted,
        }
        .into(),
        reason: ruling
            .reason
            .map_or(v1::ruling::Reason::Unspecified, reason)
            .into(),
        improper: ruling.improper,
        illegal_move: ruling.illegal_move.as_ref().map(illegal_move),
        citations: ruling.citations.iter().map(citation).collect(),
        evidence: ruling.evidence.iter().map(evidence).collect(),
        provisional: ruling.provisional,
        text: ruling.text.clone(),
    }
}

fn reason(reason: Reason) -> v1::ruling::Reason {
    use v1::ruling::Reason as Name;
    match reason {
        Reason::IllegalMove => Name::IllegalMove,
        Reason::TouchMove => Name::TouchMove,
        Reason::PromotionMissing => Name::PromotionMissing,
        Reason::IllegalPromotionQueened => Name::IllegalPromotionQueened,
        Reason::MustPlayIntended => Name::MustPlayIntended,
        Reason::NotYourTurn => Name::NotYourTurn,
        Reason::GameOver => Name::GameOver,
        Reason::NotRunning => Name::NotRunning,
        Reason::NotAllowed => Name::NotAllowed,
        Reason::TooLate => Name::TooLate,
        Reason::DefaultTime => Name::DefaultTime,
        Reason::NoOffer => Name::NoOffer,
        Reason::OfferNotAllowed => Name::OfferNotAllowed,
        Reason::OfferTooEarly => Name::OfferTooEarly,
        Reason::OfferRepeat => Name::OfferRepeat,
        Reason::OfferConditional => Name::OfferConditional,
        Reason::OfferCannotWithdraw => Name::OfferCannotWithdraw,
        Reason::ClaimIncorrect => Name::ClaimIncorrect,
        Reason::ClaimTooLate => Name::ClaimTooLate,
        Reason::ClaimNotOnMove => Name::ClaimNotOnMove,
        Reason::ClaimNotAllowed => Name::ClaimNotAllowed,
        Reason::ClaimAfterTouch => Name::ClaimAfterTouch,
        Reason::ClaimCannotWithdraw => Name::ClaimCannotWithdraw,
        Reason::UnknownClaim => Name::UnknownClaim,
        Reason::ScoreNotAllowed => Name::ScoreNotAllowed,
        Reason::Stands => Name::Stands,
        Reason::WrongSeat => Name::WrongSeat,
        Reason::FlagFallen => Name::FlagFallen,
    }
}

/// Whether a side can mate.
pub(crate) fn can_mate(can_mate: &CanMate) -> v1::CanMate {
    match can_mate {
        CanMate::Yes(_) => v1::CanMate::Yes,
        CanMate::No(_) => v1::CanMate::No,
        CanMate::Unknown => v1::CanMate::Unknown,
    }
}

/// What a position and its history mean for the game.
pub(crate) fn adjudication(found: &Adjudication, points: Points) -> v1::Adjudication {
    v1::Adjudication {
        outcome: Some(outcome(found.outcome.as_ref(), points)),
        check: !found.checkers.is_empty(),
        checkers: found.checkers.iter().map(piece).collect(),
        repetitions: found.repetition_plies.len() as u32,
        repetition_plies: found.repetition_plies.clone(),
        halfmove_clock: found.halfmove_clock,
        available_claims: found
            .available_claims
            .iter()
            .map(|available| v1::AvailableClaim {
                claim: write_claim(available.claim).into(),
                intended_move: available
                    .intended
                    .map(|mv| mv.to_string())
                    .unwrap_or_default(),
            })
            .collect(),
        white_can_mate: can_mate(&found.white_can_mate).into(),
        black_can_mate: can_mate(&found.black_can_mate).into(),
    }
}

/// What binds the side to move.
pub(crate) fn bound_move(bound: Option<Bound>) -> Option<v1::BoundMove> {
    use v1::bound_move::Kind;
    let kind = match bound? {
        Bound::Move(mv) => Kind::Move(mv.to_string()),
        Bound::Piece(square) => Kind::Square(square.to_string()),
    };
    Some(v1::BoundMove { kind: Some(kind) })
}
