//! Where the search looks first.

use referee_chess::rays::{king_attacks, knight_attacks, pawn_attacks, rook_rays};
use referee_chess::sliders::{Sliders, WithSliders, with_sliders};
use referee_chess::{Bitboard, Color, Move, MoveKind, Position, Rank, Role, Square};

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
    /// A queen or rook of the loser, which can bar most mates.
    foe: i32,
    /// Pawns that can make no step are taken to stay where they are.
    minds_blocked: bool,
}

impl Plan {
    const fn of(weights: [i32; 14]) -> Plan {
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
        let [.., promotion_check, loss, check, capture, bar, foe] = weights;
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
            foe,
            minds_blocked: false,
        }
    }

    const fn minding_blocked(self) -> Plan {
        Plan {
            minds_blocked: true,
            ..self
        }
    }
}

/// The plans, in the order in which they are tried. The weights were found by trying: each was
/// tuned on positions that the plans before it do not solve in a few hundred positions.
pub(crate) const PLANS: [Plan; 3] = [
    Plan::of([3, 5, 16, 18, 13, 2, 0, 15, 6, 21, 10, 2, 10, 14]),
    Plan::of([3, 6, 0, 15, 26, 0, 0, 14, 10, 8, 6, 11, 12, 1]),
    Plan::of([0, 0, 24, 10, 13, 0, 0, 10, 10, 0, 20, 6, 2, 13]).minding_blocked(),
];

pub(crate) struct Guide {
    winner: Color,
    plan: Plan,
}

/// What the guide sees in one position.
pub(crate) struct View<'a> {
    position: &'a Position,
    winner: Color,
    plan: Plan,
    base: i32,
    loser_king: Square,
    /// Where the loser's king is to be mated.
    corner: Square,
    /// The squares beside the corner that a man of the loser is to bar, where this matters.
    bars: Bitboard,
    /// Steps until one does.
    bar: i32,
    /// Squares from which a rook or queen, and a bishop or queen, gives check.
    rook_checks: Bitboard,
    bishop_checks: Bitboard,
    /// The winner has neither a queen nor a rook.
    needs_promotion: bool,
    /// The winner has nothing but one knight, beside pawns, so that a queen bars no mate.
    has_lone_knight: bool,
}

/// Returns how many steps a king needs from one square to another.
#[inline]
fn distance(a: Square, b: Square) -> i32 {
    let (a, b) = (a.index() as i32, b.index() as i32);
    ((a & 7) - (b & 7)).abs().max(((a >> 3) - (b >> 3)).abs())
}

/// Returns how many steps a man is further off than two.
#[inline]
fn excess(a: Square, b: Square) -> i32 {
    (distance(a, b) - 2).max(0)
}

/// What the winner attacks, and from where a rook and a bishop give check.
struct Attacks<'a>(&'a Position, Color);

