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
    Board, Kind, Side, ahead, back, bishop, bit, can_castle, each, east, is_many, lowest, rook,
    size, west,
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
    /// Pieces that matter where they stand.
    origins: u64,
    /// Squares that no piece arrives on without effect.
    arrivals: u64,
    /// Squares on which a piece that attacks `zone` may block a second attack on it.
    second: u64,
    /// The squares that their king may step to or cross, as far as their own pieces go.
    zone: u64,
    /// Those of them that we attack exactly once.
    sole: u64,
    /// Squares from which a knight, bishop, rook, pawn or king gives check, pins, or attacks a
    /// square of the zone that is safe so far.
    knights: u64,
    bishops: u64,
    rooks: u64,
    pawns: u64,
    kings: u64,
}

/// What the other side has after a null move, and what bears on it.
struct Replies {
    occupied: u64,
    them: u64,
    their_pawns: u64,
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

    /// By how much their replies grow when a square is left, and the arrivals for which this does
    /// not hold.
    #[inline(always)]
    fn vacate<S: Sliders, C: Side>(&self, sliders: S, from: Square) -> (u64, u64) {
        let left = bit(from);
        let weight = if left & self.last != 0 { 4 } else { 1 };
        let mut gain = 0u64;
        let mut except = 0;
        if left & (self.west | self.east) != 0 {
            let captures = size(left & self.west) + size(left & self.east);
            gain = gain.wrapping_sub(weight * captures);
            except |= pawn_attacks(C::COLOR, from).0 & self.their_pawns;
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
        (gain, except)
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
    /// Adds the moves of one piece whose replies are known, and returns those that have to be
    /// made. `attacks` is what the piece attacks where it stands, `risky` where a piece of its
    /// kind acts on their king.
    #[inline(always)]
    fn add_piece<S: Sliders, C: Side>(
        &mut self,
        sliders: S,
        replies: &Replies,
        critical: &Critical,
        from: Square,
        attacks: u64,
        to: u64,
        risky: u64,
    ) -> u64 {
        if bit(from) & critical.origins != 0 || attacks & critical.sole != 0 {
            return to;
        }
        let mut known = to & !(critical.arrivals | risky);
        if attacks & critical.zone != 0 {
            known &= !critical.second;
        }
        let mut each_has = replies.count;
        if bit(from) & replies.sensitive() != 0 {
            let (gain, except) = replies.vacate::<S, C>(sliders, from);
            each_has = each_has.wrapping_add(gain);
            known &= !except;
        }
        self.total = self.total.wrapping_add(size(known).wrapping_mul(each_has));
        self.arrivals.add(known);
        to & !known
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
        critical.arrivals = king_attacks(their_king).0 & them;
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
                let (king_to, _) = crate::board::castle_targets(their_king, castler);
                critical.zone |= between(their_king, king_to).0 | bit(king_to);
                critical.arrivals |= path | bit(castler);
                critical.origins |= path & us;
                count += u64::from(can_castle::<S, C::Other>(
                    sliders, board, their_king, castler, once,
                ));
            }
        });
        critical.sole = critical.zone & once & !twice;
        let safe = critical.zone & !once;
        let king_bishop = bishop(sliders, their_king, occupied);
        let king_rook = rook(sliders, their_king, occupied);
        critical.bishops = bishop(sliders, their_king, occupied & !(king_bishop & them));
        critical.rooks = rook(sliders, their_king, occupied & !(king_rook & them));
        critical.knights = knight_attacks(their_king).0;
        let goals = safe | bit(their_king);
        critical.pawns = west::<C::Other>(goals) | east::<C::Other>(goals);
        each(safe, |square| {
            critical.knights |= knight_attacks(square).0;
            critical.kings |= king_attacks(square).0;
            critical.bishops |= bishop(sliders, square, occupied);
            critical.rooks |= rook(sliders, square, occupied);
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
            each(rays & safe & !attacks, |square| {
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
        let mut sum = Sum::default();
        let mut made = 0;
        let mut make = |kind: Kind, from: Square, to: u64| {
            each(to, |to| {
                let next = board.after::<C>(kind, bit(from), bit(to));
                made += leaf::<S, C::Other>(sliders, &next, 0);
            });
        };
        let on_pin = |from: Square, to: u64| {
            if bit(from) & pinned != 0 { to & line(king, from).0 } else { to }
        };
        each(board.knights & us & !pinned, |from| {
            let attacks = knight_attacks(from).0;
            let rest = sum.add_piece::<S, C>(
                sliders, &replies, &critical, from, attacks, attacks & !us, critical.knights,
            );
            make(Kind::Knight, from, rest);
        });
        let mut index = 0;
        let mut slide = |sum: &mut Sum, kind: Kind, from: Square, risky: u64| {
            let attacks = ours[index & (SLIDERS_MAX - 1)];
            index += 1;
            let to = on_pin(from, attacks & !us);
            let rest =
                sum.add_piece::<S, C>(sliders, &replies, &critical, from, attacks, to, risky);
            make(kind, from, rest);
        };
        each(bishops, |from| slide(&mut sum, Kind::Bishop, from, critical.bishops));
        each(rooks, |from| slide(&mut sum, Kind::Rook, from, critical.rooks));
        each(queens, |from| {
            slide(&mut sum, Kind::Queen, from, critical.bishops | critical.rooks);
        });
        let to = king_attacks(king).0 & !us & !attacked;
        let rest = sum.add_piece::<S, C>(
            sliders, &replies, &critical, king, king_attacks(king).0, to, critical.kings,
        );
        make(Kind::King, king, rest);
        each(board.castling & us, |castler| {
            if can_castle::<S, C>(sliders, board, king, castler, attacked) {
                let next = board.after_castling::<C>(king, castler);
                made += leaf::<S, C::Other>(sliders, &next, 0);
            }
        });
        made += pawn_moves::<S, C>(
            sliders, board, &replies, &critical, our_pawns, pinned, king, &mut sum,
        );
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
        sliders: S,
        board: &Board,
        replies: &Replies,
        critical: &Critical,
        our_pawns: u64,
        pinned: u64,
        king: Square,
        sum: &mut Sum,
    ) -> u64 {
        let occupied = replies.occupied;
        let mut made = 0;
        // Pawns that only move ahead or take, and change nothing by leaving, go as one set.
        let guards = west::<C::Other>(critical.sole) | east::<C::Other>(critical.sole);
        let special = our_pawns & (pinned | critical.origins | guards | replies.sensitive());
        let plain = our_pawns & !special;
        let risky = critical.arrivals | critical.pawns | C::LAST;
        let near = west::<C::Other>(critical.zone) | east::<C::Other>(critical.zone);
        let from_set = |pawns: u64, goal: u64| {
            let second = if pawns & near != 0 { critical.second } else { 0 };
            let risky = risky | second;
            let single = ahead::<C>(pawns) & !occupied;
            let double = ahead::<C>(single & C::THIRD) & !occupied & goal;
            let takers = board.pawns & replies.them;
            let answered = double & (west_of(takers) | east_of(takers));
            let (single, west, east) = (
                single & goal,
                west::<C>(pawns) & replies.them & goal,
                east::<C>(pawns) & replies.them & goal,
            );
            (single, double, west, east, risky, answered)
        };
        let mut act = |sum: &mut Sum, pawns: u64, goal: u64, all_made: bool, each_has: u64, except: u64| {
            let (single, double, west, east, risky, answered) = from_set(pawns, goal);
            let risky = if all_made { !0 } else { risky | except };
            for (to, risky, origin) in [
                (single, risky, (|to| back::<C>(to)) as fn(u64) -> u64),
                (double, risky | answered, |to| back::<C>(back::<C>(to))),
                (west, risky, |to| back::<C>(to << 1)),
                (east, risky, |to| back::<C>(to >> 1)),
            ] {
                let known = to & !risky;
                sum.total = sum.total.wrapping_add(size(known).wrapping_mul(each_has));
                sum.arrivals.add(known);
                each(to & !known, |to| {
                    let to = bit(to);
                    let from = origin(to);
                    if to & C::LAST != 0 {
                        for kind in [Kind::Queen, Kind::Rook, Kind::Bishop, Kind::Knight] {
                            let next = board.after_promotion::<C>(from, to, kind);
                            made += leaf::<S, C::Other>(sliders, &next, 0);
                        }
                    } else {
                        let next = board.after::<C>(Kind::Pawn, from, to);
                        let is_double = from == back::<C>(back::<C>(to));
                        let en_passant = if is_double { passed::<C>(&next, to) } else { 0 };
                        made += leaf::<S, C::Other>(sliders, &next, en_passant);
                    }
                });
            }
        };
        act(sum, plain, !0, false, replies.count, 0);
        each(special, |from| {
            let set = bit(from);
            let goal = if set & pinned != 0 { line(king, from).0 } else { !0 };
            let all_made = set & (critical.origins | guards) != 0;
            let (gain, except) = if all_made || set & replies.sensitive() == 0 {
                (0, 0)
            } else {
                replies.vacate::<S, C>(sliders, from)
            };
            act(sum, set, goal, all_made, replies.count.wrapping_add(gain), except);
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
        each(replies.diagonals, |from| blocked(from));
        each(replies.orthogonals, |from| blocked(from));
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
