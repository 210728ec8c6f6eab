//! The model that the store is compared with.

use std::collections::BTreeMap;

use referee_store::{
    Answer, AnswerBody, Append, AppendError, Beat, Beaten, CreateError, Created, Deletion,
    Description, DownSpan, DueGame, Fault, GameKey, GameRow, ListFilter, NewGame, OpenQuestion,
    Postponement, ReplicaId, RequestKey, StoredEntry, Tombstone, Write, chain,
};

use crate::history::HOLD_US;

/// The model: what the documentation says, in the simplest way.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) games: BTreeMap<GameKey, ModelGame>,
    pub(crate) tombstones: BTreeMap<GameKey, Tombstone>,
    /// Platform and request id of each creation, with its content and its game.
    creations: BTreeMap<(String, String), ([u8; 32], GameKey)>,
    /// Platform and request id of each update and deletion, with its game and whether it is a
    /// deletion.
    others: BTreeMap<(String, String), (GameKey, bool)>,
    created: usize,
    /// When each replica gave its last beat, and whether it stopped.
    replicas: BTreeMap<ReplicaId, (i64, bool)>,
    pub(crate) down_spans: Vec<DownSpan>,
}

pub(crate) struct ModelGame {
    pub(crate) row: GameRow,
    /// In the order of creation.
    number: usize,
    pub(crate) answers: BTreeMap<RequestKey, Answer>,
    /// The entries that describe the game.
    updates: Vec<i64>,
    deadline: Option<i64>,
    /// Until when somebody has claimed it as due.
    held: Option<i64>,
    /// The sequence that asked last, and until when somebody has claimed it.
    question: Option<(i64, Option<i64>)>,
}

/// An answer without the position, which a model does not know.
#[derive(Debug, PartialEq)]
pub(crate) enum Told {
    Stored { sequence: i64, chain: [u8; 32] },
    Repeated(Answer),
    Refused(AppendError),
    Deleted(Result<Tombstone, AppendError>),
    Postponed(Result<(), AppendError>),
    Settled(Result<(), Fault>),
}

/// Whether what is held until then can be claimed at this time.
fn is_free(held: Option<i64>, now: i64) -> bool {
    held.is_none_or(|until| until <= now)
}

impl Model {
    pub(crate) fn create(&mut self, new: NewGame) -> Result<Created, CreateError> {
        let request = (new.key.platform.clone(), new.request_id);
        if let Some((content_hash, key)) = self.creations.get(&request) {
            if *content_hash != new.content_hash {
                return Err(CreateError::RequestIdReused);
            }
            return Ok(Created::Existing(self.games[key].row.clone()));
        }
        if self.others.contains_key(&request) {
            return Err(CreateError::RequestIdReused);
        }
        if self.games.contains_key(&new.key) || self.tombstones.contains_key(&new.key) {
            return Err(CreateError::NameTaken);
        }
        let row = GameRow {
            chain_head: chain::genesis(&new.key, &new.genesis),
            key: new.key.clone(),
            genesis: new.genesis,
            description: new.private.map(|text| Description { sequence: 0, text }),
            state: new.state,
            labels: new.labels,
            sequence: 0,
            create_time_us: new.create_time_us,
            update_time_us: new.create_time_us,
            last_entry: None,
        };
        self.created += 1;
        let number = self.created;
        let game = ModelGame {
            row: row.clone(),
            number,
            answers: BTreeMap::new(),
            updates: Vec::new(),
            deadline: new.deadline_us,
            held: None,
            question: None,
        };
        self.games.insert(new.key.clone(), game);
        self.creations.insert(request, (new.content_hash, new.key));
        Ok(Created::New(row))
    }

