//! Whether a side can still mate, as the profile of a game asks it: by any series of legal moves,
//! or by a table of material.

use referee_chess::{Bitboard, Color, Position, Role, UciMove};
use referee_mate::{AutomaticDraws, Budget, Proof};

use crate::history::History;
use crate::profile::{MateTest, Profile};

/// Whether a side can mate by some series of legal moves of both sides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CanMate {
    /// It can, for example by these moves from the position; empty where mate is on the board, and
    /// where a table of material says so.
    Yes(Vec<UciMove>),
    /// It cannot, and here is why.
    No(NoMate),
    /// It was not decided.
    Unknown,
}

impl CanMate {
    /// Returns the proof that the side cannot mate, where there is one.
    #[must_use]
    pub fn no_mate(self) -> Option<NoMate> {
        match self {
            CanMate::No(no_mate) => Some(no_mate),
            CanMate::Yes(_) | CanMate::Unknown => None,
        }
    }
}

/// A kind of proof that a side cannot mate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoMateKind {
    /// The pieces on the board do not suffice, wherever they stand.
    Material,
    /// The game is over on the board: the side is mated, or there is stalemate.
    GameOver,
    /// The next moves leave no choice that matters.
    ForcedLine,
    /// The men are so blocked that the king can never be mated.
    BlockedStructure,
    /// All positions that can arise were visited, and none is a mate.
    ExhaustedSearch,
    /// Every mate comes after the game is drawn without a claim (9.6), where the profile asks.
    MoveCount,
    /// The profile counts material by a table of its own.
    Table,
}

/// Why a side cannot mate by any series of legal moves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NoMate {
    /// The side that cannot mate.
    pub side: Color,
    /// The kind of the proof.
    pub kind: NoMateKind,
    /// The proof in one sentence.
    pub text: String,
}

impl NoMate {
    fn of(side: Color, proof: Proof) -> NoMate {
        let kind = match proof {
            Proof::GameOver => NoMateKind::GameOver,
            Proof::Material => NoMateKind::Material,
            Proof::ForcedLine => NoMateKind::ForcedLine,
            Proof::BlockedStructure => NoMateKind::BlockedStructure,
            Proof::ExhaustedSearch => NoMateKind::ExhaustedSearch,
            Proof::MoveCount => NoMateKind::MoveCount,
        };
        NoMate {
            side,
            kind,
            text: format!("{side} cannot mate: {proof}."),
        }
    }
}

/// Who can mate in a position of a game, found after a ruling that could not wait for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MateFinding {
    /// The ply of the position.
    pub ply: u32,
    /// Whether White can mate there.
    pub white: CanMate,
    /// Whether Black can.
    pub black: CanMate,
    /// The positions that were visited for it.
    pub nodes: u64,
}

/// The memory of one question to the whole of the mate solver, in bytes: for more than a million
/// positions.
pub const SOLVER_BYTES_MAX: u64 = 224 << 20;

/// How much may be spent on a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Microseconds: what is asked after each move.
    Quick,
    /// So many positions: what is asked when the game ends by it.
    Full(Budget),
}

/// Returns whether a side can mate by any series of legal moves (5.1.2, 5.2.2, 6.9, 7.5.5).
///
/// Where a pawn was left on its last rank it is not decided: what it will become is not known.
#[must_use]
pub fn can_mate(position: &Position, side: Color, tier: Tier) -> CanMate {
    if has_pawn_left(position) {
        return CanMate::Unknown;
    }
    let answer = match tier {
        Tier::Quick => referee_mate::quick(position, side),
        Tier::Full(budget) => referee_mate::can_mate(position, side, budget, &|| false),
    };
    translate(position, side, answer)
}

/// Whether a pawn stands on the last rank of its side, where it was not replaced (7.5.2).
pub(crate) fn has_pawn_left(position: &Position) -> bool {
    (position.board().role(Role::Pawn) & Bitboard::BACK_RANKS).any()
}

