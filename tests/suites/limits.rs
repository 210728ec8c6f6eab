//! Every limit that the contract states beside a field is the one that the service holds.

use prost::Message;
use prost_types::FileDescriptorSet;
use referee_laws::{
    Allowed, BONUS_MS_MAX, PERIOD_MOVES_MAX, PERIOD_MS_MAX, PERIODS_MAX, Parameters,
    TIME_CONTROL_LENGTH_MAX,
};
use referee_pgn::{PLIES_MAX, TAG_NAME_LENGTH_MAX, TAG_VALUE_LENGTH_MAX, TAGS_MAX};
use referee_server::limits;

/// Returns the comments of the field with a name such as `CreateGameRequest.request_id`.
fn comment(name: &str) -> String {
    let set = FileDescriptorSet::decode(referee_api::FILE_DESCRIPTOR_SET)
        .expect("the descriptors were encoded by the build");
    let (message, field) = name
        .split_once('.')
        .expect("a field is named with its message");
    for file in &set.file {
        for (number, found) in (0..).zip(&file.message_type) {
            if found.name() != message {
                continue;
            }
            let position = found.field.iter().position(|one| one.name() == field);
            let position = position.unwrap_or_else(|| panic!("{name} is no field")) as i32;
            let locations = file.source_code_info.iter().flat_map(|info| &info.location);
            let path = [4, number, 2, position];
            let comments = locations.filter(|location| location.path == path);
            return comments
                .flat_map(|one| one.leading_comments().split_whitespace())
                .collect::<Vec<_>>()
                .join(" ");
        }
    }
    panic!("{name}: no such message")
}

fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The parameters of rules that are numbers, with the greatest value of each.
fn numbers() -> impl Iterator<Item = (&'static str, usize)> {
    let names = Parameters::NAMES.iter();
    names.filter_map(|&name| match Parameters::allowed(name)? {
        Allowed::NumberUpTo(max) => Some((name, max as usize)),
        _ => None,
    })
}

/// A field, the word that its sentence begins with, and the number.
type Stated = (&'static str, &'static str, usize);

