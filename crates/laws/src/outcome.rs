//! How games end, and what another program needs to check it.

use referee_chess::{Color, Piece, Square, UciMove};

use crate::articles::{Citation, cite};
use crate::clock::Time;
use crate::mate::NoMate;
use crate::profile::Points;

/// The result of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GameResult {
    /// One side has won.
    Win(Color),
    /// The game is drawn.
    Draw,
    /// Both sides lose (11.8).
    BothLose,
    /// One side has half a point, and the other nothing (11.7).
    Half(Color),
    /// One side has won by forfeit, without play.
    WinByForfeit(Color),
    /// Both sides forfeit.
    BothForfeit,
    /// The game is void, and a new one is to be played (7.2.1, 7.3).
    Cancelled,
    /// The game was broken off and counts for nothing.
    Aborted,
}

impl GameResult {
    /// Returns the points of White and of Black in half-points, by a scoring; `None` where the
    /// game counts for nothing (10.1).
    #[must_use]
    pub const fn half_points(self, points: Points) -> Option<(u32, u32)> {
        Some(match self {
            Self::Win(Color::White) | Self::WinByForfeit(Color::White) => (points.win, points.loss),
            Self::Win(Color::Black) | Self::WinByForfeit(Color::Black) => (points.loss, points.win),
            Self::Draw => (points.draw, points.draw),
            Self::BothLose | Self::BothForfeit => (points.loss, points.loss),
            Self::Half(Color::White) => (points.draw, points.loss),
            Self::Half(Color::Black) => (points.loss, points.draw),
            Self::Cancelled | Self::Aborted => return None,
        })
    }

    /// Returns the result with a score, as [`score`](GameResult::score) writes it; `None` where
    /// none has it, as for `*`.
    ///
    /// ```
    /// use referee_laws::{Color, GameResult};
    ///
    /// assert_eq!(GameResult::named("1/2-0"), Some(GameResult::Half(Color::White)));
    /// assert_eq!(GameResult::named("*"), None);
    /// ```
    #[must_use]
    pub fn named(score: &str) -> Option<GameResult> {
        use GameResult::{Half, Win, WinByForfeit};
        let [white, black] = Color::ALL;
        [
            Win(white),
            Win(black),
            GameResult::Draw,
            GameResult::BothLose,
            Half(white),
            Half(black),
            WinByForfeit(white),
            WinByForfeit(black),
            GameResult::BothForfeit,
            GameResult::Cancelled,
            GameResult::Aborted,
        ]
        .into_iter()
        .find(|result| result.score() == score)
    }

    /// Returns the result as score tables write it, such as `1-0`, `1/2-0` or `+/-`.
    #[must_use]
    pub const fn score(self) -> &'static str {
        match self {
            Self::Win(Color::White) => "1-0",
            Self::Win(Color::Black) => "0-1",
            Self::Draw => "1/2-1/2",
            Self::BothLose => "0-0",
            Self::Half(Color::White) => "1/2-0",
            Self::Half(Color::Black) => "0-1/2",
            Self::WinByForfeit(Color::White) => "+/-",
            Self::WinByForfeit(Color::Black) => "-/+",
            Self::BothForfeit => "-/-",
            Self::Cancelled => "cancelled",
            Self::Aborted => "aborted",
        }
    }
}

/// How a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Termination {
    /// Checkmate (5.1.1).
    Checkmate,
    /// Stalemate (5.2.1).
    Stalemate,
    /// Neither side can mate (5.2.2).
    DeadPosition,
    /// A player resigned (5.1.2).
    Resignation,
    /// A player resigned, but the opponent cannot mate (5.1.2).
    ResignationNoMate,
    /// The players agreed to a draw (5.2.3).
    Agreement,
    /// A correct claim of a third occurrence (9.2).
    ThreefoldClaim,
    /// A third occurrence where the profile needs no claim.
    ThreefoldAutomatic,
    /// A fifth occurrence (9.6.1).
    Fivefold,
    /// A correct claim of fifty moves (9.3).
    FiftyClaim,
    /// Fifty moves where the profile needs no claim.
    FiftyAutomatic,
    /// Seventy-five moves (9.6.2).
    SeventyFive,
    /// Neither side has the material that the profile asks for to play on.
    MaterialDraw,
    /// Perpetual check, where the profile knows it.
    PerpetualCheck,
    /// A player ran out of time (6.9).
    TimeForfeit,
    /// A player ran out of time, but the opponent cannot mate (6.9).
    TimeNoMate,
    /// Both flags are down (guideline III.3.1).
    BothFlags,
    /// A player did not arrive before the default time (6.7).
    DefaultForfeit,
    /// Neither player did (6.7).
    DoubleForfeit,
    /// A player never made the first move.
    NoStart,
    /// A player completed one illegal move too many (7.5.5).
    IllegalMoves,
    /// A player did, but the opponent cannot mate (7.5.5).
    IllegalMovesNoMate,
    /// The position on the board is illegal and can no longer be put right (A.5.4).
    IllegalPositionDraw,
    /// A correct claim that the opponent cannot mate, where the profile knows it.
    ClaimOpponentInsufficient,
    /// A correct claim that the opponent makes no effort to win (guideline III.5).
    QuickplayClaim,
    /// The sealed move of an adjourned game loses (guideline I).
    SealedMove,
    /// The arbiter decided (11.7, 11.8, 12.9).
    ArbiterDecision,
    /// The players signed the result (8.7).
    SignedResult,
    /// A player left the game.
    Abandonment,
    /// The game began from a wrong position (7.2.1).
    WrongInitialPosition,
    /// The game began with colors reversed (7.3).
    ColorsReversed,
    /// The game was broken off before it counted.
    Aborted,
}

