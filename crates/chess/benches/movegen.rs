//! Legal moves and make-move: ours beside cozy-chess and shakmaty, over positions of many kinds.
//!
//! `cargo bench -p referee-chess` first measures each group of positions with criterion, then
//! prints ratios out of rounds in which the three take turns, so that noise hits all alike.

#![expect(clippy::disallowed_types, reason = "a benchmark measures real time")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use referee_chess::{CastlingMode, Move, MoveList, Position};
use shakmaty::Position as _;

/// The positions, one FEN a line, in groups.
const POSITIONS: &str = include_str!("positions.fen");

/// How often the three take turns, and how long each turn is.
const ROUNDS: usize = 61;
const TURN: Duration = Duration::from_millis(10);

/// How many positions are drawn, and how many moves each is away from one of the groups.
const WIDE_POSITIONS: usize = 4_000;
const WIDE_PLIES: usize = 4;

/// The same positions as each generator holds them.
#[derive(Default)]
struct Group {
    name: &'static str,
    ours: Vec<Position>,
    cozy: Vec<cozy_chess::Board>,
    shakmaty: Vec<shakmaty::Chess>,
}

impl Group {
    fn push(&mut self, fen: &str) {
        let read = Position::from_fen(fen, CastlingMode::Standard);
        self.ours
            .push(read.expect("the positions of the bench are in order"));
        self.cozy
            .push(fen.parse().expect("cozy-chess takes it, too"));
        let read: shakmaty::fen::Fen = fen.parse().expect("shakmaty reads it, too");
        let position = read.into_position(shakmaty::CastlingMode::Standard);
        self.shakmaty
            .push(position.expect("shakmaty takes it, too"));
    }

    fn extend(&mut self, other: &Group) {
        self.ours.extend_from_slice(&other.ours);
        self.cozy.extend_from_slice(&other.cozy);
        self.shakmaty.extend_from_slice(&other.shakmaty);
    }
}

fn read_groups() -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for line in POSITIONS.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            groups.push(Group {
                name,
                ..Group::default()
            });
        } else if !line.starts_with('#') {
            let group = groups.last_mut();
            group
                .expect("a group begins before its positions")
                .push(line);
        }
    }
    groups
}

/// A list as fast as can be for cozy-chess, which has none of its own: it hands out sets.
struct CozyList {
    length: usize,
    moves: [cozy_chess::Move; 256],
}

impl CozyList {
    fn new() -> CozyList {
        let nothing = cozy_chess::Move {
            from: cozy_chess::Square::A1,
            to: cozy_chess::Square::A1,
            promotion: None,
        };
        CozyList {
            length: 0,
            moves: [nothing; 256],
        }
    }

    #[inline]
    fn fill(&mut self, board: &cozy_chess::Board) -> usize {
        self.length = 0;
        board.generate_moves(|set| {
            for mv in set {
                self.moves[self.length] = mv;
                self.length += 1;
            }
            false
        });
        self.length
    }
}

/// One kind of work, done by each of the three once over a group; each returns a sum, the same
/// for all.
struct Work<'a> {
    name: &'static str,
    ours: Box<dyn FnMut() -> usize + 'a>,
    cozy: Box<dyn FnMut() -> usize + 'a>,
    shakmaty: Box<dyn FnMut() -> usize + 'a>,
}

/// Lists the moves of each position, into one list for all where that is possible.
fn listing(group: &Group) -> Work<'_> {
    let mut moves = MoveList::new();
    let mut list = CozyList::new();
    Work {
        name: "list",
        ours: Box::new(move || {
            let lists = group.ours.iter().map(|position| {
                black_box(position).list_legal_moves(&mut moves);
                black_box(&moves).len()
            });
            lists.sum()
        }),
        cozy: Box::new(move || {
            let lists = group.cozy.iter().map(|board| {
                list.fill(black_box(board));
                black_box(&list).length
            });
            lists.sum()
        }),
        shakmaty: Box::new(|| {
            let lists = group.shakmaty.iter().map(|position| {
                let moves = black_box(position).legal_moves();
                black_box(&moves).len()
            });
            lists.sum()
        }),
    }
}

/// Lists the moves of each position, ours into a new list each time, which is copied.
fn returning(group: &Group) -> Work<'_> {
    Work {
        name: "return",
        ours: Box::new(|| {
            let lists = group.ours.iter().map(|position| {
                let moves = black_box(position).legal_moves();
                black_box(&moves).len()
            });
            lists.sum()
        }),
        ..listing(group)
    }
}

/// Counts the moves of each position; shakmaty has to list them for that.
fn counting(group: &Group) -> Work<'_> {
    Work {
        name: "count",
        ours: Box::new(|| {
            let counts = group.ours.iter();
            let counts = counts.map(|position| black_box(position).count_legal_moves() as usize);
            counts.sum()
        }),
        cozy: Box::new(|| {
            let mut count = 0;
            for board in &group.cozy {
                black_box(board).generate_moves(|set| {
                    count += set.len();
                    false
                });
            }
            count
        }),
        shakmaty: Box::new(|| {
            let counts = group.shakmaty.iter();
            counts
                .map(|position| black_box(position).legal_moves().len())
                .sum()
        }),
    }
}

