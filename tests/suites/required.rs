//! Nothing decides at zero. Each field that the contract calls required is left out of a request
//! that is whole, and the refusal names it; and of what an action can carry nothing else has a
//! meaning where nobody has said anything. The descriptors tell which fields there are, so that a
//! new one is held, too.

mod perft;

use std::collections::BTreeSet;

use prost::Message;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind as Shape, MessageDescriptor,
    ReflectMessage, Value,
};
use referee_api::v1;
use referee_api::v1::action::Kind;
use referee_api::v1::arbiter_decision::Kind as Decided;
use referee_tests::process::Referee;
use referee_tests::wire::{self, details, frame};
use tonic::Code;

use crate::bounds::{CONVERT, CREATE, EVENTS, GET, SUBMIT, UPDATE, VALIDATE, WATCH};

const PLAY: &str = "/referee.v1.GameService/PlayGame";
const EXPORT: &str = "/referee.v1.GameService/ExportGame";
const EXPORT_PGN: &str = "/referee.v1.GameService/ExportPgn";
const DELETE: &str = "/referee.v1.GameService/DeleteGame";
const ISSUE: &str = "/referee.v1.TokenService/IssueToken";
const ISSUE_SEAT: &str = "/referee.v1.TokenService/IssueSeatToken";
const REVOKE: &str = "/referee.v1.TokenService/RevokeToken";
const IMPORT_PGN: &str = "/referee.v1.GameService/ImportPgn";

/// Remarks on an action that are not made where they are left out, which is the ordinary case.
const REMARKS: [&str; 7] = [
    "MakeMove.offer_draw",
    "MakeMove.two_hands",
    "MakeMove.undetected",
    "PressClock.two_hands",
    "TouchPieces.order_unknown",
    "ReportFlag.unnoticed",
    "DeclareLost.device_found",
];

/// What only the referee says.
const OF_REFEREE: &str = "RefereeFinding";

/// A request that is whole: its method, its message, its bytes.
type Whole = (&'static str, &'static str, Vec<u8>);

fn hour() -> Option<prost_types::Duration> {
    Some(prost_types::Duration {
        seconds: 3_600,
        nanos: 0,
    })
}

/// Every action that has something in it.
fn actions() -> Vec<Kind> {
    let side = v1::Color::White.into();
    let mut kinds = vec![
        wire::make_move("e4"),
        wire::answer(true),
        wire::claim(v1::ClaimKind::Threefold, None),
        Kind::TouchPieces(v1::TouchPieces {
            squares: vec!["e2".into()],
            order_unknown: false,
            intent: v1::TouchIntent::Move.into(),
        }),
        Kind::ReleasePiece(v1::ReleasePiece {
            from: "e2".into(),
            to: "e4".into(),
        }),
        Kind::PlacePromotion(v1::PlacePromotion {
            square: "e8".into(),
            piece: v1::PieceKind::Queen.into(),
        }),
        Kind::ReportFlag(v1::ReportFlag {
            side,
            ..v1::ReportFlag::default()
        }),
        Kind::ReportBothFlags(v1::ReportBothFlags {
            first: v1::FirstFlag::Unknown.into(),
            last_period: Some(false),
        }),
        Kind::ReportNoStart(v1::ReportNoStart { side }),
        Kind::ReportConnection(v1::ReportConnection {
            side,
            connected: Some(false),
        }),
        Kind::TakeBack(v1::TakeBack {
            intent: v1::TakeBackIntent::Request.into(),
        }),
        Kind::SealMove(v1::SealMove {
            r#move: "e4".into(),
        }),
        Kind::SignResult(v1::SignResult {
            result: v1::GameResult::Draw.into(),
        }),
    ];
    kinds.extend(decisions().into_iter().map(|kind| {
        Kind::ArbiterDecision(v1::ArbiterDecision {
            kind: Some(kind),
            ..v1::ArbiterDecision::default()
        })
    }));
    kinds
}

