//! `WatchGames`: all games of the caller's platform as they go on.

use referee_api::v1;
use referee_api::v1::watch_games_response::Kind;
use referee_record::convert::stored::stored_event;
use referee_record::convert::time::write_us;
use referee_record::{Fields, check_labels, resource_name, write_created};
use referee_store::TailEntry;

use super::place::Place;
use super::service::{GamesService, read_heartbeat};
use crate::error::{Resume, ServiceError};
use crate::games::{LogTail, LogUpdate, WatchedGames, sent_bytes};
use crate::limits;
use crate::transport::{Caller, Frame, Outgoing, Sender};

/// The number of the field `event` in `WatchGamesResponse`, and in `WatchedEvent`.
const EVENT_FIELD: u32 = 3;

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
    let tail = service
        .games
        .follow_all(games, request.after_cursor, heartbeat)
        .await?;
    let (stop, line) = (service.stop.clone(), caller.line().clone());
    service.streams.open(caller, |sender| async move {
        let place = Place::default();
        tokio::select! {
            () = send_all(tail, &sender, &place) => {}
            by = line.ended(&stop) => sender.fail(place.end(by)).await,
            () = sender.closed() => {}
        }
    })
}

/// Sends everything until the log cannot be followed any more.
async fn send_all(mut tail: LogTail, sender: &Sender<Frame>, place: &Place) {
    loop {
        place.note(Resume::AfterCursor(tail.cursor().to_string()));
        let frame = match tail.next().await {
            Ok(LogUpdate::Entry(entry)) => write_entry(entry),
            Ok(LogUpdate::Checkpoint { cursor, now_us }) => {
                let server_time = Some(write_us(now_us));
                let kind = Kind::Checkpoint(v1::Checkpoint { server_time });
                Ok(told(cursor.to_string(), kind))
            }
            Err(error) => Err(error),
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
fn write_entry(entry: TailEntry) -> Result<Frame, ServiceError> {
    let cursor = entry.cursor.to_string();
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
