//! What is counted towards a draw: occurrences of a position (9.2), and moves without progress
//! (9.3, 9.6).

use referee_chess::Position;

use crate::history::History;
use crate::profile::{FiftyReset, Profile};

/// Half-moves without a capture or a pawn move that make a claim of fifty moves correct (9.3).
pub(crate) const FIFTY_MOVES: u32 = 100;
/// Half-moves without a capture or a pawn move that end the game (9.6.2).
pub(crate) const SEVENTY_FIVE_MOVES: u32 = 150;
/// Occurrences of a position that make a claim correct (9.2).
pub(crate) const THREEFOLD: u32 = 3;
/// Occurrences of a position that end the game (9.6.1).
pub(crate) const FIVEFOLD: u32 = 5;

/// The half-moves since the last capture, as they were last set; later captures begin them again.
/// They count in profiles in which a pawn move does not reset the fifty moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct CaptureCount {
    /// The ply at which they were set.
    pub ply: u32,
    /// How many they were there.
    pub count: u32,
}

impl CaptureCount {
    /// Returns the count of a game that begins from a position: there was no capture in the
    /// half-moves that its clock counts.
    #[must_use]
    pub fn at_start(base: &Position) -> CaptureCount {
        CaptureCount {
            ply: 0,
            count: base.halfmove_clock(),
        }
    }

    /// Returns the half-moves up to the position on the board: from the ply at which they were
    /// set, or from the last capture after it.
    pub(crate) fn now(self, history: &History) -> u32 {
        let (ply, captured) = (history.ply(), history.last_capture_ply());
        if captured > self.ply || self.ply > ply {
            ply - captured
        } else {
            self.count.saturating_add(ply - self.ply)
        }
    }
}

/// Returns the half-moves that count for fifty moves under a profile (9.3).
pub(crate) fn fifty_count(history: &History, captures: CaptureCount, profile: &Profile) -> u32 {
    match profile.parameters.fifty_reset {
        FiftyReset::PawnOrCapture => history.halfmove_clock(),
        FiftyReset::Capture => captures.now(history),
    }
}

/// Returns the ply from which [`fifty_count`] counts; 0 where that is before the first move.
pub(crate) fn last_progress(history: &History, profile: &Profile) -> u32 {
    match profile.parameters.fifty_reset {
        FiftyReset::PawnOrCapture => history.last_reset_ply(),
        FiftyReset::Capture => history.last_capture_ply(),
    }
}
