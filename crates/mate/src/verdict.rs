//! What an answer looks like: yes with a line, no with a proof, or unknown.

use core::fmt;

use referee_chess::Move;

use crate::limits::{FULL_NODES, MAX_NODES, QUICK_NODES};

/// Whether a side can mate by any legal series of moves.
///
/// ```
/// use referee_chess::{Color, Position};
/// use referee_mate::{Budget, CanMate, can_mate};
///
/// let start = Position::startpos();
/// let CanMate::Yes(line) = can_mate(&start, Color::Black, Budget::FULL, &|| false) else {
///     panic!("Black can mate from the starting position");
/// };
/// let mut position = start;
/// for mv in line {
///     position.play(mv).expect("each move is legal");
/// }
/// assert!(position.is_checkmate());
/// assert_eq!(position.turn(), Color::White);
/// ```
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
    ///
    /// ```
    /// use referee_mate::{CanMate, Proof};
    ///
    /// assert_eq!(CanMate::Yes(vec![]).to_char(), 'Y');
    /// assert_eq!(CanMate::No(Proof::Material).to_char(), 'N');
    /// assert_eq!(CanMate::Unknown { nodes: 7 }.to_char(), '?');
    /// ```
    #[must_use]
    pub const fn to_char(&self) -> char {
        match self {
            CanMate::Yes(_) => 'Y',
            CanMate::No(_) => 'N',
            CanMate::Unknown { .. } => '?',
        }
    }

    /// Returns whether the verdict is a `No`.
    ///
    /// ```
    /// use referee_mate::{CanMate, Proof};
    ///
    /// assert!(CanMate::No(Proof::Material).is_no());
    /// assert!(!CanMate::Unknown { nodes: 7 }.is_no());
    /// ```
    #[must_use]
    pub const fn is_no(&self) -> bool {
        matches!(self, CanMate::No(_))
    }

    /// Returns whether the verdict is a `Yes`.
    ///
    /// ```
    /// use referee_mate::CanMate;
    ///
    /// assert!(CanMate::Yes(vec![]).is_yes());
    /// assert!(!CanMate::Unknown { nodes: 7 }.is_yes());
    /// ```
    #[must_use]
    pub const fn is_yes(&self) -> bool {
        matches!(self, CanMate::Yes(_))
    }
}

/// The argument by which a side can never mate.
///
/// ```
/// use referee_chess::{CastlingMode, Color, Position};
/// use referee_mate::{CanMate, Proof, quick};
///
/// let fen = "8/8/8/4k3/8/8/3B4/4K3 w - - 0 1";
/// let position = Position::from_fen(fen, CastlingMode::Standard).expect("the FEN is right");
/// let CanMate::No(proof) = quick(&position, Color::White) else {
///     panic!("a bishop alone never mates");
/// };
/// assert_eq!(proof, Proof::Material);
/// assert_eq!(proof.to_string(), "the material can never mate");
/// ```
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
    ///
    /// ```
    /// assert_eq!(referee_mate::Proof::BlockedStructure.name(), "blocked_structure");
    /// ```
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
///
/// ```
/// use referee_chess::{Color, Position};
/// use referee_mate::{Budget, CanMate, can_mate};
///
/// let answer = can_mate(&Position::startpos(), Color::White, Budget::of(1), &|| false);
/// assert!(matches!(answer, CanMate::Unknown { .. }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Positions, at most [`MAX_NODES`].
    nodes: u64,
    /// What a search may take in memory, in bytes.
    bytes: u64,
}

impl Budget {
    /// The budget of the quick tier.
    pub const QUICK: Budget = Budget::of(QUICK_NODES);
    /// The budget of the full tier.
    pub const FULL: Budget = Budget::of(FULL_NODES);

    /// Returns a budget of some positions; more than [`MAX_NODES`] become that.
    ///
    /// ```
    /// use referee_mate::{Budget, limits::MAX_NODES};
    ///
    /// assert_eq!(Budget::of(1_000).nodes(), 1_000);
    /// assert_eq!(Budget::of(u64::MAX).nodes(), MAX_NODES);
    /// ```
    #[must_use]
    pub const fn of(nodes: u64) -> Budget {
        Budget {
            nodes: if nodes < MAX_NODES { nodes } else { MAX_NODES },
            bytes: u64::MAX,
        }
    }

    /// Returns the budget with a bound on the memory that a search takes, in bytes: one that needs
    /// more ends as if it had visited all its positions. What is counted are the positions and
    /// moves that it keeps, which are the same on every machine; what the machine takes for them is
    /// at most a quarter more.
    ///
    /// ```
    /// use referee_chess::{Color, Position};
    /// use referee_mate::{Budget, CanMate, can_mate};
    ///
    /// let start: Position = Position::startpos();
    /// let budget = Budget::FULL.within(1 << 20);
    /// assert!(!matches!(can_mate(&start, Color::White, budget, &|| false), CanMate::No(_)));
    /// ```
    #[must_use]
    pub const fn within(self, bytes: u64) -> Budget {
        Budget { bytes, ..self }
    }

    /// Returns what a search may take in memory, in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.bytes
    }

    /// Returns the positions that may be visited.
    ///
    /// ```
    /// use referee_mate::{Budget, limits::FULL_NODES};
    ///
    /// assert_eq!(Budget::FULL.nodes(), FULL_NODES);
    /// ```
    #[must_use]
    pub const fn nodes(self) -> u64 {
        self.nodes
    }
}
