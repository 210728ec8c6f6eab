//! The search for a mate that both sides work for: best first, every position once.

use referee_chess::{Bitboard, Color, Move, Position, Role};

use crate::breach::Breach;
use crate::draws::{AutomaticDraws, is_drawn_now};
use crate::guide::Guide;
use crate::limits::CANCEL_INTERVAL;
use crate::material;
use crate::novelty::Novelty;
use crate::pictures::Goal;

/// How a search ended.
pub(crate) enum Found {
    /// A mate, by these moves, or the capture that was looked for.
    Mate(Vec<Move>),
    /// Every position was visited.
    Exhausted,
    /// The budget or the patience of the caller ended.
    Interrupted,
}

/// Whether a branch is cut, and what it cost to find out.
pub(crate) struct Cut {
    /// The winner cannot mate in this branch.
    pub(crate) is_hopeless: bool,
    /// In positions.
    pub(crate) nodes: u64,
}

impl Cut {
    /// Nothing was looked at.
    pub(crate) const NONE: Cut = Cut {
        is_hopeless: false,
        nodes: 0,
    };
}

/// Where a search looks first.
#[derive(Clone, Copy)]
enum Order {
    /// Where the mate seems near.
    Guided,
    /// Where a position shows something new, and the mate seems near.
    Novel,
    /// Where one mate is near that was chosen beforehand.
    Towards(Goal),
    /// Where the king is near a man that it is to take; that ends the search.
    Through(Breach),
    /// Where the halfmove clock is lowest, so that no position comes again with a lower one, but
    /// for those after different captures and moves of pawns.
    ByClock,
}

/// A position that was visited, and the move that led to it.
struct Node {
    position: Position,
    parent: u32,
    mv: Option<Move>,
}

/// A move that was not made yet, and the next one of the same priority.
#[derive(Clone, Copy)]
struct Edge {
    parent: u32,
    next: u32,
    mv: Move,
}

/// Moves by priority, the latest first among equals.
struct Agenda {
    edges: Vec<Edge>,
    /// By priority, the first edge.
    heads: [u32; BUCKETS],
    /// The first edge that is free to be used again.
    free: u32,
    lowest: usize,
}

impl Agenda {
    fn new() -> Agenda {
        Agenda {
            edges: Vec::new(),
            heads: [NONE; BUCKETS],
            free: NONE,
            lowest: BUCKETS,
        }
    }

    #[inline]
    fn push(&mut self, priority: i32, parent: u32, mv: Move) {
        let bucket = priority.clamp(0, BUCKETS as i32 - 1) as usize;
        let next = self.heads[bucket];
        let edge = Edge { parent, next, mv };
        if self.free == NONE {
            self.heads[bucket] = self.edges.len() as u32;
            push_frugally(&mut self.edges, edge);
        } else {
            let place = self.free as usize;
            self.heads[bucket] = self.free;
            self.free = self.edges[place].next;
            self.edges[place] = edge;
        }
        self.lowest = self.lowest.min(bucket);
    }

    #[inline]
    fn pop(&mut self) -> Option<(u32, Move)> {
        while self.lowest < BUCKETS {
            let head = self.heads[self.lowest];
            if head != NONE {
                let edge = &mut self.edges[head as usize];
                self.heads[self.lowest] = edge.next;
                edge.next = self.free;
                self.free = head;
                return Some((edge.parent, edge.mv));
            }
            self.lowest += 1;
        }
        None
    }
}

/// Priorities go from 0 to one below this; what is further off is taken as that far.
const BUCKETS: usize = 256;

/// Room for positions that a search starts with.
const FIRST_NODES: usize = 128;

/// Room for moves that a search starts with.
const FIRST_EDGES: usize = 1_024;

/// No number.
const NONE: u32 = u32::MAX;

/// What is added to the priority where a position shows nothing new.
const STALE: i32 = 20;

/// How many times less the guide counts where novelty comes first.
const NOVEL_SCALE: i32 = 4;

