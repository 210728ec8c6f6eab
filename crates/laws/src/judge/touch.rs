//! The hands of the players: touches, releases, adjusting, and what they bind to (4).

use referee_chess::{Color, File, Move, MoveKind, Position, Role, Square};

use super::draft::Draft;
use crate::action::TouchIntent;
use crate::adjudicate::end_on_board;
use crate::clock::Time;
use crate::conduct::{Bound, Touched};
use crate::game::Game;
use crate::profile::{OfferDeclinedBy, RookFirstCastling, TouchEnforcement};
use crate::ruling::{Reason, Ruling};

/// What the side to move is bound to by its hands: duties, each of which narrows down the moves
/// that the one before it left. The player is free where there is none.
#[derive(Clone, Debug, Default)]
pub(super) struct Obligation {
    duties: Vec<Duty>,
}

#[derive(Clone, Debug)]
struct Duty {
    moves: Vec<Move>,
    article: &'static str,
    words: String,
}

impl Obligation {
    fn to(moves: Vec<Move>, article: &'static str, words: String) -> Obligation {
        Obligation {
            duties: vec![Duty {
                moves,
                article,
                words,
            }],
        }
    }

    /// Adds the duties of another obligation, as far as these leave a move for them.
    fn and(mut self, other: Obligation) -> Obligation {
        for mut duty in other.duties {
            if let Some(last) = self.duties.last() {
                duty.moves.retain(|mv| last.moves.contains(mv));
            }
            if !duty.moves.is_empty() {
                self.duties.push(duty);
            }
        }
        self
    }