    pub(crate) fn append(&mut self, append: Append) -> Result<Told, AppendError> {
        let missing = self.missing(&append.key);
        let game = self.games.get_mut(&append.key).ok_or(missing)?;
        let request = (append.key.platform.clone(), append.request.id.clone());
        let describes = matches!(
            append.write,
            Write::Entry {
                describes: Some(_),
                ..
            }
        );
        if describes {
            let other = self.others.get(&request);
            if other.is_some_and(|(key, _)| *key != append.key)
                || self.creations.contains_key(&request)
            {
                return Err(AppendError::RequestIdReused);
            }
        }
        if let Some(answer) = game.answers.get(&append.request) {
            if answer.content_hash != append.content_hash {
                return Err(AppendError::RequestIdReused);
            }
            return Ok(Told::Repeated(answer.clone()));
        }
        let row = &mut game.row;
        if (row.sequence, row.chain_head) != (append.expected_sequence, append.previous) {
            return Err(AppendError::Moved {
                actual: row.sequence,
                chain: row.chain_head,
            });
        }
        let mut text = None;
        let body = match append.write {
            Write::Entry {
                bytes,
                private,
                describes,
                state,
                update_time_us,
                deadline_us,
                asks,
            } => {
                (game.deadline, game.held) = (deadline_us, None);
                row.sequence += 1;
                row.state = state;
                row.update_time_us = update_time_us;
                row.chain_head = chain::next(&row.chain_head, &bytes);
                row.last_entry = Some(StoredEntry {
                    sequence: row.sequence,
                    position: 0,
                    bytes: bytes.clone(),
                    chain: row.chain_head,
                    private: private.clone(),
                });
                if let Some(labels) = describes {
                    row.labels = labels;
                    row.description = private.clone().map(|text| Description {
                        sequence: row.sequence,
                        text,
                    });
                    // What described the game before is erased wherever it is told.
                    for answer in game.answers.values_mut() {
                        if game.updates.contains(&answer.sequence)
                            && matches!(answer.body, AnswerBody::Entry(_))
                        {
                            answer.private = None;
                        }
                    }
                    game.updates.push(row.sequence);
                    self.others.insert(request, (append.key, false));
                }
                text = private;
                if asks {
                    game.question = Some((row.sequence, None));
                }
                AnswerBody::Entry(bytes)
            }
            Write::Refusal { answer } => AnswerBody::Refusal(answer),
        };
        let stored = Told::Stored {
            sequence: row.sequence,
            chain: row.chain_head,
        };
        let answer = Answer {
            content_hash: append.content_hash,
            sequence: row.sequence,
            body,
            private: text,
        };
        game.answers.insert(append.request, answer);
        Ok(stored)
    }

    fn missing(&self, key: &GameKey) -> AppendError {
        match self.tombstones.contains_key(key) {
            true => AppendError::Deleted,
            false => AppendError::NotFound,
        }
    }

    pub(crate) fn delete(&mut self, deletion: Deletion) -> Result<Tombstone, AppendError> {
        let key = &deletion.key;
        let request = (key.platform.clone(), deletion.request_id.clone());
        let platform_is_known = self.creations.keys().any(|it| it.0 == key.platform)
            || self.tombstones.keys().any(|it| it.platform == key.platform);
        if !platform_is_known {
            return Err(AppendError::NotFound);
        }
        match (self.others.get(&request), self.tombstones.get(key)) {
            (Some((of, true)), Some(tombstone)) if of == key => return Ok(*tombstone),
            (Some(_), _) => return Err(AppendError::RequestIdReused),
            (None, Some(_)) => return Err(AppendError::Deleted),
            (None, None) => {}
        }
        if self.creations.contains_key(&request) {
            return Err(AppendError::RequestIdReused);
        }
        let row = &self.games.get(key).ok_or(AppendError::NotFound)?.row;
        if (row.sequence, row.chain_head) != (deletion.expected_sequence, deletion.previous) {
            return Err(AppendError::Moved {
                actual: row.sequence,
                chain: row.chain_head,
            });
        }
        let tombstone = Tombstone {
            delete_time_us: deletion.delete_time_us,
        };
        self.games.remove(key);
        self.creations.retain(|_, (_, of)| of != key);
        self.others.retain(|_, (of, _)| of != key);
        self.others.insert(request, (key.clone(), true));
        self.tombstones.insert(key.clone(), tombstone);
        Ok(tombstone)
    }

    pub(crate) fn postpone(&mut self, postponement: Postponement) -> Result<(), AppendError> {
        let missing = self.missing(&postponement.key);
        let game = self.games.get_mut(&postponement.key).ok_or(missing)?;
        if game.row.sequence != postponement.expected_sequence {
            return Err(AppendError::Moved {
                actual: game.row.sequence,
                chain: game.row.chain_head,
            });
        }
        (game.deadline, game.held) = (postponement.deadline_us, None);
        Ok(())
    }

    pub(crate) fn settle(&mut self, key: &GameKey, sequence: i64) {
        if let Some(game) = self.games.get_mut(key)
            && game.question.is_some_and(|(asked, _)| asked <= sequence)
        {
            game.question = None;
        }
    }

    pub(crate) fn last_beat(&self) -> Option<i64> {
        self.replicas.values().map(|(at_us, _)| *at_us).max()
    }

