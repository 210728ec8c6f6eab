//! The limits of what is read: of the fields of the contract, each of which states its own, and of
//! records.

use std::time::Duration;

/// The longest text of a move, in bytes.
pub const MOVE_BYTES_MAX: usize = 16;
/// The longest name of a square, in bytes.
pub const SQUARE_BYTES_MAX: usize = 2;
/// The longest FEN, in bytes.
pub const FEN_BYTES_MAX: usize = referee_chess::FEN_LENGTH_MAX;
/// The greatest number of moves in a history.
pub const HISTORY_MOVES_MAX: usize = referee_laws::History::MOVES_MAX;
/// The longest name to show of a player, in bytes.
pub const PLAYER_BYTES_MAX: usize = 256;
/// The longest reason that a player gives, in bytes.
pub const REASON_BYTES_MAX: usize = 256;
/// The longest reason of a decision, in bytes.
pub const DECISION_REASON_BYTES_MAX: usize = 1_024;
/// The greatest number of squares in one touch.
pub const TOUCHED_SQUARES_MAX: usize = 16;
/// The greatest number of squares from which pieces are displaced at once.
pub const DISPLACED_SQUARES_MAX: usize = 32;
/// The greatest number of sides that are absent.
pub const ABSENT_SIDES_MAX: usize = 2;
/// The greatest time of a penalty or of extra time, in milliseconds: a day.
pub const PENALTY_MS_MAX: u64 = 86_400_000;
/// The greatest number of moves of a side before a game is taken over.
pub const SETUP_MOVES_MAX: u32 = 1_000;
/// The greatest number of illegal moves that are set.
pub const SETUP_ILLEGAL_MOVES_MAX: u32 = 100;
/// The longest time until a result is confirmed by itself: thirty days.
pub const CONFIRM_AFTER_MAX: Duration = Duration::from_secs(30 * 86_400);
/// The greatest number of labels of a game.
pub const LABELS_MAX: usize = 16;
/// The longest key of a label, in bytes.
pub const LABEL_KEY_BYTES_MAX: usize = 63;
/// The longest value of a label, in bytes.
pub const LABEL_VALUE_BYTES_MAX: usize = 256;
/// The greatest number of paths in the mask of an update: more than there are fields.
pub const UPDATE_PATHS_MAX: usize = 16;
/// The greatest number of tags of a game.
pub const TAGS_MAX: usize = 256;
/// The longest name of a tag, in bytes.
pub const TAG_NAME_BYTES_MAX: usize = 255;
/// The longest value of a tag, in bytes.
pub const TAG_VALUE_BYTES_MAX: usize = 4_096;
/// The bytes of the names and values of all tags of a game.
pub const TAGS_BYTES_MAX: usize = 64 << 10;
/// The longest `game_id`, in bytes.
pub const GAME_ID_BYTES_MAX: usize = 63;
/// The longest resource name of a game, in bytes: more than any has today.
pub const GAME_NAME_BYTES_MAX: usize = 255;
/// The longest `request_id`, in bytes.
pub const REQUEST_ID_BYTES_MAX: usize = 128;
/// The longest name of a rule profile, in bytes.
pub const PROFILE_NAME_BYTES_MAX: usize = 63;
/// The longest text of a key that is not in PEM, in bytes: 64 hexadecimal digits.
pub const KEY_TEXT_BYTES_MAX: usize = 64;
/// The positions that the second look at a provisional result may visit.
pub const MATE_NODES_PROVISIONAL: u64 = 20_000_000;
/// How many findings of who can mate are looked into when a record is judged again. Few games have
/// one, and each can take some seconds.
pub const FINDINGS_EXAMINED_MAX: u32 = 64;
