//! What encryption costs: `REFEREE_BINARY=target/release/referee cargo test -p referee-tests --test
//! suites tls::cost -- --ignored --nocapture`, on a machine that does nothing else.

use std::fs;

use referee_api::v1;
use referee_api::v1::rules_service_client::RulesServiceClient;
use referee_tests::process::Referee;
use tonic::transport::Channel;

use super::Encrypted;

/// The calls of a round, the calls that are open at once, and the rounds.
const CALLS: usize = 8_000;
const AT_ONCE: usize = 8;
const ROUNDS: usize = 9;

/// The most that a call on an encrypted connection that is kept may cost of one that is not.
const RATIO_MAX: f64 = 1.10;

/// The time on processors that a process has taken, in nanoseconds: the sum over its threads.
fn processor_time(referee: &Referee) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{}/task", referee.id())).expect("it runs");
    let times = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    times.sum()
}

async fn call(channel: &Channel, calls: usize) {
    let mut asking = Vec::new();
    for _ in 0..AT_ONCE {
        let mut rules = RulesServiceClient::new(channel.clone());
        asking.push(tokio::spawn(async move {
            for _ in 0..calls / AT_ONCE {
                let request = v1::ValidateMoveRequest {
                    position: Some(v1::Position::default()),
                    r#move: "e4".to_owned(),
                    ..v1::ValidateMoveRequest::default()
                };
                let answer = rules.validate_move(request).await;
                answer.expect("it is answered");
            }
        }));
    }
    for one in asking {
        one.await.expect("it asks to its end");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn a_call_costs_little_more_where_it_is_encrypted() {
    let encrypted = Encrypted::start();
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let plain = Referee::start_in(folder.path());
    let sides = [
        (&plain, plain.connect().await),
        (&encrypted.referee, encrypted.connect().await),
    ];
    for (_, channel) in &sides {
        call(channel, CALLS).await;
    }
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        let mut took = [0.0; 2];
        // Who is first changes from round to round.
        for at in [round % 2, 1 - round % 2] {
            let (referee, channel) = &sides[at];
            let before = processor_time(referee);
            call(channel, CALLS).await;
            took[at] = (processor_time(referee) - before) as f64 / CALLS as f64 / 1e3;
        }
        let [plain, encrypted] = took;
        println!("plain {plain:.1} us, encrypted {encrypted:.1} us a call");
        ratios.push(encrypted / plain);
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios[ROUNDS / 2];
    println!("encrypted / plain: {median:.3}, of {ratios:.3?}");
    assert!(median <= RATIO_MAX, "{median:.3}");
}
