//! Counts two plies mostly without making a move.
//!
//! Let the side to move pass, and count the replies once. After most moves the other side has
//! just as many, but for what the two squares of the move change: a line that opens where the
//! piece left, a line or a pawn that is stopped where it arrives, a pawn that finds a capture or
//! loses one. These changes add up square by square, as long as the move leaves alone what
//! decides about check, pins, steps of the king and castling of the other side. Moves that do not
//! are made and their replies counted one by one.
//!
//! "We" are the side to move, "they" are the side that replies. What one of our moves does to
//! their replies is told apart by origin ([`Replies::vacate`]) and arrival ([`Arrivals::settle`]);
//! a move whose two squares act on the same line of the same piece is made.

use referee_chess::rays::{
    between, bishop_rays, king_attacks, knight_attacks, line, pawn_attacks, rook_rays,
};
use referee_chess::{Sliders, Square};

use super::expand::{expand, expand_en_passant, passed};
use super::leaf::{count_pawns, leaf};
use crate::board::{
    Board, Kind, Side, ahead, back, bishop, bit, can_castle, castle_targets, each, east, is_many,
    lowest, rook, size, west,
};

/// So many sliding pieces of a side are dealt with, queens counted twice; boards with more are
/// counted move by move.
const SLIDERS_MAX: usize = 16;

const CORNERS: u64 = 0x8100_0000_0000_0081;
const E_FILE_BACK_RANKS: u64 = 0x1000_0000_0000_0010;
const A_FILE: u64 = 0x0101_0101_0101_0101;

/// Our moves by square of arrival, counted in binary: one set for each digit.
#[derive(Default)]
struct Arrivals {
    digits: [u64; 4],
    /// Squares with more moves than the digits can tell; no position of a game has any.
    overflow: u64,
}

impl Arrivals {
    #[inline(always)]
    fn add(&mut self, set: u64) {
        let mut carry = set;
        for digit in &mut self.digits {
            let next = *digit & carry;
            *digit ^= carry;
            carry = next;
        }
        self.overflow |= carry;
    }

    #[inline(always)]
    fn any(&self) -> u64 {
        self.digits[0] | self.digits[1] | self.digits[2] | self.digits[3]
    }

    /// How many moves arrive on a square.
    #[inline(always)]
    fn at(&self, square: Square) -> u64 {
        let digit = |index: usize| self.digits[index] >> square.index() & 1;
        digit(0) + 2 * digit(1) + 4 * digit(2) + 8 * digit(3)
    }
}

/// Where our moves can change their checks, pins, steps of the king and castling.
#[derive(Default)]
struct Critical {
    /// Pieces that shield a line, on either side of which something matters.
    origins: u64,
    /// Squares on which a piece blocks a line that matters, or bars castling.
    arrivals: u64,
    /// Squares on which a piece that attacks `zone` may block a second attack on it.
    second: u64,
    /// The squares that their king may step to or cross, as far as their own pieces go.
    zone: u64,
    /// Those of them that we attack exactly once.
    sole: u64,
    /// Squares from which a piece gives check or pins.
    strikes: Reach,
    /// Squares from which a piece attacks a square of the zone that is safe so far.
    guards: Reach,
    /// The squares of the zone that their king may step to, and those that we attack at least
    /// once and at least twice.
    steps: u64,
    once: u64,
    twice: u64,
    /// How many of their replies are steps of the king and castlings.
    king_moves: u64,
}

/// Squares from which pieces act on something, by kind.
#[derive(Default)]
struct Reach {
    knights: u64,
    bishops: u64,
    rooks: u64,
    pawns: u64,
    kings: u64,
}

impl Reach {
    #[inline(always)]
    fn of(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Pawn => self.pawns,
            Kind::Knight => self.knights,
            Kind::Bishop => self.bishops,
            Kind::Rook => self.rooks,
            Kind::Queen => self.bishops | self.rooks,
            Kind::King => self.kings,
        }
    }
}

/// What a piece of a known kind attacks on an occupied board.
#[inline(always)]
fn attacks<S: Sliders, C: Side>(sliders: S, kind: Kind, from: Square, occupied: u64) -> u64 {
    match kind {
        Kind::Pawn => pawn_attacks(C::COLOR, from).0,
        Kind::Knight => knight_attacks(from).0,
        Kind::Bishop => bishop(sliders, from, occupied),
        Kind::Rook => rook(sliders, from, occupied),
        Kind::Queen => bishop(sliders, from, occupied) | rook(sliders, from, occupied),
        Kind::King => king_attacks(from).0,
    }
}

