//! Shorter lines from long ones.
//!
//! A search that goes wherever something is new walks about before it arrives. Where a position
//! further on in its line can be reached at once, what lies between is left out.

use std::collections::HashMap;

use referee_chess::{Move, Position, PositionKey};

use crate::limits::{SHORT_LINE_PLIES, SHORTCUTS};

/// Returns a line to the same end that is no longer, and most often much shorter.
pub(crate) fn shorten(start: &Position, line: Vec<Move>) -> Vec<Move> {
    let mut best = line;
    for (plies, longest) in SHORTCUTS {
        while best.len() > SHORT_LINE_PLIES && best.len() <= longest {
            let shorter = take_shortcuts(start, &best, plies);
            let is_done = 8 * shorter.len() > 7 * best.len();
            best = shorter;
            if is_done {
                break;
            }
        }
    }
    best
}

/// Goes along a line, and from each position over so many plies to the one that is furthest on.
fn take_shortcuts(start: &Position, line: &[Move], plies: u32) -> Vec<Move> {
    let mut numbers: HashMap<PositionKey, usize> = HashMap::with_capacity(line.len() + 1);
    let mut at = start.clone();
    for (number, &mv) in line.iter().enumerate() {
        at.play_unchecked(mv);
        numbers.insert(at.exact_key(), number + 1);
    }
    let mut shorter = Vec::new();
    let mut at = start.clone();
    let mut number = 0;
    while number < line.len() {
        let mut found = Shortcut {
            gain: 0,
            number: number + 1,
            moves: vec![line[number]],
        };
        let mut moves = Vec::new();
        look_ahead(&at, number, plies, &numbers, &mut moves, &mut found);
        for &mv in &found.moves {
            at.play_unchecked(mv);
        }
        shorter.extend(found.moves);
        number = found.number;
    }
    shorter
}

/// The best way on that was found.
struct Shortcut {
    /// Plies that it saves.
    gain: usize,
    number: usize,
    moves: Vec<Move>,
}

fn look_ahead(
    at: &Position,
    number: usize,
    plies: u32,
    numbers: &HashMap<PositionKey, usize>,
    moves: &mut Vec<Move>,
    found: &mut Shortcut,
) {
    for &mv in at.legal_moves().iter() {
        let after = at.after_unchecked(mv);
        moves.push(mv);
        if let Some(&reached) = numbers.get(&after.exact_key())
            && let Some(gain) = reached.checked_sub(number + moves.len())
            && gain > found.gain
        {
            *found = Shortcut {
                gain,
                number: reached,
                moves: moves.clone(),
            };
        }
        if plies > 1 {
            look_ahead(&after, number, plies - 1, numbers, moves, found);
        }
        moves.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common;
    use referee_chess::Color;

    #[test]
    fn a_walk_is_left_out() {
        let start = common::read("7k/8/8/8/8/8/R7/K7 w - - 0 1");
        // Both kings go about, one of them twice around the board, before the rook mates.
        let walk = "a1b1 h8g8 b1c1 g8f8 c1d1 f8e8 d1e1 e8d8 e1f1 d8c8 f1g1 c8b8";
        let back = "g1f1 b8c8 f1e1 c8d8 e1d1 d8e8 d1c1 e8f8 c1b1 f8g8 b1a1 g8h8";
        let mate = "a1b2 h8g8 b2c3 g8h8 c3d4 h8g8 d4e5 g8h8 e5f6 h8g8 a2a7 g8h8 f6g6 h8g8 a7a8";
        let rounds = [
            walk, back, walk, back, walk, back, walk, back, walk, back, mate,
        ];
        let mut at = start.clone();
        let mut line = Vec::new();
        for text in rounds.iter().flat_map(|text| text.split(' ')) {
            let moves = at.legal_moves();
            let name = |mv: &Move| format!("{}{}", mv.from(), mv.to());
            let mv = moves.iter().find(|mv| name(mv) == text).copied();
            let mv = mv.unwrap_or_else(|| panic!("{text} in {at}"));
            at.play_unchecked(mv);
            line.push(mv);
        }
        assert!(at.is_checkmate());
        assert!(line.len() > SHORT_LINE_PLIES);
        let shorter = shorten(&start, line);
        assert!(shorter.len() <= 15, "{}", shorter.len());
        assert!(common::is_mating_line(&start, &shorter, Color::White));
    }
}
