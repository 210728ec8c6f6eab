//! The reports whose steps are words, each made into calls of the service that runs. The comments
//! name the reports by their ids.

mod clocks;
mod games;
mod shutdown;

use std::collections::BTreeSet;

use referee_api::v1;
use referee_api::v1::action::Kind;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::ruling::Verdict;
use referee_tests::process::Referee;
use referee_tests::{lines, root, wire};
use tonic::transport::Channel;

/// The files of cases and reports that were given to this project, with how many lines each has.
const GIVEN: [(&str, usize); 4] = [
    ("laws", 235),
    ("reports", 176),
    ("arbiters", 26),
    ("turn2", 60),
];

/// The reports that other suites hold, with the test.
const ELSEWHERE: [(&str, &str); 16] = [
    (
        "CK-11",
        "timekeeping/down::nobody_is_charged_for_the_time_after_a_kill",
    ),
    (
        "SV-01",
        "bounds::messages_above_the_limit_are_refused_and_the_connection_goes_on",
    ),
    ("SV-02", "bounds::compressed_requests_keep_the_same_limits"),
    ("SV-06", "service::health_is_told_and_a_drain_ends_in_time"),
    ("SV-10", "service::health_is_told_and_a_drain_ends_in_time"),
    ("SV-11", "service::health_is_told_and_a_drain_ends_in_time"),
    ("T2-76", "hostile/connections::descriptors_run_out"),
    ("T2-70", "pgn_games::clocks_are_imported_as_they_are_shown"),
    ("T2-71", "pgn_games::clocks_are_imported_as_they_are_shown"),
    (
        "T2-73",
        "pgn_records::what_a_record_says_survives_and_nothing_is_added",
    ),
    (
        "T2-74",
        "pgn_records::what_a_record_says_survives_and_nothing_is_added",
    ),
    (
        "T2-75",
        "pgn_records::what_a_record_says_survives_and_nothing_is_added",
    ),
    (
        "T2-77",
        "../../crates/referee/tests/exit_codes::every_command_ends_as_the_table_says",
    ),
    ("T2-78", "evidence::an_illegal_move_is_explained"),
    (
        "T2-80",
        "../../crates/referee/tests/judge_command::zstandard_may_begin_with_a_frame_that_is_passed_over",
    ),
    (
        "T2-82",
        "../../crates/referee/tests/exit_codes::every_command_ends_as_the_table_says",
    ),
];

/// The reports about what is not built, with what they wait for.
const LATER: [(&str, &str); 3] = [
    ("SV-09", "manifests of a deployment"),
    ("SV-13", "counting move trees over the API"),
    ("SV-14", "counting move trees over the API"),
];

/// A game that is played through the service.
struct Board {
    games: GameServiceClient<Channel>,
    id: String,
}

impl Board {
    /// Creates a game.
    async fn create(referee: &Referee, id: &str, game: v1::Game) -> Board {
        let mut games = referee.games().await;
        let created = games.create_game(wire::create(id, game)).await;
        created.expect("the game is created");
        let id = id.to_owned();
        Board { games, id }
    }

    /// Puts an action to the referee.
    async fn act(&mut self, seat: v1::Seat, kind: Kind) -> v1::SubmitActionResponse {
        self.act_after(0, seat, kind).await
    }

    /// Puts an action to the referee that happened so long after the one before. Games without a
    /// clock of the platform are told no time.
    async fn act_after(
        &mut self,
        elapsed_ms: u64,
        seat: v1::Seat,
        kind: Kind,
    ) -> v1::SubmitActionResponse {
        let mut request = wire::submit(&self.id, seat, kind);
        if elapsed_ms > 0 {
            let action = request.action.as_mut().expect("it has one");
            action.platform_time = Some(v1::PlatformTime {
                kind: Some(v1::platform_time::Kind::Elapsed(ms(elapsed_ms))),
            });
        }
        let answer = self.games.submit_action(request).await;
        answer.expect("the action is judged").into_inner()
    }

    /// Puts an action to the referee that stands.
    async fn accept(&mut self, seat: v1::Seat, kind: Kind) -> v1::GameEvent {
        let answer = self.act(seat, kind.clone()).await;
        let ruling = answer.ruling.expect("a ruling");
        assert_eq!(ruling.verdict(), Verdict::Accepted, "{kind:?}: {ruling:?}");
        answer.event.expect("an event")
    }

    /// Makes moves in turn, from White's on.
    async fn play(&mut self, moves: &str) {
        for (ply, text) in moves.split(' ').enumerate() {
            self.accept(wire::on_move(ply), wire::make_move(text)).await;
        }
    }