/// What it does to their replies when a square is left.
#[derive(Clone, Copy, Default)]
struct Vacated {
    /// By how much they grow.
    gain: u64,
    /// The arrivals for which this does not hold.
    except: u64,
    /// Pawns whose capture of our piece has been taken off already; `weight` is what it counts.
    mutual: u64,
    weight: u64,
}

/// What the other side has after a null move, and what bears on it.
struct Replies {
    occupied: u64,
    them: u64,
    their_pawns: u64,
    /// Their pawns that are not pinned.
    free_pawns: u64,
    count: u64,
    /// Their pieces that are not pinned, by the way they move.
    diagonals: u64,
    orthogonals: u64,
    knights: u64,
    /// What the unpinned pawns attack to either side.
    west: u64,
    east: u64,
    /// The squares before their unpinned pawns.
    front: u64,
    /// The squares two before those that could make a double step but for that square.
    second_front: u64,
    /// What their unpinned sliding pieces attack.
    lines: u64,
    /// Their rank of promotion.
    last: u64,
}

impl Replies {
    /// Squares which it changes something to leave.
    #[inline(always)]
    fn sensitive(&self) -> u64 {
        self.west | self.east | self.front | self.second_front | self.lines
    }

    /// What it does to their replies when a square is left.
    #[inline(always)]
    fn vacate<S: Sliders, C: Side>(&self, sliders: S, from: Square) -> Vacated {
        let left = bit(from);
        let weight = if left & self.last != 0 { 4 } else { 1 };
        let mut gain = 0u64;
        let mut except = 0;
        let mut mutual = 0;
        if left & (self.west | self.east) != 0 {
            let captures = size(left & self.west) + size(left & self.east);
            gain = gain.wrapping_sub(weight * captures);
            mutual = pawn_attacks(C::COLOR, from).0 & self.free_pawns;
        }
        if left & (self.front | self.second_front) != 0 {
            if left & self.front != 0 {
                gain = gain.wrapping_add(weight);
                let beyond = ahead::<C::Other>(left & <C::Other>::THIRD);
                gain = gain.wrapping_add(size(beyond & !self.occupied));
            } else {
                gain = gain.wrapping_add(1);
            }
            except |= A_FILE << (from.index() & 7);
        }
        if left & self.lines != 0 {
            each(
                bishop(sliders, from, self.occupied) & self.diagonals,
                |slider| {
                    let more = bishop(sliders, slider, self.occupied ^ left)
                        & !bishop(sliders, slider, self.occupied);
                    gain = gain.wrapping_add(size(more & !self.them));
                    except |= line(slider, from).0;
                },
            );
            each(
                rook(sliders, from, self.occupied) & self.orthogonals,
                |slider| {
                    let more = rook(sliders, slider, self.occupied ^ left)
                        & !rook(sliders, slider, self.occupied);
                    gain = gain.wrapping_add(size(more & !self.them));
                    except |= line(slider, from).0;
                },
            );
        }
        Vacated {
            gain,
            except,
            mutual,
            weight,
        }
    }

    /// By how much their replies grow when the piece on a square is taken.
    #[inline(always)]
    fn capture<S: Sliders, C: Side>(&self, sliders: S, board: &Board, taken: Square) -> u64 {
        let set = bit(taken);
        let weight = if set & self.last != 0 { 4 } else { 1 };
        let as_bishop = bishop(sliders, taken, self.occupied);
        let as_rook = rook(sliders, taken, self.occupied);
        let as_knight = knight_attacks(taken).0;
        let mut gain = size(as_bishop & self.diagonals)
            + size(as_rook & self.orthogonals)
            + size(as_knight & self.knights)
            + weight * (size(set & self.west) + size(set & self.east));
        let us = self.occupied ^ self.them;
        if set & self.their_pawns != 0 {
            let moves = count_own_pawns::<C::Other>(set, self.occupied, us);
            return gain.wrapping_sub(moves);
        }
        let mut to = 0;
        if set & board.knights != 0 {
            to = as_knight;
        }
        if set & board.diagonals != 0 {
            to |= as_bishop;
        }
        if set & board.orthogonals != 0 {
            to |= as_rook;
        }
        gain = gain.wrapping_sub(size(to & !self.them));
        gain
    }
}

