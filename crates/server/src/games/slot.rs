//! The place of one game in memory: its record as it is on disk, folded.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use referee_record::FoldedGame;
use referee_store::GameKey;

use super::feed::DELETED;

/// What a copy costs beside its moves, in bytes, rounded up.
const COPY_FIXED_BYTES: usize = 4 << 10;

/// What a move costs in a copy, in bytes: its text, its key, and what counts from it.
const COPY_PLY_BYTES: usize = 128;

/// A game as its record on disk has it.
#[derive(Debug)]
pub(crate) struct RecordedGame {
    /// The fold of the record.
    pub(crate) folded: FoldedGame,
    /// The hash that the next entry is chained to.
    pub(crate) chain: [u8; 32],
}

impl RecordedGame {
    /// What the copy costs in memory, in bytes, estimated from above.
    fn bytes(&self) -> usize {
        let genesis = prost::Message::encoded_len(&*self.folded.genesis);
        let plies = self.folded.game.history().ply() as usize;
        COPY_FIXED_BYTES + genesis + plies * COPY_PLY_BYTES
    }
}

/// The place of one game in memory.
///
/// The copy is always of something that is on disk: it is replaced after the commit, so who reads
/// it never waits for a write. Writes take turns.
#[derive(Debug)]
pub(crate) struct GameSlot {
    pub(crate) key: GameKey,
    /// Held by the write that is on its way to the disk; the next one waits for it.
    pub(crate) turn: tokio::sync::Mutex<()>,
    /// Held while the record is read, so that many readers read it once.
    pub(crate) reading: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    copy: Option<Arc<RecordedGame>>,
    /// The newest sequence of the game that the log has named.
    named: i64,
}

impl GameSlot {
    pub(crate) fn new(key: GameKey) -> GameSlot {
        GameSlot {
            key,
            turn: tokio::sync::Mutex::default(),
            reading: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        }
    }

    /// The copy, where there is one that the log has not moved past.
    pub(crate) fn copy(&self) -> Option<Arc<RecordedGame>> {
        let state = self.state();
        let copy = state.copy.as_ref()?;
        (copy.folded.sequence >= state.named).then(|| Arc::clone(copy))
    }

    /// The copy as it is, which the log may have moved past, and the newest sequence that the log
    /// has named.
    pub(crate) fn old_copy(&self) -> (Option<Arc<RecordedGame>>, i64) {
        let state = self.state();
        (state.copy.clone(), state.named)
    }

    /// Notes that the log names a sequence of the game.
    pub(crate) fn note(&self, sequence: i64) {
        let mut state = self.state();
        state.named = state.named.max(sequence);
    }

    /// Puts a newer copy in the place of the one that is there.
    pub(crate) fn replace(&self, copy: Arc<RecordedGame>) {
        let mut state = self.state();
        let is_newer = |old: &Arc<RecordedGame>| copy.folded.sequence > old.folded.sequence;
        if state.copy.as_ref().is_none_or(is_newer) {
            state.copy = Some(copy);
        }
    }

    /// Puts what was read from the record in the place of what is there, where the log has named
    /// nothing since the reading began at `named`. Says whether that is so.
    pub(crate) fn settle(&self, copy: &Arc<RecordedGame>, named: i64) -> bool {
        let mut state = self.state();
        let sequence = copy.folded.sequence;
        if state.named != named && state.named > sequence {
            return false;
        }
        let is_behind = |old: &Arc<RecordedGame>| old.folded.sequence <= sequence;
        if state.copy.as_ref().is_none_or(is_behind) {
            state.copy = Some(Arc::clone(copy));
            // The record is what counts, also where it has lost what the log had named.
            state.named = sequence;
        }
        true
    }

    /// Notes that a write which was judged on one sequence found the record at another: a copy
    /// that is behind is still good for what it has, and any other is dropped.
    pub(crate) fn found_at(&self, judged: i64, actual: i64) {
        if actual > judged {
            self.note(actual);
        } else {
            self.forget();
        }
    }

    /// Drops the copy: it is not what the record has.
    pub(crate) fn forget(&self) {
        self.state().copy = None;
    }

    /// Notes that the game was deleted: there is no copy of it any more.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.copy = None;
        state.named = DELETED;
    }

    /// What the place costs in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let copy = self.state().copy.clone();
        copy.map_or(0, |copy| copy.bytes()) + self.key.platform.len() + self.key.game.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is one assignment that does not fail halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
