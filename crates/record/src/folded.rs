//! A game as the fold of its record.

use std::sync::Arc;

use prost::Message;
use referee_api::v1;
use referee_laws::{Game, Phase, Time};

use crate::convert::conduct::write_conduct;
use crate::convert::ruling::{write_adjudication, write_bound, write_outcome};
use crate::convert::stored::{stored_effects, stored_event, stored_genesis};
use crate::convert::time::{duration_of, read_us, write_us};
use crate::convert::write_optional;
use crate::error::Error;

/// A game, folded up to some event of its record.
#[derive(Clone, Debug)]
pub struct FoldedGame {
    /// How it began, as it was stored, and how it is described now.
    pub genesis: Arc<v1::Game>,
    /// What the rules know of it.
    pub game: Game,
    /// The number of the last event; 0 before the first.
    pub sequence: i64,
    /// When the last event happened, or the game was created, in microseconds since 1970.
    pub update_time_us: i64,
}

impl FoldedGame {
    /// Begins with the stored bytes of a genesis, with the text about persons behind them where it
    /// is kept.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] where the bytes are no game that could have been created.
    pub fn begin(genesis: &[u8], create_time_us: i64) -> Result<FoldedGame, Error> {
        let (genesis, game) = stored_genesis(genesis)?;
        Ok(FoldedGame {
            genesis: Arc::new(genesis),
            game,
            sequence: 0,
            update_time_us: create_time_us,
        })
    }

    /// Does what a stored event says.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] where the event is not the next one or does not fit the game, which is
    /// then of no more use.
    pub fn apply(&mut self, event: &v1::GameEvent) -> Result<(), Error> {
        if event.sequence != self.sequence + 1 {
            return Err(Error::damaged("an event is missing"));
        }
        let effects = stored_effects(event, &self.game)?;
        self.game
            .apply(&effects)
            .map_err(|error| Error::damaged(error.to_string()))?;
        if event.fen != self.game.position().to_string() {
            return Err(Error::damaged(
                "an event has another position than its moves lead to",
            ));
        }
        if let Some(update) = &event.update {
            self.genesis = Arc::new(describe(&self.genesis, update));
        }
        self.sequence = event.sequence;
        let time_us = event.event_time.and_then(read_us);
        self.update_time_us = time_us.unwrap_or(self.update_time_us);
        Ok(())
    }

    /// Returns the game as the contract shows it.
    #[must_use]
    pub fn view(&self) -> v1::Game {
        let game = &self.game;
        let points = game.profile().parameters.points;
        let moves = game.history().moves().skip(self.initial_moves());
        v1::Game {
            sequence: self.sequence,
            state: state(game, self.sequence).into(),
            moves: moves.map(|uci| uci.to_string()).collect(),
            fen: game.position().to_string(),
            adjudication: Some(write_adjudication(&game.adjudication(), points)),
            draw_offer: write_offer(game).into(),
            outcome: Some(write_outcome(game.outcome(), points, game.keeper())),
            update_time: Some(write_us(self.update_time_us)),
            bound_move: write_bound(game.conduct().bound),
            conduct: Some(write_conduct(game)),
            private_hash: Default::default(),
            ..(*self.genesis).clone()
        }
    }

    /// Returns when the game is due if nothing happens before, in microseconds since 1970: when a
    /// flag falls by itself, or when the outcome is confirmed by itself.
    #[must_use]
    pub fn deadline_us(&self) -> Option<i64> {
        let flag_us = self.game.deadline().map(|(_, time)| time_us(time));
        flag_us.or_else(|| self.confirmation_us())
    }

    /// Returns when the time for corrections has passed, in microseconds since 1970; `None` where
    /// the game goes on, where a proof is waited for, where the outcome is confirmed, and where
    /// only the arbiter confirms.
    #[must_use]
    pub fn confirmation_us(&self) -> Option<i64> {
        let outcome = self.game.outcome()?;
        if outcome.provisional || outcome.confirmed {
            return None;
        }
        let after = duration_of(self.genesis.confirm_after?)?;
        let after_us = i64::try_from(after.as_micros()).unwrap_or(i64::MAX);
        Some(self.update_time_us.saturating_add(after_us))
    }