fn stated() -> Vec<Stated> {
    let seconds = |duration: std::time::Duration| duration.as_secs() as usize;
    let mut stated = vec![
        ("Position.fen", "Limit:", limits::FEN_BYTES_MAX),
        ("Position.chess960_number", "Range:", 0),
        ("Position.moves", "Limit:", limits::HISTORY_MOVES_MAX),
        ("Position.moves", "Limit of each:", limits::MOVE_BYTES_MAX),
        ("ValidateMoveRequest.move", "Limit:", limits::MOVE_BYTES_MAX),
        (
            "GenerateLegalMovesRequest.from_square",
            "Limit:",
            limits::SQUARE_BYTES_MAX,
        ),
        ("MakeMove.move", "Limit:", limits::MOVE_BYTES_MAX),
        ("MakeClaim.intended_move", "Limit:", limits::MOVE_BYTES_MAX),
        ("RuleProfile.name", "Limit:", limits::PROFILE_NAME_BYTES_MAX),
        ("Points.win_half_points", "Range:", 0),
        ("Points.draw_half_points", "Range:", 0),
        ("Points.loss_half_points", "Range:", 0),
        ("Game.sequence", "Limit:", limits::GAME_EVENTS_MAX as usize),
        ("Game.moves", "Limit:", limits::HISTORY_MOVES_MAX),
        ("Game.white_player", "Limit:", limits::PLAYER_BYTES_MAX),
        ("Game.black_player", "Limit:", limits::PLAYER_BYTES_MAX),
        ("Game.labels", "Limit:", limits::LABELS_MAX),
        (
            "Game.labels",
            "Limit of each key:",
            limits::LABEL_KEY_BYTES_MAX,
        ),
        (
            "Game.labels",
            "Limit of each value:",
            limits::LABEL_VALUE_BYTES_MAX,
        ),
        ("Game.tags", "Limit:", limits::TAGS_MAX),
        (
            "Game.tags",
            "Limit of all names and values:",
            limits::TAGS_BYTES_MAX,
        ),
        ("GameTag.name", "Limit:", limits::TAG_NAME_BYTES_MAX),
        ("GameTag.value", "Limit:", limits::TAG_VALUE_BYTES_MAX),
        ("GameFilter.labels", "Limit:", limits::FILTER_LABELS_MAX),
        (
            "GameFilter.labels",
            "Limit of each key:",
            limits::LABEL_KEY_BYTES_MAX,
        ),
        (
            "GameFilter.labels",
            "Limit of each value:",
            limits::LABEL_VALUE_BYTES_MAX,
        ),
        ("GameFilter.states", "Limit:", limits::FILTER_STATES_MAX),
        (
            "CreateGameRequest.game_id",
            "Limit:",
            limits::GAME_ID_BYTES_MAX,
        ),
        (
            "CreateGameRequest.request_id",
            "Limit:",
            limits::REQUEST_ID_BYTES_MAX,
        ),
        ("Action.request_id", "Limit:", limits::REQUEST_ID_BYTES_MAX),
        (
            "UpdateGameRequest.request_id",
            "Limit:",
            limits::REQUEST_ID_BYTES_MAX,
        ),
        (
            "UpdateGameRequest.update_mask",
            "Limit:",
            limits::UPDATE_PATHS_MAX,
        ),
        (
            "DeleteGameRequest.request_id",
            "Limit:",
            limits::REQUEST_ID_BYTES_MAX,
        ),
        (
            "ListGamesRequest.page_size",
            "Default:",
            limits::GAMES_PAGE_DEFAULT,
        ),
        (
            "ListGamesRequest.page_size",
            "Limit:",
            limits::GAMES_PAGE_MAX,
        ),
        (
            "ListGamesRequest.page_token",
            "Limit:",
            limits::PAGE_TOKEN_BYTES_MAX,
        ),
        (
            "ListGameEventsRequest.page_size",
            "Default:",
            limits::EVENTS_PAGE_DEFAULT,
        ),
        (
            "ListGameEventsRequest.page_size",
            "Limit:",
            limits::EVENTS_PAGE_MAX,
        ),
        (
            "ListGameEventsRequest.page_token",
            "Limit:",
            limits::PAGE_TOKEN_BYTES_MAX,
        ),
    ];
    for (name, _) in numbers() {
        let field: &str = Box::leak(format!("RuleParameters.{name}").into_boxed_str());
        stated.push((field, "Range:", 0));
    }
    for message in [
        "GetGameRequest",
        "SubmitActionRequest",
        "WatchGameRequest",
        "JoinGame",
        "ExportGameRequest",
        "UpdateGameRequest",
        "DeleteGameRequest",
    ] {
        let field: &str = Box::leak(format!("{message}.name").into_boxed_str());
        stated.push((field, "Limit:", limits::GAME_NAME_BYTES_MAX));
    }
    stated.push((
        "ListGameEventsRequest.parent",
        "Limit:",
        limits::GAME_NAME_BYTES_MAX,
    ));
    stated.extend(of_actions());
    stated.extend(of_perft());
    stated.push(("Game.confirm_after", "Range:", 0));
    stated.push(("WatchGameRequest.correction_time", "Range:", 0));
    stated.push(("JoinGame.correction_time", "Range:", 0));
    let labels = "WatchGamesRequest.labels";
    stated.push((labels, "Limit:", limits::FILTER_LABELS_MAX));
    stated.push((labels, "Limit of each key:", limits::LABEL_KEY_BYTES_MAX));
    stated.push((
        labels,
        "Limit of each value:",
        limits::LABEL_VALUE_BYTES_MAX,
    ));
    stated.extend(of_tokens());
    let cursor = "WatchGamesRequest.after_cursor";
    stated.push((cursor, "Limit:", limits::CURSOR_BYTES_MAX));
    for field in [
        "WatchGameRequest.heartbeat_interval",
        "WatchGamesRequest.heartbeat_interval",
        "JoinGame.heartbeat_interval",
    ] {
        stated.push((field, "Default:", seconds(limits::HEARTBEAT_DEFAULT)));
        stated.push((field, "Range:", seconds(limits::HEARTBEAT_MIN)));
    }
    stated
}