    /// Reads the game.
    async fn read(&mut self) -> v1::Game {
        let name = format!("games/{}", self.id);
        let read = self.games.get_game(v1::GetGameRequest { name }).await;
        read.expect("the game is read")
            .into_inner()
            .game
            .expect("a game")
    }

    /// Reads every event.
    async fn events(&mut self) -> Vec<v1::GameEvent> {
        let request = v1::ListGameEventsRequest {
            parent: format!("games/{}", self.id),
            ..v1::ListGameEventsRequest::default()
        };
        let listed = self.games.list_game_events(request).await;
        listed.expect("the events are listed").into_inner().events
    }
}

/// Returns the reason of an answer that does not stand.
fn reason(answer: &v1::SubmitActionResponse) -> v1::ruling::Reason {
    let ruling = answer.ruling.as_ref().expect("a ruling");
    assert_ne!(ruling.verdict(), Verdict::Accepted, "{ruling:?}");
    ruling.reason()
}

/// Returns the result of a game.
fn result(game: &v1::Game) -> v1::GameResult {
    game.outcome.clone().unwrap_or_default().result()
}

fn ms(ms: u64) -> prost_types::Duration {
    prost_types::Duration {
        seconds: (ms / 1_000) as i64,
        nanos: (ms % 1_000) as i32 * 1_000_000,
    }
}

/// Returns a game in which one parameter of the rules is changed.
fn changed(change: impl FnOnce(&mut v1::RuleParameters)) -> v1::Game {
    let mut overrides = v1::RuleParameters::default();
    change(&mut overrides);
    v1::Game {
        rule_profile: Some(v1::RuleProfile {
            overrides: Some(overrides),
            ..v1::RuleProfile::default()
        }),
        ..v1::Game::default()
    }
}

/// Returns a game under a profile.
fn under(profile: &str) -> v1::Game {
    v1::Game {
        rule_profile: Some(v1::RuleProfile {
            name: profile.to_owned(),
            ..v1::RuleProfile::default()
        }),
        ..v1::Game::default()
    }
}

/// Every case that was given is here, and the suite `conformance` plays it, unless it is a report
/// in words.
#[test]
fn no_case_that_was_given_is_left_out() {
    let conformance = root().join("tests/suites/conformance.rs");
    let conformance = std::fs::read_to_string(conformance).expect("a suite");
    let mut ids = BTreeSet::new();
    for (file, expected) in GIVEN {
        let played = format!("cases/{file}.jsonl");
        assert!(conformance.contains(&played), "nobody plays {played}");
        let cases = lines(&played);
        assert_eq!(cases.len(), expected, "{file}");
        for case in cases {
            let id = case["id"].as_str().expect("a case has a name").to_owned();
            assert!(ids.insert(id.clone()), "{id} is there twice");
        }
    }
    // The numbers of turn two have gaps, so its first and last of each kind are named.
    for id in [
        "AR-201", "AR-202", "AR-402", "T2-01", "T2-58", "T2-60e", "T2-82", "T2-97",
    ] {
        assert!(ids.contains(id), "{id} is missing");
    }
}

/// Every report in words is played by a test of this suite, held by another, or waits for
/// something that is named.
#[test]
fn no_report_in_words_is_forgotten() {
    let mut waiting = BTreeSet::new();
    for (file, _) in GIVEN {
        let reports = lines(&format!("cases/{file}.jsonl")).into_iter();
        let in_words = reports.filter(|case| case["kind"] == "sequence");
        waiting.extend(in_words.filter_map(|case| Some(case["id"].as_str()?.to_owned())));
    }
    assert_eq!(waiting.len(), 41);
    let suites = root().join("tests/suites");
    let read = |file: &str| std::fs::read_to_string(suites.join(file)).expect("a suite");
    for file in ["games", "clocks", "shutdown"] {
        let text = read(&format!("sequences/{file}.rs"));
        // A comment above a test begins with the ids that it holds.
        for line in text.lines().filter_map(|line| line.strip_prefix("/// ")) {
            let ids = line.split(':').next().unwrap_or_default();
            for id in ids.split(", ") {
                waiting.remove(id);
            }
        }
    }
    for (id, test) in ELSEWHERE {
        let (suite, name) = test.split_once("::").expect("a suite and a test");
        let text = read(&format!("{suite}.rs"));
        assert!(text.contains(&format!("fn {name}(")), "there is no {test}");
        assert!(waiting.remove(id), "{id} is held twice");
    }
    for (id, thing) in LATER {
        assert!(waiting.remove(id), "{id} no longer waits for {thing}");
    }
    assert!(waiting.is_empty(), "nobody holds {waiting:?}");
}