pub(crate) struct Search<'a> {
    winner: Color,
    guide: Guide,
    nodes: Vec<Node>,
    table: Table,
    agenda: Agenda,
    budget: u64,
    bytes_max: u64,
    cancel: &'a dyn Fn() -> bool,
    prune: &'a mut dyn FnMut(&Position, bool) -> Cut,
    draws: Option<&'a AutomaticDraws<'a>>,
    order: Order,
    /// What was spent on cutting branches, in positions.
    pruning: u64,
    novelty: Novelty,
    /// By how near the mate seemed, the side to move and the kind of man: where one has come to.
    seen: Vec<[[Bitboard; 6]; 2]>,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        winner: Color,
        plan: usize,
        budget: u64,
        cancel: &'a dyn Fn() -> bool,
        prune: &'a mut dyn FnMut(&Position, bool) -> Cut,
        draws: Option<&'a AutomaticDraws<'a>>,
    ) -> Search<'a> {
        Search {
            winner,
            guide: Guide::new(winner, plan),
            nodes: Vec::new(),
            table: Table::new(),
            agenda: Agenda::new(),
            budget,
            bytes_max: u64::MAX,
            cancel,
            prune,
            draws,
            order: Order::Guided,
            pruning: 0,
            novelty: Novelty::default(),
            seen: Vec::new(),
        }
    }

    /// Lets the search end where it takes more memory, in bytes.
    pub(crate) fn within(mut self, bytes: u64) -> Search<'a> {
        self.bytes_max = bytes;
        self
    }

    /// Lets the search look first where the halfmove clock is lowest.
    pub(crate) fn by_clock(mut self) -> Search<'a> {
        self.order = Order::ByClock;
        self
    }

    /// Lets the search look first where positions show something new.
    pub(crate) fn by_novelty(mut self) -> Search<'a> {
        self.order = Order::Novel;
        self
    }

    /// Lets the search look first where a mate that was chosen is near.
    pub(crate) fn towards(mut self, goal: Goal) -> Search<'a> {
        self.order = Order::Towards(goal);
        self
    }

    /// Lets the search end with the capture of a man by the winner, and look first where its king
    /// is near.
    pub(crate) fn through(mut self, breach: Breach) -> Search<'a> {
        self.order = Order::Through(breach);
        self
    }

    /// Returns how many positions were visited, with what was spent on cutting branches.
    pub(crate) fn spent(&self) -> u64 {
        self.nodes.len() as u64 + self.pruning
    }

    /// Allows so many more positions.
    pub(crate) fn grant(&mut self, nodes: u64) {
        self.budget = self.spent() + nodes;
    }

    /// Searches until the budget ends, or goes on where it was interrupted.
    pub(crate) fn run(&mut self, root: &Position) -> Found {
        if self.nodes.is_empty() {
            self.reserve();
            if let Some(found) = self.visit(root.clone(), 0, None) {
                return found;
            }
        }
        let mut steps = 0u64;
        loop {
            steps += 1;
            if self.spent() >= self.budget
                || (steps.is_multiple_of(CANCEL_INTERVAL)
                    && (self.bytes() > self.bytes_max || (self.cancel)()))
            {
                return Found::Interrupted;
            }
            let Some((parent, mv)) = self.agenda.pop() else {
                return Found::Exhausted;
            };
            let before = &self.nodes[parent as usize].position;
            let after = before.after_unchecked(mv);
            if let Some(found) = self.visit(after, parent, Some(mv)) {
                return found;
            }
        }
    }

    /// Returns what the search takes in memory, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let nodes = self.nodes.len() * size_of::<Node>();
        let edges = self.agenda.edges.len() * size_of::<Edge>();
        (nodes + edges + self.table.slots.len() * size_of::<u32>()) as u64
    }

    /// Makes room for a short search.
    fn reserve(&mut self) {
        self.nodes.reserve(FIRST_NODES);
        self.agenda.edges.reserve(FIRST_EDGES);
        self.table.slots.resize(2 * FIRST_NODES, NONE);
        let buckets = match self.order {
            Order::Guided => BUCKETS,
            Order::Through(_) => 1,
            _ => 0,
        };
        self.seen.resize(buckets, [[Bitboard::EMPTY; 6]; 2]);
    }

    fn visit(&mut self, position: Position, parent: u32, mv: Option<Move>) -> Option<Found> {
        let nodes = &self.nodes;
        let slot = self.table.find(position.zobrist(), |index| {
            let other = &nodes[index as usize].position;
            // Where draws end the game, a position is worth less the later it comes.
            *other == position
                && (self.draws.is_none() || other.halfmove_clock() <= position.halfmove_clock())
        })?;
        let number = self.nodes.len() as u32;
        let moves = position.legal_moves();
        if moves.is_empty() {
            if position.is_check() && position.turn() != self.winner {
                return Some(Found::Mate(self.line(parent, mv)));
            }
            return None;
        }
        if material::is_hopeless(position.board(), self.winner) {
            return None;
        }
        if self.is_drawn(&position, mv.is_none()) {
            return None;
        }
        if let (Order::Through(breach), Some(last)) = (&self.order, mv)
            && breach.is_done(&position, last)
        {
            return Some(Found::Mate(self.line(parent, mv)));
        }
        if mv.is_some() {
            let cut = (self.prune)(&position, position.halfmove_clock() == 0);
            self.pruning += cut.nodes;
            if cut.is_hopeless {
                return None;
            }
        }
        self.table.insert(slot, number);
        self.push_moves(&position, &moves, number, mv);
        let node = Node {
            position,
            parent,
            mv,
        };
        push_frugally(&mut self.nodes, node);
        if self.table.is_crowded(self.nodes.len()) {
            let nodes = &self.nodes;
            self.table.grow(nodes.len(), |index| {
                nodes[index as usize].position.zobrist()
            });
        }
        None
    }

    /// Returns the moves that lead to a position, and another one.
    fn line(&self, parent: u32, mv: Option<Move>) -> Vec<Move> {
        let mut line: Vec<Move> = mv.into_iter().collect();
        let mut at = parent;
        while let Some(mv) = self.nodes.get(at as usize).and_then(|node| node.mv) {
            line.push(mv);
            at = self.nodes[at as usize].parent;
        }
        line.reverse();
        line
    }

    /// Puts the moves of a position on the agenda.
    fn push_moves(&mut self, position: &Position, moves: &[Move], number: u32, last: Option<Move>) {
        if let Order::ByClock = self.order {
            let board = position.board();
            let clock = position.halfmove_clock() as i32 + 1;
            for &mv in moves {
                let is_capture = board.color(!position.turn()).contains(mv.to());
                let is_zeroing = is_capture || board.role_at(mv.from()) == Some(Role::Pawn);
                self.agenda
                    .push(if is_zeroing { 0 } else { clock }, number, mv);
            }
            return;
        }
        if let Order::Towards(goal) = self.order {
            let way = goal.way(position);
            for &mv in moves {
                self.agenda.push(way.priority(mv), number, mv);
            }
            return;
        }
        if let Order::Through(breach) = self.order {
            let base = breach.base(position);
            let stale = self.note_novelty(position, last, 0);
            for &mv in moves {
                let priority = breach.priority(base, position, mv) + stale;
                self.agenda.push(priority, number, mv);
            }
            return;
        }
        let view = self.guide.view(position);
        let (stale, divisor) = match self.order {
            Order::Novel => (self.novelty.note(position, last), NOVEL_SCALE),
            _ => (self.note_novelty(position, last, view.base()), 1),
        };
        // The moves of one man follow each other, so its kind is seldom looked up.
        let (mut from, mut role) = (None, Role::King);
        for &mv in moves {
            if from != Some(mv.from()) {
                from = Some(mv.from());
                role = position.board().role_at(mv.from()).unwrap_or(Role::King);
            }
            let priority = view.priority(role, mv) / divisor + stale;
            self.agenda.push(priority, number, mv);
        }
    }

    /// Returns what is added to the priorities of a position that shows nothing new: the move that
    /// led to it took a man where one like it has stood before, in a position that seemed as near
    /// to the mate. So the search does not try every place of a man that does not matter.
    fn note_novelty(&mut self, position: &Position, mv: Option<Move>, base: i32) -> i32 {
        let Some(mv) = mv else {
            return 0;
        };
        let role = position.board().role_at(mv.to()).unwrap_or(Role::King);
        let seen = &mut self.seen[base.clamp(0, BUCKETS as i32 - 1) as usize];
        let squares = &mut seen[position.turn().index()][role.index()];
        let is_new = !squares.contains(mv.to());
        *squares |= Bitboard::of(mv.to());
        if is_new { 0 } else { STALE }
    }

    fn is_drawn(&self, position: &Position, is_start: bool) -> bool {
        self.draws.is_some_and(|draws| {
            if is_start {
                is_drawn_now(position, draws.history)
            } else {
                draws.end_game(position)
            }
        })
    }
}

