//! The attempts of the full tier, the short ones first: a search that goes astray does so for long.
//!
//! What minor pieces can mate with is chosen beforehand, and so is the way of a king to the man
//! that bars its pawns. Then come short searches with different plans, the proof from the
//! structure, and long searches in which branches are cut that are proven hopeless.

use referee_chess::{Color, Move, Position};

use crate::breach::Breach;
use crate::captures::{STEPS_PER_NODE, analyze};
use crate::guide::PLANS;
use crate::limits::{
    ATTEMPTS, BRANCH_CAPTURES, BRANCH_STEPS, BREACH_NODES, BREACHES, EXPANDED_MOVES,
    EXPANDED_PLIES, EXPANDED_STEPS, FIRST_LONG_ATTEMPT, FULL_CAPTURES, FULL_STEPS, MAX_NODES,
    PICTURE_NODES, PICTURES,
};
use crate::material;
use crate::pictures::Goal;
use crate::search::{Cut, Found, Search};
use crate::verdict::{Budget, CanMate, Proof};

/// By attempt, the plan that guides it; `None` where it is guided by what is new.
const APPROACHES: [Option<usize>; ATTEMPTS.len()] = [
    Some(0),
    Some(1),
    Some(2),
    Some(0),
    Some(1),
    Some(2),
    None,
    Some(0),
    Some(1),
    Some(2),
    None,
    Some(0),
    None,
    Some(2),
    None,
];

/// The plan that counts among positions that are as new.
const NOVEL_PLAN: usize = 2;

/// One question, and what is left to answer it with.
pub(crate) struct Solver<'a> {
    winner: Color,
    /// Positions.
    budget: u64,
    /// The memory of a search, in bytes.
    bytes: u64,
    /// What a search takes that is kept while others run, in bytes.
    kept: u64,
    spent: u64,
    cancel: &'a dyn Fn() -> bool,
}

