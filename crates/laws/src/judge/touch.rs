//! The hands of the players: touches, releases, adjusting, and what they bind to (4).

use referee_chess::{Color, Move, MoveKind, Position, Role, Square};

use super::draft::Draft;
use crate::action::TouchIntent;
use crate::clock::Time;
use crate::game::Game;
use crate::profile::{OfferDeclinedBy, RookFirstCastling};
use crate::ruling::{Reason, Ruling};
use crate::standing::Touched;

/// What the side to move is bound to by its hands.
#[derive(Clone, Debug, Default)]
pub(super) struct Obligation {
    /// The moves that are left, with the article and the duty in words; `None` where the player is
    /// free.
    duty: Option<(Vec<Move>, &'static str, String)>,
}

impl Obligation {
    fn to(moves: Vec<Move>, article: &'static str, duty: String) -> Obligation {
        Obligation {
            duty: Some((moves, article, duty)),
        }
    }

    /// Returns why a legal move breaks the obligation.
    pub(super) fn forbids(&self, mv: Move) -> Option<(Reason, &'static str, String)> {
        let (moves, article, duty) = self.duty.as_ref()?;
        (!moves.contains(&mv)).then(|| {
            let text = format!("The touched pieces bind the player: {duty}.");
            (Reason::TouchMove, *article, text)
        })
    }
}

/// The pieces that a legal move touches: the own ones first, then a captured one.
pub(super) fn squares_of(position: &Position, mv: Move) -> Vec<Square> {
    let mut squares = vec![mv.from()];
    match mv.kind() {
        MoveKind::Castle => squares.push(mv.to()),
        MoveKind::EnPassant => squares.push(captured_square(mv)),
        _ if position.board().occupied().contains(mv.to()) => squares.push(mv.to()),
        _ => {}
    }
    squares
}

/// Where the captured piece of a move stands: for en passant beside the square of arrival.
fn captured_square(mv: Move) -> Square {
    match mv.kind() {
        MoveKind::EnPassant => Square::at(mv.to().file(), mv.from().rank()),
        _ => mv.to(),
    }
}

/// A touch, as the obligation sees it: a square with one of the own or of the enemy pieces.
#[derive(Clone, Copy)]
struct Touch {
    square: Square,
    is_own: bool,
}

struct Hands<'a> {
    position: &'a Position,
    moves: Vec<Move>,
    rook_first: RookFirstCastling,
}

