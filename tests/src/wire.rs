//! The wire: requests in short, bytes as they are sent, and what an error must say.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::HeaderMap;
use http_body_util::{BodyExt, Full};
use prost::Message;
use referee_api::v1::action::Kind;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::{
    Action, AnswerDraw, ArbiterDecision, ClaimKind, Confirm, CreateGameRequest, DrawAnswer,
    ExportPgnRequest, Game, IllegalPolicy, MakeClaim, MakeMove, OfferDraw, Position, Resign,
    RuleParameters, RuleProfile, Score, Seat, SetScore, SubmitActionRequest, arbiter_decision,
    export_pgn_request, position,
};
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, RpcStatusExt as _, StatusExt as _};

/// The path of a method of the games.
pub const SUBMIT: &str = "/referee.v1.GameService/SubmitAction";
/// The path of the method that creates games.
pub const CREATE: &str = "/referee.v1.GameService/CreateGame";

/// Opens a connection.
///
/// # Panics
///
/// Where there is none to be had.
pub async fn connect(address: SocketAddr) -> Channel {
    let channel = try_connect(address).await;
    channel.unwrap_or_else(|error| panic!("{address}: {error:?}"))
}

/// Opens a connection, or says why there is none.
///
/// # Errors
///
/// Where nobody listens.
pub async fn try_connect(address: SocketAddr) -> Result<Channel, tonic::transport::Error> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?;
    endpoint
        .connect_timeout(Duration::from_secs(10))
        .connect()
        .await
}

/// Opens a connection on which little can be under way: 64 KiB, the least of HTTP/2.
///
/// # Panics
///
/// Where there is none to be had.
pub async fn connect_narrow(address: SocketAddr) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{address}"));
    let endpoint = endpoint
        .expect("an address makes a URI")
        .initial_stream_window_size(65_535)
        .initial_connection_window_size(65_535);
    let channel = endpoint.connect().await;
    channel.unwrap_or_else(|error| panic!("{address}: {error:?}"))
}