/// The limits of perft jobs.
fn of_perft() -> Vec<Stated> {
    let hours = |time: std::time::Duration| (time.as_secs() / 3_600) as usize;
    let interval = limits::PERFT_INTERVAL_DEFAULT.as_millis() as usize;
    let page = "ListPerftJobsRequest.page_size";
    let mut stated = vec![
        ("PerftJob.depth", "Range:", 1),
        ("PerftJob.ttl", "Default:", hours(limits::PERFT_TTL_DEFAULT)),
        ("PerftJob.ttl", "Range:", hours(limits::PERFT_TTL_MIN)),
        (
            "CreatePerftJobRequest.perft_job_id",
            "Limit:",
            limits::PERFT_JOB_ID_BYTES_MAX,
        ),
        (
            "CreatePerftJobRequest.request_id",
            "Limit:",
            limits::REQUEST_ID_BYTES_MAX,
        ),
        (page, "Default:", limits::PERFT_PAGE_DEFAULT),
        (page, "Limit:", limits::PERFT_PAGE_MAX),
        (
            "ListPerftJobsRequest.page_token",
            "Limit:",
            limits::PAGE_TOKEN_BYTES_MAX,
        ),
        (
            "ListPerftJobsRequest.states",
            "Limit:",
            limits::FILTER_STATES_MAX,
        ),
        ("WatchPerftJobRequest.interval", "Default:", interval),
        (
            "WatchPerftJobRequest.interval",
            "Range:",
            limits::PERFT_INTERVAL_MIN.as_millis() as usize,
        ),
        ("CountPerftRequest.depth", "Range:", 0),
        ("PerftJob.redundancy", "Default:", 1),
        ("PerftJob.redundancy", "Range:", 1),
        ("PerftJob.recheck_share", "Range:", 0),
    ];
    for name in [
        "GetPerftJobRequest.name",
        "WatchPerftJobRequest.name",
        "CancelPerftJobRequest.name",
        "DeletePerftJobRequest.name",
        "ExportPerftJobRequest.name",
    ] {
        stated.push((name, "Limit:", limits::PERFT_JOB_NAME_BYTES_MAX));
    }
    stated
}

/// The limits of tokens.
fn of_tokens() -> [Stated; 9] {
    [
        (
            "IssueTokenRequest.principal",
            "Limit:",
            limits::PRINCIPAL_BYTES_MAX,
        ),
        (
            "IssueTokenRequest.game",
            "Limit:",
            limits::GAME_NAME_BYTES_MAX,
        ),
        (
            "IssueTokenRequest.lifetime",
            "Range:",
            limits::TOKEN_LIFETIME_MIN.as_secs() as usize,
        ),
        ("TokenLabel.key", "Limit:", limits::LABEL_KEY_BYTES_MAX),
        ("TokenLabel.value", "Limit:", limits::LABEL_VALUE_BYTES_MAX),
        (
            "ListTokensRequest.page_size",
            "Default:",
            limits::TOKENS_PAGE_DEFAULT,
        ),
        (
            "ListTokensRequest.page_size",
            "Limit:",
            limits::TOKENS_PAGE_MAX,
        ),
        (
            "ListTokensRequest.page_token",
            "Limit:",
            limits::PAGE_TOKEN_BYTES_MAX,
        ),
        (
            "RevokeTokenRequest.name",
            "Limit:",
            limits::TOKEN_NAME_BYTES_MAX,
        ),
    ]
}

