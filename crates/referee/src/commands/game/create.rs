//! `referee game create`: creates a game, and writes the name by which it is found again.

use clap::Args;
use prost_types::Duration;
use referee_api::v1;

use super::output::write;
use super::times::{read_control, read_time};
use super::{json, names, words};
use crate::commands::read_label;
use crate::connection::{self, Server};
use crate::exit::{Exit, Failure, Outcome};

/// The command line of `referee game create`.
#[derive(Debug, Args)]
pub(super) struct CreateArguments {
    /// The last part of the name: small letters, digits and hyphens. Default: the server chooses.
    #[arg(long, value_name = "ID", default_value = "")]
    id: String,
    /// The player of the white pieces.
    #[arg(long, short, value_name = "NAME")]
    white: Option<String>,
    /// The player of the black pieces.
    #[arg(long, short, value_name = "NAME")]
    black: Option<String>,
    /// The rules of the game, such as fide_online. Default: fide_standard.
    #[arg(long, short, value_name = "NAME")]
    profile: Option<String>,
    /// What is changed in them, as `RuleParameters` in JSON, such as '{"touchMove": false}'.
    #[arg(long, value_name = "JSON")]
    overrides: Option<String>,
    /// The time of each side: minutes and the seconds that each move brings, such as 5+3; periods
    /// as in 40/90+30,30+30; units as in 1/3d. Default: the game is untimed.
    #[arg(long, short, value_name = "TIME")]
    time: Option<String>,
    /// The time of White, where it differs.
    #[arg(long, value_name = "TIME")]
    white_time: Option<String>,
    /// The time of Black, where it differs.
    #[arg(long, value_name = "TIME")]
    black_time: Option<String>,
    /// What the seconds behind the plus are.
    #[arg(long, value_name = "MODE", default_value = "fischer", value_parser = words::bonus_mode())]
    bonus: v1::BonusMode,
    /// Who keeps the time.
    #[arg(long, default_value = "referee", value_parser = words::keeper())]
    keeper: v1::ClockKeeper,
    /// The position to begin from, with or without its counters, or startpos.
    #[arg(long, short, value_name = "FEN", conflicts_with = "chess960")]
    fen: Option<String>,
    /// A starting position of Chess960 by its number, from 0 to 959.
    #[arg(long, value_name = "NUMBER")]
    chess960: Option<u32>,
    /// The rights to castle in --fen are those of Chess960.
    #[arg(long, requires = "fen")]
    fen_chess960: bool,
    /// Moves that are on the board already, such as "e4 e5 Nf3"; numbers of moves may stand between
    /// them.
    #[arg(long, short, value_name = "MOVES")]
    moves: Option<String>,
    /// A word to find the game by; may be given again for another key.
    #[arg(long, short, value_name = "KEY=VALUE", value_parser = read_label)]
    label: Vec<(String, String)>,
    /// A tag for the record in Portable Game Notation; may be given again for another name.
    #[arg(long, value_name = "NAME=VALUE", value_parser = read_label)]
    tag: Vec<(String, String)>,
    /// How long after the end the referee confirms the result, such as 10m. Default: never.
    #[arg(long, value_name = "TIME", value_parser = read_time)]
    confirm_after: Option<Duration>,
    /// The game as a `Game` of the contract in JSON, for what has no option here; the options
    /// change it.
    #[arg(long, value_name = "JSON")]
    game: Option<String>,
    /// What makes the creation safe to repeat. Default: one that is new.
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
}

