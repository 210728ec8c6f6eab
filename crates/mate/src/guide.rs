//! Where the search looks first.

use referee_chess::rays::{king_attacks, knight_attacks, pawn_attacks};
use referee_chess::sliders::{Sliders, WithSliders, with_sliders};
use referee_chess::{Bitboard, Color, Move, MoveKind, Position, Role, Square};

/// How much each step counts that brings a mate nearer; the less, the sooner it is tried.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// A square around the loser's king that it can go to.
    flight: i32,
    /// A square around it that a man of its own bars.
    barred: i32,
    /// A step between the loser's king and the corner.
    corner: i32,
    /// A step between the kings.
    kings: i32,
    /// A step of the foremost pawn, where the winner has neither queen nor rook.
    needed_pawn: i32,
    /// A step between a piece of the winner and the loser's king.
    piece: i32,
    /// A step of any other pawn of the winner.
    pawn: i32,
    /// A promotion of the winner.
    promotion: i32,
    /// A promotion that gives check, on top.
    promotion_check: i32,
    /// A man that the winner loses.
    loss: i32,
    /// A check.
    check: i32,
    /// A man that the winner takes.
    capture: i32,
    /// A step of the man of the loser that is to bar its king in the corner.
    bar: i32,
}

impl Plan {
    const fn of(weights: [i32; 13]) -> Plan {
        let [
            flight,
            barred,
            corner,
            kings,
            needed_pawn,
            piece,
            pawn,
            promotion,
            ..,
        ] = weights;
        let [.., promotion_check, loss, check, capture, bar] = weights;
        Plan {
            flight,
            barred,
            corner,
            kings,
            needed_pawn,
            piece,
            pawn,
            promotion,
            promotion_check,
            loss,
            check,
            capture,
            bar,
        }
    }
}

/// The plans, in the order in which they are tried. The weights were found by trying: each was
/// tuned on positions that the plans before it do not solve in a few hundred positions.
pub(crate) const PLANS: [Plan; 3] = [
    Plan::of([3, 3, 10, 12, 6, 1, 0, 11, 4, 21, 2, 1, 6]),
    Plan::of([4, 3, 6, 4, 6, 1, 1, 8, 4, 8, 4, 0, 3]),
    Plan::of([10, 2, 4, 6, 6, 2, 0, 10, 8, 21, 8, 1, 4]),
];

pub(crate) struct Guide {
    winner: Color,
    plan: Plan,
}

/// What the guide sees in one position.
pub(crate) struct View<'a> {
    /// The squares beside the corner that a man of the loser is to bar, where this matters.
    bars: Bitboard,
    /// Steps until one does.
    bar: i32,
    position: &'a Position,
    winner: Color,
    base: i32,
    loser_king: Square,
    plan: Plan,
    corner: Square,
    rook_checks: Bitboard,
    bishop_checks: Bitboard,
    needs_promotion: bool,
}

#[inline]
pub(crate) fn distance(a: Square, b: Square) -> i32 {
    let (a, b) = (a.index() as i32, b.index() as i32);
    ((a & 7) - (b & 7)).abs().max(((a >> 3) - (b >> 3)).abs())
}

struct Attacks<'a>(&'a Position, Color);

impl WithSliders for Attacks<'_> {
    type Output = (Bitboard, Bitboard, Bitboard);
    #[inline]
    fn run<S: Sliders>(self, sliders: S) -> Self::Output {
        let (position, winner) = (self.0, self.1);
        let board = position.board();
        let king = position.king(!winner);
        let occupied = board.occupied() ^ Bitboard::of(king);
        let mut set = king_attacks(position.king(winner));
        let queens = board.role(Role::Queen);
        let men = board.color(winner);
        for s in men & board.role(Role::Knight) {
            set |= knight_attacks(s);
        }
        for s in men & (board.role(Role::Bishop) | queens) {
            set |= sliders.bishop(s, occupied);
        }
        for s in men & (board.role(Role::Rook) | queens) {
            set |= sliders.rook(s, occupied);
        }
        let pawns = (men & board.role(Role::Pawn)).forward(winner);
        set |= pawns.left() | pawns.right();
        (
            set,
            sliders.rook(king, occupied),
            sliders.bishop(king, occupied),
        )
    }
}

impl Guide {
    pub(crate) fn new(winner: Color, plan: usize) -> Guide {
        let plan = PLANS[plan % PLANS.len()];
        Guide { winner, plan }
    }

