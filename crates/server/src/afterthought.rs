//! The second look at games: the whole mate solver, in the background, at positions that the quick
//! look after a move could not decide, and at results that are provisional.
//!
//! What is found is appended to the game as an entry of the referee. Nothing waits for it, and a
//! position that finds the queue full is looked at no more.

use std::sync::Arc;

use referee_chess::{Color, Position};
use referee_laws::{Budget, CanMate, Game, GameResult, MateFinding, Tier, can_mate};
use referee_record::Finding;
use tokio::sync::{mpsc, watch};

use crate::desk::Desk;
use crate::limits;
use crate::stream::stopped;

/// A position to look at.
#[derive(Debug)]
pub(crate) struct Look {
    id: String,
    ply: u32,
    position: Position,
    /// Who has won for the time being, where the result rests on this question.
    winner: Option<Color>,
}

/// Where positions are left to be looked at.
pub(crate) type Looks = mpsc::Sender<Look>;

/// Leaves a game as it stands to be looked at, since a look could change something.
pub(crate) fn leave(looks: &Looks, id: &str, game: &Game) {
    let winner = game.outcome().and_then(|outcome| match outcome.result {
        GameResult::Win(winner) => Some(winner),
        _ => None,
    });
    let look = Look {
        id: id.to_owned(),
        ply: game.history().ply(),
        position: game.position().clone(),
        winner,
    };
    if looks.try_send(look).is_err() {
        tracing::debug!(game = id, "no room for a second look");
    }
}

/// Looks at positions until the service stops.
pub(crate) async fn look(
    desk: Arc<Desk>,
    mut queue: mpsc::Receiver<Look>,
    mut is_stopping: watch::Receiver<bool>,
) {
    loop {
        let look = tokio::select! {
            look = queue.recv() => look,
            () = stopped(&mut is_stopping) => return,
        };
        let Some(Look {
            id,
            ply,
            position,
            winner,
        }) = look
        else {
            return;
        };
        let found = tokio::task::spawn_blocking(move || examine(ply, &position, winner)).await;
        let Ok(Some(found)) = found else { continue };
        let finding = Finding::mate_decided(found);
        if let Err(error) = desk.find(&id, finding).await {
            tracing::warn!(game = id, ?error, "what was found could not be recorded");
        }
    }
}

/// Asks who can mate; `None` where the answer changes nothing.
fn examine(ply: u32, position: &Position, winner: Option<Color>) -> Option<MateFinding> {
    let nodes = if winner.is_some() {
        limits::MATE_NODES_PROVISIONAL
    } else {
        limits::MATE_NODES_DEFAULT
    };
    let ask = |side| can_mate(position, side, Tier::Full(Budget::of(nodes)));
    let finding = |white, black| MateFinding {
        ply,
        white,
        black,
        nodes,
    };
    if let Some(winner) = winner {
        let answer = ask(winner);
        if answer == CanMate::Unknown {
            return None;
        }
        return Some(match winner {
            Color::White => finding(answer, CanMate::Unknown),
            Color::Black => finding(CanMate::Unknown, answer),
        });
    }
    // One side that can mate is enough for the game to go on.
    let mover = ask(position.turn());
    if !matches!(mover, CanMate::No(_)) {
        return None;
    }
    let other = ask(!position.turn());
    if !matches!(other, CanMate::No(_)) {
        return None;
    }
    Some(match position.turn() {
        Color::White => finding(mover, other),
        Color::Black => finding(other, mover),
    })
}
