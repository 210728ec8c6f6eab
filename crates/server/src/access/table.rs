//! The one table of what each role may do: methods, and kinds of actions. What is not in it is
//! denied. `docs/ACCESS.md` shows it.

use referee_api::v1;
use referee_api::v1::action::Kind;

use super::role::{Role, Roles};

/// Who may call a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// Everybody, without a credential as well.
    Everybody,
    /// Who has one of these roles.
    To(Roles),
}

use Role::{Arbiter, Operator, Platform, Player, Spectator, Worker};

/// Every credential.
const ANY: Allowed = Allowed::To(Roles::ALL);
/// Who may read a game.
const READERS: Allowed = Allowed::To(Roles::of(&[Player, Spectator, Arbiter, Platform, Operator]));
/// Who may read more than one.
const LISTERS: Allowed = Allowed::To(Roles::of(&[Spectator, Arbiter, Platform, Operator]));
/// Who may act in a game.
const ACTORS: Allowed = Allowed::To(Roles::of(&[Player, Arbiter, Platform, Operator]));
/// Who may make games and perft jobs, and do away with them.
const OWNERS: Allowed = Allowed::To(Roles::of(&[Platform, Operator]));
/// Who may count for perft jobs.
const WORKERS: Allowed = Allowed::To(Roles::of(&[Worker, Operator]));
/// Who may care for the store.
const OPERATORS: Allowed = Allowed::To(Roles::of(&[Operator]));

/// Who may call which method. Sorted.
pub(crate) const METHODS: &[(&str, Allowed)] = &[
    // Probes have no credentials, and it says nothing of games.
    ("/grpc.health.v1.Health/Check", Allowed::Everybody),
    ("/grpc.health.v1.Health/Watch", Allowed::Everybody),
    // The contract is public; that it is told here is for clients of this server.
    (
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        ANY,
    ),
    (
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        ANY,
    ),
    ("/referee.v1.GameService/CreateGame", OWNERS),
    ("/referee.v1.GameService/DeleteGame", OWNERS),
    ("/referee.v1.GameService/ExportGame", READERS),
    ("/referee.v1.GameService/ExportPgn", READERS),
    ("/referee.v1.GameService/GetGame", READERS),
    ("/referee.v1.GameService/ImportPgn", OWNERS),
    ("/referee.v1.GameService/ListGameEvents", READERS),
    ("/referee.v1.GameService/ListGames", LISTERS),
    ("/referee.v1.GameService/PlayGame", ACTORS),
    ("/referee.v1.GameService/SubmitAction", ACTORS),
    ("/referee.v1.GameService/UpdateGame", OWNERS),
    ("/referee.v1.GameService/WatchGame", READERS),
    ("/referee.v1.GameService/WatchGames", LISTERS),
    ("/referee.v1.PerftService/CancelPerftJob", OWNERS),
    ("/referee.v1.PerftService/CountPerft", OWNERS),
    ("/referee.v1.PerftService/CreatePerftJob", OWNERS),
    ("/referee.v1.PerftService/DeletePerftJob", OWNERS),
    ("/referee.v1.PerftService/ExportPerftJob", OWNERS),
    ("/referee.v1.PerftService/GetPerftJob", OWNERS),
    ("/referee.v1.PerftService/ListPerftJobs", OWNERS),
    ("/referee.v1.PerftService/WatchPerftJob", OWNERS),
    ("/referee.v1.RulesService/AdjudicatePosition", ANY),
    ("/referee.v1.RulesService/CanMate", ANY),
    ("/referee.v1.RulesService/ConvertNotation", ANY),
    ("/referee.v1.RulesService/GenerateLegalMoves", ANY),
    ("/referee.v1.RulesService/ListRuleProfiles", ANY),
    ("/referee.v1.RulesService/ValidateMove", ANY),
    ("/referee.v1.RulesService/VerifyGames", ANY),
    ("/referee.v1.StoreService/BackUpStore", OPERATORS),
    ("/referee.v1.StoreService/VerifyStore", OPERATORS),
    ("/referee.v1.TokenService/IssueToken", OWNERS),
    ("/referee.v1.TokenService/ListTokens", OWNERS),
    ("/referee.v1.TokenService/RevokeToken", OWNERS),
    ("/referee.worker.v1.WorkerService/CloseSession", WORKERS),
    ("/referee.worker.v1.WorkerService/LeaseTasks", WORKERS),
    ("/referee.worker.v1.WorkerService/OpenSession", WORKERS),
    ("/referee.worker.v1.WorkerService/RenewSession", WORKERS),
    ("/referee.worker.v1.WorkerService/ReportTasks", WORKERS),
];