/// The number of moves that some pawns have, without en passant.
#[inline(always)]
fn count_own_pawns<C: Side>(pawns: u64, occupied: u64, them: u64) -> u64 {
    let single = ahead::<C>(pawns) & !occupied;
    let double = ahead::<C>(single & C::THIRD) & !occupied;
    let west = west::<C>(pawns) & them;
    let east = east::<C>(pawns) & them;
    let last = C::LAST;
    size(single)
        + size(double)
        + size(west)
        + size(east)
        + 3 * (size(single & last) + size(west & last) + size(east & last))
}

/// The sum that is being built.
#[derive(Default)]
struct Sum {
    total: u64,
    arrivals: Arrivals,
}

impl Sum {
    /// Adds the moves of one piece, or of several pawns, whose replies are known, and returns
    /// those that have to be made. `attacked` is what a piece attacks where it stands.
    #[inline(always)]
    fn add_piece<S: Sliders, C: Side>(
        &mut self,
        view: &View<'_, S>,
        kind: Kind,
        from: Square,
        attacked: u64,
        to: u64,
    ) -> u64 {
        let View {
            replies, critical, ..
        } = view;
        if bit(from) & critical.origins != 0 {
            return to;
        }
        let vacated = if bit(from) & replies.sensitive() != 0 {
            replies.vacate::<S, C>(view.sliders, from)
        } else {
            Vacated::default()
        };
        let known = self.add_quickly::<S>(view, kind, attacked, to, vacated);
        let rest = to & !known;
        if rest == 0 {
            return 0;
        }
        rest & !self.add_around_king::<S, C>(view, kind, from, attacked, rest, vacated)
    }

    /// Adds those moves that do not touch the surroundings of their king, and returns them.
    #[inline(always)]
    fn add_quickly<S: Sliders>(
        &mut self,
        view: &View<'_, S>,
        kind: Kind,
        attacked: u64,
        to: u64,
        vacated: Vacated,
    ) -> u64 {
        let critical = view.critical;
        if attacked & critical.sole != 0 {
            return 0;
        }
        let mut known =
            to & !(critical.arrivals | critical.strikes.of(kind) | critical.guards.of(kind));
        if attacked & critical.zone != 0 {
            known &= !critical.second;
        }
        known &= !vacated.except;
        let each_has = view.replies.count.wrapping_add(vacated.gain);
        self.total = self
            .total
            .wrapping_add(size(known).wrapping_mul(each_has))
            .wrapping_add(size(known & vacated.mutual) * vacated.weight);
        self.arrivals.add(known);
        known
    }

    /// Adds those moves that only change what their king can step to, and returns them.
    #[inline(always)]
    fn add_around_king<S: Sliders, C: Side>(
        &mut self,
        view: &View<'_, S>,
        kind: Kind,
        from: Square,
        attacked: u64,
        to: u64,
        vacated: Vacated,
    ) -> u64 {
        let critical = view.critical;
        let mut known = to & !(critical.arrivals | critical.strikes.of(kind) | vacated.except);
        if attacked & critical.zone != 0 {
            known &= !critical.second;
        }
        let kept = critical.once & !(attacked & !critical.twice);
        let each_has = view.replies.count.wrapping_add(vacated.gain);
        let each_has = each_has.wrapping_sub(critical.king_moves);
        each(known, |to| {
            let occupied = view.replies.occupied ^ bit(from);
            let now = kept | attacks::<S, C>(view.sliders, kind, to, occupied);
            let moves = view.king_moves(now);
            self.total = self.total.wrapping_add(each_has.wrapping_add(moves));
        });
        self.total = self
            .total
            .wrapping_add(size(known & vacated.mutual) * vacated.weight);
        self.arrivals.add(known);
        known
    }
}

/// Whether nothing bars castling of a king on the e-file with a rook in the corner (FIDE Laws
/// 3.8.2.2). No piece stands behind that rook.
#[inline(always)]
fn can_castle_usually(king: Square, castler: Square, occupied: u64, attacked: u64) -> bool {
    let (king_to, _) = castle_targets(king, castler);
    let crossed = between(king, king_to).0 | bit(king_to);
    between(king, castler).0 & occupied == 0 && crossed & attacked == 0
}

