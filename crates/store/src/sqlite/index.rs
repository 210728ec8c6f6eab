//! Moves the newest requests of a game into the indexes on disk, some dozens at a time.
//!
//! An index over the requests of all games is scattered: each entry of a batch lands on the page
//! of its own game, and a durable commit writes whole pages. The newest requests of a game are
//! therefore kept in its head, which is written anyway, and move when there are enough of them.
//! Each game moves at its own time, so that games which are played alike do not move together.

use rusqlite::params;

use super::head::Head;
use super::writer::Writer;

impl Writer {
    /// Moves the newest requests of a game into the indexes when there are enough.
    pub(super) fn index_if_due(&self, head: &mut Head) -> rusqlite::Result<()> {
        let most = self.options.newest_requests;
        let least = most / 2;
        // Any spread over the games will do; this is the golden ratio's.
        let spread = head.game_id.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) as u64 >> 32;
        let enough = least + spread as usize % (most - least).max(1) + 1;
        if head.newest.len() < enough {
            return Ok(());
        }
        self.index(head)
    }

    /// Moves the newest requests of a game into the indexes.
    pub(super) fn index(&self, head: &mut Head) -> rusqlite::Result<()> {
        let positions: Vec<u8> = head
            .newest
            .iter()
            .flat_map(|newest| newest.position.to_be_bytes())
            .collect();
        self.connection
            .prepare_cached("INSERT INTO runs (game_id, sequence, positions) VALUES (?1, ?2, ?3)")?
            .execute(params![head.game_id, head.sequence, positions])?;
        // In the order of the index, so that each of its pages is looked for once.
        head.newest.sort_unstable_by_key(|newest| newest.key);
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO requests (game_id, request, place) VALUES (?1, ?2, ?3)")?;
        for newest in head.newest.drain(..) {
            insert.execute(params![head.game_id, newest.key, newest.position])?;
        }
        head.prints.clear();
        self.connection
            .prepare_cached("UPDATE heads SET newest = x'' WHERE game_id = ?1")?
            .execute([head.game_id])?;
        Ok(())
    }
}