/// Says who may call a method; nobody where it is not in the table.
pub(crate) fn allowed(path: &str) -> Allowed {
    let found = METHODS.binary_search_by(|(method, _)| (*method).cmp(path));
    found.map_or(Allowed::To(Roles::NONE), |index| METHODS[index].1)
}

/// Who acts for whole games, and from every seat.
const SEATLESS: Roles = Roles::of(&[Platform, Operator]);
/// What players do.
const BY_PLAYERS: Roles = Roles::of(&[Player, Platform, Operator]);
/// What arbiters do.
const BY_ARBITERS: Roles = Roles::of(&[Arbiter, Platform, Operator]);
/// What both do.
const BY_BOTH: Roles = Roles::of(&[Player, Arbiter, Platform, Operator]);

/// Who may send which kind of action, by the name of its field in `Action`. Whether it stands is
/// for the Laws, which also know the seats.
pub(crate) const ACTIONS: &[(&str, Roles)] = &[
    ("make_move", BY_PLAYERS),
    ("offer_draw", BY_PLAYERS),
    ("answer_draw", BY_PLAYERS),
    ("make_claim", BY_BOTH),
    ("resign", BY_PLAYERS),
    ("press_clock", BY_PLAYERS),
    ("touch_pieces", BY_PLAYERS),
    ("announce_adjust", BY_PLAYERS),
    ("release_piece", BY_PLAYERS),
    ("place_promotion", BY_PLAYERS),
    ("displace_pieces", BY_PLAYERS),
    ("restore_pieces", BY_PLAYERS),
    ("withdraw_offer", BY_PLAYERS),
    ("withdraw_claim", BY_BOTH),
    ("report_flag", BY_BOTH),
    ("report_both_flags", BY_ARBITERS),
    ("start_game", BY_ARBITERS),
    ("arrive", BY_BOTH),
    ("report_default_time", BY_ARBITERS),
    ("pause_game", BY_BOTH),
    ("resume_game", BY_ARBITERS),
    ("abort_game", BY_BOTH),
    ("report_no_start", BY_ARBITERS),
    ("report_connection", BY_ARBITERS),
    ("take_back", BY_PLAYERS),
    ("seal_move", BY_PLAYERS),
    ("sign_result", BY_BOTH),
    ("arbiter_decision", BY_ARBITERS),
    // What the referee finds by itself nobody sends.
    ("referee_finding", Roles::NONE),
];

/// Who may tell the time at which something happened, in games whose time the platform keeps.
pub(crate) const PLATFORM_TIME: (&str, Roles) = ("platform_time", BY_ARBITERS);

/// Says who may send a kind of action, and what it is called; nobody where it is not in the table.
pub(crate) fn action_allowed(kind: &Kind) -> (&'static str, Roles) {
    let name = action_name(kind);
    let found = ACTIONS.iter().find(|(known, _)| *known == name);
    (name, found.map_or(Roles::NONE, |(_, roles)| *roles))
}

/// Says which roles may act from a seat.
pub(crate) fn seat_allowed(seat: v1::Seat) -> Roles {
    match seat {
        v1::Seat::White | v1::Seat::Black => BY_PLAYERS,
        v1::Seat::Arbiter => BY_ARBITERS,
        // Refused for other reasons, of which the caller is told.
        v1::Seat::Unspecified | v1::Seat::Referee => SEATLESS,
    }
}

/// Returns the name of the field of an action.
fn action_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::MakeMove(_) => "make_move",
        Kind::OfferDraw(_) => "offer_draw",
        Kind::AnswerDraw(_) => "answer_draw",
        Kind::MakeClaim(_) => "make_claim",
        Kind::Resign(_) => "resign",
        Kind::PressClock(_) => "press_clock",
        Kind::TouchPieces(_) => "touch_pieces",
        Kind::AnnounceAdjust(_) => "announce_adjust",
        Kind::ReleasePiece(_) => "release_piece",
        Kind::PlacePromotion(_) => "place_promotion",
        Kind::DisplacePieces(_) => "displace_pieces",
        Kind::RestorePieces(_) => "restore_pieces",
        Kind::WithdrawOffer(_) => "withdraw_offer",
        Kind::WithdrawClaim(_) => "withdraw_claim",
        Kind::ReportFlag(_) => "report_flag",
        Kind::ReportBothFlags(_) => "report_both_flags",
        Kind::StartGame(_) => "start_game",
        Kind::Arrive(_) => "arrive",
        Kind::ReportDefaultTime(_) => "report_default_time",
        Kind::PauseGame(_) => "pause_game",
        Kind::ResumeGame(_) => "resume_game",
        Kind::AbortGame(_) => "abort_game",
        Kind::ReportNoStart(_) => "report_no_start",
        Kind::ReportConnection(_) => "report_connection",
        Kind::TakeBack(_) => "take_back",
        Kind::SealMove(_) => "seal_move",
        Kind::SignResult(_) => "sign_result",
        Kind::ArbiterDecision(_) => "arbiter_decision",
        Kind::RefereeFinding(_) => "referee_finding",
    }
}