/// The limits of actions, clocks and what games are taken over with.
fn of_actions() -> Vec<Stated> {
    let illegal = limits::SETUP_ILLEGAL_MOVES_MAX as usize;
    let plies = limits::HISTORY_MOVES_MAX;
    let hours = (limits::PENALTY_MS_MAX / 3_600_000) as usize;
    let reason = limits::REASON_BYTES_MAX;
    vec![
        ("TimePeriod.moves", "Limit:", PERIOD_MOVES_MAX as usize),
        ("TimePeriod.time", "Range:", 0),
        ("TimePeriod.bonus", "Range:", 0),
        ("TimeControl.pgn", "Limit:", TIME_CONTROL_LENGTH_MAX),
        ("TimeControl.periods", "Limit:", PERIODS_MAX),
        ("Game.name", "Limit:", limits::GAME_NAME_BYTES_MAX),
        (
            "SideSetup.moves",
            "Limit:",
            limits::SETUP_MOVES_MAX as usize,
        ),
        ("SideSetup.illegal_moves", "Limit:", illegal),
        ("Setup.plies_without_capture", "Limit:", plies),
        (
            "VerifyGamesRequest.pgn",
            "Limit:",
            limits::PGN_PIECE_BYTES_MAX,
        ),
        ("VerifyGamesResponse.tags", "Limit:", TAGS_MAX),
        (
            "VerifyGamesResponse.tags",
            "Limit of each key:",
            TAG_NAME_LENGTH_MAX,
        ),
        (
            "VerifyGamesResponse.tags",
            "Limit of each value:",
            TAG_VALUE_LENGTH_MAX,
        ),
        // One after each move, and one before the first.
        ("VerifyGamesResponse.clocks", "Limit:", PLIES_MAX + 1),
        (
            "ImportPgnRequest.pgn",
            "Limit:",
            limits::PGN_PIECE_BYTES_MAX,
        ),
        (
            "ImportPgnRequest.game_id",
            "Limit:",
            limits::GAME_ID_BYTES_MAX,
        ),
        (
            "ImportPgnRequest.request_id",
            "Limit:",
            limits::REQUEST_ID_BYTES_MAX,
        ),
        ("ImportPgnRequest.labels", "Limit:", limits::LABELS_MAX),
        (
            "ImportPgnRequest.labels",
            "Limit of each key:",
            limits::LABEL_KEY_BYTES_MAX,
        ),
        (
            "ImportPgnRequest.labels",
            "Limit of each value:",
            limits::LABEL_VALUE_BYTES_MAX,
        ),
        (
            "ExportPgnRequest.name",
            "Limit:",
            limits::GAME_NAME_BYTES_MAX,
        ),
        ("OfferDraw.condition", "Limit:", reason),
        ("TouchPieces.squares", "Limit:", limits::TOUCHED_SQUARES_MAX),
        (
            "DisplacePieces.squares",
            "Limit:",
            limits::DISPLACED_SQUARES_MAX,
        ),
        ("ReleasePiece.from", "Limit:", limits::SQUARE_BYTES_MAX),
        ("ReleasePiece.to", "Limit:", limits::SQUARE_BYTES_MAX),
        ("PlacePromotion.square", "Limit:", limits::SQUARE_BYTES_MAX),
        ("PauseGame.reason", "Limit:", reason),
        ("ResumeGame.absent", "Limit:", limits::ABSENT_SIDES_MAX),
        ("SealMove.move", "Limit:", limits::MOVE_BYTES_MAX),
        (
            "ArbiterDecision.arbiter",
            "Limit:",
            limits::PLAYER_BYTES_MAX,
        ),
        (
            "ArbiterDecision.reason",
            "Limit:",
            limits::DECISION_REASON_BYTES_MAX,
        ),
        ("PenaltyTime.deduct", "Limit:", hours),
        ("PenaltyTime.add_opponent", "Limit:", hours),
        ("ExtraTime.time", "Limit:", hours),
        ("SideCounters.illegal_moves", "Limit:", illegal),
        ("SetCounters.plies_without_capture", "Limit:", plies),
        (
            "CanMateRequest.budget_nodes",
            "Default:",
            limits::MATE_NODES_DEFAULT as usize,
        ),
        (
            "CanMateRequest.budget_nodes",
            "Limit:",
            limits::MATE_NODES_MAX as usize,
        ),
    ]
}

