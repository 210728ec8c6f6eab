//! Moves the newest entries into the index on disk, a slice at a time.

use rusqlite::{Transaction, TransactionBehavior};

use super::recent::Place;
use super::writer::Writer;

/// The entries that are being moved into the index on disk.
pub(super) struct Indexing {
    /// Beyond the index when this began, by game and sequence.
    places: Vec<(i64, Place)>,
    /// How many of them are in the index now.
    done: usize,
    /// The position of the newest of them.
    through: i64,
}

impl Writer {
    /// Writes one slice of the index on disk, when enough entries are not in it.
    pub(super) fn index_if_due(&mut self) {
        if self.indexing.is_none() && self.unindexed >= self.options.unindexed_entries {
            self.begin_indexing();
        }
        if let Err(error) = self.index(self.options.indexed_per_slice) {
            // The entries are safe and stay in the index in memory; the next batch tries again.
            tracing::error!(%error, "the index of entries could not be written");
        }
    }

    /// Sorts what is not in the index, so that each of its pages is written once.
    fn begin_indexing(&mut self) {
        self.indexing = Some(Indexing {
            places: self.recent.sorted(),
            done: 0,
            through: self.last_position,
        });
    }

    /// Writes the next slice of the index; after the last one its entries leave the memory.
    ///
    /// Between slices the index has entries beyond the position that it is said to have
    /// reached. Those are in memory too, where they are looked for first.
    fn index(&mut self, slice: usize) -> rusqlite::Result<()> {
        let Some(indexing) = &mut self.indexing else {
            return Ok(());
        };
        let end = indexing
            .places
            .len()
            .min(indexing.done.saturating_add(slice));
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        {
            // What is there already is from slices before the process ended.
            let mut insert = transaction.prepare_cached(
                "INSERT INTO entry_index (game_id, sequence, position, request_key) \
                 VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
            )?;
            for (game_id, place) in &indexing.places[indexing.done..end] {
                let Place {
                    sequence,
                    position,
                    request_key,
                } = place;
                insert.execute([game_id, sequence, position, request_key])?;
            }
        }
        let finished = end == indexing.places.len();
        if finished {
            transaction.execute(
                "UPDATE indexed_through SET position = ?1",
                [indexing.through],
            )?;
        }
        transaction.commit()?;
        indexing.done = end;
        if finished {
            self.unindexed -= indexing.places.len();
            self.shared_recent
                .replace(self.recent.beyond(indexing.through));
            self.recent = self.shared_recent.get();
            self.indexing = None;
        }
        Ok(())
    }

    /// Writes the index of all entries.
    pub(super) fn index_all(&mut self) {
        // What a running indexing left, then the rest.
        for _ in 0..2 {
            if self.indexing.is_none() && self.unindexed > 0 {
                self.begin_indexing();
            }
            if let Err(error) = self.index(usize::MAX) {
                tracing::error!(%error, "the index of entries could not be written");
            }
        }
    }
}
