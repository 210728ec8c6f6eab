//! Illegal moves and other irregularities that count (7.5).

use referee_chess::{Color, IllegalReason, Move, MoveError, Position, Rank, Role, Square, UciMove};

use super::draft::Draft;
use super::loss::Loss;
use super::touch::squares_of;
use crate::action::MoveIntent;
use crate::articles::cite;
use crate::clock::Time;
use crate::game::Game;
use crate::history::History;
use crate::outcome::{Evidence, Termination};
use crate::profile::{IllegalCounts, IllegalPolicy, MateTest, OfferWindow, PromotionMissing};
use crate::ruling::{Reason, Ruling, Verdict};

/// An irregularity that is punished as an illegal move.
#[derive(Clone, Debug)]
pub(super) struct Offence {
    /// The article that makes it one.
    pub(super) article: &'static str,
    /// What happened, as the beginning of a sentence.
    pub(super) what: String,
    /// The pieces that it touched, which bind (7.5.1).
    pub(super) touched: Vec<Square>,
    /// Why the move is illegal, where it is that.
    pub(super) error: Option<MoveError>,
    /// Whether it counts under a profile that counts only kings that go into attack.
    pub(super) exposes_king: bool,
}

impl Offence {
    /// An illegal move was found later, and the position before it is reinstated (7.5.1).
    pub(super) fn found(before: &Position, error: Option<&MoveError>) -> Offence {
        let what = "made an illegal move, and the position before it is reinstated".into();
        match error {
            Some(error) => Offence {
                what,
                ..Offence::illegal(before, error)
            },
            None => Offence {
                article: "7.5.1",
                what,
                touched: Vec::new(),
                error: None,
                exposes_king: false,
            },
        }
    }

    /// The clock was pressed without a move (7.5.3).
    pub(super) fn press_without_move() -> Offence {
        Offence {
            article: "7.5.3",
            what: "pressed the clock without making a move".into(),
            touched: Vec::new(),
            error: None,
            exposes_king: false,
        }
    }

    /// A pawn was left on the last rank (7.5.2).
    pub(super) fn pawn_left() -> Offence {
        Offence {
            article: "7.5.2",
            what: "left a pawn on the last rank and pressed the clock, so it becomes a queen"
                .into(),
            touched: Vec::new(),
            error: None,
            exposes_king: false,
        }
    }

    /// Two hands were used for a legal move (7.5.4).
    pub(super) fn two_hands(game: &Game, mv: Move) -> Offence {
        Offence::two_hands_on(squares_of(game.position(), mv))
    }

    pub(super) fn two_hands_on(touched: Vec<Square>) -> Offence {
        Offence {
            article: "7.5.4",
            what: "used both hands for one move and pressed the clock".into(),
            touched,
            error: None,
            exposes_king: false,
        }
    }

    /// An illegal move was completed (7.5.1).
    fn illegal(position: &Position, error: &MoveError) -> Offence {
        let exposes_king = match error {
            MoveError::Illegal(illegal) => match illegal.reason {
                IllegalReason::KingIntoCheck
                | IllegalReason::CheckRemains
                | IllegalReason::KingExposed => true,
                // Not where the king only crosses an attacked square.
                IllegalReason::CastlingThroughCheck => illegal.squares.contains(illegal.to),
                _ => false,
            },
            _ => false,
        };
        Offence {
            article: "7.5.1",
            what: "completed an illegal move".into(),
            touched: touched_by(position, error),
            error: Some(error.clone()),
            exposes_king,
        }
    }
}

impl Game {
    /// Whether irregularities are recorded and punished, and not only refused.
    pub(super) fn counts_offences(&self) -> bool {
        self.profile().parameters.illegal_policy == IllegalPolicy::Restore
    }