impl CreateArguments {
    /// Returns what is asked of the server.
    pub(super) fn request(self) -> Result<v1::CreateGameRequest, Failure> {
        let in_json = |option: &str, error: String| Failure::Usage(format!("{option}: {error}"));
        let mut game = match &self.game {
            None => v1::Game::default(),
            Some(text) => json::read(text, "Game").map_err(|error| in_json("--game", error))?,
        };
        set(&mut game.white_player, self.white.as_ref());
        set(&mut game.black_player, self.black.as_ref());
        if let Some(name) = &self.profile {
            game.rule_profile.get_or_insert_default().name = name.clone();
        }
        if let Some(text) = &self.overrides {
            let read = json::read(text, "RuleParameters");
            let read = read.map_err(|error| in_json("--overrides", error))?;
            game.rule_profile.get_or_insert_default().overrides = Some(read);
        }
        self.set_clock(&mut game)?;
        self.set_position(&mut game);
        game.labels.extend(self.label);
        let tags = self.tag.into_iter();
        game.tags
            .extend(tags.map(|(name, value)| v1::GameTag { name, value }));
        if self.confirm_after.is_some() {
            game.confirm_after = self.confirm_after;
        }
        Ok(v1::CreateGameRequest {
            game: Some(game),
            game_id: self.id,
            request_id: names::request(self.request_id.as_deref()),
        })
    }

    fn set_clock(&self, game: &mut v1::Game) -> Result<(), Failure> {
        let read = |option: &str, text: &Option<String>| {
            let control = text.as_ref().map(|text| read_control(text, self.bonus));
            let control = control.transpose();
            control.map_err(|error| Failure::Usage(format!("{option}: {error}")))
        };
        let controls = [
            read("--time", &self.time)?,
            read("--white-time", &self.white_time)?,
            read("--black-time", &self.black_time)?,
        ];
        let is_kept_elsewhere = self.keeper == v1::ClockKeeper::Platform;
        if !is_kept_elsewhere && controls.iter().all(Option::is_none) {
            return Ok(());
        }
        let settings = game.clock_settings.get_or_insert_default();
        settings.keeper = self.keeper.into();
        let [both, white, black] = controls;
        for (slot, control) in [
            (&mut settings.time_control, both),
            (&mut settings.white_time_control, white),
            (&mut settings.black_time_control, black),
        ] {
            *slot = control.or(slot.take());
        }
        Ok(())
    }

    fn set_position(&self, game: &mut v1::Game) {
        use v1::position::Base;
        let fen = self.fen.clone().map(Base::Fen);
        if let Some(base) = fen.or(self.chess960.map(Base::Chess960Number)) {
            game.initial_position.get_or_insert_default().base = Some(base);
        }
        if self.fen_chess960 {
            let position = game.initial_position.get_or_insert_default();
            position.variant = v1::Variant::Chess960.into();
        }
        if let Some(moves) = &self.moves {
            let position = game.initial_position.get_or_insert_default();
            position.moves = read_moves(moves);
        }
    }
}

fn set(field: &mut String, value: Option<&String>) {
    if let Some(value) = value {
        field.clone_from(value);
    }
}

/// Returns the moves of a text, without the numbers between them: `1. e4 e5 2.Nf3` has three.
fn read_moves(text: &str) -> Vec<String> {
    let words = text.split_whitespace().map(|word| {
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        match word.split_once('.') {
            Some((number, rest)) if is_number(number) => rest.trim_start_matches('.'),
            _ => word,
        }
    });
    let moves = words.filter(|word| !word.is_empty());
    moves.map(str::to_owned).collect()
}

/// Creates a game and writes its name.
pub(super) async fn create(
    server: &Server,
    request: v1::CreateGameRequest,
    as_json: bool,
) -> Outcome {
    let games = server.games().await?;
    let created = connection::call(|| {
        let (mut games, request) = (games.clone(), request.clone());
        async move { games.create_game(request).await }
    });
    let created = created.await.map_err(|status| server.failure(&status))?;
    let game = created.game.unwrap_or_default();
    let text = match as_json {
        true => json::write(&game, "Game"),
        false => format!("{}\n", words::one_line(&game.name)),
    };
    write(&text, as_json)?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_moves_are_passed_over() {
        let read = |text: &str| read_moves(text).join(" ");
        assert_eq!(read("1. e4 e5 2.Nf3 2... Nc6"), "e4 e5 Nf3 Nc6");
        assert_eq!(read("  e2e4\n e7e5 "), "e2e4 e7e5");
        assert_eq!(read("e8=Q"), "e8=Q");
        assert_eq!(read(""), "");
    }
}