    /// Returns why a legal move breaks the obligation.
    pub(super) fn forbids(&self, mv: Move) -> Option<(Reason, &'static str, String)> {
        let duty = self.duties.iter().find(|duty| !duty.moves.contains(&mv))?;
        let text = format!("The touched pieces bind the player: {}.", duty.words);
        Some((Reason::TouchMove, duty.article, text))
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
                let castles = |mv: &Move| mv.kind() == MoveKind::Castle && mv.to() == rook;
                let king_moves = self.those(|mv| mv.from() == king && !castles(mv));
                if king_moves.is_empty() {
                    let duty = format!("the rook on {rook} was touched first and cannot castle");
                    return Some(Obligation::to(self.those(|mv| !castles(mv)), "4.4.2", duty));
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
        let castling = self.castling_to(from, to);
        if !castling.is_empty() || self.is_like_castling(from, to) {
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
        let exact = self.landing(from, to);
        if exact.is_empty() {
            return Obligation::default();
        }
        let duty = format!("the piece from {from} was released on {to} and stays there");
        Obligation::to(exact, "4.7", duty)
    }

    /// The moves that are made by releasing a piece on a square, or by castling with the rook on
    /// that square, once both have been released. A king alone on its castling square has made no
    /// move (4.7.2).
    fn made(&self, from: Square, to: Square) -> Vec<Move> {
        let castling = self.castling_with(to);
        if castling.iter().any(|mv| mv.from() == from) {
            return castling;
        }
        self.landing(from, to)
    }

    /// The castling that a rook completes which is released after the king.
    fn completed_castling(&self, king: (Square, Square), rook: (Square, Square)) -> Option<Move> {
        let mut castling = self.castling_to(king.0, king.1).into_iter();
        castling.find(|mv| {
            let is_kingside = mv.to().file() > mv.from().file();
            let arrival = if is_kingside { File::F } else { File::D };
            mv.to() == rook.0 && Square::at(arrival, rook.0.rank()) == rook.1
        })
    }

    /// The moves of a piece to a square, castling not among them.
    fn landing(&self, from: Square, to: Square) -> Vec<Move> {
        self.those(|mv| mv.from() == from && mv.to() == to && mv.kind() != MoveKind::Castle)
    }

    /// The castling by which a king that makes no other move there reaches a square, or that it
    /// has completed with the rook on that square.
    fn castling_to(&self, king: Square, to: Square) -> Vec<Move> {
        let made = self.made(king, to);
        if !made.is_empty() {
            return made
                .into_iter()
                .filter(|mv| mv.kind() == MoveKind::Castle)
                .collect();
        }
        self.those(|mv| {
            let is_kingside = mv.to().file() > mv.from().file();
            let arrival = if is_kingside { File::G } else { File::C };
            mv.kind() == MoveKind::Castle
                && mv.from() == king
                && Square::at(arrival, king.rank()) == to
        })
    }

    /// Whether a king goes two squares along its rank, as for castling (3.8.2).
    fn is_like_castling(&self, from: Square, to: Square) -> bool {
        let step = from.file().index().abs_diff(to.file().index());
        self.role(from) == Some(Role::King) && step == 2 && from.rank() == to.rank()
    }
}

impl Game {
    /// Returns what the side to move is bound to.
    pub(super) fn obligation(&self) -> Obligation {
        let conduct = self.conduct();
        if conduct.touched.is_empty() && conduct.released.is_none() && conduct.promotion.is_none() {
            return Obligation::default();
        }
        let hands = self.hands();
        let mut obligation = self.bound_as_obligation(&hands);
        let parameters = &self.profile().parameters;
        let touched = if parameters.touch_move {
            hands.touched(&self.touches(&conduct.touched))
        } else {
            Obligation::default()
        };
        if parameters.touch_enforcement == TouchEnforcement::OnClaim {
            // Nothing kept the hand from releasing another piece, so the touch comes first.
            obligation = obligation.and(touched.clone());
        }
        if let Some((from, to)) = conduct.released {
            obligation = obligation.and(hands.released(from, to));
        }
        if let Some((square, role)) = conduct.promotion {
            let moves = hands.those(|mv| mv.to() == square && mv.promotion() == Some(role));
            let duty = format!("the {role} has touched {square}, so the pawn becomes that");
            obligation = obligation.and(Obligation::to(moves, "4.4.4", duty));
        }
        obligation.and(touched)
    }

    fn hands(&self) -> Hands<'_> {
        let position = self.position();
        Hands {
            position,
            moves: position.legal_moves().into_iter().collect(),
            rook_first: self.profile().parameters.rook_first_castling,
        }
    }

    /// Returns the legal moves that releasing a piece on a square makes: more than one where the
    /// piece of promotion is open. `None` where a king was released that could only castle there,
    /// and the rook was not: no move is made yet (4.7.2).
    pub(super) fn made_by_release(&self, from: Square, to: Square) -> Option<Vec<Move>> {
        let hands = self.hands();
        let made = hands.made(from, to);
        let awaits_rook = made.is_empty() && !hands.castling_to(from, to).is_empty();
        (!awaits_rook).then_some(made)
    }

    /// A move that was announced with a claim goes before everything that is touched after it
    /// (9.5.3).
    fn bound_as_obligation(&self, hands: &Hands<'_>) -> Obligation {
        let moves = match self.conduct().bound {
            Some(Bound::Move(bound)) => hands.those(|&mv| self.position().uci(mv) == bound),
            Some(Bound::Piece(square)) => hands.of_piece(square),
            None => return Obligation::default(),
        };
        let duty = "the move that was announced with the claim must be played".to_owned();
        Obligation::default().and(Obligation::to(moves, "9.5.3", duty))
    }

    /// The touches in the order in which they bind.
    fn touches(&self, touched: &Touched) -> Vec<Touch> {
        let board = self.position().board();
        let us = self.position().turn();
        let mut touches: Vec<Touch> = touched
            .squares
            .iter()
            .filter_map(|&square| {
                let color = board.color_at(square)?;
                let is_own = color == us;
                Some(Touch { square, is_own })
            })
            .collect();
        if touched.order_unknown {
            // Then the own piece counts as touched before the opponent's (4.3.3), and the king
            // before the rook: it is not known that the rook was first (4.4.1, 4.4.2).
            let is_king = |touch: &Touch| board.role_at(touch.square) == Some(Role::King);
            touches.sort_by_key(|touch| (!touch.is_own, !is_king(touch)));
        }
        touches
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
        let is_adjusting = intent == TouchIntent::Adjust && self.conduct().adjusting;
        if is_adjusting || intent == TouchIntent::Accidental {
            return Ok(draft);
        }
        if side != self.position().turn() {
            let text = format!("{side} does not have the move, so the touch binds to nothing.");
            draft.remark(&["4.3", "11.5"], text);
            return Ok(draft);
        }
        self.lay_hands_on(&mut draft, side, squares);
        draft.conduct.touched.order_unknown |= order_unknown;
        if intent == TouchIntent::Adjust && draft.outcome.is_none() {
            let text = "It was not announced that pieces would be adjusted, so the touch binds.";
            draft.remark(&["4.2.1", "4.2.2"], text.into());
        }
        Ok(draft)
    }

    /// What it brings about that the player who has the move touches pieces with the intention of
    /// moving or capturing them: an offer is declined (9.1.2.1), the right to claim a breach of the
    /// opponent ends (4.8), and the pieces bind (4.3).
    pub(super) fn lay_hands_on(&self, draft: &mut Draft, side: Color, squares: &[Square]) {
        if squares.is_empty() {
            return;
        }
        let parameters = &self.profile().parameters;
        let is_declined = draft.conduct.draw_offer == Some(!side)
            && parameters.offer_declined_by == OfferDeclinedBy::ReplyOrTouch;
        if is_declined {
            self.refuse_offer_of(&mut draft.conduct, !side);
        }
        if parameters.touch_move || parameters.claim_lost_after_touch {
            for &square in squares {
                draft.conduct.touched.add(square);
            }
        }
        if draft.conduct.breach.is_some() {
            self.end_after_breach(draft);
        }
    }

    /// A mate or a draw that came with a breach of touch-move stands once the breach can no
    /// longer be claimed (4.8, 5.1.1).
    fn end_after_breach(&self, draft: &mut Draft) {
        let captures = self.conduct().capture_count;
        if draft.outcome.is_none()
            && let Some(outcome) = end_on_board(self.history(), captures, self.profile())
        {
            draft.end_saying(outcome);
        }
    }

    pub(super) fn decide_adjust(&self, side: Color, now: Time) -> Result<Draft, Ruling> {
        if side != self.position().turn() {
            let text = "Only the player who has the move may adjust pieces.".into();
            return Err(Ruling::refused(Reason::NotYourTurn, &["4.2.1"], text));
        }
        let mut draft = self.draft(now);
        draft.conduct.adjusting = true;
        Ok(draft)
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
        let hands = self.hands();
        let released = self.conduct().released;
        if let Some(king) = released
            && let Some(castling) = hands.completed_castling(king, (from, to))
        {
            let mut draft = self.draft(now);
            self.lay_hands_on(&mut draft, side, &[from]);
            if draft.outcome.is_none() {
                draft.conduct.released = Some((castling.from(), castling.to()));
            }
            return Ok(draft);
        }
        let moves_of = |from, to| {
            let mut moves = hands.made(from, to);
            moves.extend(hands.castling_to(from, to));
            moves
        };
        self.check_hands(&moves_of(from, to))?;
        let mut draft = self.draft(now);
        self.lay_hands_on(&mut draft, side, &[from]);
        // A piece that was put where it cannot go is taken up again, so that it does not stay.
        let stays = released.is_some_and(|(from, to)| !moves_of(from, to).is_empty());
        if self.profile().parameters.release_final && !stays && draft.outcome.is_none() {
            draft.conduct.released = Some((from, to));
        }
        Ok(draft)
    }

    /// Refuses what a hand does with legal moves that the pieces touched before all forbid; where
    /// a breach has to be claimed it passes (4.8).
    fn check_hands(&self, moves: &[Move]) -> Result<(), Ruling> {
        if self.profile().parameters.touch_enforcement == TouchEnforcement::OnClaim {
            return Ok(());
        }
        let obligation = self.obligation();
        let mut reasons = moves.iter().map(|&mv| obligation.forbids(mv));
        match reasons.next() {
            Some(Some((reason, article, text))) if reasons.all(|reason| reason.is_some()) => {
                Err(Ruling::refused(reason, &[article], text))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn decide_promotion(
        &self,
        side: Color,
        square: Square,
        role: Role,
        now: Time,
    ) -> Result<Draft, Ruling> {
        self.check_turn(side)?;
        let hands = self.hands();
        let moves = hands.those(|mv| mv.to() == square && mv.promotion() == Some(role));
        if moves.is_empty() {
            let text = format!("No pawn can become a {role} on {square}.");
            return Err(Ruling::refused(Reason::NotAllowed, &["3.7.3.3"], text));
        }
        self.check_hands(&moves)?;
        let mut draft = self.draft(now);
        let mut pawns: Vec<Square> = moves.iter().map(|mv| mv.from()).collect();
        pawns.dedup();
        // Of several pawns that could be meant none is known to be touched.
        let touched = if pawns.len() == 1 { &pawns[..] } else { &[] };
        self.lay_hands_on(&mut draft, side, touched);
        if self.profile().parameters.release_final
            && draft.conduct.promotion.is_none()
            && draft.outcome.is_none()
        {
            draft.conduct.promotion = Some((square, role));
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
        draft.conduct.displaced_by = Some(side);
        let text = format!("{side} restores the pieces in the own time.");
        draft.remark(&["7.4"], text);
        draft
    }

    pub(super) fn decide_restoring(&self, side: Color, now: Time) -> Result<Draft, Ruling> {
        if self.conduct().displaced_by != Some(side) {
            let text = format!("{side} has displaced nothing.");
            return Err(Ruling::refused(Reason::NotAllowed, &["7.4"], text));
        }
        let mut draft = self.draft(now);
        draft.conduct.displaced_by = None;
        Ok(draft)
    }
}
