//! Claims: of draws (9.2, 9.3), of breaches (4.8, 7.5), and those that wait for the arbiter
//! (guideline III).

use referee_chess::{Color, MoveError, UciMove};

use super::draft::Draft;
use super::illegal::minutes;
use crate::action::{ClaimIntent, ClaimKind};
use crate::articles::cite;
use crate::claim::{Counted, examine_claim};
use crate::clock::{Bonus, Keeper, Time};
use crate::conduct::{Bound, PendingClaim};
use crate::game::Game;
use crate::mate::CanMate;
use crate::outcome::{Evidence, GameResult, Outcome, Termination};
use crate::profile::{DisconnectRule, DrawRule, MateTest};
use crate::ruling::{Reason, Ruling, Verdict};

/// Less time than this must be left for a claim of guideline III, in milliseconds.
const QUICKPLAY_MS: u64 = 120_000;

impl Game {
    pub(super) fn decide_claim(
        &self,
        side: Color,
        intent: &ClaimIntent,
        now: Time,
    ) -> Result<Draft, Ruling> {
        match intent.claim {
            ClaimKind::Threefold => self.decide_counted(side, Counted::Threefold, intent, now),
            ClaimKind::Fifty => self.decide_counted(side, Counted::Fifty, intent, now),
            ClaimKind::PerpetualCheck => {
                if self.profile().parameters.perpetual_check_draw {
                    let text = "Under the rules of this game perpetual check needs no claim.";
                    return Err(not_allowed("profile", text));
                }
                let text = "The rules of this game do not know perpetual check; it can only lead \
                            to a claim of a third occurrence."
                    .into();
                Err(Ruling::refused(Reason::UnknownClaim, &["9.2"], text))
            }
            ClaimKind::OpponentInsufficient => self.decide_insufficient(side, now),
            ClaimKind::IllegalMove => self.decide_illegal_claim(Some(side), intent.ply, now),
            ClaimKind::TouchMove => self.decide_touch_claim(side, now),
            ClaimKind::QuickplayIncrement | ClaimKind::QuickplayDraw => {
                self.decide_quickplay(side, intent.claim, now)
            }
            ClaimKind::OpponentGone => self.decide_gone(side, intent.gone_ms, now),
        }
    }

    fn decide_counted(
        &self,
        side: Color,
        counted: Counted,
        intent: &ClaimIntent,
        now: Time,
    ) -> Result<Draft, Ruling> {
        let parameters = &self.profile().parameters;
        let article = match counted {
            Counted::Threefold => "9.2",
            Counted::Fifty => "9.3",
        };
        let has_move = side == self.position().turn();
        match counted.rule(self.profile()) {
            DrawRule::Automatic => {
                let text = "Under the rules of this game the draw needs no claim.";
                return Err(not_allowed(article, text));
            }
            DrawRule::Off => {
                return Err(not_allowed(
                    article,
                    "The rules of this game do not know this draw.",
                ));
            }
            DrawRule::Claim if !has_move => return Err(not_on_move(article)),
            DrawRule::Claim | DrawRule::ClaimByEither => {}
        }
        if has_move && parameters.claim_lost_after_touch && self.has_touched() {
            let text = "The player has touched a piece and cannot claim on this move.".into();
            return Err(Ruling::refused(Reason::ClaimAfterTouch, &["9.4"], text));
        }
        let intended = match intent.intended.as_deref() {
            None => None,
            Some(_) if !parameters.claim_with_intended_move || !has_move => {
                let text = "Under the rules of this game a claim is made of the position on the \
                            board.";
                return Err(not_allowed(article, text));
            }
            Some(text) => match self.history().read(text) {
                Ok(mv) => {
                    self.check_bound(mv)?;
                    Some(mv)
                }
                Err(error @ MoveError::Illegal(_)) => {
                    return Ok(self.punish_claim(side, Err(error), now));
                }
                Err(error) => return Err(self.refuse_illegal(&error)),
            },
        };
        let captures = self.conduct().capture_count;
        let finding = examine_claim(self.history(), captures, self.profile(), counted, intended);
        if !finding.holds {
            let announced = intended.map(|mv| self.position().uci(mv));
            let mut draft = self.punish_claim(side, Ok(announced), now);
            draft.show(finding.evidence);
            return Ok(draft);
        }
        let termination = match counted {
            Counted::Threefold => Termination::ThreefoldClaim,
            Counted::Fifty => Termination::FiftyClaim,
        };
        let mut outcome = Outcome::draw(termination, finding.article).with(finding.evidence);
        if counted == Counted::Threefold {
            outcome = outcome.citing("9.2.3");
        }
        let mut draft = self.draft(now);
        draft.end_saying(outcome);
        Ok(draft)
    }