/// All that bears on our moves.
struct View<'a, S> {
    sliders: S,
    board: &'a Board,
    replies: &'a Replies,
    critical: &'a Critical,
}

impl<S: Sliders> View<'_, S> {
    /// How many steps and castlings their king has while we attack some squares.
    #[inline(always)]
    fn king_moves(&self, attacked: u64) -> u64 {
        let them = self.replies.them;
        let mut count = size(self.critical.steps & !attacked);
        each(self.board.castling & them, |castler| {
            let king = lowest(self.board.kings & them);
            count += u64::from(can_castle_usually(
                king,
                castler,
                self.replies.occupied,
                attacked,
            ));
        });
        count
    }
}

tuned! {
    /// The number of paths of two moves.
    pub(crate) fn count_two<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        en_passant: u64,
    ) -> u64 {
        let us = board.of::<C>();
        let them = board.of::<C::Other>();
        let king = lowest(board.kings & us);
        let (checkers, pinned) = board.checks_and_pins::<C>(king);
        let many = |set: u64| {
            size(set & board.diagonals) + size(set & board.orthogonals) > SLIDERS_MAX as u64
        };
        let castlers = board.castling & them;
        let unusual = castlers & !CORNERS != 0
            || castlers != 0 && board.kings & them & E_FILE_BACK_RANKS == 0;
        if checkers != 0 || unusual || many(us) || many(them) {
            return count_each_of_two::<S, C>(sliders, board, en_passant);
        }
        count_by_null_move::<S, C>(sliders, board, en_passant, king, pinned)
    }

    #[cold]
    fn count_each_of_two<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        en_passant: u64,
    ) -> u64 {
        let mut total = 0;
        expand::<S, C>(sliders, board, en_passant, |next, en_passant| {
            total += leaf::<S, C::Other>(sliders, next, en_passant);
        });
        total
    }

    #[inline]
    fn count_by_null_move<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        en_passant: u64,
        king: Square,
        pinned: u64,
    ) -> u64 {
        let us = board.of::<C>();
        let them = board.of::<C::Other>();
        let occupied = us | them;
        let their_king = lowest(board.kings & them);
        let our_pawns = board.pawns & us;
        let bishops = board.diagonals & !board.orthogonals & us;
        let rooks = board.orthogonals & !board.diagonals & us;
        let queens = board.diagonals & board.orthogonals & us;

        // What we attack, and what we attack twice.
        let mut once = king_attacks(king).0;
        let mut twice = 0;
        let mut attack = |set: u64| {
            twice |= once & set;
            once |= set;
        };
        attack(west::<C>(our_pawns));
        attack(east::<C>(our_pawns));
        each(board.knights & us, |from| attack(knight_attacks(from).0));
        let mut ours = [0u64; SLIDERS_MAX];
        let mut index = 0;
        let mut keep = |set: u64| {
            ours[index & (SLIDERS_MAX - 1)] = set;
            index += 1;
            attack(set);
        };
        each(bishops, |from| keep(bishop(sliders, from, occupied)));
        each(rooks, |from| keep(rook(sliders, from, occupied)));
        each(queens, |from| {
            keep(bishop(sliders, from, occupied) | rook(sliders, from, occupied));
        });

        // Their king: pins, checks to be, steps, castling.
        let mut critical = Critical::default();
        let steps = king_attacks(their_king).0 & !them;
        critical.zone = steps;
        critical.steps = steps;
        critical.once = once;
        critical.twice = twice;
        critical.arrivals = king_attacks(their_king).0 & them & !twice;
        let mut their_pinned = 0;
        let snipers = (rook_rays(their_king).0 & board.orthogonals
            | bishop_rays(their_king).0 & board.diagonals)
            & us;
        each(snipers, |sniper| {
            let path = between(their_king, sniper).0;
            let shield = path & occupied;
            if !is_many(shield) {
                if shield & us != 0 {
                    critical.origins |= shield;
                } else {
                    their_pinned |= shield;
                    critical.origins |= bit(sniper);
                    critical.arrivals |= path;
                }
            } else {
                let ours = shield & us;
                if ours != 0 && ours != shield && size(shield) == 2 {
                    critical.origins |= ours;
                }
            }
        });
        let mut count = size(steps & !once);
        each(board.castling & them, |castler| {
            let path = between(their_king, castler).0;
            if path & them == 0 {
                let (king_to, _) = castle_targets(their_king, castler);
                critical.zone |= between(their_king, king_to).0 | bit(king_to);
                critical.arrivals |= path | bit(castler);
                critical.origins |= path & us;
                let can = can_castle_usually(their_king, castler, occupied, once);
                count += u64::from(can);
            }
        });
        critical.king_moves = count;
        critical.sole = critical.zone & once & !twice;
        let safe = critical.zone & !once;
        let king_bishop = bishop(sliders, their_king, occupied);
        let king_rook = rook(sliders, their_king, occupied);
        critical.strikes = Reach {
            knights: knight_attacks(their_king).0,
            bishops: bishop(sliders, their_king, occupied & !(king_bishop & them)),
            rooks: rook(sliders, their_king, occupied & !(king_rook & them)),
            pawns: pawn_attacks(<C::Other>::COLOR, their_king).0,
            kings: 0,
        };
        critical.guards.pawns = west::<C::Other>(safe) | east::<C::Other>(safe);
        each(safe, |square| {
            critical.guards.knights |= knight_attacks(square).0;
            critical.guards.kings |= king_attacks(square).0;
            critical.guards.bishops |= bishop(sliders, square, occupied);
            critical.guards.rooks |= rook(sliders, square, occupied);
        });
        // Our sliding pieces around their king: what opens and closes their lines.
        let mut index = 0;
        let mut around = |from: Square, rays: u64| {
            let attacks = ours[index & (SLIDERS_MAX - 1)];
            index += 1;
            each(attacks & critical.zone, |square| {
                if bit(square) & critical.sole != 0 {
                    critical.arrivals |= between(from, square).0;
                } else {
                    critical.second |= between(from, square).0;
                }
            });
            each(rays & critical.zone & !twice & !attacks, |square| {
                let shield = between(from, square).0 & occupied;
                if !is_many(shield) {
                    critical.origins |= shield & us;
                }
            });
        };
        each(bishops, |from| around(from, bishop_rays(from).0));
        each(rooks, |from| around(from, rook_rays(from).0));
        each(queens, |from| around(from, bishop_rays(from).0 | rook_rays(from).0));

        // Their replies to a null move.
        let free = them & !their_pinned;
        let pawns = board.pawns & free;
        let single = ahead::<C::Other>(pawns) & !occupied;
        let double = ahead::<C::Other>(single & <C::Other>::THIRD) & !occupied;
        let home = <C::Other>::THIRD & ahead::<C::Other>(pawns);
        let mut replies = Replies {
            occupied,
            them,
            their_pawns: board.pawns & them,
            free_pawns: pawns,
            count,
            diagonals: board.diagonals & free,
            orthogonals: board.orthogonals & free,
            knights: board.knights & free,
            west: west::<C::Other>(pawns),
            east: east::<C::Other>(pawns),
            front: ahead::<C::Other>(pawns),
            second_front: ahead::<C::Other>(home & !occupied),
            lines: 0,
            last: <C::Other>::LAST,
        };
        let mut attacked = king_attacks(their_king).0
            | west::<C::Other>(replies.their_pawns)
            | east::<C::Other>(replies.their_pawns);
        each(board.knights & them, |from| {
            let attacks = knight_attacks(from).0;
            attacked |= attacks;
            if bit(from) & free != 0 {
                replies.count += size(attacks & !them);
            }
        });
        let mut theirs = [0u64; SLIDERS_MAX];
        let mut index = 0;
        let mut keep = |attacks: u64| {
            theirs[index & (SLIDERS_MAX - 1)] = attacks;
            index += 1;
            replies.lines |= attacks;
            replies.count += size(attacks & !them);
        };
        each(replies.diagonals, |from| keep(bishop(sliders, from, occupied)));
        each(replies.orthogonals, |from| keep(rook(sliders, from, occupied)));
        attacked |= replies.lines;
        let us_last = us & replies.last;
        replies.count += size(single)
            + size(double)
            + size(replies.west & us)
            + size(replies.east & us)
            + 3 * (size(single & replies.last)
                + size(replies.west & us_last)
                + size(replies.east & us_last));
        each(their_pinned, |from| {
            let on_line = line(their_king, from).0 & !them;
            let set = bit(from);
            if set & board.pawns != 0 {
                replies.count += count_pawns::<C::Other>(set, occupied, us, on_line);
            }
            if set & board.diagonals != 0 {
                let attacks = bishop(sliders, from, occupied);
                attacked |= attacks;
                replies.count += size(attacks & on_line);
            }
            if set & board.orthogonals != 0 {
                let attacks = rook(sliders, from, occupied);
                attacked |= attacks;
                replies.count += size(attacks & on_line);
            }
        });

        // Our moves.
        let view = View {
            sliders,
            board,
            replies: &replies,
            critical: &critical,
        };
        let mut sum = Sum::default();
        let mut made = 0;
        let mut make = |kind: Kind, from: Square, to: u64| {
            each(to, |to| {
                let next = board.after::<C>(kind, bit(from), bit(to));
                made += leaf::<S, C::Other>(sliders, &next, 0);
            });
        };
        each(board.knights & us & !pinned, |from| {
            let attacked = knight_attacks(from).0;
            let kind = Kind::Knight;
            make(kind, from, sum.add_piece::<S, C>(&view, kind, from, attacked, attacked & !us));
        });
        let mut index = 0;
        let mut slide = |sum: &mut Sum, kind: Kind, from: Square| {
            let attacked = ours[index & (SLIDERS_MAX - 1)];
            index += 1;
            let to = attacked & !us;
            let to = if bit(from) & pinned != 0 { to & line(king, from).0 } else { to };
            make(kind, from, sum.add_piece::<S, C>(&view, kind, from, attacked, to));
        };
        each(bishops, |from| slide(&mut sum, Kind::Bishop, from));
        each(rooks, |from| slide(&mut sum, Kind::Rook, from));
        each(queens, |from| slide(&mut sum, Kind::Queen, from));
        let to = king_attacks(king).0 & !us & !attacked;
        let rest = sum.add_piece::<S, C>(&view, Kind::King, king, king_attacks(king).0, to);
        make(Kind::King, king, rest);
        each(board.castling & us, |castler| {
            if can_castle::<S, C>(sliders, board, king, castler, attacked) {
                let next = board.after_castling::<C>(king, castler);
                made += leaf::<S, C::Other>(sliders, &next, 0);
            }
        });
        made += pawn_moves::<S, C>(&view, &mut sum, king, pinned);
        if en_passant != 0 {
            expand_en_passant::<S, C>(sliders, board, en_passant, 0, &mut |next, _| {
                made += leaf::<S, C::Other>(sliders, next, 0);
            });
        }
        if sum.arrivals.overflow != 0 {
            return count_each_of_two::<S, C>(sliders, board, en_passant);
        }
        let settled = settle::<S, C>(sliders, board, &replies, &sum.arrivals, single, double, &theirs);
        made.wrapping_add(sum.total).wrapping_add(settled)
    }

    /// Adds the moves of our pawns, and returns the replies to those that were made.
    #[inline]
    fn pawn_moves<S: Sliders, C: Side>(
        view: &View<'_, S>,
        sum: &mut Sum,
        king: Square,
        pinned: u64,
    ) -> u64 {
        let (board, replies, critical) = (view.board, view.replies, view.critical);
        let them = replies.them;
        let occupied = replies.occupied;
        let our_pawns = board.pawns & (occupied ^ them);
        let mut made = 0;
        let mut make = |from: u64, to: u64| {
            each(to, |to| {
                let to = bit(to);
                if to & C::LAST != 0 {
                    for kind in [Kind::Queen, Kind::Rook, Kind::Bishop, Kind::Knight] {
                        let next = board.after_promotion::<C>(from, to, kind);
                        made += leaf::<S, C::Other>(view.sliders, &next, 0);
                    }
                } else {
                    let next = board.after::<C>(Kind::Pawn, from, to);
                    let is_double = from == back::<C>(back::<C>(to));
                    let en_passant = if is_double { passed::<C>(&next, to) } else { 0 };
                    made += leaf::<S, C::Other>(view.sliders, &next, en_passant);
                }
            });
        };
        // A double step beside their pawns gives each one more reply: en passant. That pawn is
        // not pinned and ours shields nothing, so taking is legal. Pinned ones are left out here.
        let takers = replies.free_pawns;
        let pinned_takers = replies.their_pawns & !takers;
        let unclear = west_of(pinned_takers) | east_of(pinned_takers);
        let passing = |double: u64| {
            size(double & west_of(takers)) + size(double & east_of(takers))
        };

        // Pawns that change nothing by leaving go as one set.
        let guards = west::<C::Other>(critical.sole) | east::<C::Other>(critical.sole);
        let special = our_pawns & (pinned | critical.origins | guards | replies.sensitive());
        let plain = our_pawns & !special;
        let single = ahead::<C>(plain) & !occupied;
        let double = ahead::<C>(single & C::THIRD) & !occupied;
        let (to_west, to_east) = (west::<C>(plain), east::<C>(plain));
        let attacked = to_west | to_east;
        for (to, double, side) in [
            (single | double, double, 0),
            (to_west & them, 0, 1),
            (to_east & them, 0, 2),
        ] {
            let safe = to & !(C::LAST | double & unclear);
            let vacated = Vacated::default();
            let known = sum.add_quickly::<S>(view, Kind::Pawn, attacked, safe, vacated);
            sum.total = sum.total.wrapping_add(passing(double & known));
            each(to & !known, |to| {
                let behind = back::<C>(bit(to));
                let from = match side {
                    0 if behind & plain != 0 => behind,
                    0 => back::<C>(behind),
                    1 => behind << 1,
                    _ => behind >> 1,
                };
                let to = bit(to);
                let known = sum.add_around_king::<S, C>(
                    view,
                    Kind::Pawn,
                    lowest(from),
                    west::<C>(from) | east::<C>(from),
                    to & safe,
                    vacated,
                );
                sum.total = sum.total.wrapping_add(passing(double & known));
                make(from, to & !known);
            });
        }
        each(special, |from| {
            let set = bit(from);
            let goal = if set & pinned != 0 { line(king, from).0 } else { !0 };
            let single = ahead::<C>(set) & !occupied;
            let double = ahead::<C>(single & C::THIRD) & !occupied;
            let attacked = west::<C>(set) | east::<C>(set);
            let to = (single | double | attacked & them) & goal;
            let safe = to & !(C::LAST | double & unclear);
            let rest = sum.add_piece::<S, C>(view, Kind::Pawn, from, attacked, safe);
            let known = safe & !rest;
            sum.total = sum.total.wrapping_add(passing(double & known));
            make(set, to & !known);
        });
        made
    }

    /// By how much their replies grow because of the squares on which our moves arrive.
    #[inline]
    fn settle<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        replies: &Replies,
        arrivals: &Arrivals,
        single: u64,
        double: u64,
        theirs: &[u64; SLIDERS_MAX],
    ) -> u64 {
        let mut total = 0u64;
        let before_double = back::<C::Other>(double);
        let mut weight = 1u64;
        for digit in arrivals.digits {
            let quiet = digit & !replies.occupied;
            let last = quiet & replies.last;
            let gained = size(quiet & replies.west)
                + size(quiet & replies.east)
                + 3 * (size(last & replies.west) + size(last & replies.east));
            let lost = size(quiet & single)
                + size(quiet & double)
                + size(quiet & before_double)
                + 3 * size(last & single);
            total = total.wrapping_add(weight.wrapping_mul(gained.wrapping_sub(lost)));
            weight *= 2;
        }
        let any = arrivals.any();
        each(any & replies.them, |taken| {
            let gain = replies.capture::<S, C>(sliders, board, taken);
            total = total.wrapping_add(gain.wrapping_mul(arrivals.at(taken)));
        });
        let quiet = any & !replies.occupied;
        let mut index = 0;
        let mut blocked = |from: Square| {
            let attacks = theirs[index & (SLIDERS_MAX - 1)];
            index += 1;
            let to = attacks & !replies.them;
            each(attacks & quiet, |square| {
                let upward = (!1u64) << square.index();
                let side = if square > from { upward } else { !upward ^ bit(square) };
                let lost = size(line(from, square).0 & side & to);
                total = total.wrapping_sub(lost * arrivals.at(square));
            });
        };
        each(replies.diagonals, &mut blocked);
        each(replies.orthogonals, &mut blocked);
        total
    }
}

/// One square towards the a-file.
#[inline(always)]
fn west_of(set: u64) -> u64 {
    (set & !A_FILE) >> 1
}

/// One square towards the h-file.
#[inline(always)]
fn east_of(set: u64) -> u64 {
    (set << 1) & !A_FILE
}
