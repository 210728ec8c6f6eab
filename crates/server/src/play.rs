//! Playing one seat over one stream: what is followed and what is answered, in one order.

use std::sync::Arc;

use referee_api::v1;
use referee_record::{Fields, read_name};
use tokio::sync::watch;
use tonic::Streaming;

use crate::desk::Desk;
use crate::follow::{Follower, News, read_heartbeat};
use crate::game_service::{check_after, submit};
use crate::reject::translate;
use crate::status::ApiError;
use crate::stream::{Gone, Sender, stopped};

/// What the first message of a stream asks for.
pub(crate) struct Join {
    id: String,
    seat: v1::Seat,
    follower: Follower,
}

impl Join {
    /// Reads the first message of a stream.
    pub(crate) async fn read(
        desk: &Arc<Desk>,
        actions: &mut Streaming<v1::PlayGameRequest>,
    ) -> Result<Join, ApiError> {
        let first = match read_message(actions).await? {
            Some(v1::play_game_request::Kind::Join(join)) => join,
            _ => {
                return Err(ApiError::StreamProtocol {
                    field: "join",
                    description: "the first message of the stream must be a join",
                });
            }
        };
        let id = read_name("join.name", &first.name)?;
        let mut fields = Fields::default();
        let seat = fields.choice("join.seat", first.seat);
        if !matches!(seat, v1::Seat::White | v1::Seat::Black) {
            fields.refuse("join.seat", "must be SEAT_WHITE or SEAT_BLACK");
        }
        let heartbeat = read_heartbeat(
            &mut fields,
            "join.heartbeat_interval",
            first.heartbeat_interval,
        );
        check_after(&mut fields, "join.after_sequence", first.after_sequence);
        fields.finish()?;
        let after = first.after_sequence;
        let follower = Follower::begin(Arc::clone(desk), id.clone(), after, heartbeat).await?;
        Ok(Join { id, seat, follower })
    }
}

/// Reads the next message; `None` where the client has nothing more to say.
async fn read_message(
    actions: &mut Streaming<v1::PlayGameRequest>,
) -> Result<Option<v1::play_game_request::Kind>, ApiError> {
    match actions.message().await {
        Ok(None) => Ok(None),
        Ok(Some(message)) => message.kind.map(Some).ok_or(ApiError::StreamProtocol {
            field: "kind",
            description: "a message of the stream must be a join or an action",
        }),
        Err(status) => Err(translate(&status).unwrap_or(ApiError::MalformedMessage {
            reason: status.message().to_owned(),
        })),
    }
}

/// Plays until the game is over, the client is gone, or the server stops.
pub(crate) async fn play(
    desk: Arc<Desk>,
    join: Join,
    mut actions: Streaming<v1::PlayGameRequest>,
    sender: Sender<v1::PlayGameResponse>,
    mut is_stopping: watch::Receiver<bool>,
) {
    let Join {
        id,
        seat,
        mut follower,
    } = join;
    let mut speaks = true;
    loop {
        tokio::select! {
            // What has happened is told before the next action is looked at.
            biased;
            () = stopped(&mut is_stopping) => {
                return sender.fail(ApiError::ShuttingDown).await;
            }
            () = sender.closed() => return,
            message = read_message(&mut actions), if speaks => match message {
                Ok(None) => speaks = false,
                Ok(Some(v1::play_game_request::Kind::Action(action))) => {
                    let arrival_us = desk.now_us();
                    let answer = answer(&desk, &id, seat, action, arrival_us).await;
                    if tell_answer(&mut follower, &sender, answer).await.is_err() {
                        return;
                    }
                }
                Ok(Some(v1::play_game_request::Kind::Join(_))) => {
                    let field = "join";
                    let description = "only the first message of the stream can join";
                    return sender.fail(ApiError::StreamProtocol { field, description }).await;
                }
                Err(error) => return sender.fail(error).await,
            },
            news = follower.next() => match news {
                Ok(News::End) => return,
                Ok(news) => {
                    if tell(&sender, news).await.is_err() {
                        return;
                    }
                }
                Err(error) => return sender.fail(error).await,
            },
        }
    }
}

/// Puts an action to the referee, and answers whatever comes of it.
async fn answer(
    desk: &Arc<Desk>,
    id: &str,
    seat: v1::Seat,
    action: v1::Action,
    arrival_us: i64,
) -> v1::ActionAnswer {
    let request_id = action.request_id.clone();
    let judged = if action.seat == i32::from(seat) {
        submit(desk, id.to_owned(), action, arrival_us).await
    } else {
        Err(ApiError::field(
            "action.seat",
            "must be the seat that joined the stream",
        ))
    };
    match judged {
        Ok(response) => v1::ActionAnswer {
            request_id,
            ruling: response.ruling,
            error: None,
            sequence: response.sequence,
        },
        Err(error) => v1::ActionAnswer {
            request_id,
            ruling: None,
            error: Some(error.to_action_error()),
            sequence: 0,
        },
    }
}

/// Tells an answer after the events that came before it, its own among them.
async fn tell_answer(
    follower: &mut Follower,
    sender: &Sender<v1::PlayGameResponse>,
    answer: v1::ActionAnswer,
) -> Result<(), Gone> {
    while follower.told() < answer.sequence || follower.has_snapshot() {
        match follower.at_hand().await {
            Ok(Some(News::End) | None) => break,
            Ok(Some(news)) => tell(sender, news).await?,
            Err(error) => {
                sender.fail(error).await;
                return Err(Gone);
            }
        }
    }
    let kind = v1::play_game_response::Kind::Answer(answer);
    sender.send(v1::PlayGameResponse { kind: Some(kind) }).await
}

async fn tell(sender: &Sender<v1::PlayGameResponse>, news: News) -> Result<(), Gone> {
    use v1::play_game_response::Kind;
    let kind = match news {
        News::Snapshot(game) => Kind::Snapshot(*game),
        News::Event(event) => Kind::Event(*event),
        News::Heartbeat(heartbeat) => Kind::Heartbeat(heartbeat),
        News::End => return Ok(()),
    };
    sender.send(v1::PlayGameResponse { kind: Some(kind) }).await
}
