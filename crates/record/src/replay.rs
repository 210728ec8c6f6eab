//! Judging a stored record again, entry by entry: what this referee would have laid down.

use std::fmt;

use referee_api::v1;
use referee_laws::{
    Action, Budget, CanMate, Color, Decision, Game, Intent, Keeper, MateFinding, Seat, Tier,
    can_mate,
};

use crate::convert::InContract;
use crate::convert::action::{Submitted, read_stored_action};
use crate::convert::clocks::time_of;
use crate::convert::enums::can_mate_name;
use crate::convert::profile::{resolve_profile, write_profile};
use crate::convert::stored::stored_start;
use crate::convert::time::{read_us, stored_ms, stored_time};
use crate::creation::{complete_genesis, write_genesis};
use crate::error::Error;
use crate::event::build_event;
use crate::fields::Fields;
use crate::folded::FoldedGame;
use crate::limits;
use crate::personal::{Personal, SALT_BYTES, Salt};
use crate::update::{self, record};

/// A record, replayed up to some entry.
///
/// It is a fold of what was ruled, as a game is. [`judge`](Replay::judge) says what this referee
/// rules on an entry; [`apply`](Replay::apply) does what the record says, whether or not that is
/// the same.
///
/// ```
/// use prost::Message;
/// use referee_api::v1;
/// use referee_record::{Replay, complete_genesis, read_creation};
///
/// let request = v1::CreateGameRequest {
///     game: Some(v1::Game::default()),
///     request_id: "create-1".into(),
///     ..v1::CreateGameRequest::default()
/// };
/// let (genesis, game) = read_creation(&request)?;
/// let genesis = complete_genesis(genesis, &game, "games/board-1".into(), None);
/// let replay = Replay::begin(&genesis.encode_to_vec())?;
/// assert_eq!(replay.recreate()?, genesis);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Replay {
    folded: FoldedGame,
    /// How often the mate solver was asked for findings.
    examined: u32,
}

/// A record cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError {
    reason: String,
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for ReplayError {}

impl ReplayError {
    fn new(reason: impl Into<String>) -> ReplayError {
        ReplayError {
            reason: reason.into(),
        }
    }
}

impl From<Error> for ReplayError {
    fn from(error: Error) -> ReplayError {
        ReplayError::new(error.to_string())
    }
}

impl Replay {
    /// Begins with the stored bytes of a genesis.
    ///
    /// # Errors
    ///
    /// Where the bytes are no game that could have been created.
    pub fn begin(genesis: &[u8]) -> Result<Replay, ReplayError> {
        let folded = FoldedGame::begin(genesis, 0)?;
        Ok(Replay {
            folded,
            examined: 0,
        })
    }

    /// Returns the genesis that this referee would lay down for the same creation under the same
    /// rules, with the outcome of the position judged again, without text about persons. The limits
    /// of today do not count. It does not depend on what was applied.
    ///
    /// # Errors
    ///
    /// Where this referee would not create the game.
    pub fn recreate(&self) -> Result<v1::Game, ReplayError> {
        let mut genesis = v1::Game::clone(&self.folded.genesis);
        genesis.take_personal();
        let genesis = &genesis;
        let (profile, start) = stored_start(genesis)?;
        // The rules are those that were read: a parameter that was added since is not among them.
        let resolved = genesis.rule_profile.clone().unwrap_or_default();
        let game =
            Game::again(profile, &start).map_err(|error| ReplayError::new(error.to_string()))?;
        let created = write_genesis(genesis, resolved, &game, &start.timing);
        let name = genesis.name.clone();
        let created = complete_genesis(created, &game, name, genesis.create_time);
        Ok(v1::Game {
            judged_by: genesis.judged_by.clone(),
            ..created
        })
    }

    /// Returns the rules that this referee would resolve today from the name of the profile and the
    /// changes that the caller asked for.
    ///
    /// # Errors
    ///
    /// Where no profile has the name any more, or the changes can no longer be made.
    pub fn resolve_again(&self) -> Result<v1::RuleProfile, ReplayError> {
        let genesis = &self.folded.genesis;
        let variant = self.folded.game.profile().variant;
        let asked = genesis.rule_profile.as_ref();
        let mut fields = Fields::default();
        let profile = resolve_profile("rule_profile", asked, variant, &mut fields);
        fields.finish()?;
        Ok(write_profile(
            &profile,
            asked.and_then(|profile| profile.overrides),
        ))
    }

