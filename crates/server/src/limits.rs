//! Every limit of the services, in one place: those of the fields of requests come from
//! `referee-record`. The protos state each beside its field; a test compares the two.

use std::time::Duration;

pub use referee_laws::SOLVER_BYTES_MAX;
pub use referee_record::limits::*;

/// The largest message that is read, in bytes, after decompression.
pub const MESSAGE_BYTES_MAX: usize = 4 << 20;
/// The greatest number of events of one game.
pub const GAME_EVENTS_MAX: i64 = referee_store::limits::ENTRIES_PER_GAME_MAX;
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
/// The longest time for which a stream waits for corrections of a game that is over: a day.
pub const CORRECTION_TIME_MAX: Duration = Duration::from_secs(86_400);
/// The longest cursor of a stream of all games, in bytes.
pub const CURSOR_BYTES_MAX: usize = referee_store::limits::LOG_CURSOR_BYTES_MAX;
/// The creations and events that a stream of all games reads at once.
pub const WATCHED_ENTRIES_READ_MAX: usize = 64;
/// The number of messages that wait for a reader of a stream.
pub const STREAM_QUEUE_MAX: usize = 64;
/// The bytes of these messages; one message may be longer.
pub const STREAM_QUEUE_BYTES_MAX: usize = 32 << 10;
/// How long a stream waits for its reader before it is cut. One that has not taken notice after
/// that time again is reset.
pub const SLOW_CONSUMER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a stream that the client writes to waits for its first message.
pub const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a stream of a text waits for its next piece.
pub const PIECE_TIMEOUT: Duration = Duration::from_secs(60);
/// The writes of the whole process that wait for their turn at a game or for the disk.
pub const WRITES_WAITING_MAX: usize = 2 * referee_store::limits::QUEUE_WRITES_MAX;
/// The actions of an import that are written in one go.
pub const BATCH_ACTIONS_MAX: usize = 128;
/// The imports that are written at once: with their actions far less than the store takes in, so
/// that there is room for the moves of games that are being played.
pub const BATCHES_AT_ONCE_MAX: usize = 4;
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
/// The connections of the whole process, where nobody says.
pub const CONNECTIONS_MAX: usize = 16_384;
/// The bytes of all connections that are under way: requests that are not answered, messages that
/// wait for their readers, answers that are not sent. Where there is more, the connection that has
/// the most is closed.
pub const UNDER_WAY_BYTES_MAX: usize = 256 << 20;
/// The bytes of the requests of one connection that are not answered yet; more are refused.
pub const CONNECTION_RECEIVED_BYTES_MAX: usize = 32 << 20;
/// The bytes of the answers of one connection that the transport has not sent; more wait.
pub const CONNECTION_UNSENT_BYTES_MAX: usize = 16 << 20;
/// The bytes of one stream that the transport takes before it has sent those before.
pub const STREAM_UNSENT_BYTES_MAX: usize = 64 << 10;
/// The bytes of a stream that a client may send before they are read.
pub const STREAM_WINDOW_BYTES: u32 = 256 << 10;
/// The bytes of a connection that a client may send before they are read.
pub const CONNECTION_WINDOW_BYTES: u32 = 1 << 20;
/// The largest list of headers of a request, in bytes.
pub const HEADER_LIST_BYTES_MAX: u32 = 16 << 10;
/// The calls that a client may take back before the server has looked at them. A proxy takes back
/// all that its own client has open when that goes away.
pub const RESETS_PENDING_MAX: usize = CONCURRENT_STREAMS_MAX as usize;
/// The streams that the server resets for errors of the client before it closes the connection.
pub const RESETS_FOR_ERRORS_MAX: usize = 1_024;
/// What a byte of a compressed message counts for.
pub const COMPRESSION_COST: usize = 8;
/// How long a handshake of TLS may take.
pub const TLS_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest file of certificates or of a key for TLS, in bytes.
pub const TLS_FILE_BYTES_MAX: usize = 1 << 20;
/// How often the files of TLS are looked at, whether they have changed.
pub const TLS_LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// How often they are read at a look, where they change while they are read.
pub const TLS_READS_MAX: u32 = 3;
/// How long before it expires a certificate of the server is warned of.
pub const TLS_EXPIRY_NEAR: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// How often it is warned of.
pub const TLS_EXPIRY_SAID_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a connection may outlive the certificate of its client, where the time of day is set.
pub const TLS_CLIENT_INTERVAL: Duration = Duration::from_secs(60);
/// How long a connection may take to say that it speaks HTTP/2.
pub const PREFACE_TIMEOUT: Duration = Duration::from_secs(10);
/// The bytes of a connection of HTTP/1.1 that are read or written at once.
pub const HTTP_1_BUFFER_BYTES_MAX: usize = 64 << 10;
/// The most origins whose pages may call.
pub const WEB_ORIGINS_MAX: usize = 64;
/// How long a message of a request may take from its first byte to its last.
pub const MESSAGE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a connection may be open without a call.
pub const CONNECTION_QUIET_MAX: Duration = Duration::from_secs(15 * 60);
/// How often a connection is looked at, whether it is quiet.
pub const CONNECTION_LOOK_INTERVAL: Duration = Duration::from_secs(30);
/// How many times less than the address with the most an address has that others give way to.
pub const FAIR_SHARE: usize = 4;
/// The part of all connections that is closed at once where room is made: one in so many.
pub const UNUSED_CLOSED_SHARE: usize = 64;
/// How long nobody is let in after somebody was turned away.
pub const ACCEPT_FULL_PAUSE: Duration = Duration::from_millis(2);
/// How long nobody is let in after the system had no descriptor.
pub const ACCEPT_FAILED_PAUSE: Duration = Duration::from_millis(50);
/// How often a line of the log is written that clients can bring about.
pub const LOG_SELDOM_INTERVAL: Duration = Duration::from_secs(1);
/// The positions that a question of who can mate may visit where it does not say.
pub const MATE_NODES_DEFAULT: u64 = 2_000_000;
/// The greatest number of positions that it may visit: some seconds.
pub const MATE_NODES_MAX: u64 = 10_000_000;
/// How far behind the last sign of life the clock of the machine may be at the start, so that the
/// service goes on from that. What is further behind is believed, since the clock ran ahead before.
pub const CLOCK_STEP_MAX: Duration = Duration::from_secs(600);
/// How long a wait for a time of the service goes on before it looks at the clock again: a machine
/// that slept is later than its timers know.
pub const CLOCK_LOOK_INTERVAL: Duration = Duration::from_secs(10);
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
pub const VERIFY_QUEUE_MAX: usize = 1;
/// How long a unary call may take on the server.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest file with a key, in bytes.
pub const KEY_FILE_BYTES_MAX: usize = 4_096;
/// How much longer than it works a copy or a verification of the store rests beside the games: as
/// long, so that at least half of what the machine can do is left to moves.
pub const STORE_WORK_REST: u32 = 1;
/// How often a copy or a verification of the store says how far it is.
pub const STORE_PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// The most files in the folder of copies; whoever may ask for copies cannot fill the disk.
pub const BACKUPS_MAX: usize = 64;
/// The entries of a record that are read at once to be exported.
pub const EXPORT_ENTRIES_READ_MAX: usize = 256;
/// The streams of games as text that are open at once: each takes some megabytes at most.
pub const PGN_EXPORTS_MAX: usize = 64;
/// The largest piece of such a stream, in bytes.
pub const PGN_EXPORT_PIECE_BYTES_MAX: usize = 16 << 10;
/// The games that are found at once to be written as text.
pub const PGN_EXPORT_GAMES_READ_MAX: usize = 16;
/// The games that are read at once for a page.
pub const GAMES_READ_MAX: usize = 128;
/// The most bytes that games in memory take, estimated from above.
pub const CACHE_BYTES_MAX: usize = 256 << 20;
/// The most games in memory.
pub const CACHE_GAMES_MAX: usize = 65_536;
/// The events of a watched game that are kept for those who follow it; who is further behind reads
/// the record.
pub const FEED_EVENTS_MAX: usize = 64;
/// The bytes of these events.
pub const FEED_BYTES_MAX: usize = 256 << 10;
/// The changes of the log that are read at once.
pub const LOG_CHANGES_READ_MAX: usize = referee_store::limits::PAGE_ROWS_MAX;
/// How often the log is looked at for the commits of other processes while somebody watches: a
/// fifth of what watchers may wait.
pub const LOG_INTERVAL_WATCHED: Duration = Duration::from_millis(20);
/// How often it is looked at otherwise. Reads look by themselves.
pub const LOG_INTERVAL_QUIET: Duration = Duration::from_secs(1);
/// How often a game is read again because its record has moved on meanwhile.
pub const READ_ATTEMPTS_MAX: u32 = 16;
/// The entries that are read at once to fold a record.
pub const FOLD_ENTRIES_READ_MAX: usize = 512;
/// The entries that are folded by a thread that answers: some tens of microseconds each.
pub const FOLD_ENTRIES_INLINE_MAX: usize = 8;
/// The bytes of a genesis that is read by a thread that answers.
pub const GENESIS_BYTES_INLINE_MAX: usize = 4 << 10;
/// The records that are folded at once.
pub const FOLDS_AT_ONCE_MAX: usize = 4;
/// The records that wait to be folded.
pub const FOLDS_WAITING_MAX: usize = 4_096;
/// The questions to the mate solver that are worked on at once, whoever asks. Each takes at most
/// [`SOLVER_BYTES_MAX`].
pub const SOLVERS_AT_ONCE_MAX: usize = 3;
/// The judgments that may take the mate solver and run at once.
pub const JUDGMENTS_AT_ONCE_MAX: usize = 3;
/// The judgments that wait for that.
pub const JUDGMENTS_WAITING_MAX: usize = 1_024;
/// The moves of a history that are read by a thread that answers: about a microsecond each.
pub const HISTORY_MOVES_INLINE_MAX: usize = 256;
/// The long histories and texts that are read at once.
pub const READS_AT_ONCE_MAX: usize = 4;
/// The long histories and texts that wait to be read.
pub const READS_WAITING_MAX: usize = 1_024;
/// The bytes of the requests with long histories that are read or wait for it. In memory each takes
/// up to twenty times as much.
pub const READS_WAITING_BYTES_MAX: usize = 16 << 20;
/// The questions of who can mate that are worked on at once, so that most of the solver is left to
/// games.
pub const MATE_QUESTIONS_AT_ONCE_MAX: usize = 1;
/// The questions of who can mate that wait.
pub const MATE_QUESTIONS_WAITING_MAX: usize = 60;
/// The texts that are taken over as games at once: each takes some tens of megabytes at most.
pub const IMPORTS_AT_ONCE_MAX: usize = 8;
/// The texts that wait for that.
pub const IMPORTS_WAITING_MAX: usize = 56;
/// The open questions of games that are worked on at once in the background.
pub const QUESTIONS_AT_ONCE_MAX: usize = 1;
/// How long a question of a game is claimed by one process: longer than the largest budget takes.
pub const QUESTION_HOLD: Duration = Duration::from_secs(120);
/// How often the store is asked for open questions while this process leaves none.
pub const QUESTION_INTERVAL: Duration = Duration::from_secs(1);
/// How often the process gives a sign of life.
pub const PROCESS_HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// How often the thread of the signs of life looks whether the process stood still.
pub const PROCESS_LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// The shortest time for which a process that stood still counts as having been down: longer than
/// a thread that is due waits for its turn on a busy machine.
pub const PROCESS_STALL_MIN: Duration = Duration::from_millis(500);
/// How often the store is asked whether it reads and writes.
pub const READINESS_INTERVAL: Duration = Duration::from_secs(1);
/// How long it may take to answer that.
pub const READINESS_PATIENCE: Duration = Duration::from_secs(3);
/// How often in a row it must have answered well before a service that was not ready is ready
/// again, so that a disk that is full but for a moment does not make readiness flap.
pub const READINESS_GOOD_MIN: u32 = 3;
/// How long the background walk waits between two parts of the store, each of at most 2,000
/// entries.
pub const WALK_INTERVAL: Duration = Duration::from_secs(5);
/// How many times as long as it works it rests within a part.
pub const WALK_REST: u32 = 4;
/// The pause of that walk between its end and its next beginning.
pub const WALK_PAUSE: Duration = Duration::from_secs(600);
/// The damaged games that the walk remembers, so that each is told of once.
pub const WALK_DAMAGED_MAX: usize = 4_096;
/// The longest time without a sign of life of any process that running processes may leave: after
/// a longer one the service counts as having been down, and clocks as having stood still.
pub const PROCESS_SILENCE_MAX: Duration = Duration::from_secs(5);
/// How long a game that is due is claimed by one process that looks at its clock.
pub const FLAG_HOLD: Duration = Duration::from_secs(2);
/// How long open calls and streams may go on after the signal to stop, where nobody says.
pub const DRAIN_TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);
/// How long a connection may be quiet before it is asked whether it is there.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// How long it may take to answer that.
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);
