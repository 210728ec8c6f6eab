//! The public contract of the chess referee as Rust types: messages, clients,
//! servers and descriptors.
//!
//! Everything here is generated from `proto/` when the crate is built; nothing
//! is written by hand. The protos are the documentation, and their comments are
//! found again on the types.
//!
//! Maps are ordered, so that equal messages have equal bytes:
//!
//! ```
//! use prost::Message;
//! use referee_api::v1::Game;
//!
//! let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
//! let game = |labels: [(String, String); 2]| Game {
//!     labels: labels.into(),
//!     ..Game::default()
//! };
//! let one = game([label("round", "1"), label("board", "7")]);
//! let other = game([label("board", "7"), label("round", "1")]);
//! assert_eq!(one.encode_to_vec(), other.encode_to_vec());
//! ```
#![forbid(unsafe_code)]

/// Package `referee.v1`: rules, games, perft jobs and the reasons of errors.
#[allow(missing_docs, unreachable_pub, clippy::all)]
pub mod v1 {
    tonic::include_proto!("referee.v1");
}

/// Package `referee.worker.v1`: between a server and its workers.
pub mod worker {
    /// Version 1.
    #[allow(missing_docs, unreachable_pub, clippy::all)]
    pub mod v1 {
        tonic::include_proto!("referee.worker.v1");
    }
}

/// All files of the contract and what they import, as the bytes of a
/// `google.protobuf.FileDescriptorSet` with comments: for reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
