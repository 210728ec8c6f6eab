//! What the service promises, tested from outside. Each suite is a module and runs alone by its
//! name: `cargo test -p referee-tests masters::`.
//!
//! | suite | holds |
//! |---|---|
//! | `rooms` | the directions between the crates, and their licences |
//! | `tidy` | what is true of every source file |
//! | `limits` | every limit that the contract states |
//! | `masters` | well-known games through the running binary, ply by ply |
//! | `crash` | acknowledged answers after `kill -9` |
//! | `bad_input` | the status and details of what cannot be judged |
//! | `conformance` | the cases that need neither clocks nor hands |
//! | `service` | repetition of requests, watching, playing, the Laws through the wire |
//! | `grpcurl` | the commands of the README, with the real program

mod bad_input;
mod conformance;
mod crash;
mod grpcurl;
mod limits;
mod masters;
mod rooms;
mod service;
mod tidy;
