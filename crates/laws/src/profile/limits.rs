//! The greatest value of every parameter that is a number; the least is 0.

use super::Parameters;

impl Parameters {
    /// The greatest number of illegal moves that can be set to lose the game.
    pub const ILLEGAL_LIMIT_MAX: u32 = 100;
    /// The longest penalty, in milliseconds: an hour.
    pub const PENALTY_MS_MAX: u32 = 3_600_000;
    /// The greatest number of moves for which an illegal move can stay open to correction.
    pub const ILLEGAL_WINDOW_MOVES_MAX: u32 = 1_000;
    /// The greatest number of half-moves between two offers.
    pub const OFFER_COOLDOWN_PLIES_MAX: u32 = 1_000;
    /// The greatest number of half-moves after an offer within which a third occurrence draws.
    pub const THREEFOLD_AFTER_OFFER_PLIES_MAX: u32 = 1_000;
    /// The greatest number of moves before which agreement can be forbidden.
    pub const MIN_MOVES_FOR_AGREEMENT_MAX: u32 = 200;
    /// The greatest number of half-moves before which agreement can be forbidden.
    pub const MIN_PLIES_FOR_AGREEMENT_MAX: u32 = 400;
    /// The longest default time, in milliseconds: a day.
    pub const DEFAULT_TIME_MS_MAX: u32 = 86_400_000;
    /// The greatest number of half-moves before which a game can be aborted.
    pub const ABORT_PLIES_MAX: u32 = 100;
    /// The longest grace of a player who is gone, in milliseconds: a day.
    pub const DISCONNECT_GRACE_MS_MAX: u32 = 86_400_000;
    /// The most points for one game, in half-points.
    pub const HALF_POINTS_MAX: u32 = 200;
}
