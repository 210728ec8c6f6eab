//! Losses that are draws where the opponent cannot mate (5.1.2, 6.9, 7.5.5).

use referee_chess::Color;
use referee_mate::Budget;

use super::draft::Draft;
use crate::clock::Time;
use crate::game::Game;
use crate::history::History;
use crate::mate::{CanMate, NoMate, Purpose, Question, SOLVER_BYTES_MAX, Tier, examine};
use crate::outcome::{Evidence, GameResult, Outcome, Termination};
use crate::profile::{MateTest, UndeterminedPolicy};

/// The positions that may be visited for a question of who can mate when a game ends by it.
pub const MATE_BUDGET_ON_END: Budget = Budget::FULL.within(SOLVER_BYTES_MAX);

/// How a game is lost, and drawn instead where the opponent cannot mate.
pub(super) struct Loss {
    pub(super) loser: Color,
    pub(super) lost: Termination,
    pub(super) drawn: Termination,
    pub(super) article: &'static str,
    /// How it is found that the opponent cannot mate.
    pub(super) test: MateTest,
}

impl Game {
    /// Returns whether a side can mate where a game ends by it: the whole of the mate solver is
    /// asked, within its budget.
    pub(super) fn examine_end(&self, history: &History, test: MateTest, winner: Color) -> CanMate {
        let question = Question {
            test,
            purpose: Purpose::Flag,
            tier: Tier::Full(MATE_BUDGET_ON_END),
        };
        examine(question, history, winner, self.profile())
    }

    /// The end of a game that a side loses unless the opponent cannot mate.
    pub(super) fn lose_unless_no_mate(&self, history: &History, loss: &Loss) -> Outcome {
        let Loss {
            loser,
            lost,
            drawn,
            article,
            test,
        } = *loss;
        let winner = !loser;
        let win = || Outcome::new(GameResult::Win(winner), lost, article);
        match self.examine_end(history, test, winner) {
            CanMate::No(no_mate) => draw_for_no_mate(winner, drawn, article, no_mate),
            CanMate::Yes(moves) if moves.is_empty() => win(),
            CanMate::Yes(moves) => win().with(Evidence::MatingLine {
                side: winner,
                moves,
            }),
            CanMate::Unknown => {
                let asks =
                    self.profile().parameters.undetermined_policy == UndeterminedPolicy::AskArbiter;
                let text = win().text;
                let way_out = if asks {
                    "the arbiter has to confirm it"
                } else {
                    "a later proof may change it"
                };
                let text = format!(
                    "{text} Whether {winner} can mate could not be decided, so the result is \
                     provisional and {way_out}."
                );
                Outcome {
                    provisional: true,
                    ..win().saying(text)
                }
            }
        }
    }

    pub(super) fn decide_resignation(&self, side: Color, now: Time) -> Draft {
        let mut draft = self.draft(now);
        let test = if self.profile().parameters.resign_no_mate_draw {
            MateTest::Full
        } else {
            MateTest::Off
        };
        let loss = Loss {
            loser: side,
            lost: Termination::Resignation,
            drawn: Termination::ResignationNoMate,
            article: "5.1.2",
            test,
        };
        let outcome = self.lose_unless_no_mate(self.history(), &loss);
        draft.end_saying(outcome);
        draft
    }
}

/// The draw of a game that would be lost if the opponent could mate.
pub(super) fn draw_for_no_mate(
    winner: Color,
    termination: Termination,
    article: &'static str,
    no_mate: NoMate,
) -> Outcome {
    let loser = !winner;
    let what = match termination {
        Termination::ResignationNoMate => format!("{loser} resigns"),
        Termination::TimeNoMate => format!("{loser} is out of time"),
        Termination::IllegalMovesNoMate => {
            format!("{loser} has completed one illegal move too many")
        }
        _ => format!("{loser} would lose"),
    };
    let text = format!(
        "{what}, but {winner} cannot mate by any series of legal moves, so the game is drawn."
    );
    Outcome::draw(termination, article)
        .saying(text)
        .with(Evidence::NoMate(no_mate))
}
