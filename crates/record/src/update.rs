//! Reading and recording updates: what the platform changes of a game that is played or over.

use std::sync::Arc;

use prost_types::FieldMask;
use referee_api::v1;
use sha2::{Digest, Sha256};

use crate::creation::check_description;
use crate::error::Error;
use crate::event::{PendingEvent, PendingWrite, answer_of, write_after};
use crate::fields::Fields;
use crate::folded::{FoldedGame, describe, state};
use crate::limits;
use crate::personal::{Salt, split};

/// The fields that can be updated.
const PATHS: [&str; 4] = ["white_player", "black_player", "labels", "tags"];

/// An update, as it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// What is changed, each path once, in the order of the contract.
    paths: Vec<&'static str>,
    request_id: String,
    /// The game with the new values.
    asked: v1::Game,
}

/// Checks and reads an update; the name of the game is not looked at here.
///
/// # Errors
///
/// [`Error::InvalidFields`] with all that is wrong with it.
pub fn read_update(request: &v1::UpdateGameRequest) -> Result<Update, Error> {
    let mut fields = Fields::default();
    fields.request_id("request_id", &request.request_id);
    let paths = read_paths(request.update_mask.as_ref(), &mut fields);
    let empty = v1::Game::default();
    let game = fields
        .required("game", request.game.as_ref())
        .unwrap_or(&empty);
    let mut asked = v1::Game::default();
    for path in &paths {
        set(&mut asked, path, game);
    }
    check_description(&asked, &mut fields);
    fields.finish()?;
    Ok(Update {
        paths,
        request_id: request.request_id.clone(),
        asked,
    })
}

fn read_paths(mask: Option<&FieldMask>, fields: &mut Fields) -> Vec<&'static str> {
    let field = "update_mask";
    let known = || format!("the fields that can be updated are {}", PATHS.join(", "));
    let paths = mask.map_or(&[][..], |mask| mask.paths.as_slice());
    if paths.is_empty() {
        fields.refuse(field, format!("is required: {}", known()));
    }
    fields.count(field, "paths", paths.len(), limits::UPDATE_PATHS_MAX);
    for path in paths.iter().take(limits::UPDATE_PATHS_MAX) {
        if !PATHS.contains(&path.as_str()) {
            fields.refuse(field, format!("{path:?} cannot be updated; {}", known()));
        }
    }
    let asked = |path: &&'static str| paths.iter().any(|asked| asked == path);
    PATHS.into_iter().filter(asked).collect()
}

/// Sets one field of a description to what another one has.
fn set(game: &mut v1::Game, path: &str, from: &v1::Game) {
    match path {
        "white_player" => game.white_player.clone_from(&from.white_player),
        "black_player" => game.black_player.clone_from(&from.black_player),
        "labels" => game.labels.clone_from(&from.labels),
        _ => game.tags.clone_from(&from.tags),
    }
}

impl Update {
    /// Returns the hash of what is asked for, by which a repetition is known; of texts about
    /// persons only that they are there or not. What they are is compared with what is kept: see
    /// [`is_answered_by`](Update::is_answered_by).
    #[must_use]
    pub fn content_hash(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(b"update");
        for path in &self.paths {
            let mut empty = v1::Game::default();
            set(&mut empty, path, &self.asked);
            hasher.update(path.as_bytes());
            hasher.update([u8::from(empty != v1::Game::default())]);
        }
        hasher.finalize().into()
    }

    /// Whether an event, with the text that is kept of it, is of a request that asked for the
    /// same.
    #[must_use]
    pub fn is_answered_by(&self, event: &v1::GameEvent) -> bool {
        let Some(update) = &event.update else {
            return false;
        };
        let (there, mut asked) = (describe(&v1::Game::default(), update), v1::Game::default());
        for path in &self.paths {
            set(&mut asked, path, &there);
        }
        asked == self.asked
    }

    /// Returns the update as the event that is to be stored of it. It came at a time, in
    /// microseconds since 1970, from a principal.
    #[must_use]
    pub fn record(
        &self,
        folded: &FoldedGame,
        arrival_us: i64,
        principal: &str,
        salt: impl FnOnce() -> Salt,
    ) -> PendingEvent {
        let mut game = v1::Game::clone(&folded.genesis);
        for path in &self.paths {
            set(&mut game, path, &self.asked);
        }
        let update = v1::GameUpdate {
            update_mask: Some(FieldMask {
                paths: self.paths.iter().map(|&path| path.to_owned()).collect(),
            }),
            request_id: self.request_id.clone(),
            white_player: game.white_player,
            black_player: game.black_player,
            labels: game.labels,
            tags: game.tags,
        };
        record(folded, update, arrival_us, principal, salt)
    }
}

/// Returns an update as the event that is to be stored of it.
pub(crate) fn record(
    folded: &FoldedGame,
    update: v1::GameUpdate,
    arrival_us: i64,
    principal: &str,
    salt: impl FnOnce() -> Salt,
) -> PendingEvent {
    let after = FoldedGame {
        genesis: Arc::new(describe(&folded.genesis, &update)),
        game: folded.game.clone(),
        sequence: folded.sequence + 1,
        update_time_us: arrival_us.max(folded.update_time_us),
    };
    let mut event = v1::GameEvent {
        principal: principal.to_owned(),
        update: Some(update),
        ..write_after(&after)
    };
    let (bytes, private) = split(&mut event, salt);
    let write = PendingWrite::Entry {
        bytes,
        private,
        state: state(&after.game, after.sequence),
        update_time_us: after.update_time_us,
        deadline_us: after.deadline_us(),
        asks: false,
    };
    PendingEvent {
        response: answer_of(event),
        write,
        after: Some(after),
    }
}

/// Whether the mask of a recorded update names something, and nothing but what can be updated.
pub(crate) fn is_mask(mask: Option<&FieldMask>) -> bool {
    mask.is_some_and(|mask| {
        let mut paths = mask.paths.iter();
        !mask.paths.is_empty() && paths.all(|path| PATHS.contains(&path.as_str()))
    })
}