    /// Judges the action of an entry at the entry's time, and returns the answer that this referee
    /// would have given: with the event that it would have recorded, unless it refuses. Of an
    /// update that is the event which changes nothing but the description.
    ///
    /// # Errors
    ///
    /// Where the entry names no action and no update or no time, or one that cannot be read.
    pub fn judge(
        &mut self,
        event: &v1::GameEvent,
    ) -> Result<v1::SubmitActionResponse, ReplayError> {
        let time = event
            .event_time
            .ok_or_else(|| ReplayError::new("there is no time of the event"))?;
        let arrival_us = read_us(time)
            .ok_or_else(|| ReplayError::new("the time of the event is out of range"))?;
        let principal = event.principal.as_str();
        let message = match (&event.action, &event.update) {
            (Some(message), _) => message,
            (None, Some(update)) if update::is_mask(update.update_mask.as_ref()) => {
                let update = update.clone();
                return Ok(record(&self.folded, update, arrival_us, principal, no_salt).response);
            }
            (None, Some(_)) => return Err(ReplayError::new("the update has no mask of ours")),
            (None, None) => return Err(ReplayError::new("there is no action")),
        };
        let action = self.read(message)?;
        let conduct = event.conduct.as_ref();
        let now = stored_time(conduct.and_then(|conduct| conduct.time))?;
        let now =
            now.ok_or_else(|| ReplayError::new("there is no time on the game's time line"))?;
        let judgment = self.folded.game.judge(&action, now);
        let pending = build_event(
            &self.folded,
            message,
            judgment,
            arrival_us,
            principal,
            no_salt,
        )?;
        Ok(pending.response)
    }

    /// Returns when an action happened by what the platform said with it, on the game's time line
    /// in milliseconds; `None` where the referee keeps the time, or acted by itself.
    ///
    /// # Errors
    ///
    /// Where the action cannot be read, or its time goes backwards or beyond the line.
    pub fn told_ms(&self, message: &v1::Action) -> Result<Option<u64>, ReplayError> {
        let game = &self.folded.game;
        if message.seat() == v1::Seat::Referee || game.keeper() == Keeper::Referee {
            return Ok(None);
        }
        let Submitted { told_time, .. } = read_stored_action(message)?;
        match time_of(game, told_time, 0)? {
            Some(time) => Ok(Some(time.ms())),
            None => Err(ReplayError::new(
                "the time that the platform told is earlier than that of the entry before",
            )),
        }
    }

    /// Does what an entry says.
    ///
    /// # Errors
    ///
    /// Where the entry cannot be done: then nothing after it can be judged.
    pub fn apply(&mut self, event: &v1::GameEvent) -> Result<(), ReplayError> {
        self.folded.apply(event).map_err(ReplayError::from)
    }

    fn read(&mut self, message: &v1::Action) -> Result<Action, ReplayError> {
        if message.seat() != v1::Seat::Referee {
            return Ok(read_stored_action(message)?.action);
        }
        let Some(v1::action::Kind::RefereeFinding(finding)) = &message.kind else {
            return Err(ReplayError::new("the referee does nothing but find things"));
        };
        let kind = finding.kind.as_ref();
        let intent = match kind.ok_or_else(|| ReplayError::new("the finding names nothing"))? {
            v1::referee_finding::Kind::FlagFallen(side) => {
                let side = v1::Color::try_from(*side).ok().and_then(Color::from_v1);
                let side = side.ok_or_else(|| ReplayError::new("the flag is nobody's"))?;
                Intent::FlagFell { side }
            }
            v1::referee_finding::Kind::DownTime(time) => Intent::WasDown {
                down_ms: stored_ms(Some(*time))?.unwrap_or_default(),
            },
            v1::referee_finding::Kind::Confirmed(_) => Intent::Decide(Decision::Confirm),
            v1::referee_finding::Kind::MateDecided(decided) => {
                Intent::MateDecided(self.examine(decided)?)
            }
        };
        Ok(Action {
            seat: Seat::Referee,
            intent,
        })
    }

