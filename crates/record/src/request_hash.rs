//! The hash of what a request asks for, by which its repetition is known.

use prost::Message;
use referee_api::v1;
use sha2::{Digest, Sha256};

/// Returns the hash of what an action asks for: not of its id, and not of the state it was decided
/// on.
#[must_use]
pub fn hash_action(message: &v1::Action) -> [u8; 32] {
    let content = v1::Action {
        request_id: String::new(),
        expected_sequence: None,
        ..message.clone()
    };
    Sha256::digest(content.encode_to_vec()).into()
}

/// Returns the hash of what a creation asks for: output-only fields are ignored.
#[must_use]
pub fn hash_creation(request: &v1::CreateGameRequest) -> [u8; 32] {
    let game = request.game.clone().unwrap_or_default();
    let content = v1::CreateGameRequest {
        game: Some(v1::Game {
            white_player: game.white_player,
            black_player: game.black_player,
            rule_profile: game.rule_profile.map(|profile| v1::RuleProfile {
                edition: String::new(),
                parameters: None,
                ..profile
            }),
            initial_position: game.initial_position,
            labels: game.labels,
            clock_settings: game.clock_settings,
            setup: game.setup,
            confirm_after: game.confirm_after,
            tags: game.tags,
            ..v1::Game::default()
        }),
        game_id: request.game_id.clone(),
        request_id: String::new(),
    };
    Sha256::digest(content.encode_to_vec()).into()
}