    /// A text that is no legal move.
    pub(super) fn decide_illegal(
        &self,
        side: Color,
        intent: &MoveIntent,
        error: &MoveError,
        now: Time,
    ) -> Result<Draft, Ruling> {
        let refused = || self.refuse_illegal(error);
        let Some(named) = named_move(error) else {
            // What was done on the board is not known, so nobody can be punished for it.
            return Err(refused());
        };
        let is_missing = matches!(
            error,
            MoveError::Illegal(illegal) if illegal.reason == IllegalReason::PromotionMissing
        );
        if is_missing && intent.completed {
            let queen = UciMove {
                promotion: Some(Role::Queen),
                ..named
            };
            match self.profile().parameters.promotion_missing {
                PromotionMissing::Refuse => return Err(refused()),
                PromotionMissing::Queen => return self.promote(side, queen, intent, false, now),
                // Where nobody noticed the pawn, it stays (A.5.4).
                PromotionMissing::QueenWithPenalty if intent.undetected => {}
                PromotionMissing::QueenWithPenalty => {
                    return self.promote(side, queen, intent, true, now);
                }
            }
        }
        // No board has a way to name a piece of promotion away from the last rank.
        let is_empty_word = named.promotion.is_some() && named.to.rank() != Rank::relative(side, 7);
        let is_empty = self.position().board().piece_at(named.from).is_none();
        if !self.counts_offences() || is_empty || is_empty_word {
            return Err(refused());
        }
        // A pawn that is not replaced is no move yet as long as the clock was not pressed (4.7.3).
        let may_stand = intent.undetected && (intent.completed || !is_missing);
        if may_stand && let Some(draft) = self.let_stand(side, named, error, intent, now)? {
            return Ok(draft);
        }
        let mut draft = if intent.completed {
            self.punish(side, &Offence::illegal(self.position(), error), now)
        } else {
            self.note_illegal(error, now).ok_or_else(refused)?
        };
        self.offer_with_offence(&mut draft, side, intent);
        Ok(draft)
    }

    /// An offer that comes with a move which does not stand is improper, but stands (9.1.2.1).
    pub(super) fn offer_with_offence(&self, draft: &mut Draft, side: Color, intent: &MoveIntent) {
        let parameters = &self.profile().parameters;
        let is_offer = intent.offer_draw
            && draft.outcome.is_none()
            && !matches!(
                parameters.offer_window,
                OfferWindow::AfterOwnMove | OfferWindow::WithMove
            )
            && self
                .check_offer(&draft.conduct, side, self.history())
                .is_ok();
        if is_offer {
            self.lay_offer(&mut draft.conduct, side, self.history().ply());
            draft.ruling.improper = true;
            draft.add_remark("9.1.2.1", "The offer of a draw stands all the same.");
        }
    }

    /// The piece of promotion is missing: the pawn becomes a queen (7.5.2).
    fn promote(
        &self,
        side: Color,
        queen: UciMove,
        intent: &MoveIntent,
        is_punished: bool,
        now: Time,
    ) -> Result<Draft, Ruling> {
        let offence = Offence::pawn_left();
        if is_punished && self.is_last_offence(side, &offence) {
            let mut draft = self.draft(now);
            draft.run_clock(self.side_on_clock(), now);
            draft.conduct.breach = None;
            self.lose_by_promotion(&mut draft, self.history(), side, queen);
            draft.ruling.reason = Some(Reason::IllegalPromotionQueened);
            return Ok(draft);
        }
        let intent = MoveIntent {
            text: queen.to_string(),
            // Two irregularities in one move count once.
            two_hands: false,
            ..intent.clone()
        };
        let mut draft = self.decide_move(side, &intent, now)?;
        if !is_punished {
            draft.remark(&["3.7.3.3"], "The pawn becomes a queen.".into());
            return Ok(draft);
        }
        let mut next = self.history().clone();
        if let Some(mv) = self.position().find_uci(queen) {
            // It was played a moment ago, so there is room for it.
            let _ = next.play(mv);
        }
        self.add_offence(&mut draft, &next, side, &offence);
        draft.ruling.reason = Some(Reason::IllegalPromotionQueened);
        Ok(draft)
    }

    /// An illegal move that is not completed is corrected freely, but the pieces are touched
    /// (7.5.1, 4.3); `None` where that binds nobody.
    fn note_illegal(&self, error: &MoveError, now: Time) -> Option<Draft> {
        let touched = touched_by(self.position(), error);
        if !self.profile().parameters.touch_move || touched.is_empty() {
            return None;
        }
        let mut draft = self.draft(now);
        let Ruling {
            reason,
            citations,
            text,
            illegal_move,
            ..
        } = self.refuse_illegal(error);
        draft.ruling = Ruling {
            verdict: Verdict::Noted,
            reason,
            citations,
            illegal_move,
            text: format!(
                "{text} It was not completed, so it costs nothing, but the pieces touched bind."
            ),
            ..Ruling::accepted()
        };
        draft.ruling.citations.push(cite("4.3.1"));
        self.lay_hands_on(&mut draft, self.position().turn(), &touched);
        Some(draft)
    }

