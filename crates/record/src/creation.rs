//! Reading the creation of a game.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use prost_types::Timestamp;
use referee_api::v1;
use referee_chess::{Fen, Position};
use referee_laws::{Game, Sides, Start, Timing};

use crate::convert::InContract;
use crate::convert::clocks::{limited, read_timing, write_settings};
use crate::convert::position::{from_game_error, read_start, read_variant};
use crate::convert::profile::{read_profile, write_profile};
use crate::convert::ruling::write_outcome;
use crate::convert::time::read_duration;
use crate::error::Error;
use crate::fields::Fields;
use crate::judge::write_judge;
use crate::limits;
use crate::name::check_game_id;

/// Checks and reads the game of a creation: the genesis as it is to be stored, but for its name,
/// its outcome and its time ([`complete_genesis`]), and the game that begins with it.
///
/// # Errors
///
/// Where a field is wrong, or the position or a move in it is not legal.
pub fn read_creation(request: &v1::CreateGameRequest) -> Result<(v1::Game, Game), Error> {
    let mut fields = Fields::default();
    fields.request_id("request_id", &request.request_id);
    check_game_id(&request.game_id, &mut fields);
    let empty = v1::Game::default();
    let asked = fields
        .required("game", request.game.as_ref())
        .unwrap_or(&empty);
    check_description(asked, &mut fields);
    let position = asked.initial_position.as_ref();
    let profile = asked.rule_profile.as_ref();
    let variant = read_variant("game.initial_position", position, &mut fields);
    let profile = read_profile("game.rule_profile", profile, variant, &mut fields);
    let settings = asked.clock_settings.as_ref();
    let setup = asked.setup.as_ref();
    let timing = read_timing("game", settings, setup, &profile, &mut fields);
    check_setup("game.setup", setup, &mut fields);
    let range = Duration::ZERO..=limits::CONFIRM_AFTER_MAX;
    let field = "game.confirm_after";
    let confirm_after = asked.confirm_after;
    read_duration(field, confirm_after, Duration::ZERO, range, &mut fields);
    fields.finish()?;
    let overrides = asked
        .rule_profile
        .as_ref()
        .and_then(|profile| profile.overrides);
    let resolved = write_profile(&profile, overrides);
    let field = "game.initial_position";
    let start = read_start(field, position, profile.variant.castling_mode())?;
    let start = taken_over(start, timing, setup);
    let game =
        Game::new(profile, &start).map_err(|error| from_game_error(field, &start, &error))?;
    Ok((write_genesis(asked, resolved, &game, &start.timing), game))
}

/// Writes the genesis of a game: what was asked for, and what it was resolved to.
pub(crate) fn write_genesis(
    asked: &v1::Game,
    rule_profile: v1::RuleProfile,
    game: &Game,
    timing: &Timing,
) -> v1::Game {
    let moves = game.history().moves();
    v1::Game {
        white_player: asked.white_player.clone(),
        black_player: asked.black_player.clone(),
        rule_profile: Some(rule_profile),
        initial_position: Some(v1::Position {
            base: Some(v1::position::Base::Fen(base_fen(game.history().base()))),
            moves: moves.map(|uci| uci.to_string()).collect(),
            variant: game.profile().variant.to_v1().into(),
        }),
        labels: asked.labels.clone(),
        clock_settings: Some(write_settings(timing)),
        setup: asked.setup,
        confirm_after: asked.confirm_after,
        tags: asked.tags.clone(),
        ..v1::Game::default()
    }
}

/// Completes the genesis of a creation with what the caller does not say: the name of the game,
/// when it was created and by what, and the outcome that it begins with, if the position is the end
/// of a game.
#[must_use]
pub fn complete_genesis(
    genesis: v1::Game,
    game: &Game,
    name: String,
    create_time: Option<Timestamp>,
) -> v1::Game {
    let points = game.profile().parameters.points;
    v1::Game {
        name,
        fen: game.position().to_string(),
        outcome: Some(write_outcome(game.outcome(), points, game.keeper())),
        create_time,
        judged_by: Some(write_judge(game.profile())),
        ..genesis
    }
}

/// Adds to a start what had happened before, where the game is taken over from elsewhere.
pub(crate) fn taken_over(start: Start, timing: Timing, setup: Option<&v1::Setup>) -> Start {
    let setup = setup.cloned().unwrap_or_default();
    let illegal_moves = |side: Option<v1::SideSetup>| side.unwrap_or_default().illegal_moves;
    Start {
        timing,
        illegal_moves: Sides {
            white: illegal_moves(setup.white),
            black: illegal_moves(setup.black),
        },
        plies_without_capture: setup.plies_without_capture,
        ..start
    }
}

