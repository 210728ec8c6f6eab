//! `WatchGame`: a game as it goes on.

use referee_api::v1;
use referee_api::v1::game_end::Finality;
use referee_api::v1::watch_game_response::Kind;
use referee_record::Fields;
use referee_record::convert::time::write_us;

use super::place::Place;
use super::service::{GamesService, check_after, read_corrections, read_heartbeat};
use crate::error::{Resume, ServiceError};
use crate::games::{Follower, Update, Wish};
use crate::transport::{Caller, Frame, Outgoing, Sender};

/// The number of the field `event` in `WatchGameResponse` and `PlayGameResponse`.
pub(super) const EVENT_FIELD: u32 = 2;

/// Begins to watch a game.
pub(super) async fn watch(
    service: &GamesService,
    caller: &Caller,
    request: &v1::WatchGameRequest,
) -> Result<Outgoing<Frame>, ServiceError> {
    service.check_running()?;
    let key = service.key(caller, "name", &request.name).await?;
    let mut fields = Fields::default();
    let interval = request.heartbeat_interval;
    let heartbeat = read_heartbeat(&mut fields, "heartbeat_interval", interval);
    check_after(&mut fields, "after_sequence", request.after_sequence);
    let corrections = read_corrections(&mut fields, "correction_time", request.correction_time);
    fields.finish()?;
    let wish = Wish {
        after: request.after_sequence,
        heartbeat,
        corrections,
    };
    let follower = service.games.follow(&key, wish).await?;
    let place = Place::default();
    if let Some(after) = request.after_sequence {
        place.note(Resume::AfterSequence(after));
    }
    let (stop, line) = (service.stop.clone(), caller.line().clone());
    service.streams.open(caller, |sender| async move {
        tokio::select! {
            () = send_all(follower, &sender, &place) => {}
            by = line.ended(&stop) => sender.fail(place.end(by)).await,
            () = sender.closed() => {}
        }
    })
}

/// Sends everything until the game is over or cannot be followed any more.
async fn send_all(mut follower: Follower, sender: &Sender<Frame>, place: &Place) {
    loop {
        note_place(&follower, place);
        let frame = match follower.next().await {
            Ok(Update::Event(event)) => Frame::field(EVENT_FIELD, event.bytes),
            Ok(Update::Snapshot(game)) => watched(Kind::Snapshot(game.folded.view())),
            Ok(Update::Heartbeat { sequence, now_us }) => {
                watched(Kind::Heartbeat(heartbeat(sequence, now_us)))
            }
            Ok(Update::End { sequence, outcome }) => {
                let end = watched(Kind::End(game_end(sequence, outcome.as_deref())));
                // The last message, so that nobody waits for a reader that is gone.
                let _ = sender.send(end).await;
                return;
            }
            Err(error) => return sender.fail(error).await,
        };
        if sender.send(frame).await.is_err() {
            return;
        }
    }
}

/// Notes how far a follower has come whose updates were all sent.
pub(super) fn note_place(follower: &Follower, place: &Place) {
    if !follower.has_snapshot() {
        place.note(Resume::AfterSequence(follower.sent()));
    }
}

fn watched(kind: Kind) -> Frame {
    Frame::message(&v1::WatchGameResponse { kind: Some(kind) })
}

/// The end of a stream, which says whether it is final; of a game that was deleted there is no
/// outcome.
pub(super) fn game_end(sequence: i64, outcome: Option<&v1::Outcome>) -> v1::GameEnd {
    let finality = match outcome {
        None => Finality::Deleted,
        Some(outcome) if outcome.confirmed => Finality::Final,
        Some(outcome) if outcome.provisional => Finality::Provisional,
        Some(_) => Finality::Open,
    };
    v1::GameEnd {
        sequence,
        finality: finality.into(),
        outcome: outcome.cloned(),
    }
}

/// A heartbeat of a stream.
pub(super) fn heartbeat(sequence: i64, now_us: i64) -> v1::Heartbeat {
    v1::Heartbeat {
        sequence,
        server_time: Some(write_us(now_us)),
    }
}
