//! Keeps text about persons, and erases it; see `texts.rs`.

use rusqlite::params;

use super::texts::{Kind, hash_label, label_key, labels, write_labels};
use super::writer::Writer;
use crate::games::PrivateText;

impl Writer {
    /// Keeps a text of an entry.
    pub(super) fn keep_text(
        &self,
        game_id: i64,
        sequence: i64,
        kind: Kind,
        text: &PrivateText,
    ) -> rusqlite::Result<()> {
        self.insert_text(game_id, sequence, kind, (&text.salt, &text.bytes))
    }

    fn insert_text(
        &self,
        game_id: i64,
        sequence: i64,
        kind: Kind,
        (salt, bytes): (&[u8], &[u8]),
    ) -> rusqlite::Result<()> {
        let text_id = self
            .connection
            .prepare_cached("INSERT INTO texts (salt, bytes) VALUES (?1, ?2)")?
            .insert(params![salt, bytes])?;
        self.connection
            .prepare_cached(
                "INSERT INTO text_places (game_id, sequence, kind, text_id) \
                 VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![game_id, sequence, kind as i64, text_id])?;
        Ok(())
    }

    /// Keeps the labels that a game has from an entry on, and finds the game by them.
    pub(super) fn keep_labels(
        &self,
        game_id: i64,
        sequence: i64,
        labels: &[(String, String)],
    ) -> rusqlite::Result<()> {
        if labels.is_empty() {
            return Ok(());
        }
        let key = label_key(&self.connection)?;
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO labels (platform_id, label, create_time_us, game_id) \
             SELECT platform_id, ?2, create_time_us, game_id FROM games WHERE game_id = ?1",
        )?;
        for label in labels {
            insert.execute(params![game_id, hash_label(&key, label)])?;
        }
        self.insert_text(
            game_id,
            sequence,
            Kind::Labels,
            (&[], &write_labels(labels)),
        )
    }

    /// Erases what describes a game, labels among it.
    pub(super) fn erase_description(&mut self, game_id: i64) -> rusqlite::Result<()> {
        self.erase_labels(game_id)?;
        self.erase_texts(game_id, Kind::Description)
    }

    /// Erases all text of a game.
    pub(super) fn erase_all_texts(&mut self, game_id: i64) -> rusqlite::Result<()> {
        self.erase_labels(game_id)?;
        self.erase_texts(game_id, Kind::Remark)
    }

    /// Erases the texts of some kinds: this one and those after it.
    fn erase_texts(&mut self, game_id: i64, from: Kind) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "UPDATE texts SET salt = zeroblob(length(salt)), bytes = zeroblob(length(bytes)) \
                 WHERE text_id IN \
                 (SELECT text_id FROM text_places WHERE game_id = ?1 AND kind >= ?2)",
            )?
            .execute(params![game_id, from as i64])?;
        self.connection
            .prepare_cached("DELETE FROM text_places WHERE game_id = ?1 AND kind >= ?2")?
            .execute(params![game_id, from as i64])?;
        self.erases = true;
        Ok(())
    }

    /// Lets a game be found by its labels no longer.
    fn erase_labels(&self, game_id: i64) -> rusqlite::Result<()> {
        let key = label_key(&self.connection)?;
        let mut delete = self.connection.prepare_cached(
            "DELETE FROM labels WHERE game_id = ?1 AND label = ?2 AND (platform_id, \
             create_time_us) = (SELECT platform_id, create_time_us FROM games WHERE game_id = ?1)",
        )?;
        for label in labels(&self.connection, game_id)? {
            delete.execute(params![game_id, hash_label(&key, &label)])?;
        }
        Ok(())
    }
}