/// Checks what a game is taken over with, besides its clocks.
fn check_setup(field: &str, setup: Option<&v1::Setup>, fields: &mut Fields) {
    let Some(setup) = setup else { return };
    let illegal_moves = |side: &Option<v1::SideSetup>| side.map_or(0, |side| side.illegal_moves);
    for (name, count, max) in [
        (
            "white.illegal_moves",
            illegal_moves(&setup.white),
            limits::SETUP_ILLEGAL_MOVES_MAX,
        ),
        (
            "black.illegal_moves",
            illegal_moves(&setup.black),
            limits::SETUP_ILLEGAL_MOVES_MAX,
        ),
        (
            "plies_without_capture",
            setup.plies_without_capture.unwrap_or_default(),
            limits::HISTORY_MOVES_MAX as u32,
        ),
    ] {
        limited(&format!("{field}.{name}"), count, max, fields);
    }
}

/// Writes the position that a game begins in, with the double step just before it, without which a
/// capture en passant that is not legal could not be explained after the game is read back.
fn base_fen(base: &Position) -> String {
    let mut setup = base.to_setup();
    setup.en_passant = base.passed();
    Fen(&setup).to_string()
}

/// Checks how a game is described.
pub(crate) fn check_description(game: &v1::Game, fields: &mut Fields) {
    for (field, name) in [
        ("game.white_player", &game.white_player),
        ("game.black_player", &game.black_player),
    ] {
        fields.text(field, name, limits::PLAYER_BYTES_MAX);
    }
    check_labels("game.labels", &game.labels, fields);
    check_tags("game.tags", &game.tags, fields);
}

/// Checks the labels of a game or of a filter.
pub fn check_labels(field: &str, labels: &BTreeMap<String, String>, fields: &mut Fields) {
    fields.count(field, "labels", labels.len(), limits::LABELS_MAX);
    for (key, value) in labels.iter().take(limits::LABELS_MAX) {
        fields.length(field, key, limits::LABEL_KEY_BYTES_MAX);
        fields.text(field, value, limits::LABEL_VALUE_BYTES_MAX);
        let rest = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-'
        };
        if !key.starts_with(|c: char| c.is_ascii_lowercase()) || !key.bytes().all(rest) {
            fields.refuse(
                field,
                "a key must be of lower-case letters, digits, `_` and `-`, and begin with a letter",
            );
        }
    }
}

/// What the game itself tells, so that no tag does.
const TOLD_BY_THE_GAME: [&str; 7] = [
    "White", "Black", "Result", "Score", "SetUp", "FEN", "Variant",
];

/// Returns whether the game itself tells what a tag of this name would.
///
/// ```
/// use referee_record::is_told_by_the_game;
///
/// assert!(is_told_by_the_game("Result"));
/// assert!(!is_told_by_the_game("Event"));
/// ```
#[must_use]
pub fn is_told_by_the_game(name: &str) -> bool {
    TOLD_BY_THE_GAME.contains(&name)
}

/// Checks the tags of a game.
pub fn check_tags(field: &str, tags: &[v1::GameTag], fields: &mut Fields) {
    fields.count(field, "tags", tags.len(), limits::TAGS_MAX);
    let bytes = tags.iter().map(|tag| tag.name.len() + tag.value.len());
    let bytes = bytes.sum();
    fields.count(
        field,
        "bytes of names and values",
        bytes,
        limits::TAGS_BYTES_MAX,
    );
    let mut names = BTreeSet::new();
    for (index, tag) in tags.iter().take(limits::TAGS_MAX).enumerate() {
        let name_field = format!("{field}[{index}].name");
        check_tag_name(&name_field, &tag.name, fields);
        if !names.insert(&tag.name) {
            fields.refuse(
                &name_field,
                format!(
                    "{:?} is the name of a tag before; each is there once",
                    tag.name
                ),
            );
        }
        let value_field = format!("{field}[{index}].value");
        fields.text(&value_field, &tag.value, limits::TAG_VALUE_BYTES_MAX);
    }
}

fn check_tag_name(field: &str, name: &str, fields: &mut Fields) {
    if name.is_empty() {
        fields.refuse(field, "is required: the name of the tag, such as Event");
    }
    fields.length(field, name, limits::TAG_NAME_BYTES_MAX);
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || "\"[]{}();%".contains(c);
    if name.contains(is_bad) {
        fields.refuse(
            field,
            "must not have blanks, quotes, brackets, braces, parentheses, `;` or `%`, since no \
             reader could tell where the name ends",
        );
    }
    if is_told_by_the_game(name) {
        fields.refuse(
            field,
            format!(
                "{name} is told by the game itself: by its players, its outcome or its \
                 initial_position"
            ),
        );
    }
}
