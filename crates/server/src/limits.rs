//! Every limit of the services, in one place: those of the fields of requests come from
//! `referee-record`. The protos state each beside its field; a test compares the two.

use std::time::Duration;

pub use referee_laws::SOLVER_BYTES_MAX;
pub use referee_perft::limits::DEPTH_MAX as PERFT_DEPTH_MAX;
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
/// For how many seconds what may be taken in a second is kept.
pub const ALLOWANCE_KEPT_SECONDS: u64 = 5;
/// The callers of one connection on whose accounts it is.
pub const CONNECTION_PAYERS_MAX: usize = 64;
/// When who holds too much is told to come back.
pub const HOLD_RETRY_DELAY: Duration = Duration::from_secs(1);
/// The calls of a player or spectator in a second.
pub const GUEST_CALLS_PER_SECOND_MAX: u64 = 50;
/// The refused actions of a player or spectator in a second.
pub const GUEST_REFUSALS_PER_SECOND_MAX: u64 = 5;
/// The positions that the solver visits for a player or spectator in a second, in questions.
pub const GUEST_SOLVER_NODES_PER_SECOND_MAX: u64 = 500_000;
/// The bytes of requests of a player or spectator in a second.
pub const GUEST_BYTES_PER_SECOND_MAX: u64 = 1 << 20;
/// The open connections of a player or spectator.
pub const GUEST_CONNECTIONS_MAX: usize = 16;
/// The open streams of a player or spectator.
pub const GUEST_STREAMS_MAX: usize = 64;
/// The calls of another principal in a second.
pub const PRINCIPAL_CALLS_PER_SECOND_MAX: u64 = 5_000;
/// The refused actions of another principal in a second.
pub const PRINCIPAL_REFUSALS_PER_SECOND_MAX: u64 = 500;
/// The positions that the solver visits for another principal in a second, in questions.
pub const PRINCIPAL_SOLVER_NODES_PER_SECOND_MAX: u64 = 2_000_000;
/// The bytes of requests of another principal in a second.
pub const PRINCIPAL_BYTES_PER_SECOND_MAX: u64 = 32 << 20;
/// The open connections of another principal.
pub const PRINCIPAL_CONNECTIONS_MAX: usize = 256;
/// The open streams of another principal.
pub const PRINCIPAL_STREAMS_MAX: usize = 10_000;
/// The calls of a platform in a second.
pub const PLATFORM_CALLS_PER_SECOND_MAX: u64 = 10_000;
/// The refused actions of a platform in a second.
pub const PLATFORM_REFUSALS_PER_SECOND_MAX: u64 = 1_000;
/// The positions that the solver visits for a platform in a second, in questions.
pub const PLATFORM_SOLVER_NODES_PER_SECOND_MAX: u64 = 4_000_000;
/// The bytes of requests of a platform in a second.
pub const PLATFORM_BYTES_PER_SECOND_MAX: u64 = 64 << 20;
/// The open connections of a platform.
pub const PLATFORM_CONNECTIONS_MAX: usize = 4_096;
/// The open streams of a platform.
pub const PLATFORM_STREAMS_MAX: usize = 25_000;
/// The number of tokens on a page where the request names none.
pub const TOKENS_PAGE_DEFAULT: usize = 50;
/// The greatest number of tokens on a page.
pub const TOKENS_PAGE_MAX: usize = referee_store::limits::PAGE_ROWS_MAX;
/// The most tokens of one platform.
pub const TOKENS_PER_PLATFORM_MAX: usize = referee_store::limits::TOKENS_PER_PLATFORM_MAX;
/// The longest name of a principal, in bytes.
pub const PRINCIPAL_BYTES_MAX: usize = referee_store::limits::PRINCIPAL_BYTES_MAX;
/// The longest name of a platform, in bytes.
pub const PLATFORM_BYTES_MAX: usize = referee_store::limits::PLATFORM_BYTES_MAX;
/// The longest resource name of a token, in bytes.
pub const TOKEN_NAME_BYTES_MAX: usize = referee_store::limits::TOKEN_ID_BYTES_MAX;
/// How long a token counts where the request does not say: 90 days.
pub const TOKEN_LIFETIME_DEFAULT: Duration = Duration::from_secs(90 * 86_400);
/// The shortest time for which a token counts.
pub const TOKEN_LIFETIME_MIN: Duration = Duration::from_secs(1);
/// The longest time for which a token counts: ten years.
pub const TOKEN_LIFETIME_MAX: Duration = Duration::from_secs(3_660 * 86_400);
/// The shortest token of a file, in bytes: what is shorter can be guessed.
pub const OPERATOR_TOKEN_BYTES_MIN: usize = 32;
/// The longest token of a file, in bytes.
pub const OPERATOR_TOKEN_BYTES_MAX: usize = 256;
/// The longest file that maps certificates to principals, in bytes.
pub const SUBJECTS_FILE_BYTES_MAX: usize = 1 << 20;
/// The longest credential that a client may present, in bytes.
pub const CREDENTIAL_BYTES_MAX: usize = 4_096;
/// The credentials whose owners are remembered.
pub const SESSIONS_KNOWN_MAX: usize = 16_384;
/// How long they are, before the store is asked again. With
/// [`SESSION_LOOK_INTERVAL`] it is within what a revocation may take: 15 s.
pub const SESSION_KNOWN_TIME: Duration = Duration::from_secs(5);
/// How often the credentials are looked up that streams stand on.
pub const SESSION_LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// The credentials that are looked up at once, so that who tries secrets does not keep games from
/// the store.
pub const LOOKUPS_AT_ONCE_MAX: usize = 2;
/// The credentials that wait to be looked up.
pub const LOOKUPS_WAITING_MAX: usize = 1_024;
/// The number of streams and calls that one connection may have open at once.
pub const CONCURRENT_STREAMS_MAX: u32 = 1_000;
/// The calls of the whole process that are not answered yet, and streams whose first message has
/// not come. Where there are more, the connection with the most of them is closed, if it has far
/// more than the one that asks; otherwise that is refused.
pub const CALLS_PENDING_MAX: usize = 16_384;
/// The number of open watch and play streams of the whole process.
pub const OPEN_STREAMS_MAX: usize = 50_000;
/// The connections of the whole process, where nobody says.
pub const CONNECTIONS_MAX: usize = 16_384;
/// The bytes of all connections that are under way: requests that are not answered, messages that
/// wait for their readers, answers that are not sent. Where there is more, the connection that has
/// the most is closed.
pub const UNDER_WAY_BYTES_MAX: usize = 128 << 20;
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
/// How long whatever goes on over an old connection may go on after its streams were ended.
pub const CONNECTION_AGE_CUT: Duration = Duration::from_secs(60);
/// How long the calls of an old connection may go on before its streams end, where nobody says.
pub const CONNECTION_AGE_GRACE_DEFAULT: Duration = Duration::from_secs(30);
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
/// The pages of records and lists that are read at once: half of what reads the store, so that who
/// asks one question does not wait behind thousands of them.
pub const BULK_READS_AT_ONCE_MAX: usize = referee_store::limits::READERS / 2;
/// The entries of a record that are read at once to be exported.
pub const EXPORT_ENTRIES_READ_MAX: usize = 64;
/// The streams of games as text that are open at once: each takes some megabytes at most.
pub const PGN_EXPORTS_MAX: usize = 64;
/// The largest piece of such a stream, in bytes.
pub const PGN_EXPORT_PIECE_BYTES_MAX: usize = 16 << 10;
/// The games that are found at once to be written as text.
pub const PGN_EXPORT_GAMES_READ_MAX: usize = 16;
/// The games that are read at once for a page.
pub const GAMES_READ_MAX: usize = 128;
/// The most bytes that games in memory take, estimated from above.
pub const CACHE_BYTES_MAX: usize = 128 << 20;
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
pub const SOLVERS_AT_ONCE_MAX: usize = 2;
/// The judgments that may take the mate solver and run at once.
pub const JUDGMENTS_AT_ONCE_MAX: usize = 2;
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
pub const READS_WAITING_BYTES_MAX: usize = 8 << 20;
/// The questions of who can mate that are worked on at once, so that most of the solver is left to
/// games.
pub const MATE_QUESTIONS_AT_ONCE_MAX: usize = 1;
/// The questions of who can mate that wait.
pub const MATE_QUESTIONS_WAITING_MAX: usize = 60;
/// The texts that are taken over as games at once: each takes some tens of megabytes at most.
pub const IMPORTS_AT_ONCE_MAX: usize = 4;
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
/// How often it is counted how many games are being played.
pub const CENSUS_INTERVAL: Duration = Duration::from_secs(15);
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
/// The longest id of a perft job, in bytes.
pub const PERFT_JOB_ID_BYTES_MAX: usize = 63;
/// The longest resource name of a perft job, in bytes: more than any has today.
pub const PERFT_JOB_NAME_BYTES_MAX: usize = 255;
/// How long a perft job is kept after its end where nobody says.
pub const PERFT_TTL_DEFAULT: Duration = Duration::from_secs(168 * 3_600);
/// The shortest time for which a perft job is kept after its end.
pub const PERFT_TTL_MIN: Duration = Duration::from_secs(3_600);
/// The longest time for which a perft job is kept after its end.
pub const PERFT_TTL_MAX: Duration = Duration::from_secs(720 * 3_600);
/// The perft jobs of a platform that are planned or counted at once.
pub const PERFT_JOBS_UNDER_WAY_MAX: usize = 16;
/// The perft jobs of a platform.
pub const PERFT_JOBS_MAX: usize = 1_000;
/// The number of perft jobs on a page where the request names none.
pub const PERFT_PAGE_DEFAULT: usize = 50;
/// The greatest number of perft jobs on a page.
pub const PERFT_PAGE_MAX: usize = 1_000;
/// The time between two messages about a perft job where the request names none.
pub const PERFT_INTERVAL_DEFAULT: Duration = Duration::from_secs(1);
/// The shortest time between two messages about a perft job.
pub const PERFT_INTERVAL_MIN: Duration = Duration::from_millis(100);
/// The longest time between two messages about a perft job.
pub const PERFT_INTERVAL_MAX: Duration = Duration::from_secs(60);
/// The workers that a perft job shows.
pub const PERFT_WORKERS_SHOWN_MAX: usize = 100;
/// The sessions of workers.
pub const SESSIONS_MAX: usize = 10_000;
/// The length of the secret that names a session, in bytes.
pub const SESSION_BYTES: usize = 32;
/// The longest name of a worker, in bytes.
pub const WORKER_ID_BYTES_MAX: usize = 128;
/// The longest revision of a counter, in bytes.
pub const GENERATOR_BYTES_MAX: usize = 32;
/// The longest version of the program of a worker, in bytes.
pub const WORKER_VERSION_BYTES_MAX: usize = 64;
/// The leases that a worker may hold.
pub const LEASES_HELD_MAX: usize = 64;
/// The tasks that are leased at once.
pub const TASKS_LEASED_MAX: usize = 16;
/// The positions of a task of a perft job.
pub const TASK_POSITIONS_MAX: usize = 4_096;
/// The results in one report of a worker.
pub const RESULTS_REPORTED_MAX: usize = 16;
/// How long a worker may wait for a task in one call, which is below the idle limits of common
/// proxies.
pub const LEASE_WAIT_MAX: Duration = Duration::from_secs(20);
/// The small trees that are counted at once, each by one thread.
pub const PERFT_COUNTS_AT_ONCE_MAX: usize = 2;
/// The small trees that wait to be counted.
pub const PERFT_COUNTS_WAITING_MAX: usize = 62;
/// The reports and leases of workers that are checked and read at once.
pub const PERFT_CHECKS_AT_ONCE_MAX: usize = 4;
/// The reports and leases of workers that wait for that.
pub const PERFT_CHECKS_WAITING_MAX: usize = 4_096;
/// How long a job is claimed by the process that plans it or adds it up.
pub const PERFT_CLAIM: Duration = Duration::from_secs(30);
/// How often such a claim is renewed while nothing is stored.
pub const PERFT_CLAIM_RENEWED: Duration = Duration::from_secs(5);
/// How often the store is asked for jobs that other processes have left.
pub const PERFT_LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// The pieces of a plan that wait to be stored.
pub const PERFT_CHUNKS_WAITING_MAX: usize = 1;
/// The plan of a job ends where its children have so few plies left: counting four plies takes far
/// longer than to send a position and its count.
pub const PERFT_REST_MIN: u32 = 4;
/// The plan of a job ends where one more ply had more than so many children, each counted once for
/// each first move that leads to its parent.
pub const PERFT_CHILDREN_MAX: u64 = 1 << 23;
/// The distinct positions that a tree is cut into at most.
pub const PERFT_POSITIONS_MAX: u64 = 16_000_000;
/// Where positions keep one thread for longer than this on average, in seconds, the plan goes one
/// ply further down, if it can.
pub const PERFT_POSITION_SECONDS_MAX: f64 = 16.0;
/// What a job may take at most, in seconds of one thread: 300 years.
pub const PERFT_THREAD_SECONDS_MAX: f64 = 1e10;
/// The positions that are counted to find out how long others take.
pub const PERFT_SAMPLE: u64 = 64;
/// How deep they are counted at most.
pub const PERFT_SAMPLE_REST_MAX: u32 = 5;
/// How long that takes at most, but for the last of them.
pub const PERFT_SAMPLE_TIME: Duration = Duration::from_secs(2);
/// How long one thread takes for a task.
pub const PERFT_TASK_TIME: Duration = Duration::from_secs(4);
/// A small job has about so many tasks, so that several workers share it.
pub const PERFT_TASKS_MIN: u32 = 16;
/// The bytes that sorting the positions of a job takes in files.
pub const PERFT_SPILL_BYTES_MAX: u64 = 16 << 30;
/// What sorting leaves free on its disk, in bytes, since the store may be on the same.
pub const PERFT_SPILL_ROOM_BYTES: u64 = 512 << 20;
/// The share of a job that is done before its pace says how long the rest may take.
pub const PERFT_SHARE_TOLD_MIN: f64 = 0.02;
/// How long a session lives without a sign of life.
pub const SESSION_TIME: Duration = Duration::from_secs(10);
/// How often a worker renews its session; a cancelled job is heard of by that.
pub const SESSION_RENEWED: Duration = Duration::from_secs(2);
/// How long a session that is over can still report what it counted: a day.
pub const SESSION_KEPT: Duration = Duration::from_secs(86_400);
/// How often a worker that waits for tasks looks for those that other processes have opened.
pub const LEASE_LOOK_INTERVAL: Duration = Duration::from_secs(2);
/// An answer with leases ends after the task with which its keys reach so many bytes.
pub const LEASED_BYTES_MAX: usize = 2 << 20;
/// A task that gets so many reports that cannot be right ends its job.
pub const REPORTS_REFUSED_MAX: i64 = 4;
/// The counted parts that a task is replaced by at most, beside those that are left.
pub const SPLIT_PARTS_MAX: usize = 32;
/// A task that was leased so many times and is given back with nothing counted is cut in halves.
pub const WHOLE_ATTEMPTS_MAX: i64 = 3;
/// How often it is counted what is left of all perft jobs that run.
pub const PERFT_CENSUS_INTERVAL: Duration = Duration::from_secs(5);
/// So many threads of workers are wanted as would be done with all perft jobs in this time.
pub const PERFT_AIM_TIME: Duration = Duration::from_secs(60);
/// How often sessions are looked at, whether they ran out.
pub const SWEEP_INTERVAL: Duration = Duration::from_millis(500);
/// The pause where there is more to take out.
pub const SWEEP_PAUSE: Duration = Duration::from_millis(20);
/// The connections of the process with itself that wait to be taken.
pub const INSIDE_WAITING_MAX: usize = 16;