/// Something that another program can check.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// The plies at which one position stood, oldest first.
    Repetition(Vec<u32>),
    /// A run of moves without a capture or a pawn move.
    MoveCount {
        /// The length of the run in half-moves.
        halfmove_clock: u32,
        /// The ply that the last capture or pawn move led to; 0 where there was none.
        last_reset_ply: u32,
    },
    /// A check.
    Check {
        /// The square of the king.
        king: Square,
        /// The pieces that give it.
        attackers: Vec<(Square, Piece)>,
    },
    /// Why a side cannot mate.
    NoMate(NoMate),
    /// How a side can still mate.
    MatingLine {
        /// The side that mates.
        side: Color,
        /// The moves from the position on the board.
        moves: Vec<UciMove>,
    },
    /// The arithmetic of a clock at a moment.
    Clock(ClockReading),
}

/// A clock at a moment, and how it came to stand so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClockReading {
    /// The side.
    pub side: Color,
    /// The moment.
    pub received: Time,
    /// When the flag falls, where the clock runs.
    pub deadline: Option<Time>,
    /// The time left when the clock was last settled, in milliseconds.
    pub left_ms: Option<u64>,
    /// The time that has passed on it since, in milliseconds.
    pub elapsed_ms: u64,
}

/// The end of a game.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// Who won.
    pub result: GameResult,
    /// How it ended.
    pub termination: Termination,
    /// The articles that it rests on, the deciding one first; never empty.
    pub citations: Vec<Citation>,
    /// What another program needs to check it.
    pub evidence: Vec<Evidence>,
    /// Whether it rests on a question that could not be decided.
    pub provisional: bool,
    /// Whether it is confirmed, so that nothing changes it any more.
    pub confirmed: bool,
    /// One sentence that an arbiter could read out.
    pub text: String,
}

impl Outcome {
    pub(crate) fn new(
        result: GameResult,
        termination: Termination,
        article: &'static str,
    ) -> Outcome {
        let text = termination.sentence(result);
        Outcome {
            result,
            termination,
            citations: vec![cite(article)],
            evidence: Vec::new(),
            provisional: false,
            confirmed: false,
            text,
        }
    }

    /// The outcome of checkmate (5.1.1).
    pub(crate) fn checkmate(winner: Color, check: Evidence) -> Outcome {
        let outcome = Outcome::new(GameResult::Win(winner), Termination::Checkmate, "5.1.1");
        outcome.with(check)
    }

    /// The outcome of a draw.
    pub(crate) fn draw(termination: Termination, article: &'static str) -> Outcome {
        Outcome::new(GameResult::Draw, termination, article)
    }

    /// The outcome with other words.
    #[must_use]
    pub(crate) fn saying(mut self, text: String) -> Outcome {
        self.text = text;
        self
    }

    /// The outcome with one more piece of evidence.
    #[must_use]
    pub(crate) fn with(mut self, evidence: Evidence) -> Outcome {
        self.evidence.push(evidence);
        self
    }

    /// The outcome with one more article.
    #[must_use]
    pub(crate) fn citing(mut self, article: &'static str) -> Outcome {
        self.citations.push(cite(article));
        self
    }
}