impl Hands<'_> {
    fn those(&self, keep: impl Fn(&Move) -> bool) -> Vec<Move> {
        self.moves.iter().copied().filter(keep).collect()
    }

    fn of_piece(&self, from: Square) -> Vec<Move> {
        self.those(|mv| mv.from() == from)
    }

    fn captures_of(&self, square: Square) -> Vec<Move> {
        self.those(|mv| mv.kind() != MoveKind::Castle && captured_square(*mv) == square)
    }

    fn role(&self, square: Square) -> Option<Role> {
        self.position.board().role_at(square)
    }

    fn castling_with(&self, rook: Square) -> Vec<Move> {
        self.those(|mv| mv.kind() == MoveKind::Castle && mv.to() == rook)
    }

    /// King and rook touched, or rook and king (4.4.1 to 4.4.3).
    fn castling(&self, first: Touch, second: Touch) -> Option<Obligation> {
        if !first.is_own || !second.is_own {
            return None;
        }
        match (self.role(first.square)?, self.role(second.square)?) {
            (Role::King, Role::Rook) => Some(self.king_then_rook(first.square, second.square)),
            (Role::Rook, Role::King) => self.rook_then_king(first.square, second.square),
            _ => None,
        }
    }

    fn king_then_rook(&self, king: Square, rook: Square) -> Obligation {
        let castling = self.castling_with(rook);
        if !castling.is_empty() {
            let duty = format!("king and rook were touched, so the king castles with {rook}");
            return Obligation::to(castling, "4.4.1", duty);
        }
        let other = self.of_piece(king);
        if other.is_empty() {
            return Obligation::default();
        }
        let duty = "castling there is illegal, so the king makes another move".to_owned();
        Obligation::to(other, "4.4.3", duty)
    }

    fn rook_then_king(&self, rook: Square, king: Square) -> Option<Obligation> {
        let mut moves = self.of_piece(rook);
        match self.rook_first {
            RookFirstCastling::Allowed => {
                moves.extend(self.castling_with(rook));
                if moves.is_empty() {
                    return None;
                }
                let duty = format!("the rook on {rook} moves or castles");
                Some(Obligation::to(moves, "4.3.1", duty))
            }
            RookFirstCastling::Forbidden | RookFirstCastling::RookMoveOnly => {
                if !moves.is_empty() {
                    let duty = format!("the rook on {rook} was touched first and must move");
                    return Some(Obligation::to(moves, "4.4.2", duty));
                }
                let king_moves: Vec<Move> = self.those(|mv| {
                    mv.from() == king && !(mv.kind() == MoveKind::Castle && mv.to() == rook)
                });
                if king_moves.is_empty() {
                    return Some(Obligation::default());
                }
                let duty = format!("the king on {king} must move, and not castle with {rook}");
                Some(Obligation::to(king_moves, "4.4.2", duty))
            }
        }
    }

    /// The touched pieces one after the other (4.3, 4.5).
    fn touched(&self, touches: &[Touch]) -> Obligation {
        if let [first, second, ..] = touches
            && let Some(obligation) = self.castling(*first, *second)
        {
            return obligation;
        }
        let own = touches.iter().find(|touch| touch.is_own);
        let enemy = touches.iter().find(|touch| !touch.is_own);
        if let (Some(own), Some(enemy)) = (own, enemy) {
            let both: Vec<Move> = self
                .captures_of(enemy.square)
                .into_iter()
                .filter(|mv| mv.from() == own.square)
                .collect();
            if !both.is_empty() {
                let duty = format!("{} captures {}", own.square, enemy.square);
                return Obligation::to(both, "4.3.3", duty);
            }
        }
        let article = match (own, enemy) {
            (Some(_), Some(_)) => "4.3.3",
            (_, None) => "4.3.1",
            (None, _) => "4.3.2",
        };
        for touch in touches {
            let (moves, duty) = if touch.is_own {
                let duty = format!("the piece on {} must move", touch.square);
                (self.of_piece(touch.square), duty)
            } else {
                let duty = format!("the piece on {} must be captured", touch.square);
                (self.captures_of(touch.square), duty)
            };
            if !moves.is_empty() {
                return Obligation::to(moves, article, duty);
            }
        }
        Obligation::default()
    }

    /// A piece was released (4.7): where that was legal, the move is made.
    fn released(&self, from: Square, to: Square) -> Obligation {
        let files = |square: Square| i16::from(square.file().index());
        let is_king = self.role(from) == Some(Role::King);
        let step = files(to) - files(from);
        if is_king && step.abs() == 2 && from.rank() == to.rank() {
            let is_kingside = step > 0;
            let castling = self.those(|mv| {
                mv.kind() == MoveKind::Castle && (files(mv.to()) > files(mv.from())) == is_kingside
            });
            let (moves, duty) = if castling.is_empty() {
                let other = self.of_piece(from);
                (
                    other,
                    "castling there is illegal, so the king makes another move",
                )
            } else {
                (
                    castling,
                    "the king was released two squares away, so it castles there",
                )
            };
            return if moves.is_empty() {
                Obligation::default()
            } else {
                Obligation::to(moves, "4.7.2", duty.into())
            };
        }
        let exact =
            self.those(|mv| mv.from() == from && mv.to() == to && mv.kind() != MoveKind::Castle);
        if exact.is_empty() {
            return Obligation::default();
        }
        let duty = format!("the piece from {from} was released on {to} and stays there");
        Obligation::to(exact, "4.7", duty)
    }
}

impl Game {
    /// Returns what the side to move is bound to.
    pub(super) fn obligation(&self) -> Obligation {
        self.obligation_of(&self.standing().touched)
    }

    pub(super) fn obligation_of(&self, touched: &Touched) -> Obligation {
        let standing = self.standing();
        if touched.is_empty() && standing.released.is_none() && standing.promotion.is_none() {
            return Obligation::default();
        }
        let position = self.position();
        let hands = Hands {
            position,
            moves: position.legal_moves().into_iter().collect(),
            rook_first: self.profile().parameters.rook_first_castling,
        };
        if let Some((from, to)) = standing.released {
            let released = hands.released(from, to);
            if released.duty.is_some() {
                return released;
            }
        }
        if let Some((square, role)) = standing.promotion {
            let moves = hands.those(|mv| mv.to() == square && mv.promotion() == Some(role));
            if !moves.is_empty() {
                let duty = format!("the {role} has touched {square}, so the pawn becomes that");
                return Obligation::to(moves, "4.4.4", duty);
            }
        }
        if !self.profile().parameters.touch_move {
            return Obligation::default();
        }
        let us = position.turn();
        let mut touches: Vec<Touch> = touched
            .squares
            .iter()
            .filter_map(|&square| {
                let color = position.board().color_at(square)?;
                let is_own = color == us;
                Some(Touch { square, is_own })
            })
            .collect();
        if touched.order_unknown {
            // Then the own piece counts as touched before the opponent's (4.3.3).
            touches.sort_by_key(|touch| !touch.is_own);
        }
        hands.touched(&touches)
    }

