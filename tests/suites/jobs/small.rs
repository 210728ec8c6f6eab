//! Small trees that are counted at once, on threads that are free when nobody waits any more.

use std::time::Duration;

use referee_api::v1::CountPerftRequest;
use referee_tests::process::Referee;
use referee_tests::wire::details;
use tonic::{Code, Request};

use super::desk::Jobs;

/// The time that the threads of a process have worked, in hundredths of a second.
fn worked(referee: &Referee) -> u64 {
    let path = format!("/proc/{}/stat", referee.id());
    let text = std::fs::read_to_string(path).expect("the process runs");
    let behind = text.rsplit(") ").next().expect("the name ends");
    let mut fields = behind.split(' ').skip(11);
    let mut next = || fields.next().and_then(|it| it.parse::<u64>().ok());
    next().expect("user time") + next().expect("system time")
}

fn request(depth: u32) -> CountPerftRequest {
    CountPerftRequest {
        position: None,
        depth,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_count_ends_with_its_caller_and_frees_its_thread() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let root = jobs
        .0
        .count_perft(request(0))
        .await
        .expect("counted")
        .into_inner();
    assert_eq!((&root.nodes[..], root.divide.len()), ("1", 0));
    let deep = jobs.0.count_perft(request(41)).await.expect_err("too deep");
    assert_eq!(details(&deep).reason, "LIMIT_EXCEEDED");
    // As many as count at once, and as many that wait: some end by their deadline, others since
    // their caller is gone.
    let mut calls = Vec::new();
    for number in 0..4 {
        let mut client = jobs.0.clone();
        let call = tokio::spawn(async move {
            let mut request = Request::new(request(9));
            if number % 2 == 0 {
                request.set_timeout(Duration::from_millis(200));
            }
            client.count_perft(request).await
        });
        calls.push(call);
    }
    tokio::time::sleep(Duration::from_millis(250)).await;
    for (number, call) in calls.into_iter().enumerate() {
        if number % 2 == 0 {
            let status = call.await.expect("it ends").expect_err("no time");
            // The client counts the time as well, and may be the first.
            assert!(
                matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled),
                "{status:?}"
            );
        } else {
            call.abort();
        }
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = worked(&referee);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let after = worked(&referee);
    assert!(
        after - before < 25,
        "{} hundredths of a second",
        after - before
    );
    let counted = jobs.0.count_perft(request(4)).await.expect("counted");
    assert_eq!(counted.into_inner().nodes, "197281");
}
