//! Tests of the proofs alone.
//!
//! The solver searches before it asks for a proof, so a wrong one would seldom be seen. Here each
//! position is asked about without a search first: known mates, positions on the way to a mate
//! that a search found, and positions for which a proof was found, where a search then must not
//! find a mate. Positions come from generators and from known ones that are changed at random.

use std::path::Path;

use referee_chess::{Board, CastlingMode, Color, Piece, Position, Role, Setup, Square, Tolerance};

use crate::captures::analyze;
use crate::common::{self, Chance};
use crate::guide::PLANS;
use crate::limits::FULL_CAPTURES;
use crate::material;
use crate::quick;
use crate::search::{Cut, Found, Search};

const STEPS: u32 = 200_000;

/// Returns whether anything claims to prove that a side can never mate.
fn is_proven(position: &Position, winner: Color) -> bool {
    [0, FULL_CAPTURES]
        .into_iter()
        .any(|captures| analyze(position, winner, captures, STEPS).is_unwinnable)
        || quick(position, winner).is_no()
}

/// Returns what a search finds in which nothing is proven.
fn search(position: &Position, winner: Color, plan: usize, nodes: u64) -> Found {
    let mut prune = |_: &Position, _: bool| Cut::NONE;
    let never = || false;
    Search::new(winner, plan, nodes, &never, &mut prune, None).run(position)
}

/// Returns the known positions, with whether White and Black can mate.
fn known() -> Vec<(Position, [bool; 2])> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/dead");
    let files = ["own_vectors.tsv", "proof_traps.tsv"];
    let texts = files.map(|name| std::fs::read_to_string(folder.join(name)).expect(name));
    let rows = texts.iter().flat_map(|text| text.lines().skip(1));
    let known = rows.map(|row| {
        let fields: Vec<&str> = row.split('\t').collect();
        let can = |field: &str| field.starts_with("yes");
        (common::read(fields[0]), [can(fields[1]), can(fields[2])])
    });
    known.collect()
}

#[test]
fn nothing_is_proven_where_a_mate_is_known() {
    for (position, can) in known() {
        for winner in Color::ALL {
            let is_wrong = can[winner.index()] && is_proven(&position, winner);
            assert!(!is_wrong, "{winner} {position}");
        }
    }
}

/// Asks for a proof and, in turn, searches: a mate where there is a proof is a failure, and so is a
/// proof on the way to a mate. Returns how many proofs there were, and positions on such ways.
fn check(position: &Position, winner: Color, chance: &mut Chance) -> [u64; 2] {
    let board = position.board();
    if !position.has_legal_moves() || material::is_hopeless(board, winner) {
        return [0, 0];
    }
    let plan = chance.below(PLANS.len());
    if is_proven(position, winner) {
        let found = search(position, winner, plan, 1_500);
        assert!(!matches!(found, Found::Mate(_)), "{winner} {position}");
        return [1, 0];
    }
    let Found::Mate(line) = search(position, winner, plan, 300) else {
        return [0, 0];
    };
    let mut at = position.clone();
    for mv in &line[..line.len() - 1] {
        at.play_unchecked(*mv);
        assert!(
            !is_proven(&at, winner),
            "{winner} {at} on the way from {position}"
        );
    }
    [0, line.len() as u64 - 1]
}

/// Returns how many positions of each test are asked about; `REFEREE_MATE_ROUNDS` says otherwise.
fn rounds() -> u64 {
    let rounds = std::env::var("REFEREE_MATE_ROUNDS").ok();
    rounds.and_then(|text| text.parse().ok()).unwrap_or(3_000)
}

#[test]
fn generated_positions_are_not_proven_wrongly() {
    let mut chance = Chance::new(7);
    let mut counts = [0, 0];
    for round in 0..rounds() {
        let position = match round % 4 {
            0 => common::random_play(&mut chance),
            1 => common::random_blocked(&mut chance),
            2 => common::random_wall(&mut chance),
            _ => common::random_fortress(&mut chance),
        };
        for winner in Color::ALL {
            let found = check(&position, winner, &mut chance);
            counts = [counts[0] + found[0], counts[1] + found[1]];
        }
    }
    println!("{counts:?} proofs and positions on the way to a mate");
    assert!(
        counts.into_iter().all(|count| count > rounds() / 20),
        "{counts:?}"
    );
}

#[test]
fn changed_positions_are_not_proven_wrongly() {
    let mut chance = Chance::new(8);
    let mut pool: Vec<Board> = known().iter().map(|it| *it.0.board()).collect();
    for _ in 0..100 {
        pool.push(*common::random_fortress(&mut chance).board());
    }
    let known = pool.len();
    let mut counts = [0, 0];
    for round in 0..3 * rounds() {
        let chosen = chance.below(pool.len());
        let Some(position) = changed(&pool[chosen], &mut chance) else {
            continue;
        };
        let mut is_rare = false;
        for winner in Color::ALL {
            let found = check(&position, winner, &mut chance);
            is_rare |= found[0] > 0;
            counts = [counts[0] + found[0], counts[1] + found[1]];
        }
        // Those with a proof are changed further, in place of older ones.
        if is_rare && pool.len() < 2_000 {
            pool.push(*position.board());
        } else if is_rare {
            let place = known + round as usize % (pool.len() - known);
            pool[place] = *position.board();
        }
    }
    println!("{counts:?} proofs and positions on the way to a mate");
    assert!(
        counts.into_iter().all(|count| count > rounds() / 20),
        "{counts:?}"
    );
}

/// Returns a board with one to three men moved, added, exchanged or taken off; `None` where that
/// leads to no position.
fn changed(board: &Board, chance: &mut Chance) -> Option<Position> {
    let mut board = *board;
    for _ in 0..=chance.below(3) {
        let men: Vec<Square> = board.occupied().into_iter().collect();
        let at = men[chance.below(men.len())];
        let man = board.piece_at(at)?;
        let to = if chance.below(2) == 0 {
            let step = |chance: &mut Chance| chance.below(3) as i8 - 1;
            at.offset(step(chance), step(chance))?
        } else {
            Square::from_low_bits(chance.below(64) as u8)
        };
        let kinds = [
            Role::Pawn,
            Role::Pawn,
            Role::Knight,
            Role::Bishop,
            Role::Rook,
            Role::Queen,
        ];
        let role = kinds[chance.below(kinds.len())];
        let change = chance.below(6);
        if man.role == Role::King && change > 1 {
            return None;
        }
        match change {
            0 | 1 if board.piece_at(to).is_none() => {
                board.take(at);
                board.put(to, man);
            }
            2 => {
                board.take(at);
            }
            3 => board.put(at, Piece { role, ..man }),
            4 if board.piece_at(to).is_none() => {
                let color = Color::ALL[chance.below(2)];
                board.put(to, Piece { color, role });
            }
            5 => {
                let below = to.offset(0, -1)?;
                if board.piece_at(to).is_some() || board.piece_at(below).is_some() {
                    return None;
                }
                let pawn = |color| Piece {
                    color,
                    role: Role::Pawn,
                };
                board.put(below, pawn(Color::White));
                board.put(to, pawn(Color::Black));
            }
            _ => return None,
        }
    }
    let mut setup = Setup::empty(CastlingMode::Standard);
    setup.board = board;
    setup.turn = Color::ALL[chance.below(2)];
    Position::from_setup_with(&setup, Tolerance::PERFT).ok()
}
