//! What is refused, and what is listed.

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use referee_api::v1::perft_job::State;
use referee_api::v1::{
    CreatePerftJobRequest, DeletePerftJobRequest, GetPerftJobRequest, ListPerftJobsRequest,
    PerftJob,
};
use referee_api::worker::v1 as w;
use referee_server::limits;
use referee_tests::lines;
use referee_tests::process::Referee;
use referee_tests::wire::details;
use tonic::Code;

use super::desk::{Desk, Jobs, creation, introduction, name};

fn read_request(json: &serde_json::Value) -> CreatePerftJobRequest {
    let pool = DescriptorPool::decode(referee_api::FILE_DESCRIPTOR_SET).expect("descriptors");
    let descriptor = pool.get_message_by_name("referee.v1.CreatePerftJobRequest");
    let text = json.to_string();
    let mut reader = serde_json::Deserializer::from_str(&text);
    let message = DynamicMessage::deserialize(descriptor.expect("it is there"), &mut reader);
    let bytes = message.expect("JSON of a request").encode_to_vec();
    CreatePerftJobRequest::decode(&bytes[..]).expect("it was encoded")
}

/// What makes an introduction wrong.
type Change = fn(&mut w::OpenSessionRequest);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_make_no_sense_are_refused() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    for line in lines("perft_jobs/refused.jsonl") {
        let request = read_request(&line["request"]);
        let status = jobs.0.create_perft_job(request).await;
        let status = status.expect_err("it makes no sense");
        let found = details(&status);
        assert_eq!(status.code(), Code::InvalidArgument, "{line}");
        assert_eq!(
            found.reason,
            line["reason"].as_str().expect("a reason"),
            "{line}"
        );
        let field = line["field"].as_str().expect("a field").to_owned();
        assert!(found.fields.contains(&field), "{line}: {found:?}");
    }
    let listed = jobs
        .0
        .list_perft_jobs(ListPerftJobsRequest::default())
        .await;
    assert_eq!(listed.expect("listed").into_inner().perft_jobs, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_platform_has_so_many_jobs_and_each_request_one() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let job = PerftJob {
        depth: 7,
        ..PerftJob::default()
    };
    let first = creation("job-0", job.clone());
    for number in 0..limits::PERFT_JOBS_UNDER_WAY_MAX {
        let request = match number {
            0 => first.clone(),
            number => creation(&format!("job-{number}"), job.clone()),
        };
        jobs.0.create_perft_job(request).await.expect("created");
    }
    // The same request finds its job, also where there is no room for another.
    let again = jobs.0.create_perft_job(first.clone()).await;
    let again = again.expect("the same").into_inner().perft_job;
    assert_eq!(again.expect("it is told").name, name("job-0"));
    let full = jobs.0.create_perft_job(creation("more", job.clone())).await;
    let full = full.expect_err("too many");
    assert_eq!(details(&full).reason, "PERFT_JOBS_FULL");
    let mut other = first;
    other.perft_job.as_mut().expect("it has one").depth = 8;
    let reused = jobs
        .0
        .create_perft_job(other)
        .await
        .expect_err("other content");
    assert_eq!(details(&reused).reason, "REQUEST_ID_REUSED");
    let delete = |id: &str| DeletePerftJobRequest { name: name(id) };
    let early = jobs.0.delete_perft_job(delete("job-0")).await;
    let early = early.expect_err("it goes on");
    assert_eq!(details(&early).reason, "PERFT_JOB_NOT_FINISHED");
    jobs.cancel("job-0").await;
    let taken = jobs
        .0
        .create_perft_job(creation("job-0", job.clone()))
        .await;
    let taken = taken.expect_err("the name is taken");
    assert_eq!(details(&taken).reason, "NAME_TAKEN");
    for _ in 0..2 {
        jobs.0
            .delete_perft_job(delete("job-0"))
            .await
            .expect("deleted");
    }
    let get = GetPerftJobRequest {
        name: name("job-0"),
    };
    let gone = jobs.0.get_perft_job(get).await.expect_err("it is gone");
    assert_eq!(details(&gone).reason, "PERFT_JOB_NOT_FOUND");
    jobs.create_job("job-0", job).await;

    // All are listed, newest first, page by page.
    let mut found = Vec::new();
    let mut request = ListPerftJobsRequest {
        page_size: 5,
        states: vec![State::Planning.into(), State::Running.into()],
        ..ListPerftJobsRequest::default()
    };
    loop {
        let page = jobs.0.list_perft_jobs(request.clone()).await;
        let page = page.expect("listed").into_inner();
        assert!(page.perft_jobs.len() <= 5);
        found.extend(page.perft_jobs.into_iter().map(|job| job.name));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!(found.len(), limits::PERFT_JOBS_UNDER_WAY_MAX);
    assert_eq!(found[0], name("job-0"));
    assert_eq!(found[1], name("job-15"));
    let mut other = request.clone();
    other.states.clear();
    other.page_token = "perft/0:1:2".into();
    let status = jobs
        .0
        .list_perft_jobs(other)
        .await
        .expect_err("another list");
    assert_eq!(details(&status).reason, "INVALID_PAGE_TOKEN");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_that_make_no_sense_are_turned_away() {
    let referee = Referee::start();
    let mut desk = Desk::open(&referee, "w").await;
    let unknown = w::OpenSessionRequest {
        generator: "fast-0".into(),
        ..introduction("w")
    };
    let status = desk
        .client
        .open_session(unknown)
        .await
        .expect_err("unknown");
    let found = details(&status);
    assert_eq!(
        (status.code(), &found.reason[..]),
        (Code::FailedPrecondition, "GENERATOR_UNKNOWN")
    );
    assert_eq!(found.metadata["generator"], "fast-0");
    let wrong: [(&str, Change); 5] = [
        ("worker_id", |it| it.worker_id.clear()),
        ("worker_id", |it| it.worker_id = "a b".into()),
        ("threads", |it| it.threads = 0),
        ("threads", |it| it.threads = 1_025),
        ("generator", |it| it.generator.clear()),
    ];
    for (field, change) in wrong {
        let mut request = introduction("w");
        change(&mut request);
        let status = desk.client.open_session(request).await;
        let found = details(&status.expect_err(field));
        assert!(
            found.fields.contains(&field.to_owned()),
            "{field}: {found:?}"
        );
    }
    let many = vec![w::Lease::default(); limits::LEASES_HELD_MAX + 1];
    let status = desk.try_lease(&many, 1, std::time::Duration::ZERO).await;
    assert_eq!(
        details(&status.expect_err("too many")).reason,
        "LIMIT_EXCEEDED"
    );
    let results = vec![w::TaskResult::default(); limits::RESULTS_REPORTED_MAX + 1];
    let request = w::ReportTasksRequest {
        session: desk.session.clone(),
        results,
    };
    let status = desk.client.report_tasks(request).await;
    let found = details(&status.expect_err("too many"));
    assert!(found.fields.contains(&"results".to_owned()), "{found:?}");
    assert!(
        found.fields.contains(&"results[0].lease".to_owned()),
        "{found:?}"
    );
}
