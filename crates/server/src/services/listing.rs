//! `ListGames` and `ListGameEvents`: pages, bound to what they are pages of.

use prost::Message;
use referee_api::v1;
use referee_record::convert::stored::stored_event;
use referee_record::convert::time::read_moment;
use referee_record::{Error, Fields, check_labels, write_summary};
use referee_store::{ListCursor, ListFilter};

use crate::error::ServiceError;
use crate::games::GameRegistry;
use crate::limits;
use crate::transport::Caller;

use super::service::GamesService;

/// Lists games, newest first. Nothing is read game by game: each row has what is shown of it.
pub(super) async fn list(
    registry: &GameRegistry,
    caller: &Caller,
    request: &v1::ListGamesRequest,
) -> Result<v1::ListGamesResponse, ServiceError> {
    let mut fields = Fields::default();
    let size = fields.page_size(
        request.page_size,
        limits::GAMES_PAGE_DEFAULT,
        limits::GAMES_PAGE_MAX,
    );
    check_token(&request.page_token, &mut fields);
    let mut filter = read_filter(request.filter.as_ref(), &mut fields);
    fields.finish()?;
    let scope = filter_scope(request.filter.as_ref());
    filter.labels = caller.list_labels(filter.labels)?;
    let mut cursor = match read_token(caller, &scope, &request.page_token)?.as_deref() {
        None => None,
        Some(&[create_time_us, id]) => Some(ListCursor { create_time_us, id }),
        Some(_) => return Err(ServiceError::InvalidPageToken),
    };
    let mut games = Vec::new();
    let mut bytes = 0;
    // A few rows at a time keep the cursor at the last game that fits the page.
    while games.len() < size && bytes < limits::PAGE_BYTES_MAX {
        let wanted = (size - games.len()).min(limits::GAMES_READ_MAX);
        let turn = registry.bulk_turn().await?;
        let page = registry
            .records()
            .list(caller.platform(), &filter, cursor, wanted);
        let page = page.await?;
        drop(turn);
        cursor = page.next;
        for row in &page.games {
            let last = row.last_entry.as_ref().map(|entry| &entry.bytes[..]);
            let update = row.description.as_ref();
            let update = update.filter(|update| update.sequence > 0);
            let update = update.map(|update| &update.text.bytes[..]);
            let genesis = row.whole_genesis();
            let game = write_summary(&genesis, update, last, row.state, row.update_time_us);
            let game = match game {
                // Who reads the game is told. It does not stand in the way of the others.
                Err(Error::Damaged { what }) => {
                    tracing::error!(game = row.key.game, what, "a damaged game is not listed");
                    continue;
                }
                game => game?,
            };
            bytes += game.encoded_len();
            games.push(game);
        }
        if cursor.is_none() {
            break;
        }
    }
    let next_page_token = match cursor {
        Some(cursor) => write_token(caller, &scope, &[cursor.create_time_us, cursor.id])?,
        None => String::new(),
    };
    Ok(v1::ListGamesResponse {
        games,
        next_page_token,
    })
}

