//! Moves the newest requests of a game into the indexes on disk, some dozens at a time.
//!
//! An index over the requests of all games is scattered: each entry of a batch lands on the page
//! of its own game, and a durable commit writes whole pages. The newest requests of a game are
//! therefore kept in its head, which is written anyway, and move when there are enough of them.
//! Each game moves at its own time, so that games which are played alike do not move together.

use rusqlite::params;

use super::head::Head;
use super::query::Newest;
use super::request::Filter;
use super::writer::Writer;

/// The requests that one statement inserts, as long as there are so many: what each statement
/// costs by itself is more than what a row does.
const ROWS: usize = 8;

/// Inserts so many. What ends the transaction needs no journal for the statement.
const INSERT_ROWS: &str = "INSERT OR ROLLBACK INTO requests (game_id, request, place) VALUES \
     (?1, ?2, ?3), (?1, ?4, ?5), (?1, ?6, ?7), (?1, ?8, ?9), \
     (?1, ?10, ?11), (?1, ?12, ?13), (?1, ?14, ?15), (?1, ?16, ?17)";

/// Inserts one.
const INSERT_ROW: &str =
    "INSERT OR ROLLBACK INTO requests (game_id, request, place) VALUES (?1, ?2, ?3)";

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
        let (rows, rest) = head.newest.as_chunks::<ROWS>();
        for rows in rows {
            self.insert_requests(INSERT_ROWS, head.game_id, rows)?;
        }
        for newest in rest {
            self.insert_requests(INSERT_ROW, head.game_id, std::slice::from_ref(newest))?;
        }
        head.newest.clear();
        head.filter = Filter::default();
        self.connection
            .prepare_cached(
                "UPDATE heads SET newest = 0, seen_0 = 0, seen_1 = 0, seen_2 = 0, seen_3 = 0, \
                 seen_4 = 0, seen_5 = 0 WHERE game_id = ?1",
            )?
            .execute([head.game_id])?;
        Ok(())
    }

    fn insert_requests(
        &self,
        statement: &str,
        game_id: i64,
        rows: &[Newest],
    ) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare_cached(statement)?;
        insert.raw_bind_parameter(1, game_id)?;
        for (index, row) in rows.iter().enumerate() {
            insert.raw_bind_parameter(2 + 2 * index, row.key)?;
            insert.raw_bind_parameter(3 + 2 * index, row.position)?;
        }
        insert.raw_execute()?;
        Ok(())
    }
}