    pub(super) fn has_touched(&self) -> bool {
        let conduct = self.conduct();
        !conduct.touched.is_empty() || conduct.released.is_some() || conduct.promotion.is_some()
    }

    /// A claim that is not correct is kept in the record: the opponent gets time (9.5.3), it is an
    /// offer of a draw (9.1.2.3), and an announced move binds (9.5.3).
    fn punish_claim(
        &self,
        side: Color,
        announced: Result<Option<UciMove>, MoveError>,
        now: Time,
    ) -> Draft {
        let (bound, illegal_move) = match announced {
            Ok(announced) => (announced.map(Bound::Move), None),
            Err(error) => (self.bound_by_illegal(&error), Some(error)),
        };
        let mut text = "The claim is not correct.".to_owned();
        text += &match (&illegal_move, &bound) {
            (Some(error), _) => format!(" The announced move is illegal: {error}."),
            (None, Some(_)) => " The announced move does not bring about what is claimed.".into(),
            (None, None) => " What is claimed is not so on the board.".into(),
        };
        let mut draft = self.draft(now);
        let parameters = &self.profile().parameters;
        let penalty_ms = u64::from(parameters.wrong_claim_penalty_ms);
        if penalty_ms > 0 {
            draft.clock(|clocks, now| clocks.penalize(side, 0, penalty_ms, now));
            text += &format!(
                " {} gets {} more, and the game goes on.",
                !side,
                minutes(penalty_ms)
            );
        } else {
            text += " The game goes on.";
        }
        draft.rule(
            Verdict::Penalized,
            Some(Reason::ClaimIncorrect),
            &["9.5.3"],
            text,
        );
        draft.ruling.illegal_move = illegal_move;
        if parameters.claim_is_offer {
            draft.ruling.citations.push(cite("9.1.2.3"));
            let offer = self.conduct().draw_offer.unwrap_or(side);
            self.lay_offer(&mut draft.conduct, offer, self.history().ply());
        }
        draft.conduct.bound = bound.or(self.conduct().bound);
        draft
    }

    /// The piece whose announced move was illegal, where it has a legal move.
    fn bound_by_illegal(&self, error: &MoveError) -> Option<Bound> {
        let MoveError::Illegal(illegal) = error else {
            return None;
        };
        let square = illegal.from?;
        let moves = self.position().legal_moves_from(square.into());
        (!moves.is_empty()).then_some(Bound::Piece(square))
    }

    /// The opponent cannot mate, which some houses let a player declare.
    fn decide_insufficient(&self, side: Color, now: Time) -> Result<Draft, Ruling> {
        if !self.profile().parameters.dead_position_claim {
            let text = "The rules of this game do not know this claim.";
            return Err(not_allowed("5.2.2", text));
        }
        if side != self.position().turn() {
            return Err(not_on_move("5.2.2"));
        }
        match self.examine_end(self.history(), MateTest::Full, !side) {
            CanMate::No(no_mate) => {
                let draw = Outcome::draw(Termination::ClaimOpponentInsufficient, "5.2.2");
                let mut draft = self.draft(now);
                draft.end_saying(draw.with(Evidence::NoMate(no_mate)));
                Ok(draft)
            }
            CanMate::Yes(moves) => {
                let mut draft = self.punish_claim(side, Ok(None), now);
                draft.show(Evidence::MatingLine { side: !side, moves });
                Ok(draft)
            }
            CanMate::Unknown => {
                let text = format!("Whether {} can mate could not be decided.", !side);
                Err(Ruling {
                    provisional: true,
                    ..not_allowed("5.2.2", &text)
                })
            }
        }
    }

