//! The whole mate solver, at positions that the quick look after a move could not decide, and at
//! results that are provisional.
//!
//! The questions are in the store, so that none is lost by a restart, and each is claimed for a
//! while, so that several processes share them. What is found is appended to the game as an entry
//! of the referee. Nothing waits for it.

use std::sync::Arc;

use referee_record::Finding;
use referee_store::{OpenQuestion, Questions};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::clock::us;
use crate::error::ServiceError;
use crate::games::Games;
use crate::limits;

/// Answers questions until the service stops.
pub(super) async fn run(games: Arc<Games>, questions: Arc<dyn Questions>, stop: CancellationToken) {
    let mut is_failing = false;
    loop {
        let hold_us = us(limits::QUESTION_HOLD);
        let limit = limits::QUESTIONS_AT_ONCE_MAX;
        let claimed = questions.claim_questions(games.now_us(), hold_us, limit);
        let claimed = match claimed.await {
            Ok(claimed) => {
                is_failing = false;
                claimed
            }
            Err(error) => {
                if !is_failing {
                    tracing::error!(%error, "the open questions could not be read");
                }
                is_failing = true;
                Vec::new()
            }
        };
        if claimed.is_empty() {
            tokio::select! {
                () = stop.cancelled() => return,
                () = games.asked.notified() => continue,
                () = tokio::time::sleep(limits::QUESTION_INTERVAL) => continue,
            }
        }
        let mut answers = JoinSet::new();
        for question in claimed {
            let (games, questions) = (Arc::clone(&games), Arc::clone(&questions));
            let stop = stop.clone();
            answers
                .spawn(async move { answer_or_leave(&games, &*questions, question, stop).await });
        }
        while answers.join_next().await.is_some() {}
        if stop.is_cancelled() {
            return;
        }
    }
}

/// Answers a question; one that cannot be answered now comes up again when its claim ends.
async fn answer_or_leave(
    games: &Games,
    questions: &dyn Questions,
    question: OpenQuestion,
    stop: CancellationToken,
) {
    let answered = answer(games, &question, stop.clone()).await;
    let settles = match &answered {
        // A game that was stopped over, or that cannot be written to now, is looked at again.
        Ok(()) => !stop.is_cancelled(),
        Err(ServiceError::GameNotFound { .. } | ServiceError::GameDeleted { .. }) => true,
        Err(error) => {
            let game = &question.key.game;
            tracing::warn!(game, %error, "what was found could not be recorded");
            false
        }
    };
    if settles {
        let OpenQuestion { key, sequence } = question;
        if let Err(error) = questions.settle_question(key, sequence).await {
            tracing::warn!(%error, "an answered question could not be taken out");
        }
    }
}

async fn answer(
    games: &Games,
    question: &OpenQuestion,
    stop: CancellationToken,
) -> Result<(), ServiceError> {
    let game = games.registry.read(&question.key).await?;
    let Some(asked) = game.folded.game.mate_question() else {
        return Ok(());
    };
    let nodes = if asked.winner.is_some() {
        limits::MATE_NODES_PROVISIONAL
    } else {
        limits::MATE_NODES_DEFAULT
    };
    let examine = move |is_unwanted: &dyn Fn() -> bool| {
        asked.answer(nodes, &|| stop.is_cancelled() || is_unwanted())
    };
    let found = games.second_looks.run_while_wanted(examine).await?;
    let Some(found) = found else {
        return Ok(());
    };
    games
        .find(&question.key, Finding::mate_decided(found))
        .await
}
