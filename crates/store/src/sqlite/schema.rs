//! The tables of the embedded store, their version, and the migrations that lead to it.

use rusqlite::{Connection, TransactionBehavior};

/// Marks a database file as ours: "refr" in ASCII.
const APPLICATION_ID: i64 = 0x7265_6672;

/// The migrations, oldest first. The schema version of a file is the number of migrations that
/// it went through. A migration that was released is never edited; a change is a new one.
const MIGRATIONS: &[&str] = &[GAMES_AND_ENTRIES, DEADLINES_AND_HEARTBEAT];

/// Version 1: games and their entries.
///
/// Each durable commit writes whole pages, so that rows which are written together must lie
/// together: integer keys that grow, entries in the order of commits, and nothing of a game that
/// must be updated for each entry. The head of a game is its last entry, not a column.
const GAMES_AND_ENTRIES: &str = "
CREATE TABLE platforms (
    platform_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE games (
    game_id INTEGER PRIMARY KEY,
    platform_id INTEGER NOT NULL REFERENCES platforms,
    name TEXT NOT NULL,
    request_id TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    state INTEGER NOT NULL,
    create_time_us INTEGER NOT NULL,
    chain BLOB NOT NULL,
    UNIQUE (platform_id, name),
    UNIQUE (platform_id, request_id)
) STRICT;
CREATE INDEX games_by_time ON games (platform_id, create_time_us, game_id);
CREATE INDEX games_by_state ON games (platform_id, state, create_time_us, game_id);

-- Apart from the games, so that a change of state does not rewrite the genesis.
CREATE TABLE geneses (
    game_id INTEGER PRIMARY KEY REFERENCES games,
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE labels (
    platform_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    create_time_us INTEGER NOT NULL,
    game_id INTEGER NOT NULL REFERENCES games,
    PRIMARY KEY (platform_id, key, value, create_time_us, game_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX labels_by_game ON labels (game_id, key, value);

-- In the order of commits. Found by platform here, by game and request through entry_index.
CREATE TABLE entries (
    position INTEGER PRIMARY KEY,
    platform_id INTEGER NOT NULL,
    game_id INTEGER NOT NULL REFERENCES games,
    sequence INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    update_time_us INTEGER NOT NULL,
    chain BLOB NOT NULL,
    bytes BLOB NOT NULL
) STRICT;
CREATE INDEX entries_by_platform ON entries (platform_id);

-- Derived from entries, up to the position in indexed_through; see recent.rs.
CREATE TABLE entry_index (
    game_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    position INTEGER NOT NULL,
    request_key INTEGER NOT NULL,
    PRIMARY KEY (game_id, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX entry_index_by_request ON entry_index (game_id, request_key, position);
CREATE TABLE indexed_through (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    position INTEGER NOT NULL
) STRICT;
INSERT INTO indexed_through VALUES (1, 0);

CREATE TABLE refusals (
    refusal_id INTEGER PRIMARY KEY,
    game_id INTEGER NOT NULL REFERENCES games,
    sequence INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    answer BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX refusals_by_request ON refusals (game_id, request_id);
";

/// Version 2: when games are due, and the signs of life of the processes.
///
/// A deadline is no column of its game, so that the small rows of many games share a page. It is
/// only ever written when it comes earlier than the one before; see deadlines.rs. Of the games
/// that were there before, nobody knows, so that each is looked at once.
const DEADLINES_AND_HEARTBEAT: &str = "
CREATE TABLE deadlines (
    game_id INTEGER PRIMARY KEY REFERENCES games,
    due_us INTEGER NOT NULL
) STRICT;
INSERT INTO deadlines SELECT game_id, 0 FROM games;
CREATE INDEX deadlines_by_time ON deadlines (due_us);

CREATE TABLE heartbeat (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    at_us INTEGER NOT NULL
) STRICT;
CREATE TABLE down_spans (
    to_us INTEGER PRIMARY KEY,
    from_us INTEGER NOT NULL
) STRICT;
";

/// Why a file could not be brought to the current schema.
#[derive(Debug)]
pub(super) enum SchemaError {
    /// The file is a database of another program.
    Foreign,
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

/// Refuses a file that is not ours or too new, before anything is written to it.
pub(super) fn inspect(connection: &Connection) -> Result<(), SchemaError> {
    inspect_against(connection, MIGRATIONS.len())
}

/// Brings the file to the current schema; each migration is one transaction.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), SchemaError> {
    migrate_through(connection, MIGRATIONS)
}

fn inspect_against(connection: &Connection, known: usize) -> Result<(), SchemaError> {
    let known = known as i64;
    let application_id: i64 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let found = version(connection)?;
    if application_id != APPLICATION_ID {
        let objects: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if application_id != 0 || found != 0 || objects != 0 {
            return Err(SchemaError::Foreign);
        }
    }
    if found > known {
        return Err(SchemaError::Newer { found, known });
    }
    Ok(())
}

fn migrate_through(connection: &mut Connection, migrations: &[&str]) -> Result<(), SchemaError> {
    inspect_against(connection, migrations.len())?;
    let done = usize::try_from(version(connection)?).map_err(|_| SchemaError::Foreign)?;
    for (index, migration) in migrations.iter().enumerate().skip(done) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", index as i64 + 1)?;
        transaction.commit()?;
    }
    Ok(())
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "CREATE TABLE one (x INTEGER) STRICT; INSERT INTO one VALUES (7);";
    const SECOND: &str = "ALTER TABLE one ADD COLUMN y INTEGER NOT NULL DEFAULT 8;";

    fn memory() -> Connection {
        Connection::open_in_memory().expect("memory is there")
    }

    #[test]
    fn migrations_go_forward_once_and_keep_what_is_there() {
        let mut connection = memory();
        migrate_through(&mut connection, &[FIRST]).expect("a new file takes version 1");
        assert_eq!(version(&connection), Ok(1));
        migrate_through(&mut connection, &[FIRST, SECOND]).expect("version 1 takes version 2");
        migrate_through(&mut connection, &[FIRST, SECOND]).expect("version 2 stays");
        assert_eq!(version(&connection), Ok(2));
        let row = connection.query_row("SELECT x, y FROM one", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        });
        assert_eq!(row, Ok((7, 8)));
    }

    #[test]
    fn a_migration_that_fails_leaves_the_version_before_it() {
        let mut connection = memory();
        let broken = "CREATE TABLE two (x INTEGER) STRICT; CREATE TABLE two (x INTEGER) STRICT;";
        let result = migrate_through(&mut connection, &[FIRST, broken]);
        assert!(matches!(result, Err(SchemaError::Engine(_))), "{result:?}");
        assert_eq!(version(&connection), Ok(1));
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
    fn every_game_of_version_1_is_looked_at_once() {
        let mut connection = memory();
        migrate_through(&mut connection, &MIGRATIONS[..1]).expect("a new file takes version 1");
        connection
            .execute_batch(
                "INSERT INTO platforms VALUES (1, 'p');
                 INSERT INTO games VALUES (3, 1, 'g', 'r', x'00', 1, 5, x'00');
                 INSERT INTO games VALUES (9, 1, 'h', 's', x'00', 1, 5, x'00');",
            )
            .expect("version 1 takes games");
        migrate(&mut connection).expect("version 1 takes version 2");
        let mut due = connection
            .prepare("SELECT game_id, due_us FROM deadlines ORDER BY game_id")
            .expect("version 2 has deadlines");
        let due: Vec<(i64, i64)> = due
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .and_then(Iterator::collect)
            .expect("the rows can be read");
        assert_eq!(due, [(3, 0), (9, 0)]);
    }

    #[test]
    fn a_newer_version_is_refused() {
        let mut connection = memory();
        migrate_through(&mut connection, &[FIRST, SECOND]).expect("a new file takes version 2");
        let result = migrate_through(&mut connection, &[FIRST]);
        assert!(
            matches!(result, Err(SchemaError::Newer { found: 2, known: 1 })),
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
