//! Stores over stores: what measures and what fails on demand, for any engine.

mod faulty;
mod metered;
mod shared;

pub use faulty::{Disk, FaultPlan, Faulty};
pub use metered::{Metered, MethodStats};
