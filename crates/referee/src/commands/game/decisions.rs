//! The decisions of arbiters, as words of `referee game act`.

use clap::Subcommand;
use prost_types::Duration;
use referee_api::v1;
use referee_api::v1::arbiter_decision::Kind;

use super::times::read_time;
use super::words;

/// What an arbiter decides.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum DecisionWord {
    /// Arbiter: set the clocks (6.10).
    SetClocks {
        /// The time of White.
        #[arg(long, value_name = "TIME", value_parser = read_time)]
        white: Option<Duration>,
        /// The time of Black.
        #[arg(long, value_name = "TIME", value_parser = read_time)]
        black: Option<Duration>,
    },
    /// Arbiter: punish a player with time (12.9.2, 12.9.3).
    Penalty {
        /// The player who is punished.
        #[arg(value_parser = words::side())]
        side: v1::Color,
        /// What is taken off that player's clock.
        #[arg(long, value_name = "TIME", value_parser = read_time)]
        deduct: Option<Duration>,
        /// What is put on the opponent's.
        #[arg(long, value_name = "TIME", value_parser = read_time)]
        add_opponent: Option<Duration>,
    },
    /// Arbiter: give a player time (12.5).
    ExtraTime {
        /// The player.
        #[arg(value_parser = words::side())]
        side: v1::Color,
        /// The time, such as 2m.
        #[arg(value_parser = read_time)]
        time: Duration,
    },
    /// Arbiter: put back a position of the game (7.1).
    Reinstate {
        /// The ply of the position; 0 is the one that the game began from.
        ply: u32,
    },
    /// Arbiter: declare the game lost (11.3.2.2, 11.7, 12.9.6).
    DeclareLost {
        /// The player who loses.
        #[arg(value_parser = words::side())]
        side: v1::Color,
        /// What the opponent gets.
        #[arg(long, value_name = "SCORE", default_value = "1", value_parser = words::score())]
        opponent_score: v1::Score,
        /// An electronic device was found on the player.
        #[arg(long)]
        device_found: bool,
    },
    /// Arbiter: declare the game lost by both (11.8).
    DeclareLostByBoth,
    /// Arbiter: set the score, also after the end.
    SetScore {
        /// That of White.
        #[arg(value_parser = words::score())]
        white: v1::Score,
        /// That of Black.
        #[arg(value_parser = words::score())]
        black: v1::Score,
    },
    /// Arbiter: forfeit the game for a player who was not there.
    Forfeit {
        /// The player.
        #[arg(value_parser = words::side())]
        side: v1::Color,
    },
    /// Arbiter: forfeit the game for both players.
    DoubleForfeit,
    /// Arbiter: the colors were reversed (7.3).
    ColorsReversed,
    /// Arbiter: the game began from a wrong position (7.2.1).
    WrongInitialPosition,
    /// Arbiter: the position on the board is illegal (A.5.4).
    IllegalPosition {
        /// It still was after the next move.
        #[arg(long)]
        still_after_next_move: bool,
    },
    /// Arbiter: permit an offer of a draw before its time (9.1.1).
    PermitDrawOffer,
    /// Arbiter: decide a claim that waits (guideline III).
    DecideClaim {
        /// The decision.
        #[arg(value_parser = words::claim_decision())]
        decision: v1::ClaimDecision,
    },
    /// Arbiter: set what the referee counts.
    SetCounters {
        /// The illegal moves of White that count.
        #[arg(long, value_name = "N")]
        white_illegal_moves: Option<u32>,
        /// The illegal moves of Black that count.
        #[arg(long, value_name = "N")]
        black_illegal_moves: Option<u32>,
        /// The half-moves since the last capture.
        #[arg(long, value_name = "N")]
        plies_without_capture: Option<u32>,
    },
    /// Arbiter: confirm what stands; the outcome of a game that is over is final then.
    Confirm,
    /// Arbiter: warn a player (12.9.1).
    Warn {
        /// The player.
        #[arg(value_parser = words::side())]
        side: v1::Color,
    },
}

impl DecisionWord {
    /// Returns the decision of the contract.
    pub(super) fn kind(self) -> Kind {
        match self {
            DecisionWord::SetClocks { white, black } => {
                Kind::SetClocks(v1::SetClocks { white, black })
            }
            DecisionWord::Penalty {
                side,
                deduct,
                add_opponent,
            } => Kind::PenaltyTime(v1::PenaltyTime {
                side: side.into(),
                deduct,
                add_opponent,
            }),
            DecisionWord::ExtraTime { side, time } => Kind::ExtraTime(v1::ExtraTime {
                side: side.into(),
                time: Some(time),
            }),
            DecisionWord::Reinstate { ply } => {
                Kind::ReinstatePosition(v1::ReinstatePosition { ply: Some(ply) })
            }
            DecisionWord::DeclareLost {
                side,
                opponent_score,
                device_found,
            } => Kind::DeclareLost(v1::DeclareLost {
                side: side.into(),
                opponent_score: opponent_score.into(),
                device_found,
            }),
            DecisionWord::DeclareLostByBoth => Kind::DeclareLostByBoth(v1::DeclareLostByBoth {}),
            DecisionWord::SetScore { white, black } => Kind::SetScore(v1::SetScore {
                white: white.into(),
                black: black.into(),
            }),
            DecisionWord::Forfeit { side } => {
                Kind::DeclareForfeit(v1::DeclareForfeit { side: side.into() })
            }
            DecisionWord::DoubleForfeit => Kind::DeclareDoubleForfeit(v1::DeclareDoubleForfeit {}),
            DecisionWord::ColorsReversed => Kind::ColorsReversed(v1::ColorsReversed {}),
            DecisionWord::WrongInitialPosition => {
                Kind::WrongInitialPosition(v1::WrongInitialPosition {})
            }
            DecisionWord::IllegalPosition {
                still_after_next_move,
            } => Kind::IllegalPositionSeen(v1::IllegalPositionSeen {
                still_after_next_move: Some(still_after_next_move),
            }),
            DecisionWord::PermitDrawOffer => Kind::PermitDrawOffer(v1::PermitDrawOffer {}),
            DecisionWord::DecideClaim { decision } => Kind::DecideClaim(v1::DecideClaim {
                decision: decision.into(),
            }),
            DecisionWord::SetCounters {
                white_illegal_moves,
                black_illegal_moves,
                plies_without_capture,
            } => {
                let side = |illegal_moves: Option<u32>| v1::SideCounters { illegal_moves };
                Kind::SetCounters(v1::SetCounters {
                    white: white_illegal_moves.map(|moves| side(Some(moves))),
                    black: black_illegal_moves.map(|moves| side(Some(moves))),
                    plies_without_capture,
                })
            }
            DecisionWord::Warn { side } => Kind::Warn(v1::Warn { side: side.into() }),
            DecisionWord::Confirm => Kind::Confirm(v1::Confirm {}),
        }
    }
}
