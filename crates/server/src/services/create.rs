//! `CreateGame`: what is stored of a creation, and the game that begins with it.

use std::sync::Arc;

use referee_api::v1;
use referee_laws::Game;
use referee_record::convert::time::write_us;
use referee_record::{
    FoldedGame, complete_genesis, hash_creation, read_creation, resource_name, split, state,
};
use referee_store::{GameKey, NewGame};
use uuid::Uuid;

use super::service::GamesService;
use crate::error::ServiceError;
use crate::games::store_text;
use crate::transport::Caller;
use crate::{limits, salt};

/// Creates a game, or finds the one that the same request created.
pub(super) async fn create(
    service: &GamesService,
    caller: &Caller,
    request: v1::CreateGameRequest,
) -> Result<v1::Game, ServiceError> {
    tracing::Span::current().record("request_id", &request.request_id);
    let id = match request.game_id.as_str() {
        "" => Uuid::new_v4().to_string(),
        id => id.to_owned(),
    };
    let key = caller.key(id)?;
    let create_time_us = service.games.now_us();
    let position = request.game.as_ref();
    let position = position.and_then(|game| game.initial_position.as_ref());
    let moves = position.map_or(0, |position| position.moves.len());
    let is_long = moves > limits::HISTORY_MOVES_INLINE_MAX;
    let size = (is_long, prost::Message::encoded_len(&request));
    let read = move || {
        let (genesis, game) = read_creation(&request)?;
        Ok::<_, ServiceError>(new_game(key, &request, genesis, game, create_time_us))
    };
    let (new, folded) = service.pool.run_request(size, read).await??;
    service.games.create(new, folded).await
}

/// What is stored of a creation, and the game that begins with it.
pub(super) fn new_game(
    key: GameKey,
    request: &v1::CreateGameRequest,
    genesis: v1::Game,
    game: Game,
    create_time_us: i64,
) -> (NewGame, FoldedGame) {
    let create_time = Some(write_us(create_time_us));
    let mut genesis = complete_genesis(genesis, &game, resource_name(&key.game), create_time);
    let (bytes, private) = split(&mut genesis, salt::draw);
    let folded = FoldedGame {
        genesis: Arc::new(genesis),
        game,
        sequence: 0,
        update_time_us: create_time_us,
    };
    let labels = folded.genesis.labels.iter();
    let new = NewGame {
        key,
        request_id: request.request_id.clone(),
        content_hash: hash_creation(request),
        genesis: bytes,
        private: private.map(store_text),
        state: state(&folded.game, 0).into(),
        labels: labels
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
        create_time_us,
        deadline_us: folded.deadline_us(),
    };
    (new, folded)
}
