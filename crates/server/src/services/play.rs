//! `PlayGame`: one seat over one stream, what is followed and what is answered in one order.

use std::pin::Pin;
use std::sync::Arc;

use referee_api::v1;
use referee_api::v1::play_game_response::Kind;
use referee_record::Fields;
use referee_record::convert::action::read_action;
use referee_store::GameKey;
use tonic::Streaming;
use tracing::Instrument;

use super::permit::{check_action, check_seat, note_refusal};
use super::place::Place;
use super::service::{GamesService, check_after, read_corrections, read_heartbeat};
use super::watch::{EVENT_FIELD, game_end, heartbeat, note_place};
use crate::error::ServiceError;
use crate::games::{Arrival, Follower, Games, Update, Wish};
use crate::limits;
use crate::transport::{Caller, Frame, Gone, Outgoing, Sender, read_fault};

/// Opens a stream. The join is read inside: a client may wait for the answer before it sends.
pub(super) fn open(
    service: &GamesService,
    caller: Caller,
    mut actions: Streaming<v1::PlayGameRequest>,
) -> Result<Outgoing<Frame>, ServiceError> {
    service.check_running()?;
    let (own, stop) = (service.clone(), service.stop.clone());
    let (stands_on, place) = (caller.clone(), Place::default());
    let line = caller.line().clone();
    let streams = &service.streams;
    streams.open_pending(&stands_on, |sender| async move {
        let games = &own.games;
        let played = async {
            let joined = tokio::select! {
                joined = Join::read(&own, &caller, &mut actions) => joined,
                () = games.clock.sleep(limits::FIRST_MESSAGE_TIMEOUT) => {
                    Err(ServiceError::DeadlineExceeded)
                }
            };
            let begun = joined.and_then(|join| sender.begin().map(|()| join));
            match begun {
                Ok(join) => play(games, &caller, join, actions, (&sender, &place)).await,
                Err(error) => sender.fail(error).await,
            }
        };
        tokio::select! {
            () = played => {}
            by = line.ended(&stop) => sender.fail(place.end(by)).await,
            () = sender.closed() => {}
        }
    })
}

/// What the first message of a stream asks for.
struct Join {
    key: GameKey,
    seat: v1::Seat,
    follower: Follower,
}

impl Join {
    /// Reads the first message of a stream.
    async fn read(
        service: &GamesService,
        caller: &Caller,
        actions: &mut Streaming<v1::PlayGameRequest>,
    ) -> Result<Join, ServiceError> {
        let first = match read_message(actions).await? {
            Some(v1::play_game_request::Kind::Join(join)) => join,
            _ => {
                return Err(ServiceError::StreamProtocol {
                    field: "join",
                    description: "the first message of the stream must be a join",
                });
            }
        };
        let key = service.key(caller, "join.name", &first.name).await?;
        let mut fields = Fields::default();
        let seat = fields.choice("join.seat", first.seat);
        if !matches!(seat, v1::Seat::White | v1::Seat::Black | v1::Seat::Arbiter) {
            fields.refuse(
                "join.seat",
                "must be SEAT_WHITE, SEAT_BLACK or SEAT_ARBITER",
            );
        }
        let field = "join.heartbeat_interval";
        let heartbeat = read_heartbeat(&mut fields, field, first.heartbeat_interval);
        check_after(&mut fields, "join.after_sequence", first.after_sequence);
        let field = "join.correction_time";
        let corrections = read_corrections(&mut fields, field, first.correction_time);
        fields.finish()?;
        let wish = Wish {
            after: first.after_sequence,
            heartbeat,
            corrections,
        };
        check_seat(caller, "join.seat", seat)?;
        let follower = service.games.follow(&key, wish).await?;
        Ok(Join {
            key,
            seat,
            follower,
        })
    }
}

/// Reads the next message; `None` where the client has nothing more to say.
async fn read_message(
    actions: &mut Streaming<v1::PlayGameRequest>,
) -> Result<Option<v1::play_game_request::Kind>, ServiceError> {
    match actions.message().await {
        Ok(None) => Ok(None),
        Ok(Some(message)) => message.kind.map(Some).ok_or(ServiceError::StreamProtocol {
            field: "kind",
            description: "a message of the stream must be a join or an action",
        }),
        Err(status) => Err(read_fault(&status)),
    }
}