impl WithSliders for Attacks<'_> {
    type Output = (Bitboard, Bitboard, Bitboard);

    #[inline]
    fn run<S: Sliders>(self, sliders: S) -> Self::Output {
        let (position, winner) = (self.0, self.1);
        let board = position.board();
        let king = position.king(!winner);
        // The king shields no square behind it.
        let occupied = board.occupied() ^ Bitboard::of(king);
        let mut set = king_attacks(position.king(winner));
        let queens = board.role(Role::Queen);
        let men = board.color(winner);
        for from in men & board.role(Role::Knight) {
            set |= knight_attacks(from);
        }
        for from in men & (board.role(Role::Bishop) | queens) {
            set |= sliders.bishop(from, occupied);
        }
        for from in men & (board.role(Role::Rook) | queens) {
            set |= sliders.rook(from, occupied);
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
        let (men, foes) = (board.color(winner), board.color(!winner));
        let pawns = men & board.role(Role::Pawn);
        let heavy = board.role(Role::Queen) | board.role(Role::Rook);
        let loser_king = position.king(!winner);
        let (attacked, rook_checks, bishop_checks) = with_sliders(Attacks(position, winner));
        let needs_promotion = (men & heavy).is_empty();
        let corner = nearest_corner(position, winner, needs_promotion);
        let pieces = men - pawns - board.role(Role::King);
        let knights = board.role(Role::Knight);
        let mut view = View {
            position,
            winner,
            plan,
            base: 0,
            loser_king,
            corner,
            bars: Bitboard::EMPTY,
            bar: 0,
            rook_checks,
            bishop_checks,
            needs_promotion,
            has_lone_knight: (pieces - knights).is_empty() && !pieces.more_than_one(),
        };
        // Pawns that bar each other are of no help, either, but for the moment only.
        let steps = pawns.forward(winner) - board.occupied();
        if needs_promotion && (pawns.is_empty() || (plan.minds_blocked && steps.is_empty())) {
            view.bars = king_attacks(corner) & rook_rays(corner);
            view.bar = view.steps_to_bars(None);
        }
        let open = king_attacks(loser_king) - attacked;
        let goal = view.goal_of_king();
        view.base = (open - foes).count() as i32 * plan.flight
            + (open & foes).count() as i32 * plan.barred
            + (distance(loser_king, corner) - 1).max(0) * plan.corner
            + excess(position.king(winner), goal) * plan.kings
            + (foes & heavy).count() as i32 * plan.foe
            + view.bar * plan.bar;
        for piece in pieces {
            view.base += excess(piece, loser_king) * plan.piece;
        }
        if needs_promotion {
            let steps =
                |pawn: Square| i32::from(Rank::relative(!winner, pawn.rank().index()).index());
            view.base += pawns.into_iter().map(steps).min().unwrap_or(7) * plan.needed_pawn;
        }
        view
    }
}

/// More steps than any man is counted to need to a square beside the corner.
const BAR_MAX: i32 = 9;

/// Returns the corner nearest to the loser's king. Minor pieces mate in a corner of one color
/// only: where the bishop attacks, or where the loser's bishop bars the king.
fn nearest_corner(position: &Position, winner: Color, needs_promotion: bool) -> Square {
    let board = position.board();
    let bishops = board.role(Role::Bishop);
    let (own, foreign) = (
        board.color(winner) & bishops,
        board.color(!winner) & bishops,
    );
    let is_dark = if own.any() {
        (own & Bitboard::DARK).any()
    } else {
        (foreign & Bitboard::LIGHT).any()
    };
    let corners: &[u8] = match (needs_promotion, is_dark) {
        (false, _) => &[0, 7, 56, 63],
        (true, true) => &[0, 63],
        (true, false) => &[7, 56],
    };
    let king = position.king(!winner);
    let squares = corners.iter().map(|&index| Square::from_low_bits(index));
    squares
        .filter(|&corner| corner != position.king(winner))
        .min_by_key(|&corner| distance(corner, king))
        .unwrap_or(king)
}

