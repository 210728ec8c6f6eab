//! The positions of a history in chunks that its copies share, so that a copy costs the same
//! whatever its length, and an index in them that finds earlier occurrences of a position.
//!
//! The index is a binary trie over the first bits of the hash of each position, spread over the
//! plies themselves: each ply tells, for each of these bits, the latest earlier ply whose hash
//! differs from its own in that bit first. A search starts at the latest ply and follows at most
//! one of these links for each bit. Plies are only ever added behind others, so the links of old
//! ones stay right, and nothing that copies share ever changes. The hash only leads to candidates;
//! whether two positions are equal is told by their whole keys (9.2.3).

use std::sync::Arc;

use referee_chess::{Color, Position, PositionKey, UciMove};

/// The plies of one chunk: few, so that little is copied when a copy of a history goes its own
/// way, and enough that the list of chunks stays short.
const CHUNK: usize = 32;
/// The bits of a hash that the index knows. Plies whose hashes agree in all of them are told apart
/// one by one, of which there are few in the longest history.
const BITS: usize = 12;
/// Stands for no ply; a history is shorter.
const NONE: u16 = u16::MAX;

/// A position of a history, how it came about, and what counts from it. Plies are numbered by the
/// moves before them, and a number fits 16 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ply {
    pub(super) key: PositionKey,
    /// The move that led to it; `None` in the base.
    pub(super) played: Option<UciMove>,
    /// Whether that move is illegal and stands.
    pub(super) is_illegal: bool,
    /// The moves of the same side up to this one that all gave check.
    pub(super) checks: u16,
    /// The ply that the last capture or pawn move led to; 0 where none has been made.
    pub(super) last_reset: u16,
    /// The ply that the last capture led to; 0 where none has been made.
    pub(super) last_capture: u16,
    /// The ply that the last illegal move led to that stands; 0 where there is none.
    pub(super) last_illegal: u16,
    /// How often the position has occurred, this time included.
    occurrences: u16,
    /// Whether a position with White to move has occurred twice since the last capture or pawn
    /// move, and whether one with Black to move has.
    has_twice: [bool; 2],
    hash: u16,
    /// The latest earlier ply since the last capture or pawn move with the same hash.
    same_hash: u16,
    /// For each bit, the latest earlier ply since the last capture or pawn move with a hash that
    /// has the same bits before it and the other one there.
    other_hash: [u16; BITS],
}

/// Some plies in a row, and the position of the first.
#[derive(Clone, Debug)]
struct Chunk {
    start: Position,
    plies: Vec<Ply>,
}

/// The plies of a history, the base first; never empty.
#[derive(Clone, Debug)]
pub(super) struct Plies {
    /// Chunks of [`CHUNK`] plies each.
    full: Arc<Vec<Arc<Chunk>>>,
    /// The rest, at least one and at most [`CHUNK`].
    last: Arc<Chunk>,
}

/// The first bits of the hash of a position.
fn hash_of(position: &Position) -> u16 {
    (position.zobrist() >> (64 - BITS)) as u16
}

/// The first bit in which two hashes differ.
fn first_difference(one: u16, other: u16) -> Option<usize> {
    let differing = one ^ other;
    (differing != 0).then(|| BITS - (u16::BITS - differing.leading_zeros()) as usize)
}

impl Ply {
    fn base(position: &Position) -> Ply {
        Ply {
            key: position.exact_key(),
            played: None,
            is_illegal: false,
            checks: 0,
            last_reset: 0,
            last_capture: 0,
            last_illegal: 0,
            occurrences: 1,
            has_twice: [false; 2],
            hash: hash_of(position),
            same_hash: NONE,
            other_hash: [NONE; BITS],
        }
    }

    pub(super) fn occurrences(&self) -> u32 {
        self.occurrences.into()
    }

    /// Whether a position with a side to move has occurred twice since the last capture or pawn
    /// move.
    pub(super) fn has_twice(&self, turn: Color) -> bool {
        self.has_twice[turn.index()]
    }
}

impl Plies {
    pub(super) fn new(base: Position) -> Plies {
        let first = Ply::base(&base);
        Plies {
            full: Arc::default(),
            last: Arc::new(Chunk {
                start: base,
                plies: vec![first],
            }),
        }
    }

    /// The number of moves.
    pub(super) fn moves(&self) -> usize {
        self.full.len() * CHUNK + self.last.plies.len() - 1
    }

    pub(super) fn base(&self) -> &Position {
        &self.full.first().unwrap_or(&self.last).start
    }

    /// Returns a ply, or the last one where the history is not that long.
    pub(super) fn get(&self, ply: usize) -> &Ply {
        let (chunk, place) = (ply / CHUNK, ply % CHUNK);
        let plies = &self.full.get(chunk).unwrap_or(&self.last).plies;
        &plies[place.min(plies.len() - 1)]
    }

