//! `docs/ACTIONS.md`: what each action comes to, by the rules of the game and by who acts. The real
//! binary is asked, case by case.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prost_reflect::{DescriptorPool, DynamicMessage};
use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::ruling::{Reason, Verdict};
use referee_api::v1::{
    Action, ClaimKind, CreateGameRequest, Game, ListRuleProfilesRequest, Ruling,
    SubmitActionRequest,
};
use referee_tests::process::Referee;
use referee_tests::wire::fresh_id;
use referee_tests::{lines, texts};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tonic::Code;
use tonic::transport::Channel;

/// The games that are played at the same time.
const AT_ONCE: usize = 16;

/// Who acts, with the letter that the page has for each.
const SEATS: [(&str, &str); 3] = [
    ("W", "SEAT_WHITE"),
    ("B", "SEAT_BLACK"),
    ("A", "SEAT_ARBITER"),
];

type Games = GameServiceClient<Channel>;

/// What an action comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It stands.
    Stands,
    /// It costs something.
    Costs,
    /// It does not stand, and leaves a trace.
    Noted,
    /// It is refused.
    Refused(Reason),
    /// The rules of the game do not let it come to this, or the game is over before.
    Never,
}

impl Answer {
    /// The sign behind the letter of who has an effect.
    fn sign(self) -> Option<&'static str> {
        match self {
            Answer::Stands => Some(""),
            Answer::Costs => Some("!"),
            Answer::Noted => Some("~"),
            Answer::Refused(_) | Answer::Never => None,
        }
    }
}

/// Reads a message of the contract from JSON.
fn read<T: prost::Message + Default>(name: &str, value: &Value) -> T {
    let pool = DescriptorPool::decode(referee_api::FILE_DESCRIPTOR_SET).expect("descriptors");
    let descriptor = pool.get_message_by_name(&format!("referee.v1.{name}"));
    let descriptor = descriptor.expect("the contract has the message");
    let message = DynamicMessage::deserialize(descriptor, value);
    let message = message.unwrap_or_else(|error| panic!("{value}: {error}"));
    message.transcode_to().expect("it is the same message")
}

/// A case of `tests/data/actions`, ready to be played.
struct Case {
    label: String,
    game: Game,
    before: Vec<Action>,
    act: Action,
}

impl Case {
    fn read(case: &Value) -> Case {
        let kind = case["action"].as_str().expect("a case has an action");
        let of = case["of"]
            .as_str()
            .map_or(String::new(), |of| format!(" {of}"));
        let moves = texts(&case["moves"]);
        let moves = moves.iter().enumerate().map(|(ply, text)| {
            let seat = SEATS[ply % 2].1;
            json!({"seat": seat, "make_move": {"move": text}})
        });
        let before = case["before"].as_array().into_iter().flatten().cloned();
        Case {
            label: format!("`{kind}`{of}"),
            game: read("Game", &case["game"]),
            before: moves
                .chain(before)
                .map(|action| read("Action", &action))
                .collect(),
            act: read("Action", &case["do"]),
        }
    }

    /// Plays a game up to the action; `None` where the rules do not let it come to that.
    async fn begin(&self, games: &mut Games, profile: &str) -> Option<String> {
        let mut game = self.game.clone();
        game.rule_profile.get_or_insert_default().name = profile.to_owned();
        let request = CreateGameRequest {
            game: Some(game),
            request_id: fresh_id(),
            ..CreateGameRequest::default()
        };
        let created = match games.create_game(request).await {
            Ok(created) => created.into_inner().game.expect("an answer has a game"),
            // A parameter that this profile leaves without effect.
            Err(status) if status.code() == Code::InvalidArgument => return None,
            Err(status) => panic!("{}: {status:?}", self.label),
        };
        for action in &self.before {
            let ruling = submit(games, &created.name, action.clone()).await;
            if ruling.verdict() == Verdict::Refused {
                return None;
            }
        }
        Some(created.name)
    }

    /// What the action comes to, from each seat.
    async fn play(&self, games: &mut Games, profile: &str) -> [Answer; 3] {
        let mut answers = [Answer::Never; 3];
        let mut begun = None;
        for (index, (_, seat)) in SEATS.iter().enumerate() {
            let name = match begun.take() {
                Some(name) => name,
                None => match self.begin(games, profile).await {
                    Some(name) => name,
                    None => return answers,
                },
            };
            let mut action = self.act.clone();
            action.seat = read::<Action>("Action", &json!({"seat": seat})).seat;
            let ruling = submit(games, &name, action).await;
            let answer = match ruling.verdict() {
                Verdict::Accepted => Answer::Stands,
                Verdict::Penalized => Answer::Costs,
                Verdict::Noted => Answer::Noted,
                Verdict::Refused => Answer::Refused(ruling.reason()),
                Verdict::Unspecified => panic!("{}: {ruling:?}", self.label),
            };
            // What is refused has left no trace.
            begun = answer.sign().is_none().then_some(name);
            answers[index] = answer;
        }
        answers
    }
}

