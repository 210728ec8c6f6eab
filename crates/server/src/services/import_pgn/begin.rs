//! How an imported game begins: its players, its tags, its time control and its start.

use referee_api::v1;
use referee_chess::{CastlingMode, Fen};
use referee_laws::TimeControl;
use referee_pgn::{Game, Tags};
use referee_record::is_told_by_the_game;

use crate::limits;

/// Returns the game as it begins, and tells what of the tags is left out or changed.
pub(super) fn begin(
    request: &v1::ImportPgnRequest,
    game: &Game,
    control: Option<&TimeControl>,
    tell: &mut dyn FnMut(String),
) -> v1::Game {
    let variant = match game.start.castling_mode() {
        CastlingMode::Standard => v1::Variant::Standard,
        CastlingMode::Chess960 => v1::Variant::Chess960,
    };
    let fen = Fen(&game.start.to_setup()).to_string();
    let time_control = control.and_then(|control| {
        Some(v1::TimeControl {
            pgn: control.to_pgn()?,
            increment_at_start: Some(control.increment_at_start()),
            ..v1::TimeControl::default()
        })
    });
    v1::Game {
        white_player: player(game, Tags::WHITE, tell),
        black_player: player(game, Tags::BLACK, tell),
        rule_profile: request.rule_profile.clone(),
        initial_position: Some(v1::Position {
            base: Some(v1::position::Base::Fen(fen)),
            moves: Vec::new(),
            variant: variant.into(),
        }),
        labels: request.labels.clone(),
        clock_settings: Some(v1::ClockSettings {
            keeper: v1::ClockKeeper::Platform.into(),
            time_control,
            ..v1::ClockSettings::default()
        }),
        tags: keep_tags(game, tell),
        ..v1::Game::default()
    }
}

/// Returns the name of a player; empty where the record does not know it.
fn player(game: &Game, name: &str, tell: &mut dyn FnMut(String)) -> String {
    let text = game.tags.get(name).filter(|value| *value != "?");
    let mut text = without_controls(name, text.unwrap_or_default(), tell);
    let end = text.floor_char_boundary(limits::PLAYER_BYTES_MAX);
    if end < text.len() {
        let max = limits::PLAYER_BYTES_MAX;
        tell(format!(
            "the tag {name} is cut, since a name may have {max} bytes"
        ));
        text.truncate(end);
    }
    text
}

/// Returns the tags of a record that the game does not tell otherwise, in their order, and tells
/// what of them is left out.
fn keep_tags(game: &Game, tell: &mut dyn FnMut(String)) -> Vec<v1::GameTag> {
    let mut tags = Vec::new();
    let mut bytes = 0;
    for (name, value) in game.tags.iter() {
        // What is wrong with a result was told when it was read.
        if [Tags::WHITE, Tags::BLACK, Tags::RESULT].contains(&name) {
            continue;
        }
        if is_told_by_the_game(name) {
            tell(format!(
                "the tag {name} is left out, since it says nothing that is known"
            ));
            continue;
        }
        if name.contains(char::is_control) {
            tell("a tag with control characters in its name is left out".to_owned());
            continue;
        }
        if bytes + name.len() + value.len() > limits::TAGS_BYTES_MAX {
            let max = limits::TAGS_BYTES_MAX;
            tell(format!(
                "the tag {name} is left out, since all tags together may have {max} bytes"
            ));
            continue;
        }
        bytes += name.len() + value.len();
        tags.push(v1::GameTag {
            name: name.to_owned(),
            value: without_controls(name, value, tell),
        });
    }
    tags
}

/// Returns the value of a tag with blanks in the place of control characters.
fn without_controls(name: &str, value: &str, tell: &mut dyn FnMut(String)) -> String {
    if !value.contains(char::is_control) {
        return value.to_owned();
    }
    tell(format!(
        "the tag {name} has control characters, for which there are blanks now"
    ));
    value.replace(char::is_control, " ")
}