    pub(super) fn last(&self) -> &Ply {
        let plies = &self.last.plies;
        &plies[plies.len() - 1]
    }

    /// Adds a move and the position that it led to.
    pub(super) fn push(
        &mut self,
        played: UciMove,
        is_illegal: bool,
        is_capture: bool,
        position: &Position,
    ) {
        let number = self.moves() + 1;
        // A history has fewer moves than 16 bits can number.
        let number_16 = number as u16;
        let last = self.last();
        let is_reset = position.halfmove_clock() == 0;
        let or_last = |is_now: bool, before: u16| if is_now { number_16 } else { before };
        let mut ply = Ply {
            played: Some(played),
            is_illegal,
            checks: match number {
                _ if !position.is_check() => 0,
                1 => 1,
                _ => self.get(number - 2).checks + 1,
            },
            last_reset: or_last(is_reset, last.last_reset),
            last_capture: or_last(is_capture, last.last_capture),
            last_illegal: or_last(is_illegal, last.last_illegal),
            ..Ply::base(position)
        };
        if !is_reset {
            ply.has_twice = last.has_twice;
            self.index(&mut ply, number - 1);
            ply.has_twice[position.turn().index()] |= ply.occurrences > 1;
        }
        self.add(ply, position);
    }

    /// Puts a new ply into the index: its links go to `latest` and what is found from there.
    fn index(&self, ply: &mut Ply, latest: usize) {
        let (mut at, mut known) = (latest, 0);
        loop {
            let other = self.get(at);
            let Some(bit) = first_difference(ply.hash, other.hash) else {
                ply.other_hash[known..].copy_from_slice(&other.other_hash[known..]);
                ply.same_hash = at as u16;
                let before = self.with_hash(ply.same_hash);
                let mut alike = before.filter(|(_, other)| other.key == ply.key);
                ply.occurrences = 1 + alike.next().map_or(0, |(_, other)| other.occurrences);
                return;
            };
            ply.other_hash[known..bit].copy_from_slice(&other.other_hash[known..bit]);
            ply.other_hash[bit] = at as u16;
            known = bit + 1;
            match other.other_hash[bit] {
                NONE => return,
                next => at = next.into(),
            }
        }
    }

    /// The plies with the hash of a ply, that one first, latest first.
    fn with_hash(&self, first: u16) -> impl Iterator<Item = (u32, &Ply)> {
        let existing = |ply: u16| (ply != NONE).then_some(ply);
        let numbers = core::iter::successors(existing(first), move |&ply| {
            existing(self.get(ply.into()).same_hash)
        });
        numbers.map(|number| (number.into(), self.get(number.into())))
    }

    /// The plies since the last capture or pawn move at which a position stood, latest first.
    pub(super) fn occurrences_of(&self, position: &Position) -> impl Iterator<Item = u32> {
        let (key, hash) = (position.exact_key(), hash_of(position));
        let mut at = self.moves() as u16;
        let first = loop {
            let other = self.get(at.into());
            match first_difference(hash, other.hash) {
                None => break at,
                Some(bit) => at = other.other_hash[bit],
            }
            if at == NONE {
                break NONE;
            }
        };
        let candidates = self.with_hash(first);
        candidates.filter_map(move |(number, ply)| (ply.key == key).then_some(number))
    }

    fn add(&mut self, ply: Ply, position: &Position) {
        if self.last.plies.len() == CHUNK {
            let next = Chunk {
                start: position.clone(),
                plies: vec![ply],
            };
            let full = core::mem::replace(&mut self.last, Arc::new(next));
            Arc::make_mut(&mut self.full).push(full);
        } else if let Some(own) = Arc::get_mut(&mut self.last) {
            own.plies.push(ply);
        } else {
            // There is room for more, or the next one would be copied twice.
            let mut plies = Vec::with_capacity(self.last.plies.len() + 4);
            plies.extend_from_slice(&self.last.plies);
            plies.push(ply);
            let start = self.last.start.clone();
            self.last = Arc::new(Chunk { start, plies });
        }
    }

    /// Forgets what comes after a ply, and returns the position from which it can be reached, with
    /// the moves that lead there.
    pub(super) fn truncate(&mut self, ply: usize) -> (Position, Vec<Ply>) {
        let (number, place) = (ply / CHUNK, ply % CHUNK);
        let chunk = Arc::clone(self.full.get(number).unwrap_or(&self.last));
        if number < self.full.len() {
            Arc::make_mut(&mut self.full).truncate(number);
        }
        let kept = &chunk.plies[..=place.min(chunk.plies.len() - 1)];
        self.last = Arc::new(Chunk {
            start: chunk.start.clone(),
            plies: kept.to_vec(),
        });
        (chunk.start.clone(), kept[1..].to_vec())
    }
}
