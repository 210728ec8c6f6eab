//! `WatchGames`: all games of the caller's platform as they go on.

use referee_api::v1;
use referee_api::v1::watch_games_response::Kind;
use referee_record::convert::stored::stored_event;
use referee_record::convert::time::write_us;
use referee_record::{Fields, check_labels, resource_name, write_created};
use referee_store::{LogCursor, TailEntry};

use super::place::Place;
use super::service::{GamesService, read_heartbeat};
use crate::error::{Resume, ServiceError};
use crate::games::{LogTail, LogUpdate, WatchedGames, sent_bytes};
use crate::limits;
use crate::transport::{Caller, Frame, Outgoing, Sender};

/// The number of the field `event` in `WatchGamesResponse`, and in `WatchedEvent`.
const EVENT_FIELD: u32 = 3;

/// What cursors are covered for.
const COVERED: &[u8] = b"cursor";

/// Begins to watch the games of a platform.
pub(super) async fn watch(
    service: &GamesService,
    caller: &Caller,
    request: v1::WatchGamesRequest,
) -> Result<Outgoing<Frame>, ServiceError> {
    service.check_running()?;
    let mut fields = Fields::default();
    let labels_max = limits::FILTER_LABELS_MAX;
    fields.count("labels", "labels", request.labels.len(), labels_max);
    check_labels("labels", &request.labels, &mut fields);
    if let Some(cursor) = &request.after_cursor {
        fields.length("after_cursor", cursor, limits::CURSOR_BYTES_MAX);
    }
    let interval = request.heartbeat_interval;
    let heartbeat = read_heartbeat(&mut fields, "heartbeat_interval", interval);
    fields.finish()?;
    let games = WatchedGames {
        platform: caller.platform().to_owned(),
        labels: caller.list_labels(request.labels.into_iter().collect())?,
    };
    let after = match request.after_cursor {
        Some(cursor) if !cursor.is_empty() => {
            let place = caller.uncover(COVERED, &cursor);
            Some(place.ok_or(ServiceError::CursorLost { after: cursor })?)
        }
        after => after,
    };
    let tail = service.games.follow_all(games, after, heartbeat).await?;
    let (stop, line) = (service.stop.clone(), caller.line().clone());
    let watcher = caller.clone();
    service.streams.open(caller, |sender| async move {
        let place = Place::default();
        tokio::select! {
            () = send_all(tail, &watcher, &sender, &place) => {}
            by = line.ended(&stop) => sender.fail(place.end(by)).await,
            () = sender.closed() => {}
        }
    })
}

/// Sends everything until the log cannot be followed any more.
async fn send_all(mut tail: LogTail, watcher: &Caller, sender: &Sender<Frame>, place: &Place) {
    // Positions in the log count what all platforms do.
    let cover = |cursor: &LogCursor| watcher.cover(COVERED, &cursor.to_string());
    let mut sent = cover(tail.cursor());
    loop {
        let cursor = match sent {
            Ok(cursor) => cursor,
            Err(error) => return sender.fail(error).await,
        };
        place.note(Resume::AfterCursor(cursor));
        let update = tail.next().await;
        sent = cover(tail.cursor());
        let frame = match (update, &sent) {
            (Ok(LogUpdate::Entry(entry)), Ok(cursor)) => write_entry(*entry, cursor.clone()),
            (Ok(LogUpdate::Checkpoint { now_us }), Ok(cursor)) => {
                let server_time = Some(write_us(now_us));
                let kind = Kind::Checkpoint(v1::Checkpoint { server_time });
                Ok(told(cursor.clone(), kind))
            }
            (Err(error), _) => Err(error),
            (_, Err(error)) => Err(error.clone()),
        };
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => return sender.fail(error).await,
        };
        if sender.send(frame).await.is_err() {
            return;
        }
    }
}

fn told(cursor: String, kind: Kind) -> Frame {
    Frame::message(&v1::WatchGamesResponse {
        cursor,
        kind: Some(kind),
    })
}

/// Writes an entry of the log: the creation of a game, its deletion, or an event in the bytes in
/// which it is stored.
fn write_entry(entry: TailEntry, cursor: String) -> Result<Frame, ServiceError> {
    if let Some(tombstone) = entry.deleted {
        let deleted = v1::DeletedGame {
            name: resource_name(&entry.key.game),
            delete_time: Some(write_us(tombstone.delete_time_us)),
        };
        return Ok(told(cursor, Kind::Deleted(deleted)));
    }
    if entry.entry.sequence == 0 {
        let game = write_created(&entry.entry.whole())?;
        return Ok(told(cursor, Kind::Created(game)));
    }
    let outer = v1::WatchGamesResponse { cursor, kind: None };
    let inner = v1::WatchedEvent {
        name: resource_name(&entry.key.game),
        labels: entry.labels.into_iter().collect(),
        event: None,
    };
    let bytes = match entry.entry.private {
        None => entry.entry.bytes.into(),
        Some(_) => {
            let event = stored_event(&entry.entry.whole())?;
            sent_bytes(entry.entry, &event)
        }
    };
    Ok(Frame::within(
        (&outer, EVENT_FIELD),
        (&inner, EVENT_FIELD),
        bytes,
    ))
}