async fn submit(games: &mut Games, name: &str, mut action: Action) -> Ruling {
    action.request_id = fresh_id();
    let request = SubmitActionRequest {
        name: name.to_owned(),
        action: Some(action),
    };
    let answer = games.submit_action(request.clone()).await;
    let answer = answer.unwrap_or_else(|status| panic!("{request:?}: {status:?}"));
    answer.into_inner().ruling.expect("an answer has a ruling")
}

/// Writes a cell: who has an effect, or why nobody has.
fn cell(answers: [Answer; 3]) -> String {
    let who = SEATS
        .iter()
        .zip(answers)
        .filter_map(|((letter, _), answer)| {
            let sign = answer.sign()?;
            Some(format!("{letter}{sign}"))
        });
    let who: Vec<String> = who.collect();
    if !who.is_empty() {
        return who.join(" ");
    }
    let word = match answers {
        [Answer::Never, ..] => "·",
        [Answer::Refused(Reason::GameOver), ..] => "over",
        _ => "no",
    };
    word.to_owned()
}

/// The reason that a case is refused for, where nobody has an effect: that of the first seat that
/// is not simply the wrong one.
fn refused(answers: &[Answer; 3]) -> Option<String> {
    if answers.iter().any(|answer| answer.sign().is_some()) {
        return None;
    }
    let mut reasons = answers.iter().filter_map(|answer| match answer {
        Answer::Refused(Reason::WrongSeat | Reason::GameOver) => None,
        Answer::Refused(reason) => Some(*reason),
        _ => None,
    });
    let name = reasons.next()?.as_str_name().trim_start_matches("REASON_");
    Some(format!("`{name}`"))
}

/// Writes the row of a case.
fn row(label: &str, answers: &[[Answer; 3]]) -> String {
    let cells: Vec<String> = answers.iter().map(|answers| cell(*answers)).collect();
    let reasons: BTreeSet<String> = answers.iter().filter_map(refused).collect();
    let reasons: Vec<String> = reasons.into_iter().collect();
    format!(
        "| {label} | {} | {} |",
        cells.join(" | "),
        reasons.join(", ")
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_says_what_actions_come_to() {
    let referee = Referee::start();
    let listed = referee
        .rules()
        .await
        .list_rule_profiles(ListRuleProfilesRequest {})
        .await;
    let listed = listed.expect("listed").into_inner().profiles;
    let profiles: Vec<String> = listed
        .into_iter()
        .filter_map(|described| Some(described.profile?.name))
        .collect();
    let cases: Vec<Case> = lines("actions/cases.jsonl")
        .iter()
        .map(Case::read)
        .collect();
    let cases = Arc::new(cases);
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let client = referee.games().await;
    let mut played = JoinSet::new();
    for case in 0..cases.len() {
        for (number, profile) in profiles.iter().enumerate() {
            let (mut client, cases) = (client.clone(), Arc::clone(&cases));
            let (places, profile) = (Arc::clone(&places), profile.clone());
            played.spawn(async move {
                let _place = places.acquire().await.expect("the places are never closed");
                (
                    (case, number),
                    cases[case].play(&mut client, &profile).await,
                )
            });
        }
    }
    let answers: BTreeMap<(usize, usize), [Answer; 3]> =
        played.join_all().await.into_iter().collect();
    let heads = profiles
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(" | ");
    let mut page = vec![
        format!("| action | {heads} | refused as |"),
        format!("|---|{}---|", "---|".repeat(profiles.len())),
    ];
    for (case, of) in cases.iter().enumerate() {
        let answers: Vec<[Answer; 3]> = (0..profiles.len())
            .map(|number| answers[&(case, number)])
            .collect();
        page.push(row(&of.label, &answers));
    }
    super::hold("ACTIONS.md", "actions", &page);
}

/// Every action, every decision of the arbiter and every claim has a case.
#[test]
fn every_action_has_a_case() {
    let pool = DescriptorPool::decode(referee_api::FILE_DESCRIPTOR_SET).expect("descriptors");
    let cases = lines("actions/cases.jsonl");
    let named: BTreeSet<&str> = cases
        .iter()
        .filter_map(|case| case["action"].as_str())
        .collect();
    for message in ["Action", "ArbiterDecision"] {
        let message = pool.get_message_by_name(&format!("referee.v1.{message}"));
        let message = message.expect("the contract has it");
        let kinds = message
            .oneofs()
            .find(|one| one.name() == "kind")
            .expect("a kind");
        for kind in kinds.fields() {
            // Two are of others: what stands for the decisions, and what the referee alone does.
            let name = kind.name().to_owned();
            let is_other = ["arbiter_decision", "referee_finding"].contains(&name.as_str());
            assert!(
                is_other || named.contains(name.as_str()),
                "{name} has no case"
            );
        }
    }
    let claims: BTreeSet<&str> = cases
        .iter()
        .filter_map(|case| case["do"]["make_claim"]["claim"].as_str())
        .collect();
    let kinds = (1..).map_while(|number| ClaimKind::try_from(number).ok());
    for kind in kinds {
        let name = kind.as_str_name();
        assert!(claims.contains(name), "{name} has no case");
    }
}
