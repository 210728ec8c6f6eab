//! The messages of the contract and the values of the rules, one into the other.
//!
//! What reads a request is named `read_…`: it collects what is wrong with the fields, since a
//! caller may send anything. What reads back a record is named `stored_…`: it fails at the first
//! thing that this program could not have written. What goes the other way is named `write_…`.

pub mod action;
pub mod citation;
pub mod clocks;
pub mod conduct;
pub mod enums;
pub mod evidence;
pub mod position;
pub mod profile;
pub mod ruling;
pub mod stored;
pub mod time;

pub use enums::{InContract, write_optional};