fn decisions() -> Vec<Decided> {
    let side = v1::Color::White.into();
    vec![
        Decided::PenaltyTime(v1::PenaltyTime {
            side,
            deduct: hour(),
            add_opponent: None,
        }),
        Decided::ExtraTime(v1::ExtraTime { side, time: hour() }),
        Decided::ReinstatePosition(v1::ReinstatePosition { ply: Some(0) }),
        Decided::DeclareLost(v1::DeclareLost {
            side,
            opponent_score: v1::Score::One.into(),
            device_found: false,
        }),
        Decided::SetScore(v1::SetScore {
            white: v1::Score::Zero.into(),
            black: v1::Score::Half.into(),
        }),
        Decided::DeclareForfeit(v1::DeclareForfeit { side }),
        Decided::IllegalPositionSeen(v1::IllegalPositionSeen {
            still_after_next_move: Some(false),
        }),
        Decided::DecideClaim(v1::DecideClaim {
            decision: v1::ClaimDecision::Reject.into(),
        }),
        Decided::Warn(v1::Warn { side }),
    ]
}

/// A game with all that is required somewhere in it.
fn game() -> v1::Game {
    let points = v1::Points {
        win_half_points: Some(6),
        draw_half_points: Some(2),
        loss_half_points: Some(0),
    };
    let overrides = v1::RuleParameters {
        points: Some(points),
        ..v1::RuleParameters::default()
    };
    let period = v1::TimePeriod {
        time: hour(),
        ..v1::TimePeriod::default()
    };
    v1::Game {
        rule_profile: Some(v1::RuleProfile {
            overrides: Some(overrides),
            ..v1::RuleProfile::default()
        }),
        clock_settings: Some(v1::ClockSettings {
            time_control: Some(v1::TimeControl {
                periods: vec![period],
                ..v1::TimeControl::default()
            }),
            ..v1::ClockSettings::default()
        }),
        tags: vec![v1::GameTag {
            name: "Event".into(),
            value: String::new(),
        }],
        ..v1::Game::default()
    }
}

fn requests() -> Vec<Whole> {
    let name = || "games/required".to_owned();
    let get = v1::GetGameRequest { name: name() }.encode_to_vec();
    let events = v1::ListGameEventsRequest {
        parent: name(),
        ..v1::ListGameEventsRequest::default()
    };
    let watch = v1::WatchGameRequest {
        name: name(),
        ..v1::WatchGameRequest::default()
    };
    let join = v1::JoinGame {
        name: name(),
        seat: v1::Seat::White.into(),
        ..v1::JoinGame::default()
    };
    let play = v1::PlayGameRequest {
        kind: Some(v1::play_game_request::Kind::Join(join)),
    };
    let import = v1::ImportPgnRequest {
        pgn: "1. e4 *".into(),
        game_id: "imported".into(),
        request_id: wire::fresh_id(),
        ..v1::ImportPgnRequest::default()
    };
    let update = v1::UpdateGameRequest {
        name: name(),
        game: Some(v1::Game::default()),
        update_mask: Some(prost_types::FieldMask {
            paths: vec!["labels".into()],
        }),
        request_id: wire::fresh_id(),
    };
    let delete = v1::DeleteGameRequest {
        name: name(),
        request_id: wire::fresh_id(),
    };
    let validate = v1::ValidateMoveRequest {
        r#move: "e4".into(),
        ..v1::ValidateMoveRequest::default()
    };
    let convert = v1::ConvertNotationRequest {
        target: v1::Notation::San.into(),
        ..v1::ConvertNotationRequest::default()
    };
    let create = wire::create("", game()).encode_to_vec();
    let mut whole = vec![
        (CREATE, "CreateGameRequest", create),
        (GET, "GetGameRequest", get.clone()),
        (EXPORT, "ExportGameRequest", get.clone()),
        (
            EXPORT_PGN,
            "ExportPgnRequest",
            wire::export_pgn_of("games/required").encode_to_vec(),
        ),
        (EVENTS, "ListGameEventsRequest", events.encode_to_vec()),
        (WATCH, "WatchGameRequest", watch.encode_to_vec()),
        (PLAY, "PlayGameRequest", play.encode_to_vec()),
        (IMPORT_PGN, "ImportPgnRequest", import.encode_to_vec()),
        (UPDATE, "UpdateGameRequest", update.encode_to_vec()),
        (DELETE, "DeleteGameRequest", delete.encode_to_vec()),
        (VALIDATE, "ValidateMoveRequest", validate.encode_to_vec()),
        (CONVERT, "ConvertNotationRequest", convert.encode_to_vec()),
    ];
    whole.extend(perft::requests());
    whole
}

