//! Every position of the kings and one piece, against tables that moves taken back have filled.
//!
//! The example `enumerate` does the same with two pieces.

mod common;

use referee_chess::Color;
use referee_mate::{Budget, can_mate, quick};

use common::retrograde::{Tables, classes, name};

#[test]
fn three_men_agree_with_tables() {
    let mut tables = Tables::default();
    for class in classes(1) {
        for winner in Color::ALL {
            let table = tables.get(class.clone(), winner);
            let (mut asked, mut won) = (0, 0);
            for index in 0..table.size() {
                if !table.is_first_of_its_kind(index) {
                    continue;
                }
                let Some(position) = table.position(index) else {
                    continue;
                };
                let answer = can_mate(&position, winner, Budget::FULL, &|| false);
                let expected = table.is_won(index);
                let is_right = if expected {
                    answer.is_yes()
                } else {
                    answer.is_no()
                };
                assert!(is_right, "{winner} {position}: {answer:?}, not {expected}");
                assert!(
                    !(expected && quick(&position, winner).is_no()),
                    "{winner} {position}"
                );
                asked += 1;
                won += usize::from(expected);
            }
            println!("{} {winner}: {asked} asked, {won} won", name(&class));
            assert!(asked > 5_000);
        }
    }
}