pub(crate) fn translate(
    position: &Position,
    side: Color,
    answer: referee_mate::CanMate,
) -> CanMate {
    match answer {
        referee_mate::CanMate::Yes(line) => {
            let mut at = position.clone();
            let moves = line.into_iter().map(|mv| {
                let uci = at.uci(mv);
                at.play_unchecked(mv);
                uci
            });
            CanMate::Yes(moves.collect())
        }
        referee_mate::CanMate::No(proof) => CanMate::No(NoMate::of(side, proof)),
        referee_mate::CanMate::Unknown { .. } => CanMate::Unknown,
    }
}

/// What a question about mate decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Whether the game goes on (5.2.2).
    DeadPosition,
    /// Whether the game is won on time (6.9).
    Flag,
}

/// A question of who can mate, as a rule of a profile puts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    pub(crate) test: MateTest,
    pub(crate) purpose: Purpose,
    pub(crate) tier: Tier,
}

/// Returns whether a side can mate, as a test of a profile tells it.
pub(crate) fn examine(
    question: Question,
    history: &History,
    side: Color,
    profile: &Profile,
) -> CanMate {
    let position = history.position();
    let lacks = match question.test {
        MateTest::Full => {
            return match question.tier {
                Tier::Full(budget)
                    if profile.parameters.mate_before_automatic_draws
                        && !has_pawn_left(position) =>
                {
                    let keys = history.repeatable_keys();
                    let draws = AutomaticDraws { history: &keys };
                    let answer = referee_mate::can_mate_before_draws(
                        position,
                        side,
                        &draws,
                        budget,
                        &|| false,
                    );
                    translate(position, side, answer)
                }
                tier => can_mate(position, side, tier),
            };
        }
        MateTest::Off => return CanMate::Yes(Vec::new()),
        MateTest::Material => material_forbids(position, side),
        MateTest::OwnMaterial => {
            let is_draw = question.purpose == Purpose::DeadPosition;
            is_lone_minor(position, side) || (is_draw && are_knights_against_king(position, side))
        }
        MateTest::IcsTable => is_lone_minor(position, side),
        MateTest::UscfTable => match question.purpose {
            Purpose::DeadPosition => uscf_draw(position),
            Purpose::Flag => is_lone_minor(position, side) || uscf_two_knights(position, side),
        },
    };
    // A mate on the board stands, whatever a table says of the road to it (5.1.1).
    if lacks && !(position.turn() != side && position.is_checkmate()) {
        CanMate::No(NoMate {
            side,
            kind: NoMateKind::Table,
            text: format!("{side} lacks the material that the rules of this game ask for."),
        })
    } else {
        CanMate::Yes(Vec::new())
    }
}

/// Returns the quick proof that a side has not won the game that a record tells: neither by a flag
/// nor by a resignation nor by illegal moves, since it cannot mate (5.1.2, 6.9, 7.5.5). `None`
/// where it may have won, and where the profile lets a resignation win whatever the board.
#[must_use]
pub fn cannot_have_won(history: &History, side: Color, profile: &Profile) -> Option<NoMate> {
    let parameters = &profile.parameters;
    if !parameters.resign_no_mate_draw {
        return None;
    }
    let question = Question {
        test: parameters.flag_exception,
        purpose: Purpose::Flag,
        tier: Tier::Quick,
    };
    examine(question, history, side, profile).no_mate()
}

/// A king alone, or with one bishop or knight.
fn is_lone_minor(position: &Position, side: Color) -> bool {
    let board = position.board();
    let own = board.color(side);
    let minors = own & (board.role(Role::Bishop) | board.role(Role::Knight));
    own.count() == 1 || (own.count() == 2 && minors.any())
}

/// A king with two knights against a bare king, which chess.com draws at once, though the knights
/// still win on time.
fn are_knights_against_king(position: &Position, side: Color) -> bool {
    let board = position.board();
    board.color(side).count() == 3
        && board.pieces(side, Role::Knight).count() == 2
        && board.color(!side).count() == 1
}