/// Which roles a role may issue tokens of.
pub(crate) fn issues(roles: Roles, wanted: Role) -> bool {
    let by_platform = matches!(wanted, Player | Spectator | Arbiter);
    roles.has(Operator) || roles.has(Platform) && by_platform
}

/// Whether a role is for one seat of one game, or may be confined to a game or a label.
pub(crate) fn is_confined(role: Role) -> bool {
    match role {
        Player | Spectator | Arbiter => true,
        Platform | Worker | Operator => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use prost::Message;
    use prost_types::FileDescriptorSet;

    use super::*;

    /// Every method that the server answers, read from the descriptors that it shows.
    fn served() -> BTreeSet<String> {
        let health = tonic_health::pb::FILE_DESCRIPTOR_SET;
        let reflection = [
            tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
        ];
        let sets = [referee_api::FILE_DESCRIPTOR_SET, health];
        let mut methods = BTreeSet::new();
        for set in sets.into_iter().chain(reflection) {
            let set = FileDescriptorSet::decode(set).expect("descriptors");
            for file in &set.file {
                for service in &file.service {
                    let of = |name: &str| format!("/{}.{}/{name}", file.package(), service.name());
                    methods.extend(service.method.iter().map(|method| of(method.name())));
                }
            }
        }
        methods
    }

    #[test]
    fn every_method_is_in_the_table_once_and_no_other() {
        let in_table: Vec<&str> = METHODS.iter().map(|(method, _)| *method).collect();
        assert!(in_table.is_sorted_by(|one, other| one < other));
        let served = served();
        assert!(served.len() > 20, "{served:?}");
        let in_table: BTreeSet<String> = in_table.into_iter().map(str::to_owned).collect();
        assert_eq!(in_table, served);
    }

    /// The table of `docs/ACCESS.md`, between its markers.
    fn page() -> String {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ACCESS.md");
        let page = std::fs::read_to_string(path).expect("the page stands in docs");
        let (_, rest) = page.split_once("<!-- table -->\n").expect("a marker");
        let (table, _) = rest.split_once("<!-- end of table -->").expect("a marker");
        table.to_owned()
    }

    fn row(name: &str, has: impl Fn(Role) -> bool) -> String {
        let cells = Role::ALL.map(|role| if has(role) { " yes |" } else { " · |" });
        format!("| `{name}` |{}\n", cells.concat())
    }

    #[test]
    fn the_page_shows_the_table() {
        let mut table = String::from(
            "| method or action | player | spectator | arbiter | platform | worker | operator |\n\
             |---|---|---|---|---|---|---|\n",
        );
        for (method, allowed) in METHODS {
            table += &row(&method[1..], |role| match allowed {
                Allowed::Everybody => true,
                Allowed::To(roles) => roles.has(role),
            });
        }
        for (name, roles) in ACTIONS.iter().chain([&PLATFORM_TIME]) {
            table += &row(&format!("action.{name}"), |role| roles.has(role));
        }
        assert_eq!(page(), table, "docs/ACCESS.md should have:\n{table}");
    }

    #[test]
    fn what_is_not_in_the_table_is_denied() {
        for path in ["", "/", "/referee.v1.GameService/GetGam", "/x/Y"] {
            assert_eq!(allowed(path), Allowed::To(Roles::NONE), "{path}");
        }
        assert!(!Roles::NONE.meets(Roles::ALL));
    }

    #[test]
    fn every_kind_of_action_is_in_the_table() {
        let set = FileDescriptorSet::decode(referee_api::FILE_DESCRIPTOR_SET);
        let set = set.expect("descriptors");
        let mut messages = set.file.iter().flat_map(|file| &file.message_type);
        let action = messages
            .find(|message| message.name() == "Action")
            .expect("the contract has actions");
        let kinds = action
            .field
            .iter()
            .filter(|field| field.oneof_index.is_some() && !field.proto3_optional());
        let kinds: Vec<&str> = kinds.map(|field| field.name()).collect();
        let in_table: Vec<&str> = ACTIONS.iter().map(|(name, _)| *name).collect();
        assert_eq!(in_table, kinds);
    }
}