impl View<'_> {
    /// Returns where the winner's king is to go: to the loser's, and at once to the corner where
    /// that one needs bars.
    fn goal_of_king(&self) -> Square {
        if self.bars.any() {
            self.corner
        } else {
            self.loser_king
        }
    }

    /// Returns how far from a mate the position seems; 0 is near.
    pub(crate) fn base(&self) -> i32 {
        self.base
    }

    /// Returns how far from a mate a move seems to lead.
    #[inline]
    pub(crate) fn priority(&self, role: Role, mv: Move) -> i32 {
        let delta = if self.position.turn() == self.winner {
            self.winner_delta(role, mv)
        } else {
            self.loser_delta(role, mv)
        };
        self.base + delta
    }

    #[inline]
    fn winner_delta(&self, role: Role, mv: Move) -> i32 {
        let plan = &self.plan;
        let (from, to) = (mv.from(), mv.to());
        let board = self.position.board();
        let nearer = |goal| excess(to, goal) - excess(from, goal);
        let mut delta = match role {
            Role::King if self.bars.any() => {
                let steps = self.steps_to_bars(Some((from, role, to)));
                plan.kings * nearer(self.corner) + plan.bar * (steps - self.bar)
            }
            Role::King => plan.kings * nearer(self.loser_king),
            Role::Pawn if self.needs_promotion => -plan.needed_pawn,
            Role::Pawn => -plan.pawn,
            _ => plan.piece * nearer(self.loser_king),
        };
        if let MoveKind::Promotion(role) = mv.kind() {
            delta -= plan.promotion;
            if self.gives_check(role, to) {
                delta -= plan.promotion_check;
            }
        }
        if board.occupied().contains(to) {
            delta -= plan.capture;
            if (board.role(Role::Queen) | board.role(Role::Rook)).contains(to) {
                delta -= plan.foe;
            }
        }
        if self.gives_check(role, to) {
            delta -= plan.check;
        }
        delta
    }

    #[inline]
    fn loser_delta(&self, role: Role, mv: Move) -> i32 {
        let plan = &self.plan;
        let (from, to) = (mv.from(), mv.to());
        let mut delta = 0;
        if role == Role::King {
            let left = |square| (distance(square, self.corner) - 1).max(0);
            delta += plan.corner * (left(to) - left(from));
        } else if self.bars.any() {
            let role = mv.promotion().unwrap_or(role);
            delta += plan.bar * (self.steps_to_bars(Some((from, role, to))) - self.bar);
        }
        if self.position.board().color(self.winner).contains(to) {
            delta += plan.loss;
        }
        delta
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

    /// Returns about how many moves it takes until both squares beside the corner are barred by
    /// men of the loser, or one of them is guarded by the winner's king; perhaps after a move of a
    /// man from a square, as something, to another one.
    fn steps_to_bars(&self, moved: Option<(Square, Role, Square)>) -> i32 {
        let board = self.position.board();
        let mut king = self.position.king(self.winner);
        let mut costs = [[BAR_MAX; 2]; 2];
        // For each of the two squares the cheapest man, and the cheapest other one.
        let mut cheapest = [0; 2];
        let mut consider = |number: usize, steps: [i32; 2]| {
            for (bar, steps) in steps.into_iter().enumerate() {
                if steps < costs[bar][0] {
                    costs[bar] = [steps, costs[bar][0]];
                    cheapest[bar] = number;
                } else if steps < costs[bar][1] {
                    costs[bar][1] = steps;
                }
            }
        };
        let foes = board.color(!self.winner) - board.role(Role::King);
        for square in foes {
            let (role, square) = match moved {
                Some((from, role, to)) if from == square => (role, to),
                _ => (board.role_at(square).unwrap_or(Role::Pawn), square),
            };
            consider(square.index(), self.steps_of(role, square));
        }
        if let Some((from, _, to)) = moved
            && from == king
        {
            king = to;
        }
        let bars = self.bars;
        let mut guard = [BAR_MAX; 2];
        for (steps, bar) in guard.iter_mut().zip(bars) {
            *steps = (distance(king, bar) - 1).max(0);
        }
        consider(64, guard);
        if cheapest[0] == cheapest[1] {
            (costs[0][0] + costs[1][1]).min(costs[0][1] + costs[1][0])
        } else {
            costs[0][0] + costs[1][0]
        }
    }

    /// Returns about how many moves a man of the loser needs to each of the squares beside the
    /// corner, from where it does not spoil the mate.
    fn steps_of(&self, role: Role, from: Square) -> [i32; 2] {
        let mut steps = [BAR_MAX; 2];
        for (steps, bar) in steps.iter_mut().zip(self.bars) {
            *steps = match role {
                _ if from == bar && role != Role::Queen => 0,
                Role::Knight => {
                    let steps = (distance(from, bar) + 1) / 2;
                    // Each jump changes the color of the square.
                    let is_odd = from.is_light() != bar.is_light();
                    if (steps % 2 == 1) == is_odd {
                        steps
                    } else {
                        steps + 1
                    }
                }
                Role::Bishop if from.is_light() == bar.is_light() => 2,
                // Against a bishop it could step in between; a queen could take a knight, too.
                Role::Rook if self.has_lone_knight => 3,
                Role::Pawn => {
                    3 + i32::from(Rank::relative(self.winner, from.rank().index()).index())
                }
                _ => BAR_MAX,
            };
        }
        steps
    }
}
