//! The plan of a record, cut again, and read position by position.

use referee_api::v1;
use referee_api::v1::position::Base;
use referee_chess::{CastlingMode, Position, PositionKey, chess960};
use referee_perft::{
    Cut, Means, Plan, Share, Task, TaskSize, Tasks, key_to_bytes, limits::TASK_POSITIONS_MAX,
    read_position,
};
use referee_spill::SpillFolder;

use super::PerftDemand;
use crate::limits::{PLAN_CHILDREN_MAX, PLAN_PLIES_MAX};

/// So many positions are read from the plan at a time.
const READ_AT_ONCE: TaskSize = TaskSize {
    cost: u128::MAX,
    positions: TASK_POSITIONS_MAX / 4,
};

/// Reads the root of a tree.
pub(super) fn read_root(message: Option<&v1::Position>) -> Result<Position, String> {
    let Some(message) = message else {
        return Ok(Position::startpos());
    };
    let mode = match message.variant() {
        v1::Variant::Chess960 => CastlingMode::Chess960,
        v1::Variant::Standard | v1::Variant::Unspecified => CastlingMode::Standard,
    };
    let number = match &message.base {
        None => Some((518, mode)),
        Some(Base::Chess960Number(number)) => Some((*number, CastlingMode::Chess960)),
        Some(Base::Fen(_)) => None,
    };
    let mut position = match (&message.base, number) {
        (Some(Base::Fen(fen)), _) => {
            read_position(fen, mode).map_err(|error| format!("its root: {error}"))?
        }
        (_, Some((number, mode))) => {
            chess960::startpos(number, mode).ok_or("its root is no starting position")?
        }
        (_, None) => Position::startpos(),
    };
    for text in &message.moves {
        let mv = position.read_move(text);
        let mv = mv.map_err(|error| format!("the move {text:?} to its root: {error}"))?;
        position.play_unchecked(mv);
    }
    Ok(position)
}

/// Cuts the tree in the way that a record says.
pub(super) fn cut(
    root: &Position,
    depth: u32,
    told: &v1::PerftPlan,
    demand: &PerftDemand<'_>,
) -> Result<Plan<SpillFolder>, String> {
    let (plies, children) = (told.plies_min, told.children_max);
    if plies == 0 || plies > PLAN_PLIES_MAX || children > PLAN_CHILDREN_MAX {
        return Err(format!(
            "it is cut after {plies} plies or {children} children, and {PLAN_PLIES_MAX} and \
             {PLAN_CHILDREN_MAX} are the most"
        ));
    }
    let cut = Cut {
        plies_min: plies,
        rest_min: told.rest_min,
        cost_max: 0,
        children_max: children,
    };
    let means = Means {
        cancelled: Some(demand.cancelled),
        ..Means::default()
    };
    let planned = demand
        .counter
        .install(|| demand.folder.plan(root, depth, cut, means));
    planned.map_err(|error| match std::error::Error::source(&error) {
        Some(cause) => format!("it cannot be cut again: {error}: {cause}"),
        None => format!("it cannot be cut again: {error}"),
    })
}

/// Reads a plan position by position.
pub(super) struct Cursor<'a> {
    tasks: Tasks<'a, SpillFolder>,
    task: Option<Task>,
    /// The place in the task.
    at: usize,
    number: u64,
}

/// A position of the plan.
pub(super) struct Place<'a> {
    pub(super) key: PositionKey,
    pub(super) rest: u32,
    shares: &'a [Share],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(plan: &'a Plan<SpillFolder>) -> Cursor<'a> {
        Cursor {
            tasks: plan.tasks(|_| READ_AT_ONCE),
            task: None,
            at: 0,
            number: 0,
        }
    }

    /// The number of the next position.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the next position; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Place<'_>>, String> {
        let is_read = self.task.as_ref().is_none_or(|task| self.at == task.len());
        if is_read {
            let task = self.tasks.next();
            let task = task.transpose().map_err(|error| error.to_string())?;
            (self.task, self.at) = (task, 0);
        }
        let Some(task) = &self.task else {
            return Ok(None);
        };
        let at = self.at;
        self.at += 1;
        self.number += 1;
        Ok(Some(Place {
            key: task.keys()[at],
            rest: task.rest(),
            shares: task.shares(at),
        }))
    }
}

impl Place<'_> {
    /// Says how it differs from what a record has in its place.
    pub(super) fn differs(&self, rest: u32, key: &[u8]) -> Option<String> {
        if key != key_to_bytes(self.key) {
            return Some(
                "is another one in the record: one was left out, put in or changed".into(),
            );
        }
        (rest != self.rest).then(|| {
            format!(
                "has {} plies below it, and the record counts {rest}",
                self.rest
            )
        })
    }

    pub(super) fn shares(&self) -> impl Iterator<Item = (u32, u64)> {
        self.shares.iter().map(|share| (share.owner, share.paths))
    }
}