    /// A pawn left on the last rank is one offence too many: the queen comes on the board, but the
    /// move is illegal, so that a mate by it does not win, and whether the opponent can mate is
    /// asked of the position before (7.5.5).
    pub(super) fn lose_by_promotion(
        &self,
        draft: &mut Draft,
        before: &History,
        side: Color,
        queen: UciMove,
    ) {
        draft.played = Some(queen);
        self.add_offence(draft, before, side, &Offence::pawn_left());
        // A mating line would begin before the pawn moved, and not on the board.
        let is_of_board = |evidence: &Evidence| !matches!(evidence, Evidence::MatingLine { .. });
        draft.ruling.evidence.retain(is_of_board);
        if let Some(outcome) = &mut draft.outcome {
            outcome.evidence.retain(is_of_board);
        }
    }

    /// Whether an irregularity is one too many for a side (7.5.5).
    pub(super) fn is_last_offence(&self, side: Color, offence: &Offence) -> bool {
        let limit = self.profile().parameters.illegal_limit;
        let count = self.conduct().illegal_moves.of(side) + 1;
        self.counts(offence) && limit > 0 && count >= limit
    }

    /// Whether an irregularity counts towards the limit.
    fn counts(&self, offence: &Offence) -> bool {
        match self.profile().parameters.illegal_counts {
            IllegalCounts::Every => true,
            IllegalCounts::KingIntoAttack => offence.exposes_king,
        }
    }

    /// Punishes an irregularity by which nothing came on the board.
    pub(super) fn punish(&self, side: Color, offence: &Offence, now: Time) -> Draft {
        let mut draft = self.draft(now);
        draft.run_clock(self.side_on_clock(), now);
        self.add_offence(&mut draft, self.history(), side, offence);
        draft
    }

    /// Counts an irregularity, gives the opponent the time, and ends the game where it was one too
    /// many (7.5.5). `position` is what is on the board by the Laws after it.
    pub(super) fn add_offence(
        &self,
        draft: &mut Draft,
        history: &History,
        side: Color,
        offence: &Offence,
    ) {
        let parameters = &self.profile().parameters;
        let counts = self.counts(offence);
        let count = draft.conduct.illegal_moves.of(side) + u32::from(counts);
        draft.conduct.illegal_moves.set(side, count);
        let penalty_ms = u64::from(parameters.illegal_penalty_ms);
        let is_too_many =
            counts && parameters.illegal_limit > 0 && count >= parameters.illegal_limit;
        let mut text = format!("{side} {}.", offence.what);
        if let Some(error) = &offence.error {
            text = format!("{side} {}: {error}.", offence.what);
        }
        let mut articles = vec![offence.article];
        let is_over = draft.outcome.is_some();
        if penalty_ms > 0 && !is_too_many && !is_over {
            draft.clock(|clocks, now| clocks.penalize(side, 0, penalty_ms, now));
            text += &format!(" {} gets {} more.", !side, minutes(penalty_ms));
            articles.push("7.5.5");
        }
        draft.rule(
            Verdict::Penalized,
            Some(Reason::IllegalMove),
            &articles,
            text,
        );
        draft.ruling.illegal_move.clone_from(&offence.error);
        self.lay_hands_on(draft, side, &offence.touched);
        if !is_too_many || draft.outcome.is_some() {
            return;
        }
        let test = if parameters.illegal_loss_needs_mate_possible {
            MateTest::Full
        } else {
            MateTest::Off
        };
        let loss = Loss {
            loser: side,
            lost: Termination::IllegalMoves,
            drawn: Termination::IllegalMovesNoMate,
            article: "7.5.5",
            test,
        };
        let outcome = self.lose_unless_no_mate(history, &loss);
        draft.ruling.text = format!("{} {}", draft.ruling.text, outcome.text);
        draft
            .ruling
            .citations
            .extend(outcome.citations.iter().cloned());
        draft
            .ruling
            .evidence
            .extend(outcome.evidence.iter().cloned());
        draft.end(outcome);
    }

