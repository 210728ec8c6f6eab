//! Every limit of the services, in one place: those of the fields of requests come from
//! `referee-record`. The protos state each beside its field; a test compares the two.

use std::time::Duration;

pub use referee_record::limits::*;

/// The largest message that is read, in bytes, after decompression.
pub const MESSAGE_BYTES_MAX: usize = 4 << 20;
/// The greatest number of events of one game.
pub const GAME_EVENTS_MAX: i64 = referee_store::limits::ENTRIES_PER_GAME;
/// The greatest number of labels in a filter.
pub const FILTER_LABELS_MAX: usize = 8;
/// The longest page token, in bytes.
pub const PAGE_TOKEN_BYTES_MAX: usize = 512;
/// The greatest number of states in a filter.
pub const FILTER_STATES_MAX: usize = 8;
/// The number of games on a page where the request names none.
pub const GAMES_PAGE_DEFAULT: usize = 50;
/// The greatest number of games on a page.
pub const GAMES_PAGE_MAX: usize = 1_000;
/// The number of events on a page where the request names none.
pub const EVENTS_PAGE_DEFAULT: usize = 200;
/// The greatest number of events on a page.
pub const EVENTS_PAGE_MAX: usize = 5_000;
/// The size at which a page is closed, in bytes.
pub const PAGE_BYTES_MAX: usize = 2 << 20;
/// How long a watched stream may be silent where the request does not say.
pub const HEARTBEAT_DEFAULT: Duration = Duration::from_secs(15);
/// The shortest interval of heartbeats.
pub const HEARTBEAT_MIN: Duration = Duration::from_secs(1);
/// The longest interval of heartbeats.
pub const HEARTBEAT_MAX: Duration = Duration::from_secs(60);
/// The number of messages that wait for a reader of a stream.
pub const STREAM_QUEUE_MAX: usize = 64;
/// How long a stream waits for its reader before it is cut.
pub const SLOW_CONSUMER_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of games that are kept folded in memory.
pub const GAMES_CACHED_MAX: usize = 4_096;
/// How often an action is judged anew after another writer was faster.
pub const JUDGE_ATTEMPTS_MAX: u32 = 16;
/// The longest message of an error, in bytes. Errors travel in headers, of which clients commonly
/// take 16 KiB, percent-encoded.
pub const ERROR_MESSAGE_BYTES_MAX: usize = 1_024;
/// The longest description of a field at fault, in bytes.
pub const ERROR_DESCRIPTION_BYTES_MAX: usize = 512;
/// The bytes of fields at fault in one error; those that do not fit are left out.
pub const ERROR_FIELDS_BYTES_MAX: usize = 4_096;
/// When a client that was turned away for overload is told to come back.
pub const RETRY_DELAY: Duration = Duration::from_millis(250);
/// The number of streams and calls that one connection may have open at once.
pub const CONCURRENT_STREAMS_MAX: u32 = 1_000;
/// The number of open watch and play streams of the whole process.
pub const OPEN_STREAMS_MAX: usize = 50_000;
/// The positions that a question of who can mate may visit where it does not say.
pub const MATE_NODES_DEFAULT: u64 = 2_000_000;
/// The greatest number of positions that it may visit: some seconds.
pub const MATE_NODES_MAX: u64 = 10_000_000;
/// The questions of who can mate that are worked on at once, beside those of games.
pub const MATE_QUESTIONS_MAX: usize = 64;
/// The positions of games that wait to be looked at by the whole mate solver; a further one is
/// looked at when its game ends, or not.
pub const MATE_QUEUE_MAX: usize = 1_024;
/// How often the process gives a sign of life.
pub const PULSE_INTERVAL: Duration = Duration::from_secs(1);
/// The longest time without a sign of life that a running process may leave: after a longer one
/// the service counts as having been down, and clocks as having stood still.
pub const PULSE_SILENCE_MAX: Duration = Duration::from_secs(5);
/// How far behind the last sign of life the clock of the machine may be at the start, so that the
/// service goes on from that: steps of a clock that is being set, not years.
pub const CLOCK_STEP_MAX: Duration = Duration::from_secs(3_600);
/// How long after its deadline a flag is found to have fallen. Longer than a move that arrived in
/// time may be on its way to its turn at the record; from then on the record itself keeps the
/// order.
pub const FLAG_SETTLING: Duration = Duration::from_secs(1);
/// How often the service looks for flags that have fallen.
pub const FLAG_INTERVAL: Duration = Duration::from_millis(100);
/// The games that are looked at for fallen flags in one go.
pub const FLAGS_PER_ROUND_MAX: usize = 256;
/// The games of them that are worked on at once.
pub const FLAGS_AT_ONCE_MAX: usize = 16;
/// When a game whose flag could not be looked at is looked at again.
pub const FLAG_RETRY: Duration = Duration::from_secs(60);
/// The spans of down time that are read at once.
pub const DOWN_SPANS_READ_MAX: usize = 256;
/// The spans of down time that are recorded in one game at once.
pub const DOWN_SPANS_SETTLED_MAX: usize = 1_024;
/// The largest piece of a text of games, in bytes.
pub const PGN_PIECE_BYTES_MAX: usize = 1 << 20;
/// The texts of games that are verified at once.
pub const VERIFY_STREAMS_MAX: usize = 64;
/// The pieces of a text that wait to be read.
pub const VERIFY_QUEUE_MAX: usize = 4;
/// How long a unary call may take on the server.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The entries of a record that are read at once to be exported.
pub const EXPORT_PAGE_ENTRIES: usize = 256;
/// The longest file with a key, in bytes.
pub const KEY_FILE_BYTES_MAX: usize = 4_096;
