//! What players and the arbiter put to the referee.

use referee_chess::{Color, Role, Square};

use crate::mate::MateFinding;
use crate::outcome::GameResult;

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seat {
    /// The player of one side.
    Player(Color),
    /// The arbiter, who also reports what he observes.
    Arbiter,
    /// The referee itself.
    Referee,
}

/// Something that has to be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClaimKind {
    /// The position occurs for at least the third time (9.2).
    Threefold,
    /// Fifty moves of each side without a capture or a pawn move (9.3).
    Fifty,
    /// Perpetual check, where the profile knows it.
    PerpetualCheck,
    /// The opponent cannot mate by any series of legal moves, where the profile knows it.
    OpponentInsufficient,
    /// The opponent made an illegal move (7.5).
    IllegalMove,
    /// The opponent broke the rules of touch-move (4.8).
    TouchMove,
    /// Five seconds more for each move are wanted (guideline III.4).
    QuickplayIncrement,
    /// The opponent makes no effort to win by normal means, or cannot (guideline III.5).
    QuickplayDraw,
    /// The opponent has left the game, where the profile knows it.
    OpponentGone,
}

/// What a player meant by touching a piece (4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum TouchIntent {
    /// To move or to capture it.
    #[default]
    Play,
    /// To adjust it, which was announced (4.2.1).
    Adjust,
    /// Nothing: it was an accident, as the arbiter found (4.2.2).
    Accidental,
}

/// A claim with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClaimIntent {
    /// What is claimed.
    pub claim: ClaimKind,
    /// The announced move that would make the claim hold, in UCI or SAN.
    pub intended: Option<String>,
    /// The ply of the illegal move that is claimed, from 1.
    pub ply: Option<u32>,
    /// For how long the opponent has been gone, in milliseconds, where a platform tells it.
    pub gone_ms: Option<u64>,
}

/// A move with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MoveIntent {
    /// The move in UCI or SAN.
    pub text: String,
    /// Whether a draw is offered with it, which is the proper moment (9.1.2.1).
    pub offer_draw: bool,
    /// Whether it is completed: the clock is pressed (6.2.1).
    pub completed: bool,
    /// Whether two hands were used (7.5.4).
    pub two_hands: bool,
    /// Whether nobody noticed a breach of the rules.
    pub undetected: bool,
}

impl MoveIntent {
    /// Returns a move that is made and completed, with nothing special about it.
    #[must_use]
    pub fn completed(text: &str) -> MoveIntent {
        MoveIntent {
            text: text.to_owned(),
            offer_draw: false,
            completed: true,
            two_hands: false,
            undetected: false,
        }
    }
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Intent {
    /// Make a move.
    Move(MoveIntent),
    /// Press the clock (6.2.1, 7.5.3).
    Press {
        /// Whether two hands were used for the move before (7.5.4).
        two_hands: bool,
    },
    /// Touch pieces (4.2, 4.3).
    Touch {
        /// The squares of the pieces, in order.
        squares: Vec<Square>,
        /// Whether the order is not known (4.3.3).
        order_unknown: bool,
        /// What was meant.
        intent: TouchIntent,
    },
    /// Announce that pieces will be adjusted (4.2.1).
    Adjust,
    /// Release a piece on a square (4.7).
    Release {
        /// Where it came from.
        from: Square,
        /// Where it was released.
        to: Square,
    },
    /// Put the piece of promotion on its square (4.4.4).
    PlacePromotion {
        /// The square.
        square: Square,
        /// The piece.
        role: Role,
    },
    /// Displace pieces (7.4).
    Displace,
    /// Put displaced pieces back (7.4).
    Restore,
    /// Offer a draw (9.1).
    OfferDraw {
        /// Whether a condition is attached to it.
        conditional: bool,
    },
    /// Accept the draw that the opponent has offered.
    AcceptDraw,
    /// Decline it.
    DeclineDraw,
    /// Withdraw the own offer.
    WithdrawOffer,
    /// Claim something.
    Claim(ClaimIntent),
    /// Withdraw a claim (9.5.1).
    WithdrawClaim,
    /// Say that a flag has fallen (6.8).
    Flag {
        /// Whose.
        side: Color,
        /// Whether it was noticed, so that it counts.
        observed: bool,
        /// The moves that the side had completed, where a platform counts them.
        moves_completed: Option<u32>,
    },
    /// Report that both flags have fallen (guideline III.3.1).
    BothFlags {
        /// Whose fell first, where that is known.
        first: Option<Color>,
        /// Whether it was in the last period.
        last_period: bool,
    },
    /// Start the game at its hour (6.6).
    Start,
    /// Arrive at the board (6.7).
    Arrive,
    /// Report that the default time is over (6.7.1).
    DefaultTime,
    /// Stop the clocks.
    Pause,
    /// Go on after a pause or an adjournment.
    Resume {
        /// The sides that are absent.
        absent: Vec<Color>,
    },
    /// Resign (5.1.2).
    Resign,
    /// Break the game off before it counts.
    Abort,
    /// Report that a player did not make the first move in time.
    NoStart {
        /// The player.
        side: Color,
    },
    /// Report that a connection is lost or back.
    Connection {
        /// Whose.
        side: Color,
        /// Whether it is back.
        connected: bool,
    },
    /// Ask for the last own move to be taken back.
    TakeBack,
    /// Answer such a wish of the opponent.
    AnswerTakeBack {
        /// Whether the answer is yes.
        accept: bool,
    },
    /// Adjourn the game with a sealed move (guideline I).
    Seal {
        /// The move as it stands in the envelope.
        text: String,
    },
    /// Report that both players have signed a result (8.7).
    SignResult {
        /// The result.
        result: GameResult,
    },
    /// Decide as the arbiter.
    Decide(Decision),
    /// What the referee found by itself: the flag of a side fell by its clock.
    FlagFell {
        /// Whose.
        side: Color,
    },
    /// What the referee found by itself: who can mate in a position of the game.
    MateDecided(MateFinding),
    /// What the referee found by itself: it was away, and the clocks stood still.
    WasDown {
        /// For how long, in milliseconds.
        down_ms: u64,
    },
}

/// How the arbiter decides a claim that waits for him (guideline III).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimDecision {
    /// It is accepted.
    Accept,
    /// It is rejected.
    Reject,
    /// It is decided later.
    Postpone,
}

