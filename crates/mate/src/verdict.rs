//! What an answer looks like: yes with a line, no with a proof, or unknown.

use core::fmt;

use referee_chess::Move;

use crate::limits::{FULL_NODES, MAX_NODES, QUICK_NODES};

/// Whether a side can mate by any legal series of moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CanMate {
    /// It can: these moves, from the position that was asked about, end in its mate. No move where
    /// the mate is on the board already.
    Yes(Vec<Move>),
    /// It cannot, by this argument.
    No(Proof),
    /// The budget ended first, or the caller cancelled.
    Unknown {
        /// Positions that were visited.
        nodes: u64,
    },
}

impl CanMate {
    /// Returns the letter of the verdict in suites: `Y`, `N` or `?`.
    #[must_use]
    pub const fn to_char(&self) -> char {
        match self {
            CanMate::Yes(_) => 'Y',
            CanMate::No(_) => 'N',
            CanMate::Unknown { .. } => '?',
        }
    }

    /// Returns whether the verdict is a `No`.
    #[must_use]
    pub const fn is_no(&self) -> bool {
        matches!(self, CanMate::No(_))
    }

    /// Returns whether the verdict is a `Yes`.
    #[must_use]
    pub const fn is_yes(&self) -> bool {
        matches!(self, CanMate::Yes(_))
    }
}

/// The argument by which a side can never mate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proof {
    /// The position is the end of the game: the side is mated, or there is a stalemate.
    GameOver,
    /// The material can mate in no position whatever.
    Material,
    /// The next moves leave no choice that matters: every line ends within a few plies in one of
    /// the cases above, or goes round in a circle.
    ForcedLine,
    /// The men are so blocked that the king of the opponent can never be mated, wherever all of
    /// them can go.
    BlockedStructure,
    /// All positions that can arise were visited, but for those ruled out by the arguments above,
    /// and none is a mate.
    ExhaustedSearch,
    /// The side could mate, but every mate comes after the game is drawn without a claim, by
    /// seventy-five moves or fivefold repetition. Only where the question asks for this.
    MoveCount,
}

impl Proof {
    /// Returns the name of the argument in snake case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Proof::GameOver => "game_over",
            Proof::Material => "material",
            Proof::ForcedLine => "forced_line",
            Proof::BlockedStructure => "blocked_structure",
            Proof::ExhaustedSearch => "exhausted_search",
            Proof::MoveCount => "move_count",
        }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Proof::GameOver => "the game is over on the board",
            Proof::Material => "the material can never mate",
            Proof::ForcedLine => "the forced moves end without a mate",
            Proof::BlockedStructure => "the blocked structure never lets the mating men through",
            Proof::ExhaustedSearch => "no position that can arise is a mate",
            Proof::MoveCount => "every mate comes after the automatic draws",
        })
    }
}

/// How many positions an answer may visit. Never a time, so that every machine rules alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Positions, at most [`MAX_NODES`].
    nodes: u64,
}

impl Budget {
    /// The budget of the quick tier.
    pub const QUICK: Budget = Budget::of(QUICK_NODES);
    /// The budget of the full tier.
    pub const FULL: Budget = Budget::of(FULL_NODES);

    /// Returns a budget of some positions; more than [`MAX_NODES`] become that.
    #[must_use]
    pub const fn of(nodes: u64) -> Budget {
        Budget {
            nodes: if nodes < MAX_NODES { nodes } else { MAX_NODES },
        }
    }

    /// Returns the positions that may be visited.
    #[must_use]
    pub const fn nodes(self) -> u64 {
        self.nodes
    }
}