    /// The ruling on a text that is no legal move, where nothing more comes of it.
    pub(super) fn refuse_illegal(&self, error: &MoveError) -> Ruling {
        let (reason, article) = match error {
            MoveError::Illegal(illegal) if self.captures_king(error) => {
                let text = format!(
                    "The move is illegal: a king is never captured, and {} would take the one on \
                     {}.",
                    self.named_piece(illegal.from),
                    illegal.to
                );
                let ruling = Ruling::refused(Reason::IllegalMove, &["1.4.1"], text);
                return Ruling {
                    illegal_move: Some(error.clone()),
                    ..ruling
                };
            }
            MoveError::Illegal(illegal) => {
                let reason = match illegal.reason {
                    IllegalReason::PromotionMissing => Reason::PromotionMissing,
                    _ => Reason::IllegalMove,
                };
                (reason, Some(illegal.article()))
            }
            _ => (Reason::IllegalMove, None),
        };
        let text = format!("The move is illegal: {error}.");
        let ruling = Ruling::refused(reason, article.as_slice(), text);
        Ruling {
            illegal_move: Some(error.clone()),
            ..ruling
        }
    }

    /// The piece on a square in words, such as "the queen on d1".
    fn named_piece(&self, square: Option<Square>) -> String {
        let role = square.and_then(|square| self.position().board().role_at(square));
        match (role, square) {
            (Some(role), Some(square)) => format!("the {role} on {square}"),
            _ => "the piece".into(),
        }
    }

    /// Whether nothing but the king on the square of arrival stands against a move.
    fn captures_king(&self, error: &MoveError) -> bool {
        let kings = self.position().board().role(Role::King);
        named_move(error).is_some_and(|named| {
            kings.contains(named.to)
                && named.from != named.to
                && self.position().explain(named).is_none()
        })
    }
}

/// A time in words.
pub(super) fn minutes(ms: u64) -> String {
    match (ms / 60_000, ms % 60_000) {
        (1, 0) => "one minute".into(),
        (2, 0) => "two minutes".into(),
        (minutes, 0) => format!("{minutes} minutes"),
        _ => format!("{} seconds", ms as f64 / 1000.0),
    }
}

/// The squares that a text in UCI notation names, as far as it names any.
fn named_move(error: &MoveError) -> Option<UciMove> {
    match error {
        MoveError::Illegal(illegal) => Some(UciMove {
            from: illegal.from?,
            to: illegal.to,
            promotion: illegal.promotion(),
        }),
        _ => None,
    }
}

/// The pieces that an illegal move touched: the one that was moved, and where it went to an enemy
/// piece that can be captured, that too; for castling the rook as well.
fn touched_by(position: &Position, error: &MoveError) -> Vec<Square> {
    let Some(named) = named_move(error) else {
        return Vec::new();
    };
    let board = position.board();
    let us = position.turn();
    if board.piece_at(named.from).is_none() {
        return Vec::new();
    }
    let mut squares = vec![named.from];
    squares.extend(castling_rook(position, named));
    let target = board.piece_at(named.to);
    if target.is_some_and(|piece| piece.color != us && piece.role != Role::King) {
        squares.push(named.to);
    }
    squares
}

/// The rook of a move that was meant as castling: the king goes two squares towards it, or, in
/// Chess960, takes it.
fn castling_rook(position: &Position, named: UciMove) -> Option<Square> {
    let board = position.board();
    let us = position.turn();
    if !board.pieces(us, Role::King).contains(named.from) {
        return None;
    }
    let rooks = board.pieces(us, Role::Rook);
    if rooks.contains(named.to) {
        return Some(named.to);
    }
    let files = |square: Square| i16::from(square.file().index());
    let step = files(named.to) - files(named.from);
    if step.abs() != 2 || named.to.rank() != named.from.rank() {
        return None;
    }
    rooks
        .into_iter()
        .filter(|rook| rook.rank() == named.from.rank())
        .filter(|&rook| (files(rook) - files(named.from)).signum() == step.signum())
        .max_by_key(|&rook| (files(rook) - files(named.from)).abs())
}
