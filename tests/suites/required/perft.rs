//! Requests about perft jobs that are whole.

use prost::Message;
use referee_api::v1;
use referee_tests::wire;

use super::Whole;

pub(super) fn requests() -> Vec<Whole> {
    let create = v1::CreatePerftJobRequest {
        perft_job: Some(v1::PerftJob {
            depth: 1,
            ..v1::PerftJob::default()
        }),
        request_id: wire::fresh_id(),
        ..v1::CreatePerftJobRequest::default()
    };
    // The requests that have nothing but a name are alike on the wire.
    let name = v1::GetPerftJobRequest {
        name: "perftJobs/required".into(),
    };
    let name = name.encode_to_vec();
    vec![
        (
            "/referee.v1.PerftService/CreatePerftJob",
            "CreatePerftJobRequest",
            create.encode_to_vec(),
        ),
        (
            "/referee.v1.PerftService/GetPerftJob",
            "GetPerftJobRequest",
            name.clone(),
        ),
        (
            "/referee.v1.PerftService/WatchPerftJob",
            "WatchPerftJobRequest",
            name.clone(),
        ),
        (
            "/referee.v1.PerftService/CancelPerftJob",
            "CancelPerftJobRequest",
            name.clone(),
        ),
        (
            "/referee.v1.PerftService/DeletePerftJob",
            "DeletePerftJobRequest",
            name.clone(),
        ),
        (
            "/referee.v1.PerftService/ExportPerftJob",
            "ExportPerftJobRequest",
            name,
        ),
    ]
}