/// Adds to a list that takes at most a quarter more memory than what is in it, where one that
/// doubles would take twice as much.
#[inline]
fn push_frugally<T>(items: &mut Vec<T>, item: T) {
    if items.len() == items.capacity() {
        items.reserve_exact(items.len() / 4 + FIRST_NODES);
    }
    items.push(item);
}

/// Numbers of nodes by the hashes of their positions, with open addressing. A hash only says
/// where to look; the positions themselves are compared.
struct Table {
    slots: Vec<u32>,
}

impl Table {
    fn new() -> Table {
        Table { slots: Vec::new() }
    }

    /// Returns the free slot for a hash, or `None` where an equal entry is there.
    #[inline]
    fn find(&self, hash: u64, is_same: impl Fn(u32) -> bool) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                NONE => return Some(slot),
                index if is_same(index) => return None,
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    #[inline]
    fn insert(&mut self, slot: usize, index: u32) {
        self.slots[slot] = index;
    }

    fn is_crowded(&self, count: usize) -> bool {
        count * 2 > self.slots.len()
    }

    fn grow(&mut self, count: usize, hash: impl Fn(u32) -> u64) {
        let length = self.slots.len() * 4;
        self.slots.clear();
        self.slots.resize(length, NONE);
        for index in 0..count as u32 {
            if let Some(slot) = self.find(hash(index), |_| false) {
                self.slots[slot] = index;
            }
        }
    }
}
