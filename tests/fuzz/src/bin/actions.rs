//! Plays a game by actions. Whatever is sent, it is judged; and what is stored of a judgment is
//! read again as the same game.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prost::Message;
use referee_fuzz::games::play_actions;

fuzz_target!(|data: &[u8]| {
    if let Some(played) = play_actions(data) {
        assert!(!played.folded.view().encode_to_vec().is_empty());
    }
});
