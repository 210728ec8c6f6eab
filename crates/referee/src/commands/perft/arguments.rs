//! The command line of `referee perft`, and what it means.

use std::path::PathBuf;

use clap::Args;
use referee_chess::Position;
use referee_perft::{LastPly, Processor, limits, read_position};

use super::memory;
use crate::connection::{Server, TrustArguments};
use crate::exit::Failure;
use crate::position::castling_mode;

/// The command line of `referee perft`.
#[derive(Debug, Args)]
pub(crate) struct PerftArguments {
    /// How many plies to count. Range: 0 to 40.
    #[arg(
        required_unless_present = "suite",
        value_parser = clap::value_parser!(u32).range(0..=i64::from(limits::DEPTH_MAX))
    )]
    pub(super) depth: Option<u32>,
    /// The position to count from, with or without its counters; the starting position, `startpos`,
    /// by default. It need not be one that can arise in play.
    #[arg(long, short)]
    pub(super) fen: Option<String>,
    /// Castles as in Chess960.
    #[arg(long)]
    pub(super) chess960: bool,
    /// Shows the count below each first move.
    #[arg(long, short, conflicts_with = "detail")]
    pub(super) divide: bool,
    /// Shows what the moves of the last ply are: captures, checks, mates and so on. Slower.
    #[arg(long)]
    pub(super) detail: bool,
    /// How many threads count. A count takes the same work whatever their number. Range: 1 to 1024.
    /// Default: one for each core.
    #[arg(
        long,
        short,
        env = "REFEREE_PERFT_THREADS",
        value_parser = clap::value_parser!(u16).range(1..=limits::THREADS_MAX as i64)
    )]
    pub(super) threads: Option<u16>,
    /// The size of a hash table in MiB, of which no more is taken than the count can use; `auto` is
    /// three quarters of the memory to spare. Range: 1 to 1048576. Default: none.
    #[arg(
        long,
        value_name = "MIB",
        env = "REFEREE_PERFT_HASH",
        value_parser = read_hash,
        conflicts_with = "detail"
    )]
    pub(super) hash: Option<Hash>,
    /// The keys of the hash table: another number makes an independent proof.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(super) key_set: u64,
    /// Makes every move of the last ply instead of counting them in bulk.
    #[arg(long, conflicts_with = "detail")]
    pub(super) no_bulk: bool,
    /// Uses only what every processor of this kind can do.
    #[arg(long)]
    pub(super) portable: bool,
    /// Writes the result as JSON.
    #[arg(long, short)]
    pub(super) json: bool,
    /// Where ctrl-C leaves what was counted, and where the same command takes it up again.
    /// Default: a file in this folder, named after the count.
    #[arg(long, value_name = "FILE")]
    pub(super) checkpoint: Option<PathBuf>,
    /// Cuts the tree so many plies down, whatever the number of positions there. They are sorted in
    /// files in --sort-folder, and each takes eight bytes of memory for its count. With as many as
    /// the depth it is the distinct positions that are counted. Range: 1 to 40. Default: where that
    /// makes the count short.
    #[arg(
        long,
        value_name = "PLIES",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::DEPTH_MAX)),
        conflicts_with_all = ["suite", "detail", "server"]
    )]
    pub(super) plies: Option<u32>,
    /// Where --plies sorts positions, in files without names. Default: the folder of the system for
    /// temporary files.
    #[arg(long, value_name = "FOLDER", requires = "plies")]
    pub(super) sort_folder: Option<PathBuf>,
    /// Runs the positions of an `.epd` or `.perft` file against their counts; `-` is standard
    /// input.
    #[arg(
        long,
        short,
        value_name = "FILE",
        conflicts_with_all = ["depth", "fen", "chess960", "divide", "detail", "hash", "checkpoint"]
    )]
    pub(super) suite: Option<PathBuf>,
    /// Lets the workers of a server count, at http://HOST:PORT or https://HOST:PORT; with their
    /// threads and tables, not with those of this command. ctrl-C cancels the job there.
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["suite", "detail", "no_bulk", "portable", "checkpoint"]
    )]
    pub(super) server: Option<String>,
    #[command(flatten)]
    trust: TrustArguments,
    /// Prints the name of the job on the server, and leaves it to itself.
    #[arg(long, requires = "server")]
    pub(super) detach: bool,
    /// Lets workers count without their hash tables: the total is then certain, and comes later.
    #[arg(long, requires = "server")]
    pub(super) without_table: bool,
    /// Passes over counts of a suite above so many nodes.
    #[arg(
        long,
        value_name = "NODES",
        default_value_t = 1_000_000_000,
        requires = "suite"
    )]
    pub(super) max_nodes: u128,
}

/// How large a hash table may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    /// What the memory to spare allows.
    Auto,
    /// So many MiB.
    Mib(usize),
}

fn read_hash(text: &str) -> Result<Hash, String> {
    if text == "auto" {
        return Ok(Hash::Auto);
    }
    text.parse()
        .map(Hash::Mib)
        .map_err(|_| "it is neither a number of MiB nor `auto`".to_owned())
}

impl Hash {
    /// Returns how many MiB there may be.
    pub(super) fn mib(self) -> Result<usize, Failure> {
        match self {
            Self::Mib(mib) => Ok(mib),
            Self::Auto => {
                let spare = memory::spare().ok_or_else(|| {
                    Failure::Usage(
                        "--hash auto: this system does not say how much memory it has to spare: \
                         give a number of MiB"
                            .to_owned(),
                    )
                })?;
                let mib = usize::try_from((spare / 4 * 3) >> 20).unwrap_or(limits::HASH_MIB_MAX);
                Ok(mib.clamp(limits::HASH_MIB_MIN, limits::HASH_MIB_MAX))
            }
        }
    }
}

impl PerftArguments {
    /// Reads the position to count from.
    pub(super) fn position(&self) -> Result<Position, Failure> {
        let Some(fen) = &self.fen else {
            return Ok(Position::startpos());
        };
        let mode = castling_mode(self.chess960);
        read_position(fen, mode).map_err(|error| Failure::Usage(format!("--fen: {error}")))
    }

    /// Reads the address of the server. Nothing is connected yet.
    pub(super) fn read_server(&self, url: &str) -> Result<Server, Failure> {
        Server::read("--server", url, &self.trust)
    }

    /// Returns how many threads count; 0 for one for each core.
    pub(super) fn threads(&self) -> usize {
        self.threads.map_or(0, usize::from)
    }

    /// Returns which instructions are used.
    pub(super) fn processor(&self) -> Processor {
        if self.portable {
            Processor::Portable
        } else {
            Processor::Native
        }
    }

    /// Returns how the last ply is counted.
    pub(super) fn last_ply(&self) -> LastPly {
        if self.no_bulk {
            LastPly::Each
        } else {
            LastPly::Bulk
        }
    }
}