    pub(super) fn decide_touch(
        &self,
        side: Color,
        squares: &[Square],
        order_unknown: bool,
        intent: TouchIntent,
        now: Time,
    ) -> Result<Draft, Ruling> {
        let board = self.position().board();
        if let Some(empty) = squares
            .iter()
            .find(|&&square| board.piece_at(square).is_none())
        {
            let text = format!("No piece stands on {empty}, so none can be touched there.");
            return Err(Ruling::refused(Reason::NotAllowed, &["4.3"], text));
        }
        let mut draft = self.draft(now);
        if intent != TouchIntent::Play {
            return Ok(draft);
        }
        if side != self.position().turn() {
            let text = format!("{side} does not have the move, so the touch binds to nothing.");
            draft.remark(&["4.3", "11.5"], text);
            return Ok(draft);
        }
        let parameters = &self.profile().parameters;
        let standing = &mut draft.standing;
        // The right to claim a breach of the opponent ends with a touch (4.8).
        standing.breach = None;
        let is_declined = standing.draw_offer == Some(!side)
            && parameters.offer_declined_by == OfferDeclinedBy::ReplyOrTouch;
        if is_declined {
            self.refuse_offer_of(standing, !side);
        }
        if parameters.touch_move || parameters.claim_lost_after_touch {
            for &square in squares {
                standing.touched.add(square);
            }
            standing.touched.order_unknown |= order_unknown;
        }
        Ok(draft)
    }

    pub(super) fn decide_adjust(&self, side: Color, now: Time) -> Result<Draft, Ruling> {
        if side != self.position().turn() {
            let text = "Only the player who has the move may adjust pieces.".into();
            return Err(Ruling::refused(Reason::NotYourTurn, &["4.2.1"], text));
        }
        Ok(self.draft(now))
    }

    pub(super) fn decide_release(
        &self,
        side: Color,
        from: Square,
        to: Square,
        now: Time,
    ) -> Result<Draft, Ruling> {
        self.check_turn(side)?;
        self.check_own(side, from)?;
        let mut draft = self.draft(now);
        draft.standing.breach = None;
        let parameters = &self.profile().parameters;
        if parameters.release_final && draft.standing.released.is_none() {
            draft.standing.released = Some((from, to));
        }
        if parameters.touch_move || parameters.claim_lost_after_touch {
            draft.standing.touched.add(from);
        }
        Ok(draft)
    }

    pub(super) fn decide_promotion(
        &self,
        side: Color,
        square: Square,
        role: Role,
        now: Time,
    ) -> Result<Draft, Ruling> {
        self.check_turn(side)?;
        let moves = self.position().legal_moves();
        let is_possible = moves
            .into_iter()
            .any(|mv| mv.to() == square && mv.promotion() == Some(role));
        if !is_possible {
            let text = format!("No pawn can become a {role} on {square}.");
            return Err(Ruling::refused(Reason::NotAllowed, &["3.7.3.3"], text));
        }
        let mut draft = self.draft(now);
        if self.profile().parameters.release_final && draft.standing.promotion.is_none() {
            draft.standing.promotion = Some((square, role));
        }
        Ok(draft)
    }

    fn check_own(&self, side: Color, square: Square) -> Result<(), Ruling> {
        if self.position().board().color_at(square) == Some(side) {
            return Ok(());
        }
        let text = format!("No piece of {side} stands on {square}.");
        Err(Ruling::refused(Reason::NotAllowed, &["4.7"], text))
    }

    pub(super) fn decide_displacing(&self, side: Color, now: Time) -> Draft {
        let mut draft = self.draft(now);
        draft.standing.displaced_by = Some(side);
        let text = format!("{side} restores the pieces in the own time.");
        draft.remark(&["7.4"], text);
        draft
    }

    pub(super) fn decide_restoring(&self, side: Color, now: Time) -> Result<Draft, Ruling> {
        if self.standing().displaced_by != Some(side) {
            let text = format!("{side} has displaced nothing.");
            return Err(Ruling::refused(Reason::NotAllowed, &["7.4"], text));
        }
        let mut draft = self.draft(now);
        draft.standing.displaced_by = None;
        Ok(draft)
    }
}
