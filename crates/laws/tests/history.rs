//! A history, which shares what it can with its copies and finds repetitions by an index, says the
//! same as a plain list of positions that is searched from one end to the other.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use referee_chess::{CastlingMode, Color, Move, Position, PositionKey, Square, UciMove};
use referee_laws::History;

/// Few pieces that can go back and forth, pawns and castling that cannot, and counters that run.
const STARTS: [&str; 5] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "4k3/8/8/8/8/8/8/RN2K3 w Q - 0 1",
    "k7/7p/8/8/8/8/P7/K7 b - - 30 40",
    "4k3/8/8/8/6p1/8/5P2/R3K2R w KQ - 7 9",
    "6k1/8/8/8/8/8/8/1K4QR b - - 99 120",
];

/// What a plain list knows.
#[derive(Clone)]
struct Plain {
    /// Every position, the base first.
    positions: Vec<Position>,
    /// The moves, with whether each is illegal and whether it captured.
    moves: Vec<(UciMove, bool, bool)>,
}

impl Plain {
    fn new(base: Position) -> Plain {
        Plain {
            positions: vec![base],
            moves: Vec::new(),
        }
    }

    fn now(&self) -> &Position {
        self.positions.last().expect("the base is there")
    }

    fn push(&mut self, uci: UciMove, is_illegal: bool, after: Position) {
        let men = |position: &Position| position.board().occupied().count();
        let captures = men(&after) < men(self.now());
        self.moves.push((uci, is_illegal, captures));
        self.positions.push(after);
    }

    fn reinstate(&mut self, ply: usize) {
        self.moves.truncate(ply);
        self.positions.truncate(ply + 1);
    }

    fn keys(&self) -> Vec<PositionKey> {
        self.positions.iter().map(Position::exact_key).collect()
    }

    /// The first ply whose position can still come up.
    fn window(&self) -> usize {
        let clock = self.now().halfmove_clock() as usize;
        self.positions.len().saturating_sub(clock + 1)
    }

    fn plies_of(&self, key: PositionKey) -> Vec<u32> {
        let first = self.window();
        let keys = self.positions[first..].iter().map(Position::exact_key);
        let plies = (first as u32..).zip(keys);
        plies
            .filter_map(|(ply, other)| (other == key).then_some(ply))
            .collect()
    }

    fn plies_after(&self, mv: Move) -> Vec<u32> {
        let after = self.now().after_unchecked(mv);
        let mut plies = match after.halfmove_clock() {
            0 => Vec::new(),
            _ => self.plies_of(after.exact_key()),
        };
        plies.push(self.moves.len() as u32 + 1);
        plies
    }

    fn can_move_repeat(&self) -> bool {
        let keys = self.keys();
        let others: Vec<PositionKey> = keys[self.window()..]
            .iter()
            .rev()
            .skip(1)
            .step_by(2)
            .copied()
            .collect();
        (1..others.len()).any(|index| others[index..].contains(&others[index - 1]))
    }

    fn checks_between(&self, from: usize, to: usize) -> Option<Color> {
        let moved_by = |side: Color| {
            let plies = (from + 1..=to).filter(move |&ply| self.positions[ply].turn() != side);
            plies.collect::<Vec<usize>>()
        };
        let last = !self.now().turn();
        [last, !last].into_iter().find(|&side| {
            let own = moved_by(side);
            !own.is_empty() && own.iter().all(|&ply| self.positions[ply].is_check())
        })
    }

    /// The last ply that a move of a kind led to.
    fn last(&self, is_it: impl Fn(usize) -> bool) -> u32 {
        let found = (1..self.positions.len()).rev().find(|&ply| is_it(ply));
        found.unwrap_or(0) as u32
    }
}

fn compare(history: &History, plain: &Plain) -> Result<(), TestCaseError> {
    let ply = plain.moves.len();
    prop_assert_eq!(history.ply() as usize, ply);
    prop_assert_eq!(history.position().to_string(), plain.now().to_string());
    prop_assert_eq!(history.base().to_string(), plain.positions[0].to_string());
    prop_assert_eq!(history.keys().collect::<Vec<_>>(), plain.keys());
    let moves: Vec<UciMove> = plain.moves.iter().map(|played| played.0).collect();
    prop_assert_eq!(history.moves().collect::<Vec<_>>(), moves.clone());
    for number in 0..=ply + 1 {
        let before = number.checked_sub(1);
        let uci = before.and_then(|before| moves.get(before).copied());
        prop_assert_eq!(history.move_to(number as u32), uci);
    }
    let illegal: Vec<u32> = (1..)
        .zip(&plain.moves)
        .filter(|it| it.1.1)
        .map(|it| it.0)
        .collect();
    for number in 0..=ply + 1 {
        let stands = illegal.contains(&(number as u32));
        prop_assert_eq!(history.is_illegal_move_to(number as u32), stands);
    }
    prop_assert_eq!(history.illegal_plies().collect::<Vec<_>>(), illegal);
    let resets = |ply: usize| plain.positions[ply].halfmove_clock() == 0;
    prop_assert_eq!(history.last_reset_ply(), plain.last(resets));
    let captures = |ply: usize| plain.moves[ply - 1].2;
    prop_assert_eq!(history.last_capture_ply(), plain.last(captures));
    let repeatable = plain.keys()[plain.window()..].to_vec();
    prop_assert_eq!(history.repeatable_keys(), repeatable);
    compare_repetitions(history, plain)
}

