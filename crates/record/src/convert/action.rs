//! Reading actions: what is wanted, from the contract to the rules.

use referee_api::v1;
use referee_chess::{Color, Role, Square};
use referee_laws::{
    Action, CLOCK_MS_MAX, ClaimDecision, ClaimIntent, ClaimKind, Decision, GameResult, Intent,
    MoveIntent, Score, Seat, TouchIntent,
};

use super::clocks::{ToldTime, limited, read_told_time};
use super::enums::InContract;
use super::time::read_ms;
use crate::error::Error;
use crate::fields::Fields;
use crate::limits;

/// An action as it was read, and when the platform says that it happened.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// What is wanted, for the rules.
    pub action: Action,
    /// When it happened, where the platform says so.
    pub told_time: Option<ToldTime>,
}

/// Checks a text that is to be a move: whether it is one is for the ruling to say.
pub fn check_move_text(field: &str, text: &str, fields: &mut Fields) {
    if text.is_empty() {
        fields.refuse(
            field,
            "is required: a move in UCI or SAN, such as e2e4 or Nf3",
        );
    }
    fields.length(field, text, limits::MOVE_BYTES_MAX);
}

/// Reads an action; what `request_id` and `expected_sequence` ask is not looked at here.
///
/// # Errors
///
/// [`Error::InvalidFields`] with all that is wrong with it.
pub fn read_action(message: &v1::Action) -> Result<Submitted, Error> {
    let mut fields = Fields::default();
    fields.request_id("action.request_id", &message.request_id);
    read_wanted(message, fields)
}

/// Reads an action that was recorded, to judge it again: the service itself may have named it, as
/// an import does, and the limits of today do not count.
///
/// # Errors
///
/// [`Error::InvalidFields`] with all that is wrong with it.
pub fn read_stored_action(message: &v1::Action) -> Result<Submitted, Error> {
    read_wanted(message, Fields::recorded())
}

fn read_wanted(message: &v1::Action, mut fields: Fields) -> Result<Submitted, Error> {
    if message
        .expected_sequence
        .is_some_and(|sequence| sequence < 0)
    {
        fields.refuse("action.expected_sequence", "must not be negative");
    }
    let seat = match Seat::from_v1(fields.choice("action.seat", message.seat)) {
        Some(seat @ (Seat::Player(_) | Seat::Arbiter)) => seat,
        Some(Seat::Referee) | None => {
            fields.refuse(
                "action.seat",
                "must be SEAT_WHITE, SEAT_BLACK or SEAT_ARBITER",
            );
            Seat::Arbiter
        }
    };
    let intent = match &message.kind {
        None => {
            fields.refuse(
                "action.kind",
                "is required: say what is wanted, such as make_move",
            );
            Intent::Resign
        }
        Some(kind) => Reader {
            fields: &mut fields,
        }
        .intent(kind),
    };
    let told_time = read_told_time(
        "action.platform_time",
        message.platform_time.as_ref(),
        &mut fields,
    );
    fields.finish()?;
    Ok(Submitted {
        action: Action { seat, intent },
        told_time,
    })
}

struct Reader<'a> {
    fields: &'a mut Fields,
}

