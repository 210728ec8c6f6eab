//! Readiness turns with the store and comes back by itself.

use referee_store::Fault;
use referee_store::wrap::{FaultPlan, Faulty};
use referee_tests::pair::{Pair, PairOptions};
use tonic_health::pb::health_check_response::ServingStatus;

use super::{health, ready};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readiness_turns_with_the_disk() {
    let mut disk = None;
    let pair = Pair::start_over(PairOptions::default(), |store| {
        let store = Faulty::new(store, FaultPlan::default());
        disk = Some(store.disk().clone());
        std::sync::Arc::new(store)
    })
    .await;
    let disk = disk.expect("the store was wrapped");
    let channel = pair.server(0).connect().await;
    ready(&channel, ServingStatus::Serving).await;
    for _ in 0..2 {
        disk.fail(Fault::ReadOnly {
            reason: "it is full".into(),
        });
        ready(&channel, ServingStatus::NotServing).await;
        assert_eq!(
            health(&channel, "liveness").await,
            ServingStatus::Serving,
            "a process that cannot write is alive"
        );
        disk.heal();
        ready(&channel, ServingStatus::Serving).await;
    }
}
