//! A small tree, counted at once on one thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use referee_chess::Position;
use referee_perft::{Count, Means, count};

use crate::error::ServiceError;
use crate::pool::WorkPool;

/// What a tree comes to: all paths, and those by first move.
pub(crate) type Counted = (u128, Vec<(String, u128)>);

/// Tells the count that nobody waits for it any more.
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Counts a tree. Dropped, it stops: the thread is free soon after.
///
/// # Errors
///
/// Where too much waits already, or there are too many paths to count.
pub(crate) async fn count_small(
    pool: &WorkPool,
    root: Position,
    depth: u32,
) -> Result<Counted, ServiceError> {
    let flag = Arc::new(AtomicBool::new(false));
    let _gone = Gone(Arc::clone(&flag));
    let counted = pool.run(move || divide(&root, depth, &flag)).await?;
    counted.ok_or_else(|| {
        ServiceError::field("depth", "has 2^128 paths or more; ask for a smaller depth")
    })
}

/// Counts by first move; `None` where there is no room for a sum, or it was stopped.
fn divide(root: &Position, depth: u32, cancelled: &AtomicBool) -> Option<Counted> {
    let Some(below) = depth.checked_sub(1) else {
        return Some((1, Vec::new()));
    };
    let means = Means {
        cancelled: Some(cancelled),
        ..Means::default()
    };
    let mut divide = Vec::new();
    let mut nodes = 0u128;
    for mv in &root.legal_moves() {
        let Count::Done(paths) = count(&root.after_unchecked(mv), below, means) else {
            return None;
        };
        nodes = nodes.checked_add(paths)?;
        divide.push((root.uci(mv).to_string(), paths));
    }
    divide.sort();
    Some((nodes, divide))
}
