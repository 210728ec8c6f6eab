//! The newest entries, which the index on disk does not have yet.
//!
//! An index over (game, sequence) is scattered: each entry of a batch lands on the page of its
//! own game, and a durable commit writes whole pages. Entries are therefore appended to one
//! table in the order of commits, which is dense, and found through an index that is written
//! later, for thousands of entries at once. Until then the index of these entries is here, in
//! memory. It is derived: opening a store rebuilds it from the entries beyond the position that
//! the index on disk has reached.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use sha2::{Digest, Sha256};

/// Where an entry of a game is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) sequence: i64,
    pub(super) position: i64,
    pub(super) request_key: i64,
}

/// The places of all entries beyond the position `floor`.
///
/// The writer adds a place before it commits, so that a reader may see places whose entries are
/// not in its snapshot; it must look whether the entry is there. It never misses one that is.
#[derive(Debug)]
pub(super) struct Recent {
    /// The position that the index on disk had reached when this began.
    pub(super) floor: i64,
    games: Mutex<HashMap<i64, Vec<Place>>>,
}

impl Recent {
    /// No places yet.
    pub(super) fn new(floor: i64) -> Self {
        Self {
            floor,
            games: Mutex::default(),
        }
    }

    /// The places of the entries in the database beyond the index, and their number.
    pub(super) fn load(connection: &Connection) -> rusqlite::Result<(Self, usize)> {
        let recent = Self::new(indexed_through(connection)?);
        let mut statement = connection.prepare(
            "SELECT game_id, sequence, position, request_id FROM entries \
             WHERE position > ?1 ORDER BY position",
        )?;
        let mut rows = statement.query([recent.floor])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            let place = Place {
                sequence: row.get(1)?,
                position: row.get(2)?,
                request_key: RequestId::new(row.get_ref(3)?.as_str()?).key,
            };
            recent.push(row.get(0)?, place);
            count += 1;
        }
        Ok((recent, count))
    }

    /// Adds the place of the next entry of a game.
    pub(super) fn push(&self, game_id: i64, place: Place) {
        self.games().entry(game_id).or_default().push(place);
    }

    /// Takes back the last place of a game.
    pub(super) fn pop(&self, game_id: i64) {
        if let Some(places) = self.games().get_mut(&game_id) {
            places.pop();
        }
    }

    /// The places of a game beyond a sequence, in order; at most `limit`.
    pub(super) fn after(&self, game_id: i64, sequence: i64, limit: usize) -> Vec<Place> {
        let games = self.games();
        let places = games.get(&game_id).map_or(&[][..], Vec::as_slice);
        let first = places.partition_point(|place| place.sequence <= sequence);
        places[first..].iter().take(limit).copied().collect()
    }

    /// The places of a game before a sequence, newest first; at most `limit`.
    pub(super) fn before(&self, game_id: i64, sequence: i64, limit: usize) -> Vec<Place> {
        let games = self.games();
        let places = games.get(&game_id).map_or(&[][..], Vec::as_slice);
        let end = places.partition_point(|place| place.sequence < sequence);
        places[..end].iter().rev().take(limit).copied().collect()
    }

    /// The places of a game whose request has this key.
    pub(super) fn of_request(&self, game_id: i64, request_key: i64) -> Vec<Place> {
        let games = self.games();
        let places = games.get(&game_id).map_or(&[][..], Vec::as_slice);
        places
            .iter()
            .filter(|place| place.request_key == request_key)
            .copied()
            .collect()
    }

    /// All places, by game and sequence: the order of the index.
    pub(super) fn sorted(&self) -> Vec<(i64, Place)> {
        let mut sorted = Vec::new();
        for (game_id, places) in self.games().iter() {
            sorted.extend(places.iter().map(|place| (*game_id, *place)));
        }
        sorted.sort_unstable_by_key(|(game_id, place)| (*game_id, place.sequence));
        sorted
    }

    /// What remains when the index on disk has reached `position`.
    pub(super) fn beyond(&self, position: i64) -> Self {
        let mut games = HashMap::new();
        for (game_id, places) in self.games().iter() {
            let first = places.partition_point(|place| place.position <= position);
            if first < places.len() {
                games.insert(*game_id, places[first..].to_vec());
            }
        }
        Self {
            floor: position,
            games: Mutex::new(games),
        }
    }

    fn games(&self) -> MutexGuard<'_, HashMap<i64, Vec<Place>>> {
        // Every change is one call on a map or list that does not fail halfway.
        self.games.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The current [`Recent`], for the writer to replace and for readers to take.
#[derive(Debug, Clone)]
pub(super) struct SharedRecent(Arc<Mutex<Arc<Recent>>>);

impl SharedRecent {
    pub(super) fn new(recent: Recent) -> Self {
        Self(Arc::new(Mutex::new(Arc::new(recent))))
    }

    pub(super) fn get(&self) -> Arc<Recent> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn replace(&self, recent: Recent) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(recent);
    }
}

/// The position up to which the index on disk has all entries.
pub(super) fn indexed_through(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT position FROM indexed_through")?
        .query_row([], |row| row.get(0))
}

/// A request id with the key that it is looked up by.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestId<'a> {
    pub(super) text: &'a str,
    /// Short, so that the index is. Two ids may have the same key, so that the text is compared
    /// in the end.
    pub(super) key: i64,
}

impl<'a> RequestId<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let [a, b, c, d, e, f, g, h, ..] = digest;
        Self {
            text,
            key: i64::from_be_bytes([a, b, c, d, e, f, g, h]),
        }
    }
}