/// Plays until the game is over, the client has nothing more to say, or the stream cannot go on.
async fn play(
    games: &Games,
    caller: &Caller,
    join: Join,
    mut actions: Streaming<v1::PlayGameRequest>,
    (sender, place): (&Sender<Frame>, &Place),
) {
    let Join {
        key,
        seat,
        mut follower,
    } = join;
    // The action that is being judged; what happens meanwhile is sent all the same.
    let mut judged: Option<Judged<'_>> = None;
    loop {
        note_place(&follower, place);
        tokio::select! {
            // What has happened is sent before the next action is looked at.
            biased;
            update = follower.next() => match update {
                Ok(Update::End { .. }) if judged.is_some() => {
                    // An answer comes before the end, which may not be the end after it.
                    let answer = wait_for(&mut judged).await;
                    judged = None;
                    if send_answer(&mut follower, sender, answer).await.is_err() {
                        return;
                    }
                }
                Ok(update) => {
                    let is_end = matches!(update, Update::End { .. });
                    if sender.send(frame(update)).await.is_err() || is_end {
                        return;
                    }
                }
                Err(error) => return sender.fail(error).await,
            },
            answer = wait_for(&mut judged) => {
                judged = None;
                if send_answer(&mut follower, sender, answer).await.is_err() {
                    return;
                }
            }
            message = read_message(&mut actions), if judged.is_none() => match message {
                // All that arrived is answered.
                Ok(None) => return tell_the_rest(&mut follower, sender).await,
                Ok(Some(v1::play_game_request::Kind::Action(action))) => {
                    let arrival = Arrival {
                        time_us: games.now_us(),
                        principal: Arc::clone(caller.principal()),
                    };
                    let span = tracing::info_span!("action", request_id = action.request_id);
                    let answer = answer(games, (caller, &key, seat), action, arrival);
                    judged = Some(Box::pin(answer.instrument(span)));
                }
                Ok(Some(v1::play_game_request::Kind::Join(_))) => {
                    let field = "join";
                    let description = "only the first message of the stream can join";
                    let error = ServiceError::StreamProtocol { field, description };
                    return sender.fail(error).await;
                }
                Err(error) => return sender.fail(error).await,
            },
        }
    }
}

/// An action on its way to its answer.
type Judged<'a> = Pin<Box<dyn Future<Output = v1::ActionAnswer> + Send + 'a>>;

/// Waits for the answer to the action that is being judged, where there is one.
async fn wait_for(judged: &mut Option<Judged<'_>>) -> v1::ActionAnswer {
    match judged {
        Some(judged) => judged.await,
        None => std::future::pending().await,
    }
}

/// Puts an action to the referee, and answers whatever comes of it.
async fn answer(
    games: &Games,
    (caller, key, seat): (&Caller, &GameKey, v1::Seat),
    action: v1::Action,
    arrival: Arrival,
) -> v1::ActionAnswer {
    let request_id = action.request_id.clone();
    let judged = if action.seat == i32::from(seat) {
        // On a stream each action is a call; others paid for it at the door.
        let allowed = caller
            .take_call()
            .and_then(|()| check_action(caller, &action));
        match allowed.and_then(|()| read_action(&action).map_err(ServiceError::from)) {
            Ok(submitted) => games.submit(key.clone(), action, submitted, arrival).await,
            Err(error) => Err(error),
        }
    } else {
        Err(ServiceError::field(
            "action.seat",
            "must be the seat that joined the stream",
        ))
    };
    match judged {
        Ok(response) => {
            note_refusal(caller, &response);
            v1::ActionAnswer {
                request_id,
                ruling: response.ruling,
                error: None,
                sequence: response.sequence,
            }
        }
        Err(error) => v1::ActionAnswer {
            request_id,
            ruling: None,
            error: Some(error.to_rpc_status()),
            sequence: 0,
        },
    }
}

/// Sends an answer after the events that came before it, its own among them.
async fn send_answer(
    follower: &mut Follower,
    sender: &Sender<Frame>,
    answer: v1::ActionAnswer,
) -> Result<(), Gone> {
    while follower.sent() < answer.sequence || follower.has_snapshot() {
        match follower.at_hand().await {
            Ok(Some(Update::End { .. }) | None) => break,
            Ok(Some(update)) => sender.send(frame(update)).await?,
            Err(error) => {
                sender.fail(error).await;
                return Err(Gone);
            }
        }
    }
    sender.send(played(Kind::Answer(answer))).await
}

/// Tells what has happened already, and no more.
async fn tell_the_rest(follower: &mut Follower, sender: &Sender<Frame>) {
    loop {
        let update = match follower.at_hand().await {
            Ok(Some(update)) => update,
            Ok(None) => return,
            Err(error) => return sender.fail(error).await,
        };
        let is_end = matches!(update, Update::End { .. });
        if sender.send(frame(update)).await.is_err() || is_end {
            return;
        }
    }
}

/// What is sent of an update.
fn frame(update: Update) -> Frame {
    match update {
        Update::Event(event) => Frame::field(EVENT_FIELD, event.bytes),
        Update::Snapshot(game) => played(Kind::Snapshot(game.folded.view())),
        Update::Heartbeat { sequence, now_us } => {
            played(Kind::Heartbeat(heartbeat(sequence, now_us)))
        }
        Update::End { sequence, outcome } => {
            played(Kind::End(game_end(sequence, outcome.as_deref())))
        }
    }
}

fn played(kind: Kind) -> Frame {
    Frame::message(&v1::PlayGameResponse { kind: Some(kind) })
}
