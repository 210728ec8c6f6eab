//! Who is named, whatever the sides say.

use referee_perft::oracle;

use super::*;

/// How a side counts.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Honest,
    /// It adds one path to the last child, and to the last child of that, and so on.
    Consistent,
    /// It adds one path to the position of the plan, and then counts as it is.
    Careless,
    Silent,
}

fn start() -> (Position, Difference) {
    let position = Position::startpos();
    let difference = Difference {
        position: 7,
        key: position.exact_key(),
        rest: 5,
        sides: [("a".to_owned(), 0), ("b".to_owned(), 0)],
    };
    (position, difference)
}

/// Plays a dispute between two sides, with third ones where they are asked for, to its end.
fn play(ways: [Way; 2], thirds: &[Way]) -> Quarrel {
    let (position, mut difference) = start();
    let truth = oracle::count(&position, 5);
    // Two that say nothing further have said different things.
    for ((side, way), place) in difference.sides.iter_mut().zip(ways).zip(0..) {
        side.1 = truth + claim(way, place);
    }
    let mut ways = ways.to_vec();
    let mut thirds = thirds.iter();
    let mut quarrel = Quarrel::begin(&difference, &position);
    for _ in 0..50 {
        let fen = quarrel.0.line.last().expect("it has a position").clone();
        let mode = CastlingMode::Standard;
        let position = referee_perft::read_position(&fen, mode).expect("it is one");
        let rest = quarrel.0.rest;
        match quarrel.next() {
            Next::Settle(_) => return quarrel,
            Next::Judge => quarrel.judge(oracle::count(&position, rest)),
            Next::Divide(sides) => {
                let children = oracle::children(&position);
                let answers = sides.map(|side| match ways[side] {
                    Way::Silent => Answer::Silent,
                    way => {
                        let last = children.len() - 1;
                        let counts = children.iter().enumerate().map(|(at, &key)| {
                            let child = read_key(key, mode).expect("a child");
                            let is_below = at == last && way == Way::Consistent;
                            oracle::count(&child, rest - 1) + u128::from(is_below)
                        });
                        Answer::Counts(counts.collect())
                    }
                });
                quarrel.divide(sides, answers, &children, mode);
            }
            Next::Third => {
                let way = *thirds.next().expect("there is another");
                let number = ways.len();
                ways.push(way);
                let answer = Answer::Counts(vec![truth + claim(way, 0)]);
                quarrel.hear_third(format!("third {number}"), answer);
            }
        }
    }
    panic!("it has no end: {quarrel:?}")
}

/// By how much a side is wrong.
fn claim(way: Way, place: u128) -> u128 {
    match way {
        Way::Honest => 0,
        Way::Consistent | Way::Careless => 1,
        Way::Silent => place + 1,
    }
}

fn liars(quarrel: &Quarrel) -> Vec<&str> {
    let sides = quarrel.0.sides.iter().filter(|side| side.liar);
    sides.map(|side| side.credential.as_str()).collect()
}

#[test]
fn the_liar_is_named_whichever_side_it_is_and_however_it_lies() {
    for way in [Way::Consistent, Way::Careless] {
        let second = play([Way::Honest, way], &[]);
        assert_eq!(liars(&second), ["b"]);
        let first = play([way, Way::Honest], &[]);
        assert_eq!(liars(&first), ["a"]);
        assert!(!first.0.verdict.is_empty());
    }
    // Who lies consistently is caught where the second generator counts.
    let consistent = play([Way::Honest, Way::Consistent], &[]);
    assert_eq!((consistent.0.rest, consistent.0.line.len()), (3, 3));
    assert_eq!(consistent.0.rounds, 2);
}

#[test]
fn who_is_silent_gives_way_to_a_third() {
    let silent = play([Way::Silent, Way::Honest], &[Way::Honest]);
    assert_eq!(liars(&silent), ["a"]);
    assert!(
        silent.0.verdict.is_empty(),
        "why is told when it is settled"
    );
    // A third that says what the silent one said has to show how it comes to that.
    let joined = play([Way::Silent, Way::Honest], &[Way::Consistent]);
    assert_eq!(liars(&joined), ["third 2"]);
    // Both are silent: the next two decide.
    let both = play([Way::Silent, Way::Silent], &[Way::Honest, Way::Honest]);
    assert_eq!(liars(&both), ["a", "b"]);
}

#[test]
fn who_contradicts_itself_is_known() {
    let (position, mut difference) = start();
    difference.sides[1].0 = "a".to_owned();
    assert!(Quarrel::begin(&difference, &position).is_of_one());
    difference.sides[1].0 = "b".to_owned();
    assert!(!Quarrel::begin(&difference, &position).is_of_one());
}
