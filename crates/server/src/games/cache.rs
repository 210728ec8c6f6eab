//! The games in memory, bounded in bytes.
//!
//! A game that somebody is working on has one place, however full the cache is, so that its writes
//! take turns. What is kept beyond that is the most recently used. Who watches a game is not kept
//! here; see `feed.rs`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use lru::LruCache;
use referee_store::GameKey;

use super::slot::GameSlot;

/// How many places may be named before those that nobody uses any more are dropped.
const PLACES_SWEPT_MIN: usize = 1_024;

/// The games in memory.
#[derive(Debug)]
pub(crate) struct GameCache {
    bytes_max: usize,
    games_max: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Every place that somebody holds, the cache among them.
    places: HashMap<GameKey, Weak<GameSlot>>,
    /// The places to keep, and what each of them costs.
    kept: LruCache<GameKey, (Arc<GameSlot>, usize)>,
    bytes: usize,
    /// The number of places at which those that are gone are swept out.
    sweep_at: usize,
}

impl GameCache {
    /// A cache of at most so many bytes and games.
    pub(crate) fn new(bytes_max: usize, games_max: usize) -> GameCache {
        GameCache {
            bytes_max,
            games_max,
            state: Mutex::new(State {
                places: HashMap::new(),
                kept: LruCache::unbounded(),
                bytes: 0,
                sweep_at: PLACES_SWEPT_MIN,
            }),
        }
    }

    /// The place of a game. It is kept once [`keep`](Self::keep) is called for it.
    pub(crate) fn place(&self, key: &GameKey) -> Arc<GameSlot> {
        let mut state = self.state();
        if let Some((slot, _)) = state.kept.get(key) {
            return Arc::clone(slot);
        }
        if let Some(slot) = state.places.get(key).and_then(Weak::upgrade) {
            return slot;
        }
        if state.places.len() >= state.sweep_at {
            state.places.retain(|_, slot| slot.strong_count() > 0);
            state.sweep_at = (2 * state.places.len()).max(PLACES_SWEPT_MIN);
        }
        let slot = Arc::new(GameSlot::new(key.clone()));
        state.places.insert(key.clone(), Arc::downgrade(&slot));
        slot
    }

    /// Keeps a place that has a copy, as the most recently used, and drops what is used least
    /// where that is too much.
    pub(crate) fn keep(&self, slot: &Arc<GameSlot>) {
        let bytes = slot.bytes();
        let mut state = self.state();
        let old = state.kept.put(slot.key.clone(), (Arc::clone(slot), bytes));
        state.bytes += bytes;
        if let Some((_, old)) = old {
            state.bytes -= old;
        }
        while state.bytes > self.bytes_max || state.kept.len() > self.games_max {
            let Some((key, (slot, bytes))) = state.kept.pop_lru() else {
                break;
            };
            state.bytes -= bytes;
            if Arc::strong_count(&slot) == 1 {
                state.places.remove(&key);
            }
        }
    }

    /// Drops the place of a name that no game has, unless somebody else holds it: a game may be
    /// created under that name meanwhile, and has one place.
    pub(crate) fn drop_place(&self, slot: &Arc<GameSlot>) {
        let mut state = self.state();
        if slot.old_copy().0.is_some() {
            return;
        }
        if let Some((_, bytes)) = state.kept.pop(&slot.key) {
            state.bytes -= bytes;
        }
        // The last one to leave leaves nothing but an entry that is swept out.
        if Arc::strong_count(slot) == 1 {
            state.places.remove(&slot.key);
        }
    }

    /// Notes that the log names a sequence of a game.
    pub(crate) fn note(&self, key: &GameKey, sequence: i64) {
        let slot = self.state().places.get(key).and_then(Weak::upgrade);
        if let Some(slot) = slot {
            slot.note(sequence);
        }
    }

    /// Drops the copy of a game that was deleted.
    pub(crate) fn end(&self, key: &GameKey) {
        let slot = self.state().places.get(key).and_then(Weak::upgrade);
        if let Some(slot) = slot {
            slot.end();
            self.drop_place(&slot);
        }
    }

    /// The number of games that are kept, and what they cost in bytes.
    #[cfg(test)]
    pub(crate) fn size(&self) -> (usize, usize) {
        let state = self.state();
        (state.kept.len(), state.bytes)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is a call on a map that does not fail halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> GameKey {
        GameKey::new("p", format!("g{number}"))
    }

    #[test]
    fn what_is_used_least_goes_first_and_what_is_held_keeps_its_place() {
        let cache = GameCache::new(usize::MAX, 2);
        let held = cache.place(&key(0));
        cache.keep(&held);
        for number in 1..4 {
            let slot = cache.place(&key(number));
            cache.keep(&slot);
        }
        assert_eq!(cache.size().0, 2);
        assert!(
            Arc::ptr_eq(&held, &cache.place(&key(0))),
            "one place a game"
        );
        assert!(cache.state().places.len() <= 3, "the others are gone");
    }

    #[test]
    fn a_name_that_is_found_missing_keeps_its_place_while_somebody_holds_it() {
        let cache = GameCache::new(usize::MAX, usize::MAX);
        let (missing, writing) = (cache.place(&key(0)), cache.place(&key(0)));
        cache.drop_place(&missing);
        drop(missing);
        let reading = cache.place(&key(0));
        assert!(Arc::ptr_eq(&writing, &reading), "one place a game");
    }

    #[test]
    fn bytes_are_bounded_and_add_up() {
        let bytes = GameSlot::new(key(10)).bytes();
        let cache = GameCache::new(10 * bytes, usize::MAX);
        for number in 0..100 {
            let slot = cache.place(&key(number % 10 + 10));
            cache.keep(&slot);
            cache.keep(&slot);
        }
        let (games, used) = cache.size();
        assert!(games >= 9 && used <= 10 * bytes, "{games} games of {used}");
    }

    #[test]
    fn a_name_that_no_game_has_fills_nothing() {
        let cache = GameCache::new(usize::MAX, usize::MAX);
        for number in 0..10_000 {
            let slot = cache.place(&key(number));
            cache.drop_place(&slot);
        }
        assert!(cache.state().places.is_empty());
        // Nor does one whose caller went away before that was known.
        for number in 0..10_000 {
            drop(cache.place(&key(number)));
        }
        assert!(cache.state().places.len() <= 2 * PLACES_SWEPT_MIN);
    }
}