/// Makes each move of each position on a copy.
fn making(group: &Group) -> Work<'_> {
    let ours: Vec<(&Position, Vec<Move>)> = group
        .ours
        .iter()
        .map(|position| (position, position.legal_moves().to_vec()))
        .collect();
    let mut cozy: Vec<(&cozy_chess::Board, Vec<cozy_chess::Move>)> = Vec::new();
    for board in &group.cozy {
        let mut moves = Vec::new();
        board.generate_moves(|set| {
            moves.extend(set);
            false
        });
        cozy.push((board, moves));
    }
    let shakmaty: Vec<(&shakmaty::Chess, Vec<shakmaty::Move>)> = group
        .shakmaty
        .iter()
        .map(|position| (position, position.legal_moves().to_vec()))
        .collect();
    Work {
        name: "make",
        ours: Box::new(move || {
            let mut made = 0;
            for (position, moves) in &ours {
                for &mv in moves {
                    black_box(position.after_unchecked(black_box(mv)));
                    made += 1;
                }
            }
            made
        }),
        cozy: Box::new(move || {
            let mut made = 0;
            for (board, moves) in &cozy {
                for &mv in moves {
                    let mut next = (*board).clone();
                    next.play_unchecked(black_box(mv));
                    black_box(next);
                    made += 1;
                }
            }
            made
        }),
        shakmaty: Box::new(move || {
            let mut made = 0;
            for (position, moves) in &shakmaty {
                for &mv in moves {
                    let mut next = (*position).clone();
                    next.play_unchecked(black_box(mv));
                    black_box(next);
                    made += 1;
                }
            }
            made
        }),
    }
}

const WORKS: [fn(&Group) -> Work<'_>; 4] = [listing, returning, counting, making];

fn measure_groups(criterion: &mut Criterion, groups: &[Group]) {
    for group in groups {
        for work in WORKS {
            let mut work = work(group);
            let sum = (work.ours)();
            assert_eq!(sum, (work.cozy)(), "{} of {}", work.name, group.name);
            assert_eq!(sum, (work.shakmaty)(), "{} of {}", work.name, group.name);
            let mut bench = criterion.benchmark_group(format!("{}/{}", work.name, group.name));
            bench.throughput(Throughput::Elements(sum as u64));
            bench.bench_function("referee", |b| b.iter(&mut work.ours));
            bench.bench_function("cozy-chess", |b| b.iter(&mut work.cozy));
            bench.bench_function("shakmaty", |b| b.iter(&mut work.shakmaty));
            bench.finish();
        }
    }
}

/// Works until the turn is over, and returns the nanoseconds for each unit of the sum.
fn take_turn(work: &mut dyn FnMut() -> usize) -> f64 {
    let start = Instant::now();
    let mut sum = 0;
    loop {
        sum += work();
        let elapsed = start.elapsed();
        if elapsed >= TURN {
            return elapsed.as_nanos() as f64 / sum as f64;
        }
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns some thousand positions, each a few random moves from one of a group: so many that the
/// processor cannot learn their moves by heart, as it does with the group itself.
fn spread(group: &Group) -> Group {
    let mut spread = Group::default();
    let mut seed = 1u64;
    for position in group.ours.iter().cycle().take(WIDE_POSITIONS) {
        let mut position = position.clone();
        for _ in 0..WIDE_PLIES {
            let moves = position.legal_moves();
            if moves.is_empty() {
                break;
            }
            // A linear congruential generator; its high bits are good enough to choose moves.
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let choice = (seed >> 33) as usize % moves.len();
            position.play_unchecked(moves[choice]);
        }
        spread.push(&position.to_string());
    }
    spread
}

/// Prints how many times as long the others take as we do.
fn print_ratios(group: &Group) {
    let count = group.ours.len();
    println!("medians of {ROUNDS} rounds over {count} positions");
    for work in WORKS {
        let mut work = work(group);
        let mut ours = Vec::new();
        let (mut cozy, mut shakmaty) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let time = take_turn(&mut work.ours);
            ours.push(time);
            cozy.push(take_turn(&mut work.cozy) / time);
            shakmaty.push(take_turn(&mut work.shakmaty) / time);
        }
        println!(
            "{:<6} referee {:6.2} ns a move; cozy-chess takes {:.2} times as long, shakmaty {:.2}",
            work.name,
            median(&mut ours),
            median(&mut cozy),
            median(&mut shakmaty),
        );
    }
}

fn main() {
    let groups = read_groups();
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .sample_size(20)
        .configure_from_args();
    measure_groups(&mut criterion, &groups);
    criterion.final_summary();
    // `cargo test --benches` runs this, too, only to see that it works.
    if std::env::args().any(|argument| argument == "--bench") {
        let mut all = Group::default();
        groups.iter().for_each(|group| all.extend(group));
        print_ratios(&all);
        print_ratios(&spread(&all));
    }
}