impl<'a> Solver<'a> {
    pub(crate) fn new(winner: Color, budget: Budget, cancel: &'a dyn Fn() -> bool) -> Solver<'a> {
        Solver {
            winner,
            budget: budget.nodes(),
            bytes: budget.bytes(),
            kept: 0,
            spent: 1,
            cancel,
        }
    }

    /// Returns the positions that were visited.
    pub(crate) fn spent(&self) -> u64 {
        self.spent
    }

    /// Returns the answer for a position that neither ends the game nor has only one move.
    pub(crate) fn solve(&mut self, start: &Position) -> CanMate {
        for goal in Goal::nearest(start, self.winner).take(PICTURES) {
            let found = self.run(start, 0, PICTURE_NODES, |search| search.towards(goal));
            if let Some(answer) = answer(found) {
                return answer;
            }
        }
        if let Some(line) = self.break_through(start) {
            return CanMate::Yes(line);
        }
        self.attempt(start)
    }

    fn left(&self) -> u64 {
        self.budget.saturating_sub(self.spent)
    }

    /// Runs a short search, in which nothing is cut.
    fn run(
        &mut self,
        start: &Position,
        plan: usize,
        nodes: u64,
        direct: impl FnOnce(Search<'_>) -> Search<'_>,
    ) -> Found {
        self.run_with(start, plan, nodes, None, direct)
    }

    fn run_with(
        &mut self,
        start: &Position,
        plan: usize,
        nodes: u64,
        mut pruner: Option<Pruner>,
        direct: impl FnOnce(Search<'_>) -> Search<'_>,
    ) -> Found {
        let mut prune = |position: &Position, is_capture: bool| match &mut pruner {
            Some(pruner) => pruner.cut(position, is_capture),
            None => Cut::NONE,
        };
        let room = nodes.min(self.left());
        let search = Search::new(self.winner, plan, room, self.cancel, &mut prune, None);
        let mut search = direct(search).within(self.bytes.saturating_sub(self.kept));
        let found = search.run(start);
        self.spent += search.spent();
        found
    }

    /// Lets the king of the winner take men that bar its pawns, until a mate is found.
    fn break_through(&mut self, start: &Position) -> Option<Vec<Move>> {
        let winner = self.winner;
        let mut at = start.clone();
        let mut line = Vec::new();
        for _ in 0..BREACHES {
            let ways = [
                Breach::nearest(&at, winner, true),
                Breach::nearest(&at, winner, false),
                Breach::nearest_of_loser(&at, winner),
            ];
            let mut ways = ways.into_iter().flatten();
            let moves = ways.find_map(|way| {
                let found = self.run(&at, 0, BREACH_NODES, |search| search.through(way));
                moves_of(found)
            })?;
            for &mv in &moves {
                at.play_unchecked(mv);
            }
            line.extend(moves);
            for plan in 0..PLANS.len() {
                if let Some(rest) = moves_of(self.run(&at, plan, ATTEMPTS[0], |search| search)) {
                    line.extend(rest);
                    return Some(line);
                }
            }
        }
        None
    }

    fn attempt(&mut self, start: &Position) -> CanMate {
        let winner = self.winner;
        let mut pruner = Pruner::new(winner);
        let mut prune = |position: &Position, is_capture: bool| pruner.cut(position, is_capture);
        let long = Search::new(winner, NOVEL_PLAN, 0, self.cancel, &mut prune, None);
        // It goes on where it was when its turn comes again.
        let mut long = long.by_novelty().within(self.bytes);
        for (attempt, (nodes, approach)) in ATTEMPTS.into_iter().zip(APPROACHES).enumerate() {
            if attempt == 1 && self.is_blocked(start) {
                return CanMate::No(Proof::BlockedStructure);
            }
            let is_long = attempt >= FIRST_LONG_ATTEMPT;
            let found = match approach {
                None if is_long => {
                    let before = long.spent();
                    long.grant(nodes.min(self.left()));
                    let found = long.run(start);
                    self.spent += long.spent() - before;
                    self.kept = long.bytes();
                    found
                }
                None => self.run(start, NOVEL_PLAN, nodes, |search| search.by_novelty()),
                Some(plan) => {
                    let pruner = is_long.then(|| Pruner::new(winner));
                    self.run_with(start, plan, nodes, pruner, |search| search)
                }
            };
            if let Some(answer) = answer(found) {
                return answer;
            }
            if (self.cancel)() || self.left() == 0 {
                break;
            }
        }
        CanMate::Unknown { nodes: self.spent }
    }

    /// Returns whether the structure proves that the winner can never mate, now or after a few
    /// moves.
    fn is_blocked(&mut self, start: &Position) -> bool {
        self.prove(start, FULL_STEPS) || self.is_blocked_soon(start, EXPANDED_PLIES)
    }

    /// Returns whether the structure proves that the winner can never mate after each of the next
    /// moves, where these are few.
    fn is_blocked_soon(&mut self, position: &Position, plies: u32) -> bool {
        let moves = position.legal_moves();
        moves.len() <= EXPANDED_MOVES
            && moves.into_iter().all(|mv| {
                let after = position.after_unchecked(mv);
                if !after.has_legal_moves() {
                    return !after.is_check() || after.turn() == self.winner;
                }
                material::is_hopeless(after.board(), self.winner)
                    || self.prove(&after, EXPANDED_STEPS)
                    || (plies > 1 && self.is_blocked_soon(&after, plies - 1))
            })
    }

    /// Asks the structure, with so many steps at most.
    fn prove(&mut self, position: &Position, steps: u32) -> bool {
        let left = self.left();
        if (self.cancel)() || left == 0 {
            return false;
        }
        let steps = steps.min((left.min(MAX_NODES) as u32).saturating_mul(STEPS_PER_NODE));
        let analysis = analyze(position, self.winner, FULL_CAPTURES, steps);
        self.spent += analysis.nodes;
        analysis.is_unwinnable
    }
}

/// Returns the answer of a search that was not interrupted.
fn answer(found: Found) -> Option<CanMate> {
    match found {
        Found::Mate(line) => Some(CanMate::Yes(line)),
        Found::Exhausted => Some(CanMate::No(Proof::ExhaustedSearch)),
        Found::Interrupted => None,
    }
}

/// Returns the moves of a search that found what it looked for.
fn moves_of(found: Found) -> Option<Vec<Move>> {
    match found {
        Found::Mate(moves) => Some(moves),
        _ => None,
    }
}

/// Cuts branches of a search in which the structure proves that the winner cannot mate. It asks
/// less often where that seldom succeeds.
pub(crate) struct Pruner {
    winner: Color,
    asked: u32,
    succeeded: u32,
    skipped: u32,
}

impl Pruner {
    pub(crate) fn new(winner: Color) -> Pruner {
        Pruner {
            winner,
            asked: 0,
            succeeded: 0,
            skipped: 0,
        }
    }

    pub(crate) fn cut(&mut self, position: &Position, is_irreversible: bool) -> Cut {
        if !is_irreversible {
            return Cut::NONE;
        }
        let interval = if self.asked < 64 {
            1
        } else {
            (self.asked / (self.succeeded + 1)).min(64)
        };
        self.skipped += 1;
        if self.skipped < interval {
            return Cut::NONE;
        }
        self.skipped = 0;
        self.asked += 1;
        let analysis = analyze(position, self.winner, BRANCH_CAPTURES, BRANCH_STEPS);
        self.succeeded += u32::from(analysis.is_unwinnable);
        Cut {
            is_hopeless: analysis.is_unwinnable,
            nodes: analysis.nodes,
        }
    }
}
