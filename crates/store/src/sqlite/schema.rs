//! The tables of the embedded store, their version, and the migrations that lead to it.

use rusqlite::{Connection, TransactionBehavior};

/// Marks a database file as ours: "refr" in ASCII.
const APPLICATION_ID: i64 = 0x7265_6672;

/// The version that the first migration here leads to. Files of versions before it are from
/// before the first release; nothing leads from them.
const FIRST_VERSION: i64 = 6;

/// The migrations, oldest first. A migration that was released is never edited; a change is a new
/// one.
const MIGRATIONS: &[&str] = &[
    FIRST,
    CLOCK_STEPS,
    STATED_DEADLINES,
    super::work_tables::TABLES,
    TOKENS,
    super::work_tables::CHILDREN,
];

/// Games, their entries, and what must survive beside them.
///
/// Each durable commit writes whole pages, so that rows which are written together must lie
/// together: entries in the order of commits, and of each game one small row, its head, which
/// every entry changes. An index over all entries of all games is scattered: each entry of a
/// batch lands on a page of its own. The newest requests of a game are therefore kept in its
/// head, and move into the indexes some dozens at a time; see `index.rs`.
///
/// No sequence and no request of a game can come twice: the triggers on entries and refusals hold
/// that, whoever writes. The head admits only the entry that follows it. A request must be neither
/// among the newest in the head nor in the index, where refusals are, too. A request that is in
/// the index makes an insertion do nothing; everything else that must not be ends the transaction.
/// That a position comes twice the keys of entries and games prevent, and for creations among
/// entries triggers: what is new comes after all that is there. For those that were deleted
/// triggers keep where to go on.
///
/// A request is the two halves of its digest, see `request.rs`; the first is unique, the second
/// tells whether it is the same. The head has only a filter over the first: a request that seems
/// to be in it cannot follow until those before it are in the index.
///
/// Triggers that run with every entry call no function: where one does, the engine keeps a journal
/// for undoing the single statement, which costs as much as the entry.
///
/// Text about persons is in one table, `texts`, and nowhere else, so that it can be erased for
/// good; see `texts.rs`. Of labels, by which games are found, the index has keyed hashes.
const FIRST: &str = "
CREATE TABLE platforms (
    platform_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE games (
    game_id INTEGER PRIMARY KEY AUTOINCREMENT,
    platform_id INTEGER NOT NULL REFERENCES platforms,
    name TEXT NOT NULL,
    -- None once the game was deleted.
    request_id TEXT,
    content_hash BLOB NOT NULL,
    state INTEGER NOT NULL,
    create_time_us INTEGER NOT NULL,
    chain BLOB NOT NULL,
    -- Where the creation is in the log, in one line with the positions of entries; once the game
    -- was deleted, where that is.
    log_position INTEGER NOT NULL UNIQUE,
    -- When the game was deleted. This row is what is left of it then.
    delete_time_us INTEGER,
    UNIQUE (platform_id, name),
    UNIQUE (platform_id, request_id)
) STRICT;
CREATE INDEX games_by_time ON games (platform_id, create_time_us, game_id)
    WHERE delete_time_us IS NULL;
CREATE INDEX games_by_state ON games (platform_id, state, create_time_us, game_id)
    WHERE delete_time_us IS NULL;
CREATE INDEX deletions ON games (log_position) WHERE delete_time_us IS NOT NULL;

-- Apart from the games, so that a change of state does not rewrite the genesis.
CREATE TABLE geneses (
    game_id INTEGER PRIMARY KEY REFERENCES games,
    bytes BLOB NOT NULL
) STRICT;

-- Text about persons, in the order in which it came. Rows are never moved and never deleted: what
-- is erased is overwritten where it lies.
CREATE TABLE texts (
    text_id INTEGER PRIMARY KEY,
    salt BLOB NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

-- Which text belongs to which entry, 0 for the genesis, and what kind it is; see `texts.rs`.
CREATE TABLE text_places (
    game_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    text_id INTEGER NOT NULL,
    PRIMARY KEY (game_id, sequence, kind)
) STRICT, WITHOUT ROWID;

-- The labels of games as hashes with a key, which is of no use elsewhere.
CREATE TABLE labels (
    platform_id INTEGER NOT NULL,
    label BLOB NOT NULL,
    create_time_us INTEGER NOT NULL,
    game_id INTEGER NOT NULL REFERENCES games,
    PRIMARY KEY (platform_id, label, create_time_us, game_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE label_key (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    key BLOB NOT NULL
) STRICT;
INSERT INTO label_key VALUES (1, randomblob(32));

-- The requests of a platform that have updated or deleted a game: the sequence of the entry, or -1.
CREATE TABLE platform_requests (
    platform_id INTEGER NOT NULL,
    request INTEGER NOT NULL,
    request_rest BLOB NOT NULL,
    game_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (platform_id, request)
) STRICT, WITHOUT ROWID;
CREATE INDEX platform_requests_by_game ON platform_requests (game_id, sequence);

-- Where each game stands: the sequence and position of its last entry, 0 before the first, the
-- number of its refusals, and of its newest entries how many there are and the filter over their
-- requests.
CREATE TABLE heads (
    game_id INTEGER PRIMARY KEY REFERENCES games,
    sequence INTEGER NOT NULL,
    position INTEGER NOT NULL,
    refusals INTEGER NOT NULL DEFAULT 0,
    newest INTEGER NOT NULL DEFAULT 0,
    seen_0 INTEGER NOT NULL DEFAULT 0,
    seen_1 INTEGER NOT NULL DEFAULT 0,
    seen_2 INTEGER NOT NULL DEFAULT 0,
    seen_3 INTEGER NOT NULL DEFAULT 0,
    seen_4 INTEGER NOT NULL DEFAULT 0,
    seen_5 INTEGER NOT NULL DEFAULT 0
) STRICT;

-- In the order of commits. The entry before it in its game is at `previous`. `log_position` is the
-- position again, where a trigger can read it before the engine has chosen the next position.
CREATE TABLE entries (
    position INTEGER PRIMARY KEY,
    log_position INTEGER NOT NULL CHECK (log_position = position),
    platform_id INTEGER NOT NULL,
    game_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    request INTEGER NOT NULL,
    request_rest BLOB NOT NULL,
    content_hash BLOB NOT NULL,
    update_time_us INTEGER NOT NULL,
    chain BLOB NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE refusals (
    refusal_id INTEGER PRIMARY KEY AUTOINCREMENT,
    game_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    request INTEGER NOT NULL,
    request_rest BLOB NOT NULL,
    content_hash BLOB NOT NULL,
    answer BLOB NOT NULL
) STRICT;

-- How many refusals a game has of each scope of request ids.
CREATE TABLE refusal_counts (
    game_id INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    refusals INTEGER NOT NULL,
    PRIMARY KEY (game_id, scope)
) STRICT, WITHOUT ROWID;

-- Runs of entries of a game: the positions of those up to `sequence`, eight bytes each.
CREATE TABLE runs (
    game_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    positions BLOB NOT NULL,
    PRIMARY KEY (game_id, sequence)
) STRICT, WITHOUT ROWID;

-- The requests that are not in a head: the position of the entry, or minus the number of the
-- refusal.
CREATE TABLE requests (
    game_id INTEGER NOT NULL,
    request INTEGER NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (game_id, request)
) STRICT, WITHOUT ROWID;

-- Which parts of the log have entries of a platform: blocks of positions; see `log.rs`.
CREATE TABLE blocks (
    platform_id INTEGER NOT NULL,
    block INTEGER NOT NULL,
    PRIMARY KEY (platform_id, block)
) STRICT, WITHOUT ROWID;

-- The newest position of those that were deleted.
CREATE TABLE deleted (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    position INTEGER NOT NULL
) STRICT;
INSERT INTO deleted VALUES (1, 0);

CREATE TRIGGER games_once BEFORE INSERT ON games BEGIN
    SELECT RAISE(ROLLBACK, 'the position of the creation is taken')
    WHERE NEW.log_position <= (SELECT max(
        position,
        coalesce((SELECT max(log_position) FROM games), 0),
        coalesce((SELECT max(position) FROM entries), 0)) FROM deleted);
END;
CREATE TRIGGER games_deleted_once BEFORE UPDATE OF log_position ON games BEGIN
    SELECT RAISE(ROLLBACK, 'the position of the deletion is taken')
    WHERE NEW.log_position <= (SELECT max(
        position,
        coalesce((SELECT max(log_position) FROM games), 0),
        coalesce((SELECT max(position) FROM entries), 0)) FROM deleted);
END;
CREATE TRIGGER games_deleted AFTER DELETE ON games BEGIN
    UPDATE deleted SET position = OLD.log_position WHERE position < OLD.log_position;
END;
CREATE TRIGGER entries_once BEFORE INSERT ON entries BEGIN
    SELECT RAISE(ROLLBACK, 'the position of the entry is that of a creation')
    WHERE EXISTS (SELECT 1 FROM games WHERE games.log_position >= NEW.log_position);
    SELECT RAISE(IGNORE) WHERE EXISTS (
        SELECT 1 FROM requests WHERE game_id = NEW.game_id AND request = NEW.request);
    SELECT RAISE(ROLLBACK, 'the entry does not follow the head of its game')
    WHERE NOT EXISTS (
        SELECT 1 FROM heads WHERE game_id = NEW.game_id
        AND sequence = NEW.sequence - 1 AND position = NEW.previous
        AND ((seen_0 & (1 << (NEW.request & 63))) = 0
            OR (seen_1 & (1 << (NEW.request >> 6 & 63))) = 0
            OR (seen_2 & (1 << (NEW.request >> 12 & 63))) = 0
            OR (seen_3 & (1 << (NEW.request >> 18 & 63))) = 0
            OR (seen_4 & (1 << (NEW.request >> 24 & 63))) = 0
            OR (seen_5 & (1 << (NEW.request >> 30 & 63))) = 0));
    UPDATE heads SET
        sequence = NEW.sequence,
        position = NEW.log_position,
        newest = newest + 1,
        seen_0 = seen_0 | (1 << (NEW.request & 63)),
        seen_1 = seen_1 | (1 << (NEW.request >> 6 & 63)),
        seen_2 = seen_2 | (1 << (NEW.request >> 12 & 63)),
        seen_3 = seen_3 | (1 << (NEW.request >> 18 & 63)),
        seen_4 = seen_4 | (1 << (NEW.request >> 24 & 63)),
        seen_5 = seen_5 | (1 << (NEW.request >> 30 & 63))
    WHERE game_id = NEW.game_id;
END;
CREATE TRIGGER entries_deleted AFTER DELETE ON entries BEGIN
    UPDATE deleted SET position = OLD.position WHERE position < OLD.position;
END;
CREATE TRIGGER refusals_once BEFORE INSERT ON refusals BEGIN
    SELECT RAISE(IGNORE) WHERE EXISTS (
        SELECT 1 FROM requests WHERE game_id = NEW.game_id AND request = NEW.request);
    SELECT RAISE(ROLLBACK, 'the request has an entry, or there is no such game')
    WHERE NOT EXISTS (
        SELECT 1 FROM heads WHERE game_id = NEW.game_id
        AND ((seen_0 & (1 << (NEW.request & 63))) = 0
            OR (seen_1 & (1 << (NEW.request >> 6 & 63))) = 0
            OR (seen_2 & (1 << (NEW.request >> 12 & 63))) = 0
            OR (seen_3 & (1 << (NEW.request >> 18 & 63))) = 0
            OR (seen_4 & (1 << (NEW.request >> 24 & 63))) = 0
            OR (seen_5 & (1 << (NEW.request >> 30 & 63))) = 0));
    UPDATE heads SET refusals = refusals + 1 WHERE game_id = NEW.game_id;
END;
CREATE TRIGGER refusals_found AFTER INSERT ON refusals BEGIN
    INSERT INTO requests VALUES (NEW.game_id, NEW.request, -NEW.refusal_id);
END;

-- A deadline is only ever written when it comes earlier than the one before; see deadlines.rs.
CREATE TABLE deadlines (
    game_id INTEGER PRIMARY KEY REFERENCES games,
    due_us INTEGER NOT NULL,
    held_until_us INTEGER
) STRICT;
CREATE INDEX deadlines_by_time ON deadlines (due_us, held_until_us);

-- Open questions in the order of `asked`, the position of an entry that asked.
CREATE TABLE questions (
    game_id INTEGER PRIMARY KEY REFERENCES games,
    sequence INTEGER NOT NULL,
    asked INTEGER NOT NULL,
    held_until_us INTEGER
) STRICT;
CREATE INDEX questions_by_time ON questions (held_until_us, asked);

CREATE TABLE replicas (
    replica_id BLOB PRIMARY KEY,
    at_us INTEGER NOT NULL,
    stopping INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE down_spans (
    span_id INTEGER PRIMARY KEY AUTOINCREMENT,
    from_us INTEGER NOT NULL,
    to_us INTEGER NOT NULL UNIQUE
) STRICT;
";

/// By how much the clock ran ahead before each step back, all later steps included; see
/// `liveness.rs`.
const CLOCK_STEPS: &str = "
CREATE TABLE clock_steps (
    step_id INTEGER PRIMARY KEY AUTOINCREMENT,
    ahead_us INTEGER NOT NULL
) STRICT;
";

/// What the newest entry of a game, its creation or a postponement said of its deadline, so that a
/// row of `deadlines` that is lost or too late shows. `deadline_known` is 0 for games without an
/// entry since before.
const STATED_DEADLINES: &str = "
ALTER TABLE entries ADD COLUMN deadline_us INTEGER;
ALTER TABLE heads ADD COLUMN deadline_us INTEGER;
ALTER TABLE heads ADD COLUMN deadline_known INTEGER NOT NULL DEFAULT 0;
DROP TRIGGER entries_once;
CREATE TRIGGER entries_once BEFORE INSERT ON entries BEGIN
    SELECT RAISE(ROLLBACK, 'the position of the entry is that of a creation')
    WHERE EXISTS (SELECT 1 FROM games WHERE games.log_position >= NEW.log_position);
    SELECT RAISE(IGNORE) WHERE EXISTS (
        SELECT 1 FROM requests WHERE game_id = NEW.game_id AND request = NEW.request);
    SELECT RAISE(ROLLBACK, 'the entry does not follow the head of its game')
    WHERE NOT EXISTS (
        SELECT 1 FROM heads WHERE game_id = NEW.game_id
        AND sequence = NEW.sequence - 1 AND position = NEW.previous
        AND ((seen_0 & (1 << (NEW.request & 63))) = 0
            OR (seen_1 & (1 << (NEW.request >> 6 & 63))) = 0
            OR (seen_2 & (1 << (NEW.request >> 12 & 63))) = 0
            OR (seen_3 & (1 << (NEW.request >> 18 & 63))) = 0
            OR (seen_4 & (1 << (NEW.request >> 24 & 63))) = 0
            OR (seen_5 & (1 << (NEW.request >> 30 & 63))) = 0));
    UPDATE heads SET
        sequence = NEW.sequence,
        position = NEW.log_position,
        newest = newest + 1,
        seen_0 = seen_0 | (1 << (NEW.request & 63)),
        seen_1 = seen_1 | (1 << (NEW.request >> 6 & 63)),
        seen_2 = seen_2 | (1 << (NEW.request >> 12 & 63)),
        seen_3 = seen_3 | (1 << (NEW.request >> 18 & 63)),
        seen_4 = seen_4 | (1 << (NEW.request >> 24 & 63)),
        seen_5 = seen_5 | (1 << (NEW.request >> 30 & 63)),
        deadline_us = NEW.deadline_us,
        deadline_known = 1
    WHERE game_id = NEW.game_id;
END;
";

/// The version from which on a file knows what was said of deadlines.
pub(super) const STATED_DEADLINES_VERSION: i64 = FIRST_VERSION + 2;

/// The tables of tokens. No secret is in them.
const TOKENS: &str = "
CREATE TABLE tokens (
    token_id TEXT PRIMARY KEY,
    secret_hash BLOB NOT NULL,
    principal TEXT NOT NULL,
    platform TEXT NOT NULL,
    role INTEGER NOT NULL,
    -- What it is confined to: a game with a seat, or a label.
    game TEXT,
    seat INTEGER,
    label_key TEXT,
    label_value TEXT,
    issuer TEXT NOT NULL,
    create_time_us INTEGER NOT NULL,
    expire_time_us INTEGER,
    revoke_time_us INTEGER,
    CHECK (game IS NULL OR label_key IS NULL),
    CHECK ((label_key IS NULL) = (label_value IS NULL)),
    CHECK ((game IS NULL) = (seat IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_by_platform ON tokens (platform, token_id);
";

/// Why a file could not be brought to the current schema.
#[derive(Debug)]
pub(super) enum SchemaError {
    /// The file is a database of another program.
    Foreign,
    /// The file has a version from which nothing leads on.
    Older { found: i64, oldest: i64 },
    /// The file has a version that this program does not know.
    Newer { found: i64, known: i64 },
    /// The engine failed.
    Engine(rusqlite::Error),
}

impl From<rusqlite::Error> for SchemaError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(error)
    }
}

/// Refuses a file that is not ours, too old or too new, before anything is written to it.
pub(super) fn inspect(connection: &Connection) -> Result<(), SchemaError> {
    inspect_against(connection, MIGRATIONS.len())
}

/// Brings the file to the current schema; each migration is one transaction.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), SchemaError> {
    migrate_through(connection, MIGRATIONS)
}

fn inspect_against(connection: &Connection, migrations: usize) -> Result<(), SchemaError> {
    let known = FIRST_VERSION + migrations as i64 - 1;
    let application_id: i64 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let found = version(connection)?;
    if application_id != APPLICATION_ID {
        let objects: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        return if application_id == 0 && found == 0 && objects == 0 {
            Ok(())
        } else {
            Err(SchemaError::Foreign)
        };
    }
    if found < FIRST_VERSION {
        let oldest = FIRST_VERSION;
        return Err(SchemaError::Older { found, oldest });
    }
    if found > known {
        return Err(SchemaError::Newer { found, known });
    }
    Ok(())
}

fn migrate_through(connection: &mut Connection, migrations: &[&str]) -> Result<(), SchemaError> {
    inspect_against(connection, migrations.len())?;
    let done = version(connection)?;
    for (version, migration) in (FIRST_VERSION..).zip(migrations) {
        if version <= done {
            continue;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Returns the version of the schema of a file.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "CREATE TABLE one (x INTEGER) STRICT; INSERT INTO one VALUES (7);";
    const TWO: &str = "ALTER TABLE one ADD COLUMN y INTEGER NOT NULL DEFAULT 8;";

    fn memory() -> Connection {
        Connection::open_in_memory().expect("memory is there")
    }

    #[test]
    fn migrations_go_forward_once_and_keep_what_is_there() {
        let mut connection = memory();
        migrate_through(&mut connection, &[ONE]).expect("a new file takes the first version");
        assert_eq!(version(&connection), Ok(FIRST_VERSION));
        migrate_through(&mut connection, &[ONE, TWO]).expect("the first takes the second");
        migrate_through(&mut connection, &[ONE, TWO]).expect("the second stays");
        assert_eq!(version(&connection), Ok(FIRST_VERSION + 1));
        let row = connection.query_row("SELECT x, y FROM one", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        });
        assert_eq!(row, Ok((7, 8)));
    }

    #[test]
    fn a_migration_that_fails_leaves_the_version_before_it() {
        let mut connection = memory();
        let broken = "CREATE TABLE two (x INTEGER) STRICT; CREATE TABLE two (x INTEGER) STRICT;";
        let result = migrate_through(&mut connection, &[ONE, broken]);
        assert!(matches!(result, Err(SchemaError::Engine(_))), "{result:?}");
        assert_eq!(version(&connection), Ok(FIRST_VERSION));
        let tables: i64 = connection
            .query_row(
                "SELECT count(*) FROM sqlite_schema WHERE name = 'two'",
                [],
                |row| row.get(0),
            )
            .expect("the file is readable");
        assert_eq!(tables, 0);
    }

    #[test]
    fn an_older_version_is_refused() {
        let mut connection = memory();
        connection
            .pragma_update(None, "application_id", APPLICATION_ID)
            .and_then(|()| connection.pragma_update(None, "user_version", 2))
            .expect("memory takes numbers");
        let result = migrate(&mut connection);
        assert!(
            matches!(
                result,
                Err(SchemaError::Older {
                    found: 2,
                    oldest: 6
                })
            ),
            "{result:?}"
        );
    }

    #[test]
    fn a_newer_version_is_refused() {
        let mut connection = memory();
        migrate_through(&mut connection, &[ONE, TWO]).expect("a new file takes both");
        let result = migrate_through(&mut connection, &[ONE]);
        assert!(
            matches!(result, Err(SchemaError::Newer { found: 7, known: 6 })),
            "{result:?}"
        );
    }

    #[test]
    fn a_database_of_another_program_is_refused() {
        let mut connection = memory();
        connection
            .execute_batch("CREATE TABLE theirs (x)")
            .expect("memory takes a table");
        let result = migrate(&mut connection);
        assert!(matches!(result, Err(SchemaError::Foreign)), "{result:?}");
    }
}