/// A king with two knights against an opponent without pawns (US Chess 14E).
fn uscf_two_knights(position: &Position, side: Color) -> bool {
    let board = position.board();
    let own = board.color(side);
    own.count() == 3
        && board.pieces(side, Role::Knight).count() == 2
        && board.pieces(!side, Role::Pawn).is_empty()
}

/// A king against a king, with one minor piece, or each with a bishop on squares of one color (US
/// Chess 14D).
fn uscf_draw(position: &Position) -> bool {
    let board = position.board();
    let all = board.occupied().count();
    let bishops = board.role(Role::Bishop);
    let one_color = (bishops & Bitboard::LIGHT).is_empty() || (bishops & Bitboard::DARK).is_empty();
    let is_lone = |side| is_lone_minor(position, side);
    let lone = is_lone(Color::White) && is_lone(Color::Black);
    lone && (all <= 3 || (bishops.count() == 2 && one_color))
}

/// Returns whether the material of both sides, enemy men included, forbids that a side mates: a
/// bare king; a knight where the opponent has nothing but queens; bishops of one square color where
/// no other minor piece or pawn is on the board but such bishops.
fn material_forbids(position: &Position, side: Color) -> bool {
    let board = position.board();
    let own = board.color(side);
    let count = own.count();
    let (pawns, knights) = (board.role(Role::Pawn), board.role(Role::Knight));
    if count == 1 {
        return true;
    }
    if count == 2 && (own & knights).any() {
        let others = board.color(!side) - board.role(Role::Queen) - board.role(Role::King);
        return others.is_empty();
    }
    let bishops = board.role(Role::Bishop);
    let one_color = (bishops & Bitboard::LIGHT).is_empty() || (bishops & Bitboard::DARK).is_empty();
    (own - bishops).count() == 1 && one_color && (pawns | knights).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use referee_chess::CastlingMode;

    #[test]
    fn material_tests_say_what_the_tables_say() {
        // FEN, then for White and for Black: by the men of both sides, by the own men, by US Chess
        // on a flag.
        let cases = [
            ("8/8/3k4/8/2b5/8/4B3/4K3 w - - 0 1", "yyy yyy"),
            ("8/8/3k4/8/2b5/8/5B2/4K3 w - - 0 1", "nyy nyy"),
            ("8/8/3k4/8/2b5/8/5N2/4K3 w - - 0 1", "nyy nyy"),
            ("8/8/3k4/8/2q5/8/5N2/4K3 w - - 0 1", "yyy nnn"),
            ("8/8/3k4/8/2r5/8/5N2/4K3 w - - 0 1", "nyy nnn"),
            ("8/8/3k4/8/2r5/8/5B2/4K3 w - - 0 1", "yyy nnn"),
            ("2b1k3/8/8/5b2/8/3B4/8/4K3 w - - 0 1", "yyy ynn"),
            ("8/8/3k4/8/8/8/8/1N2K1N1 w - - 0 1", "nny yyy"),
            ("8/7p/3k4/8/8/8/8/1N2K1N1 w - - 0 1", "nnn nnn"),
        ];
        let profile = Profile::fide_standard();
        for (fen, expected) in cases {
            let base = Position::from_fen(fen, CastlingMode::Standard).expect("a legal FEN");
            let history = History::new(base);
            let found: Vec<String> = [Color::White, Color::Black]
                .into_iter()
                .map(|side| {
                    [
                        MateTest::Material,
                        MateTest::OwnMaterial,
                        MateTest::UscfTable,
                    ]
                    .into_iter()
                    .map(|test| {
                        let question = Question {
                            test,
                            purpose: Purpose::Flag,
                            tier: Tier::Quick,
                        };
                        match examine(question, &history, side, &profile) {
                            CanMate::No(_) => 'y',
                            _ => 'n',
                        }
                    })
                    .collect()
                })
                .collect();
            assert_eq!(found.join(" "), expected, "{fen}");
        }
    }
}
