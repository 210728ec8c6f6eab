//! The `CanMate` question: whether a side can still mate, by any series of legal moves.

use referee_api::v1;
use referee_chess::Color;
use referee_laws::{CanMate, can_mate_by};
use referee_record::Fields;
use referee_record::convert::InContract;
use referee_record::convert::enums::can_mate_name;
use referee_record::convert::evidence::write_no_mate;
use referee_record::convert::position::read_game;
use referee_record::convert::position::read_variant;
use referee_record::convert::profile::read_profile;

use crate::error::ServiceError;
use crate::limits;
use crate::pool::{Solvers, WorkPool};

/// Answers questions of who can mate, some at once.
#[derive(Clone, Debug)]
pub(super) struct MateQuestions {
    pool: WorkPool,
}

impl MateQuestions {
    /// Questions beside all others to the solver.
    pub(super) fn new(solvers: &Solvers) -> MateQuestions {
        MateQuestions {
            pool: solvers.pool(
                limits::MATE_QUESTIONS_AT_ONCE_MAX,
                limits::MATE_QUESTIONS_WAITING_MAX,
            ),
        }
    }

    /// Answers a question. The work is done beside that of other requests, and ends when the
    /// caller goes away.
    pub(super) async fn answer(
        &self,
        request: v1::CanMateRequest,
    ) -> Result<v1::CanMateResponse, ServiceError> {
        let answer = move |is_unwanted: &dyn Fn() -> bool| answer(&request, is_unwanted);
        self.pool.run_while_wanted(answer).await?
    }
}

/// How many positions a question may visit: one budget for each side that it asks about.
pub(super) fn positions_asked(request: &v1::CanMateRequest) -> u64 {
    let sides = match request.side() {
        v1::Color::Unspecified => 2,
        v1::Color::White | v1::Color::Black => 1,
    };
    sides * nodes_of(request).min(limits::MATE_NODES_MAX)
}

fn nodes_of(request: &v1::CanMateRequest) -> u64 {
    match request.budget_nodes {
        0 => limits::MATE_NODES_DEFAULT,
        nodes => nodes,
    }
}

fn answer(
    request: &v1::CanMateRequest,
    cancel: &dyn Fn() -> bool,
) -> Result<v1::CanMateResponse, ServiceError> {
    let mut fields = Fields::default();
    let position = request.position.as_ref();
    let profile = request.rule_profile.as_ref();
    let variant = read_variant("position", position, &mut fields);
    let profile = read_profile("rule_profile", profile, variant, &mut fields);
    let side = Color::from_v1(fields.choice("side", request.side));
    if request.budget_nodes > limits::MATE_NODES_MAX {
        let max = limits::MATE_NODES_MAX;
        fields.refuse(
            "budget_nodes",
            format!("must be from 0 to {max}; 0 means the default"),
        );
    }
    fields.finish()?;
    let nodes = nodes_of(request);
    let game = read_game("position", position, profile)?;
    let of = |color: Color| {
        let is_asked = side.is_none_or(|side| side == color);
        is_asked.then(|| write(color, can_mate_by(&game, color, nodes, cancel)))
    };
    Ok(v1::CanMateResponse {
        white: of(Color::White),
        black: of(Color::Black),
        fen: game.position().to_string(),
    })
}

fn write(side: Color, found: CanMate) -> v1::CanMateAnswer {
    let can_mate = can_mate_name(&found).into();
    let (mating_line, no_mate) = match found {
        CanMate::Yes(moves) => {
            let moves = moves.iter().map(ToString::to_string).collect();
            let line = v1::MatingLineEvidence {
                side: side.to_v1().into(),
                moves,
            };
            (Some(line), None)
        }
        CanMate::No(proof) => (None, Some(write_no_mate(&proof))),
        CanMate::Unknown => (None, None),
    };
    v1::CanMateAnswer {
        can_mate,
        mating_line,
        no_mate,
    }
}
