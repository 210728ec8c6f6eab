//! The hash of what a request asks for, by which its repetition is known.
//!
//! It is kept for as long as the game and has no salt, so it covers of each text about persons only
//! whether there is one. What the text says is compared with what is kept of it.

use prost::Message;
use referee_api::v1;
use sha2::{Digest, Sha256};

use crate::personal::{presence, take_from_action};

/// Returns the hash of what an action asks for: not of its id, and not of the state it was decided
/// on.
#[must_use]
pub fn hash_action(message: &v1::Action) -> [u8; 32] {
    let mut content = v1::Action {
        request_id: String::new(),
        expected_sequence: None,
        ..message.clone()
    };
    let presence = presence(&mut content);
    take_from_action(&mut content);
    hash(&content, &presence)
}

/// Returns the hash of what a creation asks for: output-only fields are ignored.
#[must_use]
pub fn hash_creation(request: &v1::CreateGameRequest) -> [u8; 32] {
    let game = request.game.clone().unwrap_or_default();
    let presence = [
        !game.white_player.is_empty(),
        !game.black_player.is_empty(),
        !game.labels.is_empty(),
        !game.tags.is_empty(),
    ];
    let content = v1::CreateGameRequest {
        game: Some(v1::Game {
            rule_profile: game.rule_profile.map(|profile| v1::RuleProfile {
                edition: String::new(),
                parameters: None,
                ..profile
            }),
            initial_position: game.initial_position,
            clock_settings: game.clock_settings,
            setup: game.setup,
            confirm_after: game.confirm_after,
            ..v1::Game::default()
        }),
        game_id: request.game_id.clone(),
        request_id: String::new(),
    };
    hash(&content, &presence)
}

fn hash(content: &impl Message, presence: &[bool]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(content.encode_to_vec());
    for &is_there in presence {
        hasher.update([u8::from(is_there)]);
    }
    hasher.finalize().into()
}