    pub(crate) fn beat(&mut self, beat: Beat) -> Beaten {
        let (to_us, last) = (beat.at_us, self.last_beat());
        let silent = |at_us: i64| to_us - at_us > beat.silence_max_us;
        let before = self.replicas.get(&beat.replica).copied();
        let first = before.is_none_or(|(_, stopped)| stopped && !beat.stopping);
        let alone = !self.replicas.iter().any(|(replica, (at_us, stopped))| {
            *replica != beat.replica && !stopped && !silent(*at_us)
        });
        let at_us = before.map_or(to_us, |(at_us, _)| at_us.max(to_us));
        if first && last.is_none_or(|last| last < to_us) {
            // Those that are not alive begin again when they come again.
            self.replicas
                .retain(|_, (at_us, stopped)| !*stopped && !silent(*at_us));
        }
        self.replicas.insert(beat.replica, (at_us, beat.stopping));
        let found = last
            .filter(|last| *last < to_us && (silent(*last) || (first && alone)))
            .map(|from_us| DownSpan {
                id: self.down_spans.len() as i64 + 1,
                from_us,
                to_us,
            });
        self.down_spans.extend(found);
        Beaten {
            newest_span: self.down_spans.len() as i64,
            found,
        }
    }

    /// Nobody is alive in a store that was just opened, and nobody holds anything.
    pub(crate) fn reopen(&mut self) {
        for (_, stopped) in self.replicas.values_mut() {
            *stopped = true;
        }
        for game in self.games.values_mut() {
            game.held = None;
            if let Some((_, held)) = &mut game.question {
                *held = None;
            }
        }
    }

    /// Checks what was claimed as due, and holds it.
    pub(crate) fn claim_due(
        &mut self,
        due: &[DueGame],
        now: i64,
        until: i64,
        limit: usize,
        hold: i64,
    ) {
        assert!(due.len() <= limit && due.is_sorted_by_key(|game| game.due_us));
        for game in due {
            let DueGame { key, due_us } = game;
            let game = self.games.get_mut(key).expect("only games are due");
            assert!(is_free(game.held, now), "{key:?} is held");
            let deadline = game.deadline.expect("only timed games are due");
            assert!(*due_us <= until && *due_us <= deadline, "{key:?}");
            game.held = Some(now.saturating_add(hold));
        }
        // None is left out, and so none was claimed twice.
        let left_out = self.games.iter().find(|(key, game)| {
            game.deadline.is_some_and(|deadline| deadline <= until)
                && is_free(game.held, now)
                && !due.iter().any(|due| due.key == **key)
        });
        if let Some((key, _)) = left_out {
            assert_eq!(due.len(), limit, "{key:?} is left out");
        }
    }

    /// Checks which questions were claimed, and holds them.
    pub(crate) fn claim_questions(&mut self, open: &[OpenQuestion], now: i64, limit: usize) {
        let of = |held: fn(Option<i64>) -> bool| {
            let questions = self.games.values().filter_map(|game| game.question);
            questions
                .filter(|(_, until)| is_free(*until, now) && held(*until))
                .count()
        };
        let (fresh, again) = (of(|held| held.is_none()), of(|held| held.is_some()));
        assert_eq!(open.len(), limit.min(fresh + again));
        for (index, OpenQuestion { key, sequence }) in open.iter().enumerate() {
            let game = self.games.get_mut(key).expect("only games have questions");
            let (asked, held) = game.question.expect("only open questions are claimed");
            assert_eq!(asked, *sequence, "{key:?}");
            assert!(is_free(held, now), "{key:?} is held");
            assert_eq!(held.is_none(), index < fresh, "the unclaimed come first");
            game.question = Some((asked, Some(now + HOLD_US)));
        }
    }

    /// The names of the games that pass, newest first.
    pub(crate) fn list(&self, platform: &str, filter: &ListFilter) -> Vec<GameRow> {
        let mut games: Vec<&ModelGame> = self
            .games
            .values()
            .filter(|game| game.row.key.platform == platform)
            .filter(|game| filter.states.is_empty() || filter.states.contains(&game.row.state))
            .filter(|game| {
                filter
                    .labels
                    .iter()
                    .all(|label| game.row.labels.contains(label))
            })
            .filter(|game| {
                filter
                    .min_create_time_us
                    .is_none_or(|min| game.row.create_time_us >= min)
            })
            .filter(|game| {
                filter
                    .max_create_time_us
                    .is_none_or(|max| game.row.create_time_us <= max)
            })
            .collect();
        games.sort_by_key(|game| std::cmp::Reverse((game.row.create_time_us, game.number)));
        games.iter().map(|game| game.row.clone()).collect()
    }
}