    /// Returns how many moves of the game were played before it was created.
    #[must_use]
    pub fn initial_moves(&self) -> usize {
        self.genesis
            .initial_position
            .as_ref()
            .map_or(0, |position| position.moves.len())
    }
}

/// Writes a game as a list shows it, without folding it: from its genesis, the text of the update
/// that describes it if there is one, the last event if there is one, and what the store says of
/// it.
///
/// # Errors
///
/// [`Error::Damaged`] where one of them cannot be read.
pub fn write_summary(
    genesis: &[u8],
    update: Option<&[u8]>,
    last: Option<&[u8]>,
    state: i32,
    update_time_us: i64,
) -> Result<v1::Game, Error> {
    let genesis = v1::Game::decode(genesis).map_err(|error| Error::damaged(error.to_string()))?;
    let update = update.map(stored_event).transpose()?;
    let genesis = match update.and_then(|event| event.update) {
        Some(update) => describe(&genesis, &update),
        None => genesis,
    };
    let summary = match last {
        None => genesis,
        Some(event) => {
            let event = stored_event(event)?;
            v1::Game {
                sequence: event.sequence,
                fen: event.fen,
                draw_offer: event.draw_offer,
                outcome: event.outcome,
                bound_move: event.bound_move,
                conduct: event.conduct,
                ..genesis
            }
        }
    };
    Ok(v1::Game {
        state,
        update_time: Some(write_us(update_time_us)),
        // A list is for finding a game: its moves and tags come with the game itself.
        tags: Vec::new(),
        initial_position: summary.initial_position.map(|position| v1::Position {
            moves: Vec::new(),
            ..position
        }),
        private_hash: Default::default(),
        ..summary
    })
}

/// Writes a game as it was created, from its genesis, with the text about persons behind it where
/// that is kept, as a list shows it.
///
/// # Errors
///
/// [`Error::Damaged`] where the genesis cannot be read.
pub fn write_created(genesis: &[u8]) -> Result<v1::Game, Error> {
    let game = write_summary(genesis, None, None, v1::game::State::Created.into(), 0)?;
    let outcome = game.outcome.as_ref();
    let is_over = outcome.is_some_and(|outcome| outcome.result() != v1::GameResult::Ongoing);
    Ok(v1::Game {
        state: if is_over {
            v1::game::State::Finished.into()
        } else {
            game.state
        },
        update_time: game.create_time,
        ..game
    })
}

/// A game as an update describes it, and as it was apart from that.
pub(crate) fn describe(game: &v1::Game, update: &v1::GameUpdate) -> v1::Game {
    v1::Game {
        white_player: update.white_player.clone(),
        black_player: update.black_player.clone(),
        labels: update.labels.clone(),
        tags: update.tags.clone(),
        ..game.clone()
    }
}

/// Writes whose offer of a draw stands.
pub(crate) fn write_offer(game: &Game) -> v1::Color {
    write_optional(game.conduct().draw_offer)
}

/// Returns the stage of a game after so many events.
#[must_use]
pub fn state(game: &Game, sequence: i64) -> v1::game::State {
    if game.outcome().is_some() {
        v1::game::State::Finished
    } else if game.conduct().phase != Phase::Playing {
        v1::game::State::Paused
    } else if sequence == 0 {
        v1::game::State::Created
    } else {
        v1::game::State::Active
    }
}

/// Returns a point of the time line of a game that the referee keeps the time of, in microseconds
/// since 1970.
#[must_use]
pub fn time_us(time: Time) -> i64 {
    // The time line ends long before that many microseconds overflow.
    i64::try_from(time.ms())
        .unwrap_or(i64::MAX)
        .saturating_mul(1_000)
}
