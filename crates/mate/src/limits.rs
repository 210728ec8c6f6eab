//! Every limit of this crate: how much work an answer may cost.

/// Positions that the quick tier may make for one question, so that its worst case stays below
/// a millisecond. It is reached by no position of ordinary play.
pub const QUICK_NODES: u64 = 1_000;

/// Positions that the full tier may visit for one question where the caller has no wish of its
/// own: about a second.
pub const FULL_NODES: u64 = 2_000_000;

/// The greatest budget that is taken; a greater one is cut to this. The search keeps some 400
/// bytes for each position that it visits, most of them for moves that were not made yet.
pub const MAX_NODES: u64 = 10_000_000;

/// Forced moves that are followed before anything else is tried.
pub const FORCED_PLIES: u32 = 100;

/// Positions between two looks at the wish to cancel.
pub const CANCEL_INTERVAL: u64 = 256;

/// Halfmoves without a capture or a move of a pawn after which a game is drawn without a claim
/// (FIDE Laws 9.6.2: 75 moves by each player).
pub const AUTOMATIC_DRAW_HALFMOVES: u32 = 150;

/// Positions of each guided attempt to mate before these draws; then all lines are tried in order.
pub const DRAWS_ATTEMPT_NODES: u64 = 10_000;

/// Appearances of a position after which a game is drawn without a claim (FIDE Laws 9.6.1).
pub const AUTOMATIC_DRAW_APPEARANCES: u32 = 5;

/// Plies of the full-width look for lines that end at once.
pub const PROBE_PLIES: u32 = 4;

/// Positions of that look.
pub const PROBE_NODES: u32 = 150;

/// Mates by minor pieces that are chosen beforehand and worked towards, one after the other.
pub const PICTURES: usize = 4;

/// Positions of each such attempt.
pub const PICTURE_NODES: u64 = 300;

/// Men that bar pawns which the king of the winner takes, one after the other.
pub const BREACHES: usize = 4;

/// Positions until it takes each of them.
pub const BREACH_NODES: u64 = 300;

/// Positions of the attempts of the search. The last one may use the rest of the budget. One that
/// goes astray does so for long, so the first ones are short; those from [`FIRST_LONG_ATTEMPT`] on
/// also cut branches by their structure.
pub const ATTEMPTS: [u64; 15] = [
    200, 200, 200, 500, 500, 500, 2_000, 1_500, 1_500, 1_500, 10_000, 30_000, 200_000, 200_000,
    MAX_NODES,
];

/// The number of the first attempt that cuts branches.
pub const FIRST_LONG_ATTEMPT: usize = 10;

/// Moves of the position up to which that look is taken; where there are more, they never all end
/// so soon but in endings that other arguments decide as well.
pub const PROBE_MOVES: usize = 12;

/// Steps that the quick tier may spend on the structure: below a millisecond.
pub const QUICK_STEPS: u32 = 12_000;

/// Steps that the full tier may spend on the structure of the position asked about.
pub const FULL_STEPS: u32 = 2_000_000;

/// Steps for the structure of a branch of its search.
pub const BRANCH_STEPS: u32 = 20_000;

/// Captures that the quick tier follows one by one in the structure.
pub const QUICK_CAPTURES: u32 = 0;

/// Captures that the full tier follows one by one in the structure of the position asked about.
pub const FULL_CAPTURES: u32 = 6;

/// Captures that are followed one by one in the structure of a branch of its search.
pub const BRANCH_CAPTURES: u32 = 1;

/// Moves of a position up to which each is made before its structure is looked at.
pub const EXPANDED_MOVES: usize = 8;

/// Plies of such moves.
pub const EXPANDED_PLIES: u32 = 3;

/// Steps for the structure after each of these moves.
pub const EXPANDED_STEPS: u32 = 200_000;

/// Plies up to which a line is left as it is.
pub const SHORT_LINE_PLIES: usize = 100;

/// How lines are made shorter: over so many plies at once, up to such a length.
pub const SHORTCUTS: [(u32, usize); 2] = [(1, MAX_NODES as usize), (2, 1_000)];

/// Sets of men and pawns of which a search by novelty remembers where they have been; each takes
/// some 600 bytes.
pub const NOVELTY_STAGES: usize = 20_000;