/// Requests about tokens.
fn tokens() -> Vec<Whole> {
    let issue = v1::IssueTokenRequest {
        principal: "hall".into(),
        role: v1::Role::Arbiter.into(),
        label: Some(v1::TokenLabel {
            key: "event".into(),
            value: "open".into(),
        }),
        ..v1::IssueTokenRequest::default()
    };
    let seat = v1::IssueSeatTokenRequest {
        principal: "anna".into(),
        role: v1::Role::Player.into(),
        game: "games/board-1".into(),
        seat: v1::Seat::White.into(),
        lifetime: None,
    };
    let revoke = v1::RevokeTokenRequest {
        name: "tokens/0123456789abcdef".into(),
    };
    vec![
        (ISSUE, "IssueTokenRequest", issue.encode_to_vec()),
        (ISSUE_SEAT, "IssueSeatTokenRequest", seat.encode_to_vec()),
        (REVOKE, "RevokeTokenRequest", revoke.encode_to_vec()),
    ]
}

fn submissions() -> Vec<Whole> {
    let kinds = actions().into_iter();
    kinds
        .map(|kind| {
            let request = wire::submit("required", v1::Seat::Arbiter, kind);
            (SUBMIT, "SubmitActionRequest", request.encode_to_vec())
        })
        .collect()
}

fn pool() -> DescriptorPool {
    DescriptorPool::decode(referee_api::FILE_DESCRIPTOR_SET).expect("the build encoded it")
}

fn message(pool: &DescriptorPool, name: &str) -> MessageDescriptor {
    let found = pool.get_message_by_name(&format!("referee.v1.{name}"));
    found.unwrap_or_else(|| panic!("there is no message {name}"))
}

/// Whether the comment at a path of a file begins with `Required.`
fn begins_required(file: &prost_types::FileDescriptorProto, path: &[i32]) -> bool {
    // Messages that are not ours come without.
    let Some(info) = file.source_code_info.as_ref() else {
        return false;
    };
    let mut places = info.location.iter();
    let place = places.find(|place| place.path == path);
    place.is_some_and(|place| place.leading_comments().trim().starts_with("Required."))
}

/// What a field is required as: by itself, or as one of several.
fn required(field: &FieldDescriptor) -> Vec<String> {
    let file = field.parent_file();
    let file = file.file_descriptor_proto();
    let mut names = Vec::new();
    if begins_required(file, field.path()) {
        names.push(field.name().to_owned());
    }
    if let Some(oneof) = field.containing_oneof()
        && !oneof.is_synthetic()
        && begins_required(file, oneof.path())
    {
        names.push(oneof.name().to_owned());
    }
    names
}

/// A request without one thing that is required.
struct Without {
    /// The path of what is missing.
    path: String,
    /// Its name: message and field.
    name: String,
    request: DynamicMessage,
}

/// Leaves each required field of a message out, one at a time.
fn leave_out(whole: &DynamicMessage) -> Vec<Without> {
    let mut all = Vec::new();
    let descriptor = whole.descriptor();
    for field in descriptor.fields().filter(|field| whole.has_field(field)) {
        for name in required(&field) {
            let mut request = whole.clone();
            request.clear_field(&field);
            all.push(Without {
                name: format!("{}.{name}", descriptor.name()),
                path: name,
                request,
            });
        }
        let within = |inner: Without, path: String, value: Value| {
            let mut request = whole.clone();
            request.set_field(&field, value);
            let path = format!("{path}.{}", inner.path);
            Without {
                path,
                request,
                ..inner
            }
        };
        match whole.get_field(&field).into_owned() {
            Value::Message(inner) => {
                all.extend(leave_out(&inner).into_iter().map(|inner| {
                    let value = Value::Message(inner.request.clone());
                    within(inner, field.name().to_owned(), value)
                }));
            }
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    let Value::Message(message) = item else {
                        continue;
                    };
                    all.extend(leave_out(message).into_iter().map(|inner| {
                        let mut items = items.clone();
                        items[index] = Value::Message(inner.request.clone());
                        let path = format!("{}[{index}]", field.name());
                        within(inner, path, Value::List(items))
                    }));
                }
            }
            _ => {}
        }
    }
    all
}