impl Termination {
    /// All of them.
    pub const ALL: [Termination; 32] = [
        Termination::Checkmate,
        Termination::Stalemate,
        Termination::DeadPosition,
        Termination::Resignation,
        Termination::ResignationNoMate,
        Termination::Agreement,
        Termination::ThreefoldClaim,
        Termination::ThreefoldAutomatic,
        Termination::Fivefold,
        Termination::FiftyClaim,
        Termination::FiftyAutomatic,
        Termination::SeventyFive,
        Termination::MaterialDraw,
        Termination::PerpetualCheck,
        Termination::TimeForfeit,
        Termination::TimeNoMate,
        Termination::BothFlags,
        Termination::DefaultForfeit,
        Termination::DoubleForfeit,
        Termination::NoStart,
        Termination::IllegalMoves,
        Termination::IllegalMovesNoMate,
        Termination::IllegalPositionDraw,
        Termination::ClaimOpponentInsufficient,
        Termination::QuickplayClaim,
        Termination::SealedMove,
        Termination::ArbiterDecision,
        Termination::SignedResult,
        Termination::Abandonment,
        Termination::WrongInitialPosition,
        Termination::ColorsReversed,
        Termination::Aborted,
    ];

    /// Returns the sentence that an arbiter could read out.
    fn sentence(self, result: GameResult) -> String {
        let (winner, loser) = match result {
            GameResult::Win(winner) | GameResult::WinByForfeit(winner) => {
                (winner.to_string(), (!winner).to_string())
            }
            _ => (String::new(), String::new()),
        };
        match self {
            Self::Checkmate => format!("{winner} wins by checkmate."),
            Self::Resignation => format!("{loser} resigns, so {winner} wins."),
            Self::Stalemate => "The game is drawn by stalemate.".into(),
            Self::DeadPosition => {
                "The game is drawn, since neither player can mate by any series of legal moves."
                    .into()
            }
            Self::ResignationNoMate => "The game is drawn in spite of a resignation.".into(),
            Self::Agreement => "The game is drawn by agreement.".into(),
            Self::ThreefoldClaim => {
                "The claim is correct: the position occurs for at least the third time, and the \
                 game is drawn."
                    .into()
            }
            Self::ThreefoldAutomatic => {
                "The position occurs for the third time, and the game is drawn.".into()
            }
            Self::Fivefold => {
                "The position occurs for the fifth time, and the game is drawn.".into()
            }
            Self::FiftyClaim => {
                "The claim is correct: fifty moves of each player are completed without a capture \
                 or a pawn move, and the game is drawn."
                    .into()
            }
            Self::FiftyAutomatic => {
                "Fifty moves of each player are completed without a capture or a pawn move, and \
                 the game is drawn."
                    .into()
            }
            Self::TimeForfeit => format!("{loser} is out of time, so {winner} wins."),
            Self::NoStart => format!("{loser} did not make the first move, so {winner} wins."),
            Self::IllegalMoves => {
                format!("{loser} has completed one illegal move too many, so {winner} wins.")
            }
            Self::DefaultForfeit => {
                format!("{loser} did not arrive in time and forfeits the game to {winner}.")
            }
            Self::SealedMove => format!("The sealed move of {loser} is invalid, so {winner} wins."),
            Self::Abandonment => format!("{loser} has left the game, so {winner} wins."),
            Self::MaterialDraw => {
                "The game is drawn, since neither player has the material that the rules ask for."
                    .into()
            }
            Self::PerpetualCheck => "The game is drawn by perpetual check.".into(),
            Self::TimeNoMate => "The game is drawn in spite of a fallen flag.".into(),
            Self::BothFlags => "Both flags are down, and the game is drawn.".into(),
            Self::DoubleForfeit => "Neither player arrived in time, and both forfeit.".into(),
            Self::IllegalMovesNoMate => "The game is drawn in spite of the illegal moves.".into(),
            Self::IllegalPositionDraw => {
                "The illegal position on the board can no longer be put right, and the game is \
                 drawn."
                    .into()
            }
            Self::ClaimOpponentInsufficient => {
                "The claim is correct: the opponent cannot mate, and the game is drawn.".into()
            }
            Self::QuickplayClaim => {
                "The claim is accepted: the opponent cannot win by normal means or makes no effort \
                 to, and the game is drawn."
                    .into()
            }
            Self::ArbiterDecision => {
                format!("The arbiter decides the game: {}.", result.score())
            }
            Self::SignedResult => format!("The players have signed {}.", result.score()),
            Self::WrongInitialPosition => {
                "The game began from a wrong position and is cancelled.".into()
            }
            Self::ColorsReversed => "The game began with colors reversed and is cancelled.".into(),
            Self::Aborted => "The game is broken off and does not count.".into(),
            Self::SeventyFive => {
                "Seventy-five moves of each player are completed without a capture or a pawn move, \
                 and the game is drawn."
                    .into()
            }
        }
    }
}
