//! Log lines as JSON, and what is logged changed while the process runs.

use std::collections::BTreeMap;
use std::fs;

use referee_tests::operator::{ask, get};
use referee_tests::process::{Referee, signal};
use referee_tests::wire::{self, make_move, on_move};
use serde_json::Value;
use tonic::Request;

use super::{SHUFFLE, by_name, create, folder, soon, start};

/// A line for each call.
const TALKATIVE: [&str; 4] = [
    "--log",
    "info,referee_telemetry=debug",
    "--log-format",
    "json",
];

/// All lines so far, each of which is one object with what every line has.
fn lines(referee: &Referee) -> Vec<BTreeMap<String, Value>> {
    let log = referee.log();
    let whole = log.rfind('\n').map_or("", |end| &log[..end]);
    let read = whole.lines().map(|line| {
        let read: BTreeMap<String, Value> =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for field in ["timestamp", "level", "target", "message"] {
            assert!(
                read.get(field).is_some_and(Value::is_string),
                "{field}: {line}"
            );
        }
        read
    });
    read.collect()
}

/// How many lines say that a call of a method ended.
fn ended<'a>(
    lines: &'a [BTreeMap<String, Value>],
    method: &'a str,
) -> impl Iterator<Item = &'a BTreeMap<String, Value>> {
    lines.iter().filter(move |line| {
        line["message"] == "a call ended"
            && line["method"] == format!("/referee.v1.GameService/{method}")
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_of_json_name_the_game_the_request_and_who_asked() {
    let folder = folder();
    let referee = start(&folder, &TALKATIVE);
    let mut games = referee.games().await;
    create(&mut games, "logged").await;
    let submit = wire::submit("logged", on_move(0), make_move(SHUFFLE[0]));
    let request_id = submit.action.clone().expect("an action").request_id;
    let mut request = Request::new(submit);
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    let parent = parent.parse().expect("a header");
    request.metadata_mut().insert("traceparent", parent);
    games.submit_action(request).await.expect("judged");
    let hostile = games.get_game(by_name("no\"}\n{such")).await;
    hostile.expect_err("it is no name");
    soon("both calls are logged", || {
        let lines = lines(&referee);
        ended(&lines, "SubmitAction").count() == 1 && ended(&lines, "GetGame").count() == 1
    })
    .await;
    let lines = lines(&referee);
    let line = ended(&lines, "SubmitAction").next().expect("it is there");
    for (field, value) in [
        ("platform", "default"),
        ("principal", "anonymous"),
        ("game", "logged"),
        ("request_id", request_id.as_str()),
        ("trace_id", trace),
        ("level", "DEBUG"),
    ] {
        assert_eq!(line.get(field), Some(&value.into()), "{field}: {line:?}");
    }
    assert_eq!(line["code"], 0, "{line:?}");
    let other = ended(&lines, "CreateGame").next().expect("it is there");
    assert_eq!(other.get("trace_id"), None, "nobody traces it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_logged_changes_while_the_process_runs() {
    let folder = folder();
    let referee = start(&folder, &["--log-format", "json"]);
    let admin = referee.admin();
    let mut games = referee.games().await;
    create(&mut games, "level").await;
    let filter = TALKATIVE[1];
    let put = ask(admin, "PUT", "/log-level", "", filter);
    assert_eq!((put.status, put.body.trim()), (200, filter));
    assert_eq!(get(admin, "/log-level").body.trim(), filter);
    games.get_game(by_name("level")).await.expect("read");
    soon("the next call is logged", || {
        ended(&lines(&referee), "GetGame").count() == 1
    })
    .await;
    assert_eq!(ended(&lines(&referee), "CreateGame").count(), 0);
    let told = |referee: &Referee, message: &str| {
        let lines = lines(referee);
        lines
            .iter()
            .filter(|line| line["message"] == message)
            .count()
    };
    assert_eq!(told(&referee, "the log was changed by an operator"), 1);
    // As the command line has it.
    signal(referee.id(), "HUP");
    soon("the filter is read again", || {
        get(admin, "/log-level").body.trim() == "info"
    })
    .await;
    games.get_game(by_name("level")).await.expect("read");
    let put = ask(admin, "PUT", "/log-level", "", "error");
    assert_eq!(put.status, 200);
    soon("the change is logged", || {
        told(&referee, "the log was changed by an operator") == 2
    })
    .await;
    assert_eq!(ended(&lines(&referee), "GetGame").count(), 1, "no more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_with_what_is_logged_is_read_again_on_a_signal() {
    let folder = folder();
    let file = folder.path().join("filter");
    fs::write(&file, "warn\n").expect("written");
    let name = file.to_str().expect("a name");
    let mut referee = start(&folder, &["--log-filter-file", name]);
    let admin = referee.admin();
    assert_eq!(get(admin, "/log-level").body.trim(), "warn");
    fs::write(&file, "info,referee_store=debug").expect("written");
    signal(referee.id(), "HUP");
    soon("the file is read again", || {
        get(admin, "/log-level").body.trim() == "info,referee_store=debug"
    })
    .await;
    fs::write(&file, "info,=").expect("written");
    signal(referee.id(), "HUP");
    soon("what is wrong is said", || {
        referee.log().contains("what is logged stays as it was")
    })
    .await;
    assert_eq!(
        get(admin, "/log-level").body.trim(),
        "info,referee_store=debug"
    );
    referee.terminate();
    let ended = tokio::task::block_in_place(|| referee.wait(super::SOON));
    assert_eq!(ended.expect("waited").expect("ended").code(), Some(0));
}
