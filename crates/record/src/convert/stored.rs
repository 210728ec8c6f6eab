//! What is stored of a game, and the way back from it: the genesis and the events as bytes of the
//! contract's own messages.
//!
//! What is stored is promised to be read for good, so nothing here goes through the checks of
//! requests: no limit of today, no profile of today. What a game was created under and what was
//! ruled stand in it as they were, and whoever adds to the contract keeps to this:
//!
//! - A parameter that is added has, in the list in `profile.rs`, the value that it has in games of
//!   before.
//! - A field that is added means, where it is left out, what was so before there was one.
//! - A value that is added to an enum is damage to a program that does not know it, never nothing.
//!
//! `tests/data/old_games` holds stores of before, and a test reads them.

use prost::Message;
use referee_api::v1;
use referee_chess::Position;
use referee_laws::{
    Citation, Effects, Game, GameResult, Outcome, Profile, Start, Termination, Variant,
};

use super::clocks::{stored_line, stored_timing};
use super::conduct::stored_conduct;
use super::enums::{InContract, stored_enum};
use super::evidence::stored_evidence;
use super::profile::stored_profile;
use crate::creation::taken_over;
use crate::error::Error;

/// Reads the genesis of a game, and begins the game as it was recorded.
///
/// # Errors
///
/// [`Error::Damaged`] where this program could not have written it.
pub fn stored_genesis(bytes: &[u8]) -> Result<(v1::Game, Game), Error> {
    let message = v1::Game::decode(bytes).map_err(|error| Error::damaged(error.to_string()))?;
    let (profile, start) = stored_start(&message)?;
    let outcome = stored_outcome(message.outcome.as_ref())?;
    let game = Game::restore(profile, &start, outcome)
        .map_err(|error| Error::damaged(format!("the moves of the genesis: {error}")))?;
    Ok((message, game))
}

/// Reads the rules that a game was created under and how it began, from its genesis.
///
/// # Errors
///
/// [`Error::Damaged`] where this program could not have written it.
pub(crate) fn stored_start(message: &v1::Game) -> Result<(Profile, Start), Error> {
    let position = message.initial_position.as_ref();
    let position = position.ok_or_else(|| Error::damaged("the position of the genesis"))?;
    let variant: Option<Variant> = stored_enum("the variant", position.variant)?;
    let variant = variant.ok_or_else(|| Error::damaged("the variant"))?;
    let profile = stored_profile(message.rule_profile.as_ref(), variant)?;
    let Some(v1::position::Base::Fen(fen)) = &position.base else {
        return Err(Error::damaged("the base of the position"));
    };
    let base = Position::from_fen(fen, variant.castling_mode());
    let start = Start {
        base: base.map_err(|error| Error::damaged(format!("the base of the position: {error}")))?,
        moves: position.moves.clone(),
        ..Start::default()
    };
    let setup = message.setup.as_ref();
    let timing = stored_timing(message.clock_settings.as_ref(), setup)?;
    Ok((profile, taken_over(start, timing, setup)))
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
    let Some(result) = stored_enum::<GameResult>("the result", message.result)? else {
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
