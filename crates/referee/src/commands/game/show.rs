//! `referee game show`: a game as it stands, as an arbiter wants to see it.

mod standing;

use clap::Args;
use prost_types::Timestamp;
use referee_api::v1;
use referee_chess::{CastlingMode, Color, Position};

use self::standing::push_standing;
use super::board::BoardArguments;
use super::output::write;
use super::rulings::{is_end, outcome_line, push_grounds};
use super::words::{one_line, plain, side_name};
use super::{clocks, json, names};
use crate::connection::{self, Server};
use crate::exit::{Exit, Outcome};
use crate::limits::SHOWN_LINE_CHARS_MAX;

/// The command line of `referee game show`.
#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    /// The game, such as games/board-1; `games/` may be left out.
    name: String,
    #[command(flatten)]
    board: BoardArguments,
}

impl ShowArguments {
    /// Shows the game.
    pub(super) async fn show(&self, server: &Server, as_json: bool) -> Outcome {
        let games = server.games().await?;
        let name = names::game(&self.name);
        let read = connection::call(|| {
            let (mut games, name) = (games.clone(), name.clone());
            async move { games.get_game(v1::GetGameRequest { name }).await }
        });
        let read = read.await.map_err(|status| server.failure(&status))?;
        let text = match as_json {
            true => json::write(&read, "GetGameResponse"),
            false => {
                let game = read.game.unwrap_or_default();
                describe(&game, read.read_time.as_ref(), &self.board)
            }
        };
        write(&text, as_json)?;
        Ok(Exit::Fine)
    }
}

/// Describes a game as it stands at a time of the server.
pub(super) fn describe(game: &v1::Game, now: Option<&Timestamp>, board: &BoardArguments) -> String {
    let mut lines = vec![heading(game)];
    let mut drawn = board.draw(&game.fen);
    let [top, bottom] = match board.side() {
        Color::White => [v1::Color::Black, v1::Color::White],
        Color::Black => [v1::Color::White, v1::Color::Black],
    };
    drawn.insert(0, player(game, top, now));
    drawn.push(player(game, bottom, now));
    lines.extend(drawn);
    lines.extend(moves(game));
    match game.outcome.as_ref().filter(|outcome| is_end(outcome)) {
        None => push_standing(&mut lines, game),
        Some(outcome) => {
            lines.push(outcome_line(outcome));
            push_grounds(&mut lines, &outcome.citations, &outcome.evidence);
            lines.push(finality(outcome).to_owned());
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

fn heading(game: &v1::Game) -> String {
    use v1::game::State;
    let state = match game.state() {
        State::Created => "not begun",
        State::Active => "being played",
        State::Paused => "stopped",
        State::Finished => "over",
        State::Unspecified => "in a state that this version does not know",
    };
    let profile = game.rule_profile.as_ref().map_or("", |rules| &rules.name);
    let mut text = format!(
        "{}: {state}, {profile}, sequence {}",
        game.name, game.sequence
    );
    for (key, value) in &game.labels {
        text.push_str(&format!(", {key}={value}"));
    }
    one_line(&text)
}

/// Returns the line of a player: the name, the side, the clock.
fn player(game: &v1::Game, side: v1::Color, now: Option<&Timestamp>) -> String {
    let name = match side {
        v1::Color::Black => &game.black_player,
        _ => &game.white_player,
    };
    let name = if name.is_empty() { "?" } else { name };
    let mut text = format!("   {} ({})", one_line(name), side_name(side));
    let clocks = game
        .conduct
        .as_ref()
        .and_then(|conduct| conduct.clocks.as_ref());
    if let Some(clock) = clocks.and_then(|clocks| clocks::side(clocks, side, now)) {
        text.push_str("  ");
        text.push_str(&clock);
    }
    text
}

/// Returns the moves in SAN with their numbers, in lines.
fn moves(game: &v1::Game) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in numbered(game) {
        if !line.is_empty() && line.len() + 1 + word.len() > SHOWN_LINE_CHARS_MAX {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Returns each move, with its number where it has one before it. Behind a move that cannot be
/// replayed, such as an illegal one that stands, the moves are in UCI notation.
fn numbered(game: &v1::Game) -> Vec<String> {
    let initial = game.initial_position.clone().unwrap_or_default();
    let mut position = base(&initial);
    let mut words = Vec::new();
    for text in initial.moves.iter().chain(&game.moves) {
        let read = position.as_ref().map(|board| (board, board.read_uci(text)));
        let Some((board, Ok(mv))) = read else {
            position = None;
            words.push(one_line(text));
            continue;
        };
        let san = board.san(mv);
        words.push(match (board.turn(), words.is_empty()) {
            (Color::White, _) => format!("{}. {san}", board.fullmove_number()),
            (Color::Black, true) => format!("{}... {san}", board.fullmove_number()),
            (Color::Black, false) => san.to_string(),
        });
        position = Some(board.after_unchecked(mv));
    }
    words
}

fn base(initial: &v1::Position) -> Option<Position> {
    use v1::position::Base;
    let mode = match initial.variant() {
        v1::Variant::Chess960 => CastlingMode::Chess960,
        _ => CastlingMode::Standard,
    };
    match &initial.base {
        None => Some(Position::startpos()),
        Some(Base::Fen(fen)) => Position::from_fen(fen, mode).ok(),
        Some(Base::Chess960Number(number)) => {
            referee_chess::chess960::startpos(*number, CastlingMode::Chess960)
        }
    }
}

/// Says whether an outcome can still change.
fn finality(outcome: &v1::Outcome) -> &'static str {
    match (outcome.confirmed, outcome.provisional) {
        (true, _) => "final",
        (false, true) => "provisional: a proof or the arbiter can change it",
        (false, false) => "not confirmed: the arbiter can still correct it",
    }
}

/// Says whether the outcome at the end of a stream can still change.
pub(super) fn finality_of(end: &v1::GameEnd) -> String {
    use v1::game_end::Finality;
    match end.finality() {
        Finality::Final => "final".to_owned(),
        Finality::Provisional => "provisional: a proof or the arbiter can change it".to_owned(),
        Finality::Open => "not confirmed: the arbiter can still correct it".to_owned(),
        Finality::Deleted => "deleted: nothing more is told of it".to_owned(),
        Finality::Unspecified => plain(end.finality().as_str_name(), "FINALITY_"),
    }
}
