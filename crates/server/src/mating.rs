//! The `CanMate` question: whether a side can still mate, by any series of legal moves.

use std::sync::Arc;

use referee_api::v1;
use referee_chess::Color;
use referee_laws::{CanMate, Game, can_mate_by};
use referee_record::Fields;
use referee_record::convert::InContract;
use referee_record::convert::enums::can_mate_name;
use referee_record::convert::evidence::write_no_mate;
use referee_record::convert::position::read_game;
use referee_record::convert::profile::read_profile;
use tokio::sync::Semaphore;

use crate::limits;
use crate::status::ApiError;

/// Answers questions of who can mate, some at once.
#[derive(Clone, Debug)]
pub(crate) struct Mating {
    open: Arc<Semaphore>,
}

impl Default for Mating {
    fn default() -> Mating {
        Mating {
            open: Arc::new(Semaphore::new(limits::MATE_QUESTIONS_MAX)),
        }
    }
}

impl Mating {
    /// Answers a question. The work is done beside that of other requests, and ends when the
    /// caller goes away.
    pub(crate) async fn answer(
        &self,
        request: &v1::CanMateRequest,
    ) -> Result<v1::CanMateResponse, ApiError> {
        let mut fields = Fields::default();
        let position = request.position.as_ref();
        let profile = request.rule_profile.as_ref();
        let profile = read_profile("rule_profile", profile, position, &mut fields);
        let side = Color::from_v1(fields.choice("side", request.side));
        if request.budget_nodes > limits::MATE_NODES_MAX {
            let max = limits::MATE_NODES_MAX;
            fields.refuse(
                "budget_nodes",
                format!("must be from 0 to {max}; 0 means the default"),
            );
        }
        fields.finish()?;
        let nodes = match request.budget_nodes {
            0 => limits::MATE_NODES_DEFAULT,
            nodes => nodes,
        };
        let game = read_game("position", position, profile)?;
        let permit = Arc::clone(&self.open)
            .try_acquire_owned()
            .map_err(|_| ApiError::Overloaded)?;
        let gone = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let watch = Gone(Arc::clone(&gone));
        let answered = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let cancel = || gone.load(std::sync::atomic::Ordering::Relaxed);
            answer(&game, side, nodes, &cancel)
        });
        let answered = answered.await;
        drop(watch);
        answered.map_err(|error| ApiError::InvariantBroken {
            what: format!("a question of who can mate did not come to its end: {error}"),
        })
    }
}

/// Tells the work that nobody waits for it any more.
struct Gone(Arc<std::sync::atomic::AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

fn answer(
    game: &Game,
    side: Option<Color>,
    nodes: u64,
    cancel: &dyn Fn() -> bool,
) -> v1::CanMateResponse {
    let of = |color: Color| {
        let is_asked = side.is_none_or(|side| side == color);
        is_asked.then(|| write(color, can_mate_by(game, color, nodes, cancel)))
    };
    v1::CanMateResponse {
        white: of(Color::White),
        black: of(Color::Black),
        fen: game.position().to_string(),
    }
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
