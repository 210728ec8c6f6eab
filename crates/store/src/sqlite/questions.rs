//! Open questions.

use rusqlite::params;

use super::query;
use super::writer::Writer;
use crate::games::GameKey;
use crate::job::QuestionClaim;
use crate::questions::OpenQuestion;

impl Writer {
    /// Opens the question of a game, or asks it again. A question that nobody has claimed keeps
    /// its turn.
    pub(super) fn ask(&self, game_id: i64, sequence: i64, position: i64) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "INSERT INTO questions (game_id, sequence, asked) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (game_id) DO UPDATE SET sequence = excluded.sequence, \
                 asked = iif(held_until_us IS NULL, asked, excluded.asked), held_until_us = NULL",
            )?
            .execute([game_id, sequence, position])?;
        Ok(())
    }

    /// Claims open questions: those that nobody has claimed, then those of claims that ran out.
    pub(super) fn claim_questions(
        &self,
        claim: QuestionClaim,
    ) -> rusqlite::Result<Vec<OpenQuestion>> {
        let open: Vec<(i64, OpenQuestion)> = self
            .connection
            .prepare_cached(
                "SELECT platforms.name, games.name, sequence, questions.game_id \
                 FROM questions JOIN games USING (game_id) JOIN platforms USING (platform_id) \
                 WHERE held_until_us IS NULL OR held_until_us <= ?1 \
                 ORDER BY held_until_us, asked LIMIT ?2",
            )?
            .query_map(params![claim.now_us, claim.limit as i64], |row| {
                let key = GameKey {
                    platform: row.get(0)?,
                    game: row.get(1)?,
                };
                let sequence = row.get(2)?;
                Ok((row.get(3)?, OpenQuestion { key, sequence }))
            })?
            .collect::<rusqlite::Result<_>>()?;
        let held_until_us = claim.now_us.saturating_add(claim.hold_us);
        let mut hold = self
            .connection
            .prepare_cached("UPDATE questions SET held_until_us = ?2 WHERE game_id = ?1")?;
        for (game_id, _) in &open {
            hold.execute([*game_id, held_until_us])?;
        }
        Ok(open.into_iter().map(|(_, question)| question).collect())
    }

    /// Closes a question, unless a later entry asked again.
    pub(super) fn settle(&self, question: &OpenQuestion) -> rusqlite::Result<()> {
        if let Some(game_id) = query::game_id(&self.connection, &question.key)? {
            self.connection
                .prepare_cached("DELETE FROM questions WHERE game_id = ?1 AND sequence <= ?2")?
                .execute([game_id, question.sequence])?;
        }
        Ok(())
    }
}
