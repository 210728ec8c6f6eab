//! The actions of players, and what arbiters report, as words of `referee game act`.

use clap::Subcommand;
use prost_types::Duration;
use referee_api::v1;
use referee_api::v1::action::Kind;

use super::decisions::DecisionWord;
use super::times::read_time;
use super::words;

/// What is done.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum ActionWord {
    /// Make a move.
    Move {
        /// The move, such as e4, Nf3, O-O or e7e8q.
        #[arg(value_name = "MOVE")]
        text: String,
        /// Offer a draw with the move (9.1.2.1).
        #[arg(long)]
        offer_draw: bool,
        /// The clock was not pressed, so that the move is not completed (6.2.1).
        #[arg(long)]
        not_completed: bool,
        /// Two hands were used (7.5.4).
        #[arg(long)]
        two_hands: bool,
        /// Nobody noticed a breach of the rules: an illegal move stands until it is claimed.
        #[arg(long)]
        undetected: bool,
    },
    /// Resign (5.1.2).
    Resign,
    /// Offer a draw (9.1).
    OfferDraw {
        /// A condition that was attached, for which the offer is refused.
        #[arg(long, value_name = "TEXT", default_value = "")]
        condition: String,
    },
    /// Accept the draw that is offered.
    AcceptDraw,
    /// Decline the draw that is offered.
    DeclineDraw,
    /// Withdraw the own offer of a draw.
    WithdrawOffer,
    /// Claim a draw (9.2, 9.3), or that the opponent broke a rule.
    Claim {
        /// What is claimed.
        #[arg(value_parser = words::claim())]
        claim: v1::ClaimKind,
        /// The move that would make the claim hold, where the position on the board does not.
        #[arg(value_name = "MOVE", default_value = "")]
        intended_move: String,
        /// The ply of the illegal move that is claimed. Default: the last one.
        #[arg(long)]
        ply: Option<u32>,
        /// How long the opponent has been gone, where the platform keeps the time.
        #[arg(long, value_name = "TIME", value_parser = read_time)]
        gone: Option<Duration>,
    },
    /// Withdraw a claim (9.5.1).
    WithdrawClaim,
    /// Press the clock (6.2.1).
    PressClock {
        /// Two hands were used for the move (7.5.4).
        #[arg(long)]
        two_hands: bool,
    },
    /// Touch pieces, in order (4.3).
    Touch {
        /// The squares of the pieces.
        #[arg(required = true, value_name = "SQUARE")]
        squares: Vec<String>,
        /// The order is not known.
        #[arg(long)]
        order_unknown: bool,
        /// What was meant.
        #[arg(long, default_value = "move", value_parser = words::touch_intent())]
        intent: v1::TouchIntent,
    },
    /// Announce that pieces will be adjusted (4.2.1).
    AnnounceAdjust,
    /// Release a piece on a square (4.7).
    Release {
        /// The square that it came from.
        from: String,
        /// The square that it was released on.
        to: String,
    },
    /// Put the piece of promotion on its square (4.4.4).
    PlacePromotion {
        /// The square.
        square: String,
        /// The piece.
        #[arg(value_parser = words::piece())]
        piece: v1::PieceKind,
    },
    /// Displace pieces (7.4).
    Displace {
        /// The squares that they stood on.
        #[arg(value_name = "SQUARE")]
        squares: Vec<String>,
    },
    /// Put displaced pieces back (7.4).
    Restore,
    /// Claim or report that a flag has fallen (6.8).
    Flag {
        /// The side whose flag has fallen.
        #[arg(value_parser = words::side())]
        side: v1::Color,
        /// It fell without anybody noticing.
        #[arg(long)]
        unnoticed: bool,
        /// The moves that the side had completed, where the platform counts them.
        #[arg(long, value_name = "N")]
        moves_completed: Option<u32>,
    },
    /// Report that both flags have fallen (guideline III.3.1).
    BothFlags {
        /// Which fell first.
        #[arg(value_parser = words::first_flag())]
        first: v1::FirstFlag,
        /// It was before the last period.
        #[arg(long)]
        before_last_period: bool,
    },
    /// Start the game at its hour (6.6).
    Start,
    /// Arrive at the board (6.7).
    Arrive,
    /// Report that the default time is over (6.7.1).
    DefaultTime,
    /// Stop the clocks; --reason says why.
    Pause,
    /// Go on after a pause or an adjournment.
    Resume {
        /// A side that is absent (guideline I).
        #[arg(long, value_name = "SIDE", value_parser = words::side())]
        absent: Vec<v1::Color>,
    },
    /// Break the game off before it counts.
    Abort,
    /// Report that a player did not make the first move in time.
    NoStart {
        /// The player.
        #[arg(value_parser = words::side())]
        side: v1::Color,
    },
    /// Report that a player has lost the connection, or is back.
    Connection {
        /// Whose.
        #[arg(value_parser = words::side())]
        side: v1::Color,
        /// What has become of it.
        #[arg(value_parser = words::connection(), action = clap::ArgAction::Set)]
        is: bool,
    },
    /// Ask for a move to be taken back, or answer.
    TakeBack {
        /// What is said about it.
        #[arg(value_parser = words::take_back())]
        intent: v1::TakeBackIntent,
    },
    /// Adjourn the game with a sealed move (guideline I).
    Seal {
        /// The move, as it stands in the envelope.
        #[arg(value_name = "MOVE")]
        text: String,
    },
    /// Sign the result (8.7).
    Sign {
        /// The result.
        #[arg(value_parser = words::result(), allow_hyphen_values = true)]
        result: v1::GameResult,
    },
    #[command(flatten)]
    Decision(DecisionWord),
    /// Any action, as an `Action` of the contract in JSON; its seat and request may be left out.
    Json {
        /// Such as '{"touchPieces": {"squares": ["e2"], "intent": "TOUCH_INTENT_MOVE"}}'.
        #[arg(value_name = "ACTION")]
        text: String,
    },
}