#[test]
fn limits_are_stated_beside_their_fields() {
    for (field, word, limit) in stated() {
        let comment = comment(field);
        let sentence = format!("{word} {}", grouped(limit));
        let rest = comment.split_once(&sentence).map(|(_, rest)| rest);
        let ends = rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
        assert!(ends, "{field} should say '{sentence}': {comment}");
    }
    let range = |field: &str, low: usize, high: usize| {
        let sentence = format!("Range: {low} to {}", grouped(high));
        let comment = comment(field);
        let rest = comment.split_once(&sentence).map(|(_, rest)| rest);
        let ends = rest.is_some_and(|rest| rest.starts_with([' ', '.']));
        assert!(ends, "{field} should say '{sentence}': {comment}");
    };
    let (low, high) = (
        limits::HEARTBEAT_MIN.as_secs(),
        limits::HEARTBEAT_MAX.as_secs(),
    );
    range(
        "WatchGameRequest.heartbeat_interval",
        low as usize,
        high as usize,
    );
    range("JoinGame.heartbeat_interval", low as usize, high as usize);
    range(
        "WatchGamesRequest.heartbeat_interval",
        low as usize,
        high as usize,
    );
    let corrections = limits::CORRECTION_TIME_MAX.as_secs() as usize;
    range("WatchGameRequest.correction_time", 0, corrections);
    range("JoinGame.correction_time", 0, corrections);
    let confirmed = limits::CONFIRM_AFTER_MAX.as_secs() as usize;
    range("Game.confirm_after", 0, confirmed);
    range("Position.chess960_number", 0, 959);
    range("PerftJob.depth", 1, limits::PERFT_DEPTH_MAX as usize);
    range(
        "CountPerftRequest.depth",
        0,
        limits::PERFT_DEPTH_MAX as usize,
    );
    let hours = (limits::PERFT_TTL_MAX.as_secs() / 3_600) as usize;
    range("PerftJob.ttl", 1, hours);
    range(
        "PerftJob.redundancy",
        1,
        limits::PERFT_REDUNDANCY_MAX as usize,
    );
    range("PerftJob.recheck_share", 0, 1);
    let longest = limits::PERFT_INTERVAL_MAX.as_millis() as usize;
    range("WatchPerftJobRequest.interval", 100, longest);
    range("TimePeriod.time", 0, (PERIOD_MS_MAX / 86_400_000) as usize);
    range("TimePeriod.bonus", 0, (BONUS_MS_MAX / 3_600_000) as usize);
    for (name, max) in numbers() {
        range(&format!("RuleParameters.{name}"), 0, max);
    }
    for name in ["win", "draw", "loss"] {
        let max = Parameters::HALF_POINTS_MAX as usize;
        range(&format!("Points.{name}_half_points"), 0, max);
    }
}

/// No number is stated that the table above does not hold to the code.
#[test]
fn every_stated_limit_is_held() {
    let set = FileDescriptorSet::decode(referee_api::FILE_DESCRIPTOR_SET)
        .expect("the descriptors were encoded by the build");
    let held = stated();
    let mut found = 0;
    for file in set
        .file
        .iter()
        .filter(|file| file.package() == "referee.v1")
    {
        for message in &file.message_type {
            for field in &message.field {
                let name = format!("{}.{}", message.name(), field.name());
                for sentence in comment(&name).split(". ").map(str::trim) {
                    let Some((word, rest)) = sentence.split_once(':') else {
                        continue;
                    };
                    let is_number = rest.trim().starts_with(|c: char| c.is_ascii_digit());
                    let is_limit = ["Limit", "Range", "Default"].iter();
                    if !is_number || !is_limit.into_iter().any(|one| word.starts_with(one)) {
                        continue;
                    }
                    found += 1;
                    let is_held =
                        |one: &Stated| one.0 == name && one.1.strip_suffix(':') == Some(word);
                    assert!(held.iter().any(is_held), "{name} states '{sentence}'");
                }
            }
        }
    }
    assert_eq!(
        found,
        held.len(),
        "each line of the table is a sentence of the contract"
    );
}