    pub(crate) fn view<'a>(&self, position: &'a Position) -> View<'a> {
        let (winner, plan) = (self.winner, self.plan);
        let board = position.board();
        let loser_king = position.king(!winner);
        let winner_king = position.king(winner);
        let (attacked, rook_checks, bishop_checks) = with_sliders(Attacks(position, winner));
        let around = king_attacks(loser_king);
        let open = around - attacked;
        let flights = (open - board.color(!winner)).count() as i32;
        let barred = (open & board.color(!winner)).count() as i32;
        let men = board.color(winner);
        let heavy = men & (board.role(Role::Queen) | board.role(Role::Rook));
        let needs_promotion = heavy.is_empty();
        let bishops = board.role(Role::Bishop);
        let dark = if (men & bishops).any() {
            (men & bishops & Bitboard::DARK).any()
        } else {
            (board.color(!winner) & bishops & Bitboard::LIGHT).any()
        };
        let corners: [u8; 4] = if needs_promotion {
            if dark { [0, 63, 0, 63] } else { [7, 56, 7, 56] }
        } else {
            [0, 7, 56, 63]
        };
        let mut corner = Square::from_low_bits(corners[0]);
        for c in corners {
            let c = Square::from_low_bits(c);
            if distance(c, loser_king) < distance(corner, loser_king) {
                corner = c;
            }
        }
        let near = distance(loser_king, corner);
        let mut base =
            flights * plan.flight + barred * plan.barred + (near - 1).max(0) * plan.corner;
        base += (distance(winner_king, loser_king) - 2).max(0) * plan.kings;
        if needs_promotion {
            let mut best = 7;
            for pawn in men & board.role(Role::Pawn) {
                let rank = pawn.rank().index() as i32;
                best = best.min(if winner == Color::White {
                    7 - rank
                } else {
                    rank
                });
            }
            base += best * plan.needed_pawn;
        }
        for piece in men - board.role(Role::Pawn) - board.role(Role::King) {
            base += (distance(piece, loser_king) - 2).max(0) * plan.piece;
        }
        let minor = needs_promotion && (men & board.role(Role::Pawn)).is_empty();
        let bars = if minor {
            rook_neighbors(corner)
        } else {
            Bitboard::EMPTY
        };
        let mut bar = 0;
        if minor {
            bar = 9;
            for piece in board.color(!winner) - board.role(Role::King) {
                let role = board.role_at(piece).unwrap_or(Role::Pawn);
                bar = bar.min(steps_to_bar(role, piece, bars, !winner));
            }
            base += bar * plan.bar;
        }
        View {
            bars,
            bar,
            position,
            winner,
            base,
            loser_king,
            plan,
            corner,
            rook_checks,
            bishop_checks,
            needs_promotion,
        }
    }
}

impl View<'_> {
    pub(crate) fn base(&self) -> i32 {
        self.base
    }

    #[inline]
    pub(crate) fn priority(&self, mv: Move) -> i32 {
        let board = self.position.board();
        let (from, to) = (mv.from(), mv.to());
        let role = board.role_at(from).unwrap_or(Role::Pawn);
        let mut delta = 0;
        if self.position.turn() == self.winner {
            match role {
                Role::King => {
                    delta += self.plan.kings
                        * ((distance(to, self.loser_king) - 2).max(0)
                            - (distance(from, self.loser_king) - 2).max(0));
                }
                Role::Pawn => {
                    delta -= if self.needs_promotion {
                        self.plan.needed_pawn
                    } else {
                        self.plan.pawn
                    };
                    if let MoveKind::Promotion(role) = mv.kind() {
                        delta -= self.plan.promotion;
                        if self.gives_check(role, to) {
                            delta -= self.plan.promotion_check;
                        }
                    }
                }
                _ => {
                    delta += self.plan.piece
                        * ((distance(to, self.loser_king) - 2).max(0)
                            - (distance(from, self.loser_king) - 2).max(0))
                }
            }
            if board.occupied().contains(to) {
                delta -= self.plan.capture;
            }
            if self.gives_check(role, to) {
                delta -= self.plan.check;
            }
        } else {
            if role == Role::King {
                delta += self.plan.corner
                    * ((distance(to, self.corner) - 1).max(0)
                        - (distance(from, self.corner) - 1).max(0));
            }
            if self.bars.any() && role != Role::King {
                let role = mv.promotion().unwrap_or(role);
                let bar = steps_to_bar(role, to, self.bars, !self.winner);
                let was = steps_to_bar(role, from, self.bars, !self.winner);
                if bar < self.bar {
                    delta -= self.plan.bar * (self.bar - bar);
                } else if was == self.bar {
                    delta += self.plan.bar * (bar - was);
                }
            }
            if board.color(self.winner).contains(to) {
                delta += self.plan.loss;
            }
        }
        self.base + delta
    }

    #[inline]
    fn gives_check(&self, role: Role, to: Square) -> bool {
        match role {
            Role::Pawn => pawn_attacks(!self.winner, self.loser_king).contains(to),
            Role::Knight => knight_attacks(self.loser_king).contains(to),
            Role::Bishop => self.bishop_checks.contains(to),
            Role::Rook => self.rook_checks.contains(to),
            Role::Queen => (self.bishop_checks | self.rook_checks).contains(to),
            Role::King => false,
        }
    }
}

/// Returns the squares beside a corner on its rank and file.
fn rook_neighbors(corner: Square) -> Bitboard {
    king_attacks(corner) & referee_chess::rays::rook_rays(corner)
}

/// Returns about how many moves a man of the loser needs to a square beside the corner.
fn steps_to_bar(role: Role, from: Square, bars: Bitboard, color: Color) -> i32 {
    if bars.contains(from) {
        return 0;
    }
    match role {
        Role::Knight => {
            let mut reached = Bitboard::of(from);
            for steps in 1..6 {
                let mut next = reached;
                for square in reached {
                    next |= knight_attacks(square);
                }
                if (next & bars).any() {
                    return steps;
                }
                reached = next;
            }
            6
        }
        Role::Bishop => {
            let color = if from.is_light() {
                Bitboard::LIGHT
            } else {
                Bitboard::DARK
            };
            if (bars & color).any() { 2 } else { 8 }
        }
        Role::Rook | Role::Queen => 3,
        Role::Pawn => {
            let rank = i32::from(from.rank().index());
            let last = if color == Color::White {
                7 - rank
            } else {
                rank
            };
            last + 3
        }
        Role::King => 9,
    }
}
