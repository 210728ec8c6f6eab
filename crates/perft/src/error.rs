//! What can go wrong with a plan.

use core::fmt;
use std::io;

use crate::limits::DEPTH_MAX;

/// A plan cannot be made or read.
#[derive(Debug)]
pub enum PlanError {
    /// The depth is above [`DEPTH_MAX`].
    Depth(u32),
    /// There are 2 to the power of 64 paths to a position or more: the cut is too far down.
    TooMany,
    /// It was cancelled.
    Cancelled,
    /// The place where it is sorted has no more room, or does not give back what it took.
    Spill(io::Error),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth(depth) => write!(f, "the depth {depth} is above {DEPTH_MAX}"),
            Self::TooMany => f.write_str(
                "2^64 paths or more lead to one position: cut the tree nearer to its root",
            ),
            Self::Cancelled => f.write_str("the plan was cancelled"),
            Self::Spill(_) => f.write_str("the positions of the plan cannot be sorted"),
        }
    }
}

impl core::error::Error for PlanError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Spill(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for PlanError {
    fn from(error: io::Error) -> PlanError {
        PlanError::Spill(error)
    }
}
