//! How games end, and what another program needs to check it.

use referee_chess::{Color, Piece, Square};

use crate::articles::{Citation, cite};
use crate::dead::NoMate;

/// The result of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GameResult {
    /// One side has won.
    Win(Color),
    /// The game is drawn.
    Draw,
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
    /// One sentence that an arbiter could read out.
    pub text: String,
}

impl Outcome {
    fn new(result: GameResult, termination: Termination, article: &'static str) -> Outcome {
        let text = termination.sentence(result);
        Outcome {
            result,
            termination,
            citations: vec![cite(article)],
            evidence: Vec::new(),
            provisional: false,
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

    /// The outcome of a resignation (5.1.2): won by the opponent, or drawn where the opponent
    /// cannot mate. Where that is not known the win is provisional.
    pub(crate) fn resignation(
        winner: Color,
        no_mate: Option<NoMate>,
        provisional: bool,
    ) -> Outcome {
        match no_mate {
            Some(no_mate) => {
                let text = format!(
                    "{} resigns, but {winner} cannot mate by any series of legal moves, so the \
                     game is drawn.",
                    !winner
                );
                let outcome = Outcome::draw(Termination::ResignationNoMate, "5.1.2");
                Outcome {
                    text,
                    ..outcome.with(Evidence::NoMate(no_mate))
                }
            }
            None => {
                let win = GameResult::Win(winner);
                Outcome {
                    provisional,
                    ..Outcome::new(win, Termination::Resignation, "5.1.2")
                }
            }
        }
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
    /// Returns the sentence that an arbiter could read out.
    fn sentence(self, result: GameResult) -> String {
        let winner = match result {
            GameResult::Win(Color::White) => "White",
            GameResult::Win(Color::Black) => "Black",
            GameResult::Draw => "",
        };
        let loser = if winner == "White" { "Black" } else { "White" };
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
            Self::SeventyFive => {
                "Seventy-five moves of each player are completed without a capture or a pawn move, \
                 and the game is drawn."
                    .into()
            }
        }
    }
}