    /// The opponent broke touch-move with the last move (4.8).
    fn decide_touch_claim(&self, side: Color, now: Time) -> Result<Draft, Ruling> {
        if !self.profile().parameters.touch_move {
            let text = "Under the rules of this game a touched piece binds to nothing.";
            return Err(not_allowed("4.8", text));
        }
        let breach = self.conduct().breach.as_ref();
        let Some(breach) = breach.filter(|_| side == self.position().turn()) else {
            let text = "The last move of the opponent was no breach of touch-move.".into();
            return Err(Ruling::refused(Reason::ClaimIncorrect, &["4.8"], text));
        };
        if self.has_touched() {
            let text = "The claimant has touched a piece since, and lost the claim.".into();
            return Err(Ruling::refused(Reason::ClaimTooLate, &["4.8"], text));
        }
        let mut draft = self.draft(now);
        self.rewind(&mut draft, breach.ply);
        draft.conduct.touched = breach.touched.clone();
        let text = format!(
            "{} has to play a move that the touched pieces allow; the position before is \
             reinstated.",
            !side
        );
        draft.remark(&["4.8", "4.3"], text);
        Ok(draft)
    }

    /// A claim of guideline III, which waits for the arbiter.
    fn decide_quickplay(&self, side: Color, claim: ClaimKind, now: Time) -> Result<Draft, Ruling> {
        let parameters = &self.profile().parameters;
        let (article, applies) = match claim {
            ClaimKind::QuickplayIncrement => ("III.4", parameters.guideline_iii_4),
            _ => ("III.5", !parameters.guideline_iii_4),
        };
        if !parameters.guideline_iii || !applies {
            return Err(not_allowed(
                article,
                "It was not announced that this guideline applies.",
            ));
        }
        if side != self.position().turn() {
            return Err(not_on_move(article));
        }
        let clocks = &self.conduct().clocks;
        if clocks.side(side).bonus() != Bonus::None {
            let text = "The guideline does not apply to games with time for each move.";
            return Err(not_allowed("III.2.2", text));
        }
        if clocks
            .left_at(side, now)
            .is_none_or(|left_ms| left_ms >= QUICKPLAY_MS)
        {
            return Err(not_allowed(
                article,
                "The player has two minutes left, or more.",
            ));
        }
        if self.conduct().pending_claim.is_some() {
            return Err(not_allowed(
                article,
                "A claim waits for the arbiter already.",
            ));
        }
        let mut draft = self.draft(now);
        draft.conduct.pending_claim = Some(PendingClaim {
            claim,
            side,
            postponed: false,
            flag_fallen: false,
        });
        // Such a request is an offer of a draw too (guideline III.4, 9.1.2.3).
        self.lay_offer(&mut draft.conduct, side, self.history().ply());
        draft.clock(|clocks, now| clocks.pause(now));
        draft.remark(
            &[article],
            "The clocks are stopped, and the arbiter decides.".into(),
        );
        Ok(draft)
    }

    /// The opponent has left the game.
    fn decide_gone(&self, side: Color, gone_ms: Option<u64>, now: Time) -> Result<Draft, Ruling> {
        let parameters = &self.profile().parameters;
        if parameters.disconnect == DisconnectRule::Ignored {
            let text = "Under the rules of this game the clock decides, not the connection.";
            return Err(not_allowed("profile", text));
        }
        if side == self.position().turn() {
            let text = format!("{side} has the move, and can simply play on.");
            return Err(not_allowed("profile", &text));
        }
        let Some(since) = self.conduct().gone_since.of(!side) else {
            let text = format!("{} is connected.", !side);
            return Err(not_allowed("profile", &text));
        };
        let told = gone_ms.filter(|_| self.keeper() == Keeper::Platform);
        let gone_ms = told.unwrap_or_else(|| now.since(since));
        let grace_ms = u64::from(parameters.disconnect_grace_ms);
        if gone_ms < grace_ms {
            let text = format!("A player may be gone for {}.", minutes(grace_ms));
            return Err(not_allowed("profile", &text));
        }
        let outcome = match self.examine_end(self.history(), parameters.flag_exception, side) {
            CanMate::No(no_mate) => Outcome::draw(Termination::Abandonment, "profile")
                .saying(format!(
                    "{} has left the game, but {side} cannot win, so the game is drawn.",
                    !side
                ))
                .with(Evidence::NoMate(no_mate)),
            _ => Outcome::new(GameResult::Win(side), Termination::Abandonment, "profile"),
        };
        let mut draft = self.draft(now);
        draft.end_saying(outcome);
        Ok(draft)
    }
}

pub(super) fn not_allowed(article: &'static str, text: &str) -> Ruling {
    Ruling::refused(Reason::ClaimNotAllowed, &[article], text.to_owned())
}

fn not_on_move(article: &'static str) -> Ruling {
    let text = "Only the player who has the move can claim this.".into();
    Ruling::refused(Reason::ClaimNotOnMove, &[article], text)
}