/// Every message that a request can have in it, from some on.
fn within(pool: &DescriptorPool, names: &[&str]) -> Vec<MessageDescriptor> {
    let mut open: Vec<_> = names.iter().map(|name| message(pool, name)).collect();
    let mut all: Vec<MessageDescriptor> = Vec::new();
    while let Some(next) = open.pop() {
        let is_ours = next.package_name() == "referee.v1" && !next.is_map_entry();
        if !is_ours || next.name() == OF_REFEREE || all.contains(&next) {
            continue;
        }
        for field in next.fields() {
            let file = field.parent_file();
            let info = file.file_descriptor_proto().source_code_info.as_ref();
            let mut places = info.expect("comments are kept").location.iter();
            let place = places.find(|place| place.path == field.path());
            let comment = place.map(|place| place.leading_comments().trim().to_owned());
            let is_asked = !comment.unwrap_or_default().starts_with("Output only.");
            if let (Shape::Message(inner), true) = (field.kind(), is_asked) {
                open.push(inner);
            }
        }
        all.push(next);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_required_cannot_be_left_out() {
    let referee = Referee::start();
    let channel = referee.connect().await;
    let create = wire::create("required", v1::Game::default());
    wire::call(&channel, CREATE, &create)
        .await
        .expect("created");
    let pool = pool();
    let mut held = BTreeSet::new();
    for (path, name, bytes) in requests().into_iter().chain(tokens()).chain(submissions()) {
        let whole = DynamicMessage::decode(message(&pool, name), bytes.as_slice());
        let whole = whole.expect("it was encoded as such");
        for without in leave_out(&whole) {
            let (field, request) = (&without.path, without.request.encode_to_vec());
            let sent = wire::send(&channel, path, frame(0, &request)).await;
            let status = sent.err();
            let status = status.unwrap_or_else(|| panic!("{path} goes without {field}"));
            let case = format!("{path} without {field}: {status:?}");
            assert_eq!(status.code(), Code::InvalidArgument, "{case}");
            let found = details(&status).fields;
            assert!(found.contains(field), "{case}: {found:?}");
            held.insert(without.name);
        }
    }
    // What no request above has in it would not be held at all.
    let services = pool.services();
    let methods = services.filter(|service| service.package_name() == "referee.v1");
    let inputs: Vec<String> = methods
        .flat_map(|service| {
            let methods = service.methods();
            let names = methods.map(|method| method.input().name().to_owned());
            names.collect::<Vec<_>>()
        })
        .collect();
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let all: BTreeSet<String> = within(&pool, &inputs)
        .iter()
        .flat_map(|message| {
            let fields = message.fields().flat_map(|field| required(&field));
            let names = fields.map(|name| format!("{}.{name}", message.name()));
            names.collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(held, all, "held, and all that is required");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_whole_is_judged() {
    let referee = Referee::start();
    let channel = referee.connect().await;
    let create = wire::create("required", v1::Game::default());
    wire::call(&channel, CREATE, &create)
        .await
        .expect("created");
    for (path, _, bytes) in submissions() {
        let sent = wire::send(&channel, path, frame(0, &bytes)).await;
        sent.unwrap_or_else(|status| panic!("{status:?}"));
    }
}

#[test]
fn nothing_in_an_action_decides_at_zero() {
    let mut silent = BTreeSet::new();
    for message in within(&pool(), &["Action"]) {
        for field in message.fields() {
            let decides = matches!(
                field.kind(),
                Shape::Bool | Shape::Enum(_) | Shape::Uint32 | Shape::Int64 | Shape::Uint64
            );
            let says_nothing = !field.supports_presence() && !field.is_list();
            if decides && says_nothing && required(&field).is_empty() {
                silent.insert(format!("{}.{}", message.name(), field.name()));
            }
        }
    }
    let remarks: BTreeSet<String> = REMARKS.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(silent, remarks, "required, optional, or a remark");
}

/// What says nothing, half of something, or two things that exclude each other.
fn empty_decisions() -> Vec<(&'static str, Vec<u8>)> {
    let decide = |kind: Decided| {
        let decision = v1::ArbiterDecision {
            kind: Some(kind),
            ..v1::ArbiterDecision::default()
        };
        let kind = Kind::ArbiterDecision(decision);
        wire::submit("empty", v1::Seat::Arbiter, kind).encode_to_vec()
    };
    let side = v1::Color::White.into();
    let penalty = v1::PenaltyTime {
        side,
        ..v1::PenaltyTime::default()
    };
    vec![
        (
            "action.arbiter_decision.set_clocks",
            decide(Decided::SetClocks(v1::SetClocks::default())),
        ),
        (
            "action.arbiter_decision.penalty_time",
            decide(Decided::PenaltyTime(penalty)),
        ),
        (
            "action.arbiter_decision.set_counters",
            decide(Decided::SetCounters(v1::SetCounters::default())),
        ),
    ]
}

/// A change of the rules of a game.
type Change = fn(&mut v1::RuleParameters);

/// Changes of the rules that contradict each other, or are half of one.
fn idle_changes() -> Vec<(&'static str, Change)> {
    vec![
        ("points.draw_half_points", |rules| {
            rules.points = Some(v1::Points {
                win_half_points: Some(6),
                ..v1::Points::default()
            });
        }),
        ("points.draw_half_points", |rules| {
            rules.points = Some(v1::Points {
                win_half_points: Some(2),
                draw_half_points: Some(1),
                loss_half_points: Some(200),
            });
        }),
        ("touch_enforcement", |rules| {
            rules.touch_move = Some(false);
            rules.touch_enforcement = v1::TouchEnforcement::Auto.into();
        }),
        ("guideline_iii_4", |rules| {
            rules.guideline_iii = Some(false);
            rules.guideline_iii_4 = Some(true);
        }),
        ("illegal_limit", |rules| {
            rules.illegal_policy = v1::IllegalPolicy::Refuse.into();
            rules.illegal_limit = Some(2);
        }),
        ("abort_plies", |rules| {
            rules.abort = v1::AbortRule::Never.into();
            rules.abort_plies = Some(2);
        }),
        ("disconnect_grace_ms", |rules| {
            rules.disconnect = v1::DisconnectRule::Ignored.into();
            rules.disconnect_grace_ms = Some(2);
        }),
    ]
}

fn changed(change: fn(&mut v1::RuleParameters)) -> Vec<u8> {
    let mut overrides = v1::RuleParameters::default();
    change(&mut overrides);
    let rule_profile = v1::RuleProfile {
        overrides: Some(overrides),
        ..v1::RuleProfile::default()
    };
    let game = v1::Game {
        rule_profile: Some(rule_profile),
        ..v1::Game::default()
    };
    wire::create("", game).encode_to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_decides_nothing_is_refused() {
    let referee = Referee::start();
    let channel = referee.connect().await;
    let create = wire::create("empty", v1::Game::default());
    wire::call(&channel, CREATE, &create)
        .await
        .expect("created");
    let decisions = empty_decisions().into_iter();
    let decisions = decisions.map(|(field, request)| (SUBMIT, field.to_owned(), request));
    let changes = idle_changes().into_iter().map(|(field, change)| {
        let field = format!("game.rule_profile.overrides.{field}");
        (CREATE, field, changed(change))
    });
    for (path, field, request) in decisions.chain(changes) {
        let sent = wire::send(&channel, path, frame(0, &request)).await;
        let status = sent
            .err()
            .unwrap_or_else(|| panic!("{field} is taken empty"));
        assert_eq!(status.code(), Code::InvalidArgument, "{field}: {status:?}");
        let found = details(&status);
        assert_eq!(found.reason, "INVALID_FIELD", "{field}: {status:?}");
        assert!(found.fields.contains(&field), "{field}: {found:?}");
    }
}