fn compare_repetitions(history: &History, plain: &Plain) -> Result<(), TestCaseError> {
    let plies = plain.plies_of(plain.now().exact_key());
    prop_assert_eq!(history.repetitions() as usize, plies.len());
    for (before, &ply) in plies.iter().rev().enumerate() {
        prop_assert_eq!(history.occurrence_before(before), Some(ply));
    }
    prop_assert_eq!(history.occurrence_before(plies.len()), None);
    prop_assert_eq!(history.repetition_plies(), plies);
    prop_assert_eq!(history.can_move_repeat(), plain.can_move_repeat());
    for mv in &plain.now().legal_moves() {
        let plies = plain.plies_after(mv);
        prop_assert_eq!(history.repetitions_after(mv) as usize, plies.len());
        prop_assert_eq!(history.repetition_plies_after(mv), plies);
    }
    let ply = plain.moves.len();
    for (from, to) in [
        (0, ply),
        (ply.saturating_sub(3), ply),
        (ply.saturating_sub(4), ply),
        (ply / 2, ply),
        (ply / 3, ply / 2),
        (ply / 2, ply / 3),
        (ply, ply),
    ] {
        let found = history.checks_between(from as u32, to as u32);
        prop_assert_eq!(found, plain.checks_between(from, to), "{} to {}", from, to);
    }
    prop_assert_eq!(history.checks_between(0, ply as u32 + 1), None);
    Ok(())
}

/// Plays a legal move: among few, so that positions come back.
fn play(history: &mut History, plain: &mut Plain, number: u32) {
    let moves = plain.now().legal_moves();
    let quiet: Vec<Move> = moves
        .into_iter()
        .filter(|&mv| plain.now().after_unchecked(mv).halfmove_clock() > 0)
        .collect();
    let all: Vec<Move> = plain.now().legal_moves().into_iter().collect();
    let choice = if quiet.is_empty() || number.is_multiple_of(16) {
        &all
    } else {
        &quiet
    };
    let few = choice.len().min(3);
    if few == 0 {
        return;
    }
    let mv = choice[number as usize % few];
    let uci = plain.now().uci(mv);
    let after = plain.now().after_unchecked(mv);
    history.play(mv).expect("there is room");
    plain.push(uci, false, after);
}

/// Puts a move on the board that is not legal, where it can stand.
fn stand(history: &mut History, plain: &mut Plain, number: u32) {
    let uci = UciMove {
        from: Square::from_low_bits(number as u8),
        to: Square::from_low_bits((number >> 8) as u8),
        promotion: None,
    };
    if plain.now().find_uci(uci).is_none() && history.stand(uci).is_ok() {
        plain.push(uci, true, history.position().clone());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_history_says_what_a_plain_list_says(
        start in 0..STARTS.len(),
        tried in prop::collection::vec((0..40u8, any::<u32>()), 1..250),
    ) {
        let base = Position::from_fen(STARTS[start], CastlingMode::Standard).expect("a legal FEN");
        let mut history = History::new(base.clone());
        let mut plain = Plain::new(base);
        // Copies from before, which what comes later must not touch.
        let mut copies: Vec<(History, Plain)> = Vec::new();
        for (kind, number) in tried {
            match kind {
                0 => {
                    let ply = number as usize % (plain.moves.len() + 1);
                    let earlier = history.up_to(ply as u32);
                    history.reinstate(ply as u32);
                    plain.reinstate(ply);
                    compare(&earlier, &plain)?;
                    compare(&history, &plain)?;
                }
                1 => stand(&mut history, &mut plain, number),
                2 => copies.push((history.clone(), plain.clone())),
                3 => if let Some(copy) = copies.pop() {
                    compare(&copy.0, &copy.1)?;
                    copies.push((history, plain));
                    (history, plain) = copy;
                },
                _ => play(&mut history, &mut plain, number),
            }
            compare_repetitions(&history, &plain)?;
        }
        compare(&history, &plain)?;
        for (history, plain) in &copies {
            compare(history, plain)?;
        }
    }
}

#[test]
fn the_longest_history_says_what_a_plain_list_says() {
    let base = Position::startpos();
    let mut history = History::new(base.clone());
    let mut plain = Plain::new(base);
    let quiet_moves = |position: &Position| {
        let moves = position.legal_moves();
        let quiet = (&moves)
            .into_iter()
            .filter(|&mv| position.after_unchecked(mv).halfmove_clock() > 0);
        quiet.collect::<Vec<Move>>()
    };
    let mut number = 1u32;
    while !history.is_full() {
        // Any stream of numbers will do.
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let mut quiet = quiet_moves(plain.now());
        quiet.retain(|&mv| !quiet_moves(&plain.now().after_unchecked(mv)).is_empty());
        let mv = quiet[(number >> 8) as usize % quiet.len()];
        let uci = plain.now().uci(mv);
        let after = plain.now().after_unchecked(mv);
        history.play(mv).expect("there is room");
        plain.push(uci, false, after);
        if history.ply().is_multiple_of(4_999) {
            compare_repetitions(&history, &plain).expect("both are of the same game");
        }
    }
    compare(&history, &plain).expect("both are of the same game");
    let mv = plain
        .now()
        .legal_moves()
        .into_iter()
        .next()
        .expect("it goes on");
    assert!(history.play(mv).is_err());
    let half = history.up_to(10_000);
    plain.reinstate(10_000);
    compare(&half, &plain).expect("both are of the same game");
}