impl ActionWord {
    /// Returns the action of the contract; `None` for one that is given in JSON. The reason and the
    /// name of the arbiter go where an action has room for them.
    pub(super) fn kind(self, reason: &str, arbiter: &str) -> Option<Kind> {
        let draw = |answer: v1::DrawAnswer| {
            Kind::AnswerDraw(v1::AnswerDraw {
                answer: answer.into(),
            })
        };
        Some(match self {
            ActionWord::Move {
                text,
                offer_draw,
                not_completed,
                two_hands,
                undetected,
            } => Kind::MakeMove(v1::MakeMove {
                r#move: text,
                offer_draw,
                completed: not_completed.then_some(false),
                two_hands,
                undetected,
            }),
            ActionWord::Resign => Kind::Resign(v1::Resign {}),
            ActionWord::OfferDraw { condition } => Kind::OfferDraw(v1::OfferDraw { condition }),
            ActionWord::AcceptDraw => draw(v1::DrawAnswer::Accept),
            ActionWord::DeclineDraw => draw(v1::DrawAnswer::Decline),
            ActionWord::WithdrawOffer => Kind::WithdrawOffer(v1::WithdrawOffer {}),
            ActionWord::Claim {
                claim,
                intended_move,
                ply,
                gone,
            } => Kind::MakeClaim(v1::MakeClaim {
                claim: claim.into(),
                intended_move,
                ply,
                gone,
            }),
            ActionWord::WithdrawClaim => Kind::WithdrawClaim(v1::WithdrawClaim {}),
            ActionWord::PressClock { two_hands } => Kind::PressClock(v1::PressClock { two_hands }),
            ActionWord::Touch {
                squares,
                order_unknown,
                intent,
            } => Kind::TouchPieces(v1::TouchPieces {
                squares,
                order_unknown,
                intent: intent.into(),
            }),
            ActionWord::AnnounceAdjust => Kind::AnnounceAdjust(v1::AnnounceAdjust {}),
            ActionWord::Release { from, to } => Kind::ReleasePiece(v1::ReleasePiece { from, to }),
            ActionWord::PlacePromotion { square, piece } => {
                let piece = piece.into();
                Kind::PlacePromotion(v1::PlacePromotion { square, piece })
            }
            ActionWord::Displace { squares } => {
                Kind::DisplacePieces(v1::DisplacePieces { squares })
            }
            ActionWord::Restore => Kind::RestorePieces(v1::RestorePieces {}),
            ActionWord::Flag {
                side,
                unnoticed,
                moves_completed,
            } => Kind::ReportFlag(v1::ReportFlag {
                side: side.into(),
                unnoticed,
                moves_completed,
            }),
            ActionWord::BothFlags {
                first,
                before_last_period,
            } => Kind::ReportBothFlags(v1::ReportBothFlags {
                first: first.into(),
                last_period: Some(!before_last_period),
            }),
            ActionWord::Start => Kind::StartGame(v1::StartGame {}),
            ActionWord::Arrive => Kind::Arrive(v1::Arrive {}),
            ActionWord::DefaultTime => Kind::ReportDefaultTime(v1::ReportDefaultTime {}),
            ActionWord::Pause => Kind::PauseGame(v1::PauseGame {
                reason: reason.to_owned(),
            }),
            ActionWord::Resume { absent } => Kind::ResumeGame(v1::ResumeGame {
                absent: absent.into_iter().map(i32::from).collect(),
            }),
            ActionWord::Abort => Kind::AbortGame(v1::AbortGame {}),
            ActionWord::NoStart { side } => {
                Kind::ReportNoStart(v1::ReportNoStart { side: side.into() })
            }
            ActionWord::Connection { side, is } => Kind::ReportConnection(v1::ReportConnection {
                side: side.into(),
                connected: Some(is),
            }),
            ActionWord::TakeBack { intent } => Kind::TakeBack(v1::TakeBack {
                intent: intent.into(),
            }),
            ActionWord::Seal { text } => Kind::SealMove(v1::SealMove { r#move: text }),
            ActionWord::Sign { result } => Kind::SignResult(v1::SignResult {
                result: result.into(),
            }),
            ActionWord::Decision(decision) => Kind::ArbiterDecision(v1::ArbiterDecision {
                arbiter: arbiter.to_owned(),
                reason: reason.to_owned(),
                kind: Some(decision.kind()),
            }),
            ActionWord::Json { .. } => return None,
        })
    }

    /// Whether the action has room for a reason, and for the name of an arbiter.
    pub(super) fn takes(&self) -> (bool, bool) {
        match self {
            ActionWord::Pause => (true, false),
            ActionWord::Decision(_) => (true, true),
            _ => (false, false),
        }
    }
}
