//! Verifies the exported record of a game in which bytes were changed. Without a change it is
//! sound; with one there is a report all the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use referee_fuzz::games::{apply_changes, changes, play_actions};
use referee_verify::{Demand, verify};

fuzz_target!(|data: &[u8]| {
    let (changes, actions) = changes(data);
    let Some(played) = play_actions(actions) else {
        return;
    };
    let mut file = played.export();
    let before = file.clone();
    apply_changes(&mut file, &changes);
    let report = verify("fuzz", &file[..], &Demand::default());
    assert!(!report.to_string().is_empty() && !report.to_json().is_empty());
    if file == before {
        assert!(report.is_sound(), "{report}");
        assert_eq!(report.entries as usize, played.events.len());
    }
});
