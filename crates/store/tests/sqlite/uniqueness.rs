//! What the database itself takes no second time, whoever writes.

use referee_store::{SqliteOptions, SqliteStore, Store};

use crate::suite::{create, game, new_game};
use crate::{BUSY, alter, count, fill, folder, open};

/// A request that is not there.
const FRESH: &str = "72623859790382856";
/// The position of the newest entry of the game.
const LAST: &str = "(SELECT position FROM heads WHERE game_id = 1)";
/// The request of the refusal.
const OF_REFUSAL: &str = "(SELECT request FROM refusals)";

/// The next position of the log.
const NEXT: &str =
    "max((SELECT max(position) FROM entries), (SELECT max(log_position) FROM games)) + 1";

/// A statement that writes entries again, with some columns otherwise.
fn copy(sequence: &str, previous: &str, request: &str, game: &str) -> String {
    format!(
        "INSERT INTO entries SELECT {NEXT}, {NEXT}, platform_id, {game}, {sequence}, {previous}, \
         {request}, request_rest, content_hash, update_time_us, chain, bytes, deadline_us \
         FROM entries"
    )
}

/// Statements that write something of an entry once more, or what does not follow.
fn repetitions(sequence: i64) -> Vec<String> {
    let at = format!("WHERE sequence = {sequence}");
    let copies = [
        // An entry once more, as it is and with another request.
        copy("sequence", "previous", "request", "game_id"),
        copy("sequence", "previous", FRESH, "game_id"),
        copy("sequence", LAST, FRESH, "game_id"),
        // Its request once more, in the next entry.
        copy("26", LAST, "request", "game_id"),
        // The request of a refusal; an entry too far on; one after another past.
        copy("26", LAST, OF_REFUSAL, "game_id"),
        copy("27", LAST, FRESH, "game_id"),
        copy("26", "1", FRESH, "game_id"),
        // Of a game that is not there, and one of another game.
        copy("1", "0", FRESH, "77"),
        copy("26", LAST, FRESH, "2"),
        // The position of a creation, in an entry that would follow.
        copy("1", "0", FRESH, "2").replace(NEXT, "(SELECT max(log_position) FROM games)"),
        // A position once more.
        format!(
            "INSERT INTO entries SELECT position, position, platform_id, 2, 1, 0, {FRESH}, \
             request_rest, content_hash, update_time_us, chain, bytes, deadline_us FROM entries"
        ),
        // Its request once more, in a refusal.
        "INSERT INTO refusals SELECT NULL, game_id, 25, request, request_rest, content_hash, \
         bytes FROM entries"
            .to_owned(),
    ];
    copies.map(|copy| format!("{copy} {at}")).into()
}

#[tokio::test]
async fn the_database_takes_nothing_twice() {
    // Of entries that are in the index, and of those that are only in the head.
    for options in [BUSY, SqliteOptions::default()] {
        let folder = folder();
        let path = folder.path().join("referee.db");
        let store = SqliteStore::open_with(&path, options).expect("the store opens");
        let key = fill(&store).await;
        create(&store, new_game("p", "empty")).await;
        store.close().await.expect("the store closes");

        let entries = "SELECT count(*) FROM entries";
        let refusals = "SELECT count(*) FROM refusals";
        let before = (count(&path, entries), count(&path, refusals));
        assert_eq!(before, (25, 1));
        for sequence in [1, 7, 24, 25] {
            for insert in &repetitions(sequence) {
                // Whether it is an error or does nothing: nothing is there.
                drop(alter(&path, insert));
                let after = (count(&path, entries), count(&path, refusals));
                assert_eq!(after, before, "{insert}");
            }
        }
        let refused = "INSERT INTO refusals SELECT NULL, game_id, 25, request, request_rest, \
                       content_hash, answer FROM refusals";
        drop(alter(&path, refused));
        assert_eq!(count(&path, refusals), 1);

        // The same statements are right where they follow.
        let next = format!("{} WHERE sequence = 25", copy("26", LAST, FRESH, "game_id"));
        alter(&path, &next).expect("the next entry follows");
        let other = format!("{} WHERE sequence = 25", copy("1", "0", "request", "2"));
        alter(&path, &other).expect("another game has requests of its own");
        assert_eq!(count(&path, entries), 27);
        let store = open(&path);
        assert_eq!(game(&store, &key).await.sequence, 26);
    }
}