/// The points of one player, as a decision sets them (10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Score {
    /// No point.
    Zero,
    /// Half a point.
    Half,
    /// A point.
    One,
    /// Another number, which the Laws do not allow.
    Other,
}

/// What the arbiter decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Set the clocks (6.10); a side left out keeps its time.
    SetClocks {
        /// The time of White in milliseconds.
        white_ms: Option<u64>,
        /// The time of Black in milliseconds.
        black_ms: Option<u64>,
    },
    /// A penalty in time (12.9.2, 12.9.3).
    PenaltyTime {
        /// The player who is punished.
        side: Color,
        /// What is taken off, in milliseconds.
        deduct_ms: u64,
        /// What the opponent gets, in milliseconds.
        add_opponent_ms: u64,
    },
    /// Time for a player who was disturbed (12.5).
    ExtraTime {
        /// The player.
        side: Color,
        /// The time in milliseconds.
        ms: u64,
    },
    /// Reinstate the position of a ply (7.1).
    Reinstate {
        /// The ply.
        ply: u32,
    },
    /// The game is lost (11.3.2.2, 11.7, 12.9.6).
    DeclareLost {
        /// The player who loses.
        side: Color,
        /// What the opponent gets.
        opponent_score: Score,
        /// Whether an electronic device was found.
        device_found: bool,
    },
    /// Both players lose (11.8).
    DeclareLostByBoth,
    /// The score is set.
    SetScore {
        /// That of White.
        white: Score,
        /// That of Black.
        black: Score,
    },
    /// The game is forfeited by one side, or by both.
    DeclareForfeit {
        /// The player; `None` stands for both.
        side: Option<Color>,
    },
    /// The colors were reversed (7.3).
    ColorsReversed,
    /// The game began from a wrong position (7.2.1).
    WrongInitialPosition,
    /// Both kings stand in check, or a pawn on its last rank (A.5.4).
    IllegalPositionSeen {
        /// Whether it still was so after the next move.
        still_after_next_move: bool,
    },
    /// An early offer of a draw is permitted (9.1.1).
    PermitDrawOffer,
    /// A waiting claim is decided.
    DecideClaim(ClaimDecision),
    /// Set what the referee counts; what is left out stays.
    SetCounters {
        /// The illegal moves of White that count.
        white_illegal_moves: Option<u32>,
        /// The illegal moves of Black that count.
        black_illegal_moves: Option<u32>,
        /// The half-moves since the last capture.
        plies_without_capture: Option<u32>,
    },
    /// What stands is confirmed. The referee itself confirms an outcome when the time for
    /// corrections has passed.
    Confirm,
    /// A player is warned (12.9.1).
    Warn {
        /// The player.
        side: Color,
    },
}

/// An action: who wants what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Action {
    /// Who acts.
    pub seat: Seat,
    /// What is wanted.
    pub intent: Intent,
}

impl Action {
    /// Returns the action of a player.
    #[must_use]
    pub const fn player(side: Color, intent: Intent) -> Action {
        Action {
            seat: Seat::Player(side),
            intent,
        }
    }

    /// Returns the action of a player who makes a move and completes it.
    #[must_use]
    pub fn play(side: Color, text: &str) -> Action {
        Action::player(side, Intent::Move(MoveIntent::completed(text)))
    }

    /// Returns the action of the arbiter.
    #[must_use]
    pub const fn arbiter(intent: Intent) -> Action {
        Action {
            seat: Seat::Arbiter,
            intent,
        }
    }
}