/// Returns an id that no other request of this process has.
#[must_use]
pub fn fresh_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("request-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns the request that creates a game under a name.
#[must_use]
pub fn create(game_id: &str, game: Game) -> CreateGameRequest {
    CreateGameRequest {
        game: Some(game),
        game_id: game_id.to_owned(),
        request_id: fresh_id(),
    }
}

/// Returns the request for a game as Portable Game Notation.
#[must_use]
pub fn export_pgn_of(name: &str) -> ExportPgnRequest {
    let games = Some(export_pgn_request::Games::Name(name.to_owned()));
    ExportPgnRequest { games }
}

/// Returns games as Portable Game Notation: what all pieces of the stream are together.
///
/// # Errors
///
/// Where the call fails, at the start or later.
pub async fn export_pgn(
    games: &mut GameServiceClient<Channel>,
    request: ExportPgnRequest,
) -> Result<String, Status> {
    let mut stream = games.export_pgn(request).await?.into_inner();
    let mut text = String::new();
    while let Some(piece) = stream.message().await? {
        text += &piece.pgn;
    }
    Ok(text)
}

/// Returns a game in which an illegal move is only refused, as where a board on a screen plays.
#[must_use]
pub fn refusing() -> Game {
    let overrides = RuleParameters {
        illegal_policy: IllegalPolicy::Refuse.into(),
        ..RuleParameters::default()
    };
    Game {
        rule_profile: Some(RuleProfile {
            overrides: Some(overrides),
            ..RuleProfile::default()
        }),
        ..Game::default()
    }
}

/// Returns a game that begins in a position.
#[must_use]
pub fn game_from(fen: &str) -> Game {
    Game {
        initial_position: Some(from_fen(fen)),
        ..Game::default()
    }
}

/// Returns a position without a history.
#[must_use]
pub fn from_fen(fen: &str) -> Position {
    Position {
        base: Some(position::Base::Fen(fen.to_owned())),
        ..Default::default()
    }
}

/// Returns the request that puts an action to the referee, under a new id.
#[must_use]
pub fn submit(game_id: &str, seat: Seat, kind: Kind) -> SubmitActionRequest {
    SubmitActionRequest {
        name: format!("games/{game_id}"),
        action: Some(action(seat, kind)),
    }
}

/// Returns an action under a new id.
#[must_use]
pub fn action(seat: Seat, kind: Kind) -> Action {
    Action {
        seat: seat.into(),
        request_id: fresh_id(),
        expected_sequence: None,
        kind: Some(kind),
        platform_time: None,
    }
}

/// Returns the seat that has the move after so many moves of a game from the first position.
#[must_use]
pub fn on_move(ply: usize) -> Seat {
    if ply.is_multiple_of(2) {
        Seat::White
    } else {
        Seat::Black
    }
}

/// Returns the other player.
#[must_use]
pub fn other(seat: Seat) -> Seat {
    if seat == Seat::White {
        Seat::Black
    } else {
        Seat::White
    }
}

/// A move.
#[must_use]
pub fn make_move(text: &str) -> Kind {
    Kind::MakeMove(MakeMove {
        r#move: text.to_owned(),
        offer_draw: false,
        ..MakeMove::default()
    })
}

/// A move with an offer of a draw.
#[must_use]
pub fn move_and_offer(text: &str) -> Kind {
    Kind::MakeMove(MakeMove {
        r#move: text.to_owned(),
        offer_draw: true,
        ..MakeMove::default()
    })
}

/// An offer of a draw.
#[must_use]
pub fn offer() -> Kind {
    Kind::OfferDraw(OfferDraw::default())
}

/// The answer to an offer.
#[must_use]
pub fn answer(accept: bool) -> Kind {
    let answer = match accept {
        true => DrawAnswer::Accept,
        false => DrawAnswer::Decline,
    };
    let answer = answer.into();
    Kind::AnswerDraw(AnswerDraw { answer })
}

/// A claim, of the position on the board where no move is intended.
#[must_use]
pub fn claim(claim: ClaimKind, intended: Option<&str>) -> Kind {
    let intended_move = intended.unwrap_or_default().to_owned();
    Kind::MakeClaim(MakeClaim {
        claim: claim.into(),
        intended_move,
        ..MakeClaim::default()
    })
}

/// A resignation.
#[must_use]
pub fn resign() -> Kind {
    Kind::Resign(Resign {})
}

/// Frames a message as gRPC does: whether it is compressed, its length, its bytes.
#[must_use]
pub fn frame(compressed: u8, message: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(message.len() + 5);
    framed.put_u8(compressed);
    framed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    framed.put_slice(message);
    framed.freeze()
}

/// Sends bytes as the body of one call and returns the bytes of the one message that comes back.
///
/// # Errors
///
/// The status that the call ends with, where that is not `OK`, or what broke the connection.
pub async fn send(channel: &Channel, path: &str, body: Bytes) -> Result<Bytes, Status> {
    send_with(channel, path, body, HeaderMap::new()).await
}

/// Does the same with further headers.
///
/// # Errors
///
/// As [`send`].
pub async fn send_with(
    channel: &Channel,
    path: &str,
    body: Bytes,
    headers: HeaderMap,
) -> Result<Bytes, Status> {
    let mut request = http::Request::post(format!("http://referee{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Body::new(Full::new(body)))
        .map_err(|error| Status::internal(error.to_string()))?;
    request.headers_mut().extend(headers);
    let lost = |error: &dyn std::error::Error| Status::unavailable(format!("lost: {error:?}"));
    let mut channel = channel.clone();
    let ready = std::future::poll_fn(|context| tower_ready(&mut channel, context)).await;
    ready.map_err(|error| lost(&error))?;
    let response = tower_call(&mut channel, request)
        .await
        .map_err(|error| lost(&error))?;
    let (parts, body) = response.into_parts();
    if let Some(status) = Status::from_header_map(&parts.headers) {
        return if status.code() == Code::Ok {
            Ok(Bytes::new())
        } else {
            Err(status)
        };
    }
    let body = body.collect().await.map_err(|status| lost(&status))?;
    let trailers = body.trailers().cloned().unwrap_or_default();
    let bytes = body.to_bytes();
    match Status::from_header_map(&trailers) {
        Some(status) if status.code() == Code::Ok => Ok(bytes.slice(5.min(bytes.len())..)),
        Some(status) => Err(status),
        None => Err(Status::unavailable("lost: no status came")),
    }
}

fn tower_ready(
    channel: &mut Channel,
    context: &mut std::task::Context<'_>,
) -> std::task::Poll<Result<(), tonic::transport::Error>> {
    tonic::client::GrpcService::<Body>::poll_ready(channel, context)
}

fn tower_call(
    channel: &mut Channel,
    request: http::Request<Body>,
) -> impl Future<Output = Result<http::Response<Body>, tonic::transport::Error>> + use<> {
    tonic::client::GrpcService::<Body>::call(channel, request)
}

/// Sends a message and returns the bytes of the answer, just as they came.
///
/// # Errors
///
/// As [`send`].
pub async fn call(channel: &Channel, path: &str, message: &impl Message) -> Result<Bytes, Status> {
    send(channel, path, frame(0, &message.encode_to_vec())).await
}

/// Whether a call broke off, so that the caller cannot know what has become of it.
#[must_use]
pub fn broke_off(status: &Status) -> bool {
    status.message().starts_with("lost: ") || status.get_error_details().error_info().is_none()
}

/// What the details of an error say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The reason without its prefix.
    pub reason: String,
    /// The domain.
    pub domain: String,
    /// The metadata.
    pub metadata: HashMap<String, String>,
    /// The fields that are named.
    pub fields: Vec<String>,
    /// Whether it says when to come back.
    pub retry: bool,
}

/// Reads the `google.rpc` details of an error.
#[must_use]
pub fn details(status: &Status) -> Details {
    read_details(&status.get_error_details())
}

/// Reads the details of an error within a stream.
#[must_use]
pub fn details_of(status: &tonic_types::Status) -> Details {
    read_details(&status.get_error_details())
}

fn read_details(found: &ErrorDetails) -> Details {
    let mut read = Details {
        retry: found.retry_info().is_some(),
        ..Details::default()
    };
    if let Some(info) = found.error_info().cloned() {
        (read.reason, read.domain, read.metadata) = (info.reason, info.domain, info.metadata);
    }
    if let Some(request) = found.bad_request() {
        read.fields = request
            .field_violations
            .iter()
            .map(|one| one.field.clone())
            .collect();
    }
    read
}

/// What the arbiter decides.
#[must_use]
pub fn decide(kind: arbiter_decision::Kind) -> Kind {
    Kind::ArbiterDecision(ArbiterDecision {
        kind: Some(kind),
        ..ArbiterDecision::default()
    })
}

/// The arbiter sets the score.
#[must_use]
pub fn score(white: Score, black: Score) -> Kind {
    decide(arbiter_decision::Kind::SetScore(SetScore {
        white: white.into(),
        black: black.into(),
    }))
}

/// The arbiter confirms what stands.
#[must_use]
pub fn confirm() -> Kind {
    decide(arbiter_decision::Kind::Confirm(Confirm {}))
}