/// Lists the events of a game, oldest first.
pub(super) async fn list_events(
    service: &GamesService,
    caller: &Caller,
    request: &v1::ListGameEventsRequest,
) -> Result<v1::ListGameEventsResponse, ServiceError> {
    let key = service.key(caller, "parent", &request.parent).await?;
    let mut fields = Fields::default();
    let size = fields.page_size(
        request.page_size,
        limits::EVENTS_PAGE_DEFAULT,
        limits::EVENTS_PAGE_MAX,
    );
    check_token(&request.page_token, &mut fields);
    fields.finish()?;
    let scope = [b"events\n", key.game.as_bytes()].concat();
    let mut after = match read_token(caller, &scope, &request.page_token)?.as_deref() {
        None => 0,
        Some(&[after]) if after >= 0 => after,
        Some(_) => return Err(ServiceError::InvalidPageToken),
    };
    let registry = &service.games.registry;
    let records = registry.records();
    let Some(head) = records.head(&key).await? else {
        return Err(registry.missing(&key).await);
    };
    let last = head.sequence;
    let mut events: Vec<v1::GameEvent> = Vec::new();
    let mut bytes = 0;
    'pages: while events.len() < size {
        let turn = registry.bulk_turn().await?;
        let page = records.entries(&key, after, size - events.len()).await?;
        drop(turn);
        if page.is_empty() {
            break;
        }
        for entry in page {
            let whole = entry.whole();
            bytes += whole.len();
            if bytes > limits::PAGE_BYTES_MAX && !events.is_empty() {
                break 'pages;
            }
            after = entry.sequence;
            events.push(stored_event(&whole)?);
        }
    }
    let next_page_token = if after < last {
        write_token(caller, &scope, &[after])?
    } else {
        String::new()
    };
    Ok(v1::ListGameEventsResponse {
        events,
        next_page_token,
    })
}

/// Reads a choice of games.
pub(super) fn read_filter(message: Option<&v1::GameFilter>, fields: &mut Fields) -> ListFilter {
    let Some(message) = message else {
        return ListFilter::default();
    };
    let states = &message.states;
    let states_max = limits::FILTER_STATES_MAX;
    fields.count("filter.states", "states", states.len(), states_max);
    for &state in states.iter().take(states_max) {
        if fields.choice::<v1::game::State>("filter.states", state) == v1::game::State::Unspecified
        {
            fields.refuse(
                "filter.states",
                "must name states other than STATE_UNSPECIFIED",
            );
        }
    }
    let labels = &message.labels;
    let labels_max = limits::FILTER_LABELS_MAX;
    fields.count("filter.labels", "labels", labels.len(), labels_max);
    check_labels("filter.labels", labels, fields);
    let min_create_time_us = read_moment("filter.min_create_time", message.min_create_time, fields);
    let max_create_time_us = read_moment("filter.max_create_time", message.max_create_time, fields);
    ListFilter {
        states: states.clone(),
        labels: labels
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
        min_create_time_us,
        // The store's bound is inclusive, that of the contract is not.
        max_create_time_us: max_create_time_us.map(|time| time - 1),
    }
}

/// What a list of games is about.
fn filter_scope(filter: Option<&v1::GameFilter>) -> Vec<u8> {
    scope_of("games", &filter.cloned().unwrap_or_default())
}

/// What a list is about: a token of one filter is none for another.
pub(super) fn scope_of(what: &str, filter: &impl Message) -> Vec<u8> {
    [what.as_bytes(), b"\n", &filter.encode_to_vec()].concat()
}

pub(super) fn check_token(token: &str, fields: &mut Fields) {
    fields.length("page_token", token, limits::PAGE_TOKEN_BYTES_MAX);
}

/// Writes a page token: bound to the platform and to what is listed, and covered, since rows are
/// counted for all platforms together.
pub(super) fn write_token(
    caller: &Caller,
    scope: &[u8],
    parts: &[i64],
) -> Result<String, ServiceError> {
    let parts: Vec<String> = parts.iter().map(|part| format!("{part:x}")).collect();
    caller.cover(scope, &parts.join(":"))
}

/// Reads a page token; the empty one begins with the first page.
pub(super) fn read_token(
    caller: &Caller,
    scope: &[u8],
    token: &str,
) -> Result<Option<Vec<i64>>, ServiceError> {
    if token.is_empty() {
        return Ok(None);
    }
    let parts = caller.uncover(scope, token);
    let parts = parts.ok_or(ServiceError::InvalidPageToken)?;
    let numbers = parts.split(':').map(|part| i64::from_str_radix(part, 16));
    numbers
        .collect::<Result<_, _>>()
        .map(Some)
        .map_err(|_| ServiceError::InvalidPageToken)
}