impl Reader<'_> {
    fn intent(&mut self, kind: &v1::action::Kind) -> Intent {
        use v1::action::Kind;
        match kind {
            Kind::MakeMove(it) => self.make_move(it),
            Kind::OfferDraw(it) => self.offer(it),
            Kind::AnswerDraw(it) => self.answer(it),
            Kind::MakeClaim(it) => self.claim(it),
            Kind::Resign(_) => Intent::Resign,
            Kind::PressClock(it) => Intent::Press {
                two_hands: it.two_hands,
            },
            Kind::TouchPieces(it) => self.touch(it),
            Kind::AnnounceAdjust(_) => Intent::Adjust,
            Kind::ReleasePiece(it) => Intent::Release {
                from: self.square("action.release_piece.from", &it.from),
                to: self.square("action.release_piece.to", &it.to),
            },
            Kind::PlacePromotion(it) => Intent::PlacePromotion {
                square: self.square("action.place_promotion.square", &it.square),
                role: self.role("action.place_promotion.piece", it.piece),
            },
            Kind::DisplacePieces(it) => self.displace(it),
            Kind::RestorePieces(_) => Intent::Restore,
            Kind::WithdrawOffer(_) => Intent::WithdrawOffer,
            Kind::WithdrawClaim(_) => Intent::WithdrawClaim,
            Kind::ReportFlag(it) => Intent::Flag {
                side: self.color("action.report_flag.side", it.side),
                observed: !it.unnoticed,
                moves_completed: it.moves_completed,
            },
            Kind::ReportBothFlags(it) => self.both_flags(it),
            Kind::StartGame(_) => Intent::Start,
            Kind::Arrive(_) => Intent::Arrive,
            Kind::ReportDefaultTime(_) => Intent::DefaultTime,
            Kind::PauseGame(it) => self.pause(it),
            Kind::ResumeGame(it) => self.resume(it),
            Kind::AbortGame(_) => Intent::Abort,
            Kind::ReportNoStart(it) => Intent::NoStart {
                side: self.color("action.report_no_start.side", it.side),
            },
            Kind::ReportConnection(it) => Intent::Connection {
                side: self.color("action.report_connection.side", it.side),
                connected: self.flag("action.report_connection.connected", it.connected),
            },
            Kind::TakeBack(it) => self.take_back(it),
            Kind::SealMove(it) => self.seal(it),
            Kind::SignResult(it) => self.signed(it),
            Kind::ArbiterDecision(it) => self.arbiter(it),
            Kind::RefereeFinding(_) => self.finding(),
        }
    }

    fn offer(&mut self, message: &v1::OfferDraw) -> Intent {
        let field = "action.offer_draw.condition";
        self.fields
            .text(field, &message.condition, limits::REASON_BYTES_MAX);
        Intent::OfferDraw {
            conditional: !message.condition.is_empty(),
        }
    }

    fn answer(&mut self, message: &v1::AnswerDraw) -> Intent {
        let field = "action.answer_draw.answer";
        match self.fields.choice(field, message.answer) {
            v1::DrawAnswer::Accept => Intent::AcceptDraw,
            v1::DrawAnswer::Decline => Intent::DeclineDraw,
            v1::DrawAnswer::Unspecified => {
                self.fields.refuse(
                    field,
                    "is required: DRAW_ANSWER_ACCEPT or DRAW_ANSWER_DECLINE",
                );
                Intent::DeclineDraw
            }
        }
    }

    fn take_back(&mut self, message: &v1::TakeBack) -> Intent {
        let field = "action.take_back.intent";
        match self.fields.choice(field, message.intent) {
            v1::TakeBackIntent::Request => Intent::TakeBack,
            v1::TakeBackIntent::Accept => Intent::AnswerTakeBack { accept: true },
            v1::TakeBackIntent::Decline => Intent::AnswerTakeBack { accept: false },
            v1::TakeBackIntent::Unspecified => {
                self.fields.refuse(
                    field,
                    "is required: whether a move is wanted back or the wish is answered, such as \
                     TAKE_BACK_INTENT_REQUEST",
                );
                Intent::TakeBack
            }
        }
    }

    fn both_flags(&mut self, message: &v1::ReportBothFlags) -> Intent {
        let field = "action.report_both_flags.first";
        let first = match self.fields.choice(field, message.first) {
            v1::FirstFlag::White => Some(Color::White),
            v1::FirstFlag::Black => Some(Color::Black),
            v1::FirstFlag::Unknown => None,
            v1::FirstFlag::Unspecified => {
                self.fields.refuse(
                    field,
                    "is required: whose flag fell first, or FIRST_FLAG_UNKNOWN",
                );
                None
            }
        };
        Intent::BothFlags {
            first,
            last_period: self.flag("action.report_both_flags.last_period", message.last_period),
        }
    }

    /// Reads a flag that has to be given.
    fn flag(&mut self, field: &str, value: Option<bool>) -> bool {
        let value = self.fields.required(field, value);
        value.unwrap_or_default()
    }

    fn displace(&mut self, message: &v1::DisplacePieces) -> Intent {
        let field = "action.displace_pieces.squares";
        let count = message.squares.len();
        self.fields
            .count(field, "squares", count, limits::DISPLACED_SQUARES_MAX);
        let looked_at = self
            .fields
            .first(&message.squares, limits::DISPLACED_SQUARES_MAX);
        for name in looked_at {
            self.square(field, name);
        }
        Intent::Displace
    }

    fn pause(&mut self, message: &v1::PauseGame) -> Intent {
        let field = "action.pause_game.reason";
        self.fields
            .text(field, &message.reason, limits::REASON_BYTES_MAX);
        Intent::Pause
    }

    fn seal(&mut self, message: &v1::SealMove) -> Intent {
        check_move_text("action.seal_move.move", &message.r#move, self.fields);
        Intent::Seal {
            text: message.r#move.clone(),
        }
    }

    fn finding(&mut self) -> Intent {
        self.fields.refuse(
            "action.referee_finding",
            "is only in events: what the referee finds it finds by itself",
        );
        Intent::Resign
    }

    fn make_move(&mut self, message: &v1::MakeMove) -> Intent {
        check_move_text("action.make_move.move", &message.r#move, self.fields);
        Intent::Move(MoveIntent {
            text: message.r#move.clone(),
            offer_draw: message.offer_draw,
            completed: message.completed.unwrap_or(true),
            two_hands: message.two_hands,
            undetected: message.undetected,
        })
    }

    fn claim(&mut self, message: &v1::MakeClaim) -> Intent {
        let field = "action.make_claim.claim";
        let claim = ClaimKind::from_v1(self.fields.choice(field, message.claim));
        if claim.is_none() {
            self.fields
                .refuse(field, "is required: say what is claimed");
        }
        let text = &message.intended_move;
        let field = "action.make_claim.intended_move";
        self.fields.length(field, text, limits::MOVE_BYTES_MAX);
        let gone_ms = read_ms(
            "action.make_claim.gone",
            message.gone,
            CLOCK_MS_MAX,
            self.fields,
        );
        Intent::Claim(ClaimIntent {
            claim: claim.unwrap_or(ClaimKind::Threefold),
            intended: (!text.is_empty()).then(|| text.clone()),
            ply: message.ply,
            gone_ms,
        })
    }

    fn touch(&mut self, message: &v1::TouchPieces) -> Intent {
        let field = "action.touch_pieces.squares";
        if message.squares.is_empty() {
            self.fields
                .refuse(field, "is required: name the squares, such as e2");
        }
        let count = message.squares.len();
        self.fields
            .count(field, "squares", count, limits::TOUCHED_SQUARES_MAX);
        let squares = self
            .fields
            .first(&message.squares, limits::TOUCHED_SQUARES_MAX);
        let squares = squares.iter().map(|name| self.square(field, name));
        let squares = squares.collect();
        let field = "action.touch_pieces.intent";
        let intent = TouchIntent::from_v1(self.fields.choice(field, message.intent));
        Intent::Touch {
            squares,
            order_unknown: message.order_unknown,
            intent: self.fields.required(field, intent).unwrap_or_default(),
        }
    }

    fn resume(&mut self, message: &v1::ResumeGame) -> Intent {
        let field = "action.resume_game.absent";
        let count = message.absent.len();
        self.fields
            .count(field, "sides", count, limits::ABSENT_SIDES_MAX);
        let absent = self.fields.first(&message.absent, limits::ABSENT_SIDES_MAX);
        let absent = absent.iter().map(|&side| self.color(field, side));
        Intent::Resume {
            absent: absent.collect(),
        }
    }

    fn signed(&mut self, message: &v1::SignResult) -> Intent {
        let field = "action.sign_result.result";
        let result = GameResult::from_v1(self.fields.choice(field, message.result));
        if result.is_none() {
            self.fields.refuse(
                field,
                "is required: the result that both players have signed",
            );
        }
        Intent::SignResult {
            result: result.unwrap_or(GameResult::Draw),
        }
    }

    fn arbiter(&mut self, message: &v1::ArbiterDecision) -> Intent {
        let field = "action.arbiter_decision";
        self.fields.text(
            &format!("{field}.arbiter"),
            &message.arbiter,
            limits::PLAYER_BYTES_MAX,
        );
        self.fields.long_text(
            &format!("{field}.reason"),
            &message.reason,
            limits::DECISION_REASON_BYTES_MAX,
        );
        let Some(kind) = &message.kind else {
            self.fields.refuse(
                &format!("{field}.kind"),
                "is required: say what is decided, such as confirm",
            );
            return Intent::Resign;
        };
        Intent::Decide(self.decision(kind))
    }

    fn decision(&mut self, kind: &v1::arbiter_decision::Kind) -> Decision {
        use v1::arbiter_decision::Kind;
        let field = |name: &str| format!("action.arbiter_decision.{name}");
        match kind {
            Kind::SetClocks(it) => self.set_clocks(&field("set_clocks"), it),
            Kind::PenaltyTime(it) => self.penalty(&field("penalty_time"), it),
            Kind::ExtraTime(it) => self.extra_time(&field("extra_time"), it),
            Kind::ReinstatePosition(it) => {
                let ply = self
                    .fields
                    .required(&field("reinstate_position.ply"), it.ply);
                Decision::Reinstate {
                    ply: ply.unwrap_or_default(),
                }
            }
            Kind::DeclareLost(it) => self.declare_lost(&field("declare_lost"), it),
            Kind::DeclareLostByBoth(_) => Decision::DeclareLostByBoth,
            Kind::SetScore(it) => Decision::SetScore {
                white: self.required_score(&field("set_score.white"), it.white),
                black: self.required_score(&field("set_score.black"), it.black),
            },
            Kind::DeclareForfeit(it) => Decision::DeclareForfeit {
                side: Some(self.color(&field("declare_forfeit.side"), it.side)),
            },
            Kind::DeclareDoubleForfeit(_) => Decision::DeclareForfeit { side: None },
            Kind::ColorsReversed(_) => Decision::ColorsReversed,
            Kind::WrongInitialPosition(_) => Decision::WrongInitialPosition,
            Kind::IllegalPositionSeen(it) => Decision::IllegalPositionSeen {
                still_after_next_move: self.flag(
                    &field("illegal_position_seen.still_after_next_move"),
                    it.still_after_next_move,
                ),
            },
            Kind::PermitDrawOffer(_) => Decision::PermitDrawOffer,
            Kind::DecideClaim(it) => self.decide_claim(&field("decide_claim"), it),
            Kind::SetCounters(it) => self.counters(&field("set_counters"), it),
            Kind::Confirm(_) => Decision::Confirm,
            Kind::Warn(it) => Decision::Warn {
                side: self.color(&field("warn.side"), it.side),
            },
        }
    }

    fn set_clocks(&mut self, field: &str, message: &v1::SetClocks) -> Decision {
        if message.white.is_none() && message.black.is_none() {
            self.fields
                .refuse(field, "must set the time of white, of black, or of both");
        }
        Decision::SetClocks {
            white_ms: self.clock_ms(&format!("{field}.white"), message.white),
            black_ms: self.clock_ms(&format!("{field}.black"), message.black),
        }
    }

    fn penalty(&mut self, field: &str, message: &v1::PenaltyTime) -> Decision {
        let side = self.color(&format!("{field}.side"), message.side);
        let there = [message.deduct, message.add_opponent];
        if there
            .iter()
            .flatten()
            .all(|time| *time == prost_types::Duration::default())
        {
            self.fields.refuse(
                field,
                "must say what the player loses (deduct) or the opponent gets (add_opponent)",
            );
        }
        Decision::PenaltyTime {
            side,
            deduct_ms: self.day_ms(&format!("{field}.deduct"), message.deduct),
            add_opponent_ms: self.day_ms(&format!("{field}.add_opponent"), message.add_opponent),
        }
    }

    fn extra_time(&mut self, field: &str, message: &v1::ExtraTime) -> Decision {
        let time = format!("{field}.time");
        let ms = self.fields.required(&time, message.time);
        Decision::ExtraTime {
            side: self.color(&format!("{field}.side"), message.side),
            ms: self.day_ms(&time, ms),
        }
    }

    fn declare_lost(&mut self, field: &str, message: &v1::DeclareLost) -> Decision {
        let score = format!("{field}.opponent_score");
        Decision::DeclareLost {
            side: self.color(&format!("{field}.side"), message.side),
            opponent_score: self.required_score(&score, message.opponent_score),
            device_found: message.device_found,
        }
    }

    fn decide_claim(&mut self, field: &str, message: &v1::DecideClaim) -> Decision {
        let field = format!("{field}.decision");
        let decision = ClaimDecision::from_v1(self.fields.choice(&field, message.decision));
        let decision = self.fields.required(&field, decision);
        Decision::DecideClaim(decision.unwrap_or(ClaimDecision::Postpone))
    }

    fn counters(&mut self, field: &str, message: &v1::SetCounters) -> Decision {
        let illegal_moves = |side: Option<v1::SideCounters>| side?.illegal_moves;
        for (name, count, max) in [
            (
                "white.illegal_moves",
                illegal_moves(message.white),
                limits::SETUP_ILLEGAL_MOVES_MAX,
            ),
            (
                "black.illegal_moves",
                illegal_moves(message.black),
                limits::SETUP_ILLEGAL_MOVES_MAX,
            ),
            (
                "plies_without_capture",
                message.plies_without_capture,
                limits::HISTORY_MOVES_MAX as u32,
            ),
        ] {
            limited(
                &format!("{field}.{name}"),
                count.unwrap_or(0),
                max,
                self.fields,
            );
        }
        let is_set = illegal_moves(message.white).is_some()
            || illegal_moves(message.black).is_some()
            || message.plies_without_capture.is_some();
        if !is_set {
            let empty = "must set the illegal moves of white or black, or plies_without_capture";
            self.fields.refuse(field, empty);
        }
        Decision::SetCounters {
            white_illegal_moves: illegal_moves(message.white),
            black_illegal_moves: illegal_moves(message.black),
            plies_without_capture: message.plies_without_capture,
        }
    }

    fn square(&mut self, field: &str, name: &str) -> Square {
        name.parse().unwrap_or_else(|_| {
            self.fields
                .refuse(field, "must be the name of a square, such as e2");
            self.fields.length(field, name, limits::SQUARE_BYTES_MAX);
            Square::from_low_bits(0)
        })
    }

    fn role(&mut self, field: &str, number: i32) -> Role {
        Role::from_v1(self.fields.choice(field, number)).unwrap_or_else(|| {
            self.fields.refuse(
                field,
                "is required: a kind of piece, such as PIECE_KIND_QUEEN",
            );
            Role::Queen
        })
    }

    fn color(&mut self, field: &str, number: i32) -> Color {
        Color::from_v1(self.fields.choice(field, number)).unwrap_or_else(|| {
            self.fields
                .refuse(field, "is required: COLOR_WHITE or COLOR_BLACK");
            Color::White
        })
    }

    fn clock_ms(&mut self, field: &str, value: Option<prost_types::Duration>) -> Option<u64> {
        read_ms(field, value, CLOCK_MS_MAX, self.fields)
    }

    fn day_ms(&mut self, field: &str, value: Option<prost_types::Duration>) -> u64 {
        read_ms(field, value, limits::PENALTY_MS_MAX, self.fields).unwrap_or_default()
    }

    fn required_score(&mut self, field: &str, number: i32) -> Score {
        let score = self.score(field, number);
        self.fields.required(field, score).unwrap_or(Score::Other)
    }

    fn score(&mut self, field: &str, number: i32) -> Option<Score> {
        Score::from_v1(self.fields.choice(field, number))
    }
}