    /// Asks again who can mate, since a finding keeps the answer and not its proof. Of a side that
    /// was not asked, or not decided, nothing is asked.
    fn examine(&mut self, decided: &v1::MateDecided) -> Result<MateFinding, ReplayError> {
        self.examined += 1;
        if self.examined > limits::FINDINGS_EXAMINED_MAX {
            return Err(ReplayError::new(format!(
                "a record has more than {} findings of who can mate, which are not looked into",
                limits::FINDINGS_EXAMINED_MAX
            )));
        }
        let mut history = self.folded.game.history().clone();
        if decided.ply > history.ply() {
            return Err(ReplayError::new(
                "the finding is about a ply that was not reached",
            ));
        }
        history.reinstate(decided.ply);
        let nodes = decided.nodes.min(limits::MATE_NODES_PROVISIONAL);
        let ask = |side, told: v1::CanMate| {
            if matches!(told, v1::CanMate::Unknown | v1::CanMate::Unspecified) {
                return Ok(CanMate::Unknown);
            }
            let found = can_mate(history.position(), side, Tier::Full(Budget::of(nodes)));
            let found_name = can_mate_name(&found);
            if found_name == told {
                return Ok(found);
            }
            Err(ReplayError::new(format!(
                "whether {side} can mate after ply {} was found to be {}, but it is {}",
                decided.ply,
                told.as_str_name(),
                found_name.as_str_name()
            )))
        };
        Ok(MateFinding {
            ply: decided.ply,
            white: ask(Color::White, decided.white())?,
            black: ask(Color::Black, decided.black())?,
            nodes: decided.nodes,
        })
    }
}

/// What was laid down is bound with a salt that nobody may know any more, and is not compared.
fn no_salt() -> Salt {
    [0; SALT_BYTES]
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use referee_laws::{Keeper, Time};

    use super::*;
    use crate::convert::time::write_time;
    use crate::creation::read_creation;

    fn finding(ply: u32) -> v1::GameEvent {
        let decided = v1::MateDecided {
            ply,
            white: v1::CanMate::No.into(),
            black: v1::CanMate::No.into(),
            nodes: 1_000,
        };
        let kind = v1::action::Kind::RefereeFinding(v1::RefereeFinding {
            kind: Some(v1::referee_finding::Kind::MateDecided(decided)),
        });
        v1::GameEvent {
            action: Some(v1::Action {
                seat: v1::Seat::Referee.into(),
                kind: Some(kind),
                ..v1::Action::default()
            }),
            conduct: Some(v1::Conduct {
                time: Some(write_time(Time::ORIGIN, Keeper::Platform)),
                ..v1::Conduct::default()
            }),
            event_time: Some(prost_types::Timestamp::default()),
            ..v1::GameEvent::default()
        }
    }

    #[test]
    fn findings_are_examined_anew_a_limited_number_of_times() {
        let fen = "8/8/4k3/8/8/4K3/8/8 w - - 0 1".to_owned();
        let request = v1::CreateGameRequest {
            game: Some(v1::Game {
                initial_position: Some(v1::Position {
                    base: Some(v1::position::Base::Fen(fen)),
                    ..v1::Position::default()
                }),
                ..v1::Game::default()
            }),
            request_id: "kings".to_owned(),
            ..v1::CreateGameRequest::default()
        };
        let (genesis, game) = read_creation(&request).expect("a position to play from");
        let genesis = complete_genesis(genesis, &game, "games/kings".to_owned(), None);
        let mut replay = Replay::begin(&genesis.encode_to_vec()).expect("a game");
        assert!(
            replay.judge(&finding(1)).is_err(),
            "the ply was not reached"
        );
        for _ in 1..limits::FINDINGS_EXAMINED_MAX {
            let answer = replay.judge(&finding(0)).expect("it is judged");
            assert_eq!(
                answer.event, None,
                "a position that was set up did not arise"
            );
        }
        let error = replay.judge(&finding(0)).expect_err("it is one too many");
        assert!(error.to_string().contains("not looked into"), "{error}");
    }
}
