//! What is stored of a game, and the way back from it: the genesis and the events as bytes of the
//! contract's own messages.

use prost::Message;
use referee_api::v1;
use referee_laws::{Citation, Effects, Game, GameResult, Outcome, Profile, Termination};

use super::clocks::{read_timing, stored_line};
use super::conduct::stored_conduct;
use super::enums::InContract;
use super::evidence::stored_evidence;
use super::position::{read_start, read_variant};
use super::profile::resolve_profile;
use crate::creation::taken_over;
use crate::error::Error;
use crate::fields::Fields;

/// Reads the genesis of a game, and begins the game as it was recorded.
///
/// # Errors
///
/// [`Error::Damaged`] where this program could not have written it.
pub fn stored_genesis(bytes: &[u8]) -> Result<(v1::Game, Game), Error> {
    let message = v1::Game::decode(bytes).map_err(|error| Error::damaged(error.to_string()))?;
    let mut fields = Fields::default();
    let stored = message.rule_profile.clone().unwrap_or_default();
    // The parameters in force are stored, so a profile that changes later changes no old game.
    let resolved = v1::RuleProfile {
        overrides: stored.parameters,
        ..stored
    };
    let position = message.initial_position.as_ref();
    let variant = read_variant("initial_position", position, &mut fields);
    let profile: Profile = resolve_profile("rule_profile", Some(&resolved), variant, &mut fields);
    let settings = message.clock_settings.as_ref();
    let setup = message.setup.as_ref();
    let timing = read_timing("game", settings, setup, &profile, &mut fields);
    fields
        .finish()
        .map_err(|_| Error::damaged("the rule profile or the clocks of the genesis"))?;
    let start = read_start(
        "initial_position",
        position,
        profile.variant.castling_mode(),
    )
    .map_err(|_| Error::damaged("the position of the genesis"))?;
    let start = taken_over(start, timing, setup);
    let outcome = stored_outcome(message.outcome.as_ref())?;
    let game = Game::restore(profile, &start, outcome)
        .map_err(|error| Error::damaged(format!("the moves of the genesis: {error}")))?;
    Ok((message, game))
}

/// Reads a stored event.
///
/// # Errors
///
/// [`Error::Damaged`] where this program could not have written it.
pub fn stored_event(bytes: &[u8]) -> Result<v1::GameEvent, Error> {
    v1::GameEvent::decode(bytes).map_err(|error| Error::damaged(error.to_string()))
}

/// Reads what an event does to its game.
///
/// # Errors
///
/// [`Error::Damaged`] where this program could not have written it.
pub fn stored_effects(event: &v1::GameEvent, game: &Game) -> Result<Effects, Error> {
    let played = match &event.r#move {
        None => None,
        Some(mv) => Some(
            mv.uci
                .parse()
                .map_err(|_| Error::damaged("the move of an event"))?,
        ),
    };
    Ok(Effects {
        reinstated: event.reinstated_ply,
        played,
        is_illegal: event.move_illegal,
        conduct: stored_conduct(event, game.conduct())?,
        ledger: event
            .ledger
            .iter()
            .map(stored_line)
            .collect::<Result<_, _>>()?,
        outcome: stored_outcome(event.outcome.as_ref())?,
    })
}

fn stored_outcome(message: Option<&v1::Outcome>) -> Result<Option<Outcome>, Error> {
    let Some(message) = message else {
        return Ok(None);
    };
    let Some(result) = GameResult::from_v1(message.result()) else {
        return Ok(None);
    };
    Ok(Some(Outcome {
        result,
        termination: Termination::from_v1(message.termination())
            .ok_or_else(|| Error::damaged("the termination of an outcome"))?,
        citations: message.citations.iter().map(stored_citation).collect(),
        evidence: message
            .evidence
            .iter()
            .map(stored_evidence)
            .collect::<Result<_, _>>()?,
        provisional: message.provisional,
        confirmed: message.confirmed,
        text: message.text.clone(),
    }))
}

fn stored_citation(message: &v1::Citation) -> Citation {
    Citation {
        edition: message.edition.clone().into(),
        article: message.article.clone().into(),
        text: message.text.clone().into(),
    }
}
