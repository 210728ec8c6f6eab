//! The commands, one file each: what the command line says, what the room behind it is asked, and
//! the exit code.

pub(crate) mod can_mate;
pub(crate) mod conform;
pub(crate) mod export;
pub(crate) mod game;
pub(crate) mod judge;
pub(crate) mod paper;
pub(crate) mod perft;
pub(crate) mod serve;
pub(crate) mod verify;
