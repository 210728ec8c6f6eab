//! Reads records of games. However a text is cut into pieces, the same is read; every game that
//! is read has legal moves only; and what is written for it is read as the same game, without a
//! fault.
#![no_main]

use libfuzzer_sys::fuzz_target;
use referee_pgn::{Fault, GameReader, Item, Reading};

fuzz_target!(|data: &[u8]| {
    let Some((&piece, text)) = data.split_first() else {
        return;
    };
    let (readings, stray) = read(text, text.len());
    let pieces = read(text, usize::from(piece));
    assert_eq!(
        format!("{:?}", (&readings, &stray)),
        format!("{pieces:?}"),
        "what is read depends on the pieces"
    );
    for reading in &readings {
        check(reading);
    }
});

fn read(text: &[u8], piece: usize) -> (Vec<Reading>, Vec<Fault>) {
    let mut readings = Vec::new();
    let mut stray = Vec::new();
    let mut take = |item: Item<'_>| match item {
        Item::Game(reading) => readings.push(reading.clone()),
        Item::Stray(fault) => stray.push(fault.clone()),
    };
    let mut reader = GameReader::new();
    for piece in text.chunks(piece.max(1)) {
        reader.push(piece, &mut take);
    }
    reader.finish(&mut take);
    (readings, stray)
}

fn check(reading: &Reading) {
    let game = &reading.game;
    let mut position = game.start.clone();
    for &mv in &game.moves {
        position.play(mv).expect("a move that was read is legal");
    }
    for fault in &reading.faults {
        assert!(!fault.to_string().is_empty());
        assert!(fault.place.line >= 1 && fault.place.column >= 1);
        assert!(fault.place >= reading.place || fault.place.line >= reading.place.line);
    }
    if !reading.is_start_known {
        assert!(game.moves.is_empty() && reading.first_error().is_some());
        return;
    }
    assert_eq!(
        reading.unplayed > 0,
        reading
            .faults
            .iter()
            .any(|fault| fault.kind.name().ends_with("-move")
                || fault.kind.name() == "too-many-moves")
            || reading.unplayed > 0 && reading.faults_dropped > 0,
        "{:?}",
        reading.faults
    );
    let written = game.export().to_string();
    let (again, stray) = read(written.as_bytes(), written.len());
    assert!(stray.is_empty(), "{stray:?}\n{written}");
    assert_eq!(again.len(), 1, "{written}");
    assert_eq!(again[0].game.moves, game.moves, "{written}");
    assert_eq!(again[0].game.notes, game.notes, "{written}");
    assert_eq!(again[0].game.outcome, game.outcome, "{written}");
    assert_eq!(again[0].game.start, game.start, "{written}");
    assert_eq!(again[0].game.export().to_string(), written);
}
