//! Folds the record of a game in which bytes were changed. Without a change it is the same game;
//! with one it is refused, or it is a game that can be shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prost::Message;
use referee_fuzz::games::{apply_changes, changes, play_actions};
use referee_record::FoldedGame;
use referee_record::convert::stored::stored_event;

/// When the games are read as created, in microseconds since 1970.
const CREATED_US: i64 = 1_700_000_000_000_000;

fuzz_target!(|data: &[u8]| {
    let (changes, actions) = changes(data);
    let Some(played) = play_actions(actions) else {
        return;
    };
    let events: Vec<Vec<u8>> = played.events.iter().map(|event| event.whole()).collect();
    let lengths: Vec<usize> = events.iter().map(Vec::len).collect();
    let mut bytes = [&played.genesis[..], &events.concat()].concat();
    apply_changes(&mut bytes, &changes);
    let (genesis, mut rest) = bytes.split_at(played.genesis.len());
    let mut game = match FoldedGame::begin(genesis, CREATED_US) {
        Ok(game) => game,
        Err(error) => {
            assert!(!changes.is_empty() && !error.to_string().is_empty());
            return;
        }
    };
    for length in lengths {
        let event;
        (event, rest) = rest.split_at(length);
        let applied = stored_event(event).and_then(|event| game.apply(&event));
        assert!(!game.view().encode_to_vec().is_empty());
        if let Err(error) = applied {
            assert!(!changes.is_empty() && !error.to_string().is_empty());
            return;
        }
    }
    if changes.is_empty() {
        assert_eq!(game.view(), played.folded.view());
    }
});
