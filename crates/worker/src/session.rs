//! A session with a server: tasks are leased, kept and reported, each by a loop of its own.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use referee_api::worker::v1::{
    CloseSessionRequest, LeaseTasksRequest, OpenSessionRequest, RenewSessionRequest,
    ReportTasksRequest, ReportTasksResponse, Verdict,
};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::client::{Client, Failed, answer, refused};
use crate::counting::Shared;
use crate::error::WorkerError;
use crate::hand::{Hand, Secret};
use crate::limits::{END_TIME_MAX, FAULT_PAUSE, LEASE_WAIT, RENEW_INTERVAL_DEFAULT};

/// See the head of this file.
pub(crate) struct Session {
    client: Client,
    shared: Arc<Shared>,
    hello: OpenSessionRequest,
    /// How often the server wants to be asked.
    renew_interval: watch::Sender<Duration>,
}

impl Session {
    pub(crate) fn new(client: Client, shared: Arc<Shared>, hello: OpenSessionRequest) -> Session {
        Session {
            client,
            shared,
            hello,
            renew_interval: watch::Sender::new(RENEW_INTERVAL_DEFAULT),
        }
    }

    /// Works until `stop` is cancelled, and ends in order.
    pub(crate) async fn run(self, stop: CancellationToken) -> Result<(), WorkerError> {
        let refused = tokio::select! {
            refused = self.lease() => refused.map(|never| match never {}),
            never = self.renew() => match never {},
            never = self.report() => match never {},
            () = stop.cancelled() => Ok(()),
        };
        refused?;
        self.shared.hand().stop();
        self.shared.note();
        if timeout(END_TIME_MAX, self.end()).await.is_err() {
            tracing::warn!(
                "the session was not closed in time: its tasks are leased again when it \
                            runs out"
            );
        }
        Ok(())
    }

    /// Opens sessions and leases tasks.
    async fn lease(&self) -> Result<Infallible, WorkerError> {
        let mut backoff = Backoff::new();
        let mut was_open = false;
        loop {
            let session = self.shared.hand().session.clone();
            let failed = match session {
                None => match self.open().await {
                    Ok(()) => {
                        was_open = true;
                        backoff = Backoff::new();
                        continue;
                    }
                    Err(Failed::Lasting(status)) if !was_open => return Err(refused(&status)),
                    Err(failed) => failed,
                },
                Some(session) => match self.lease_more(&session).await {
                    Ok(()) => {
                        backoff = Backoff::new();
                        continue;
                    }
                    Err(failed) => failed,
                },
            };
            let wait = backoff.next();
            match failed {
                Failed::SessionLost => {
                    tracing::info!("the session is over; another is opened");
                    continue;
                }
                Failed::Passing(status) => {
                    let (code, text) = (status.code(), status.message());
                    tracing::warn!(
                        ?code,
                        text,
                        ?wait,
                        "the server does not answer; tried again"
                    );
                }
                Failed::Lasting(status) => {
                    let (code, text) = (status.code(), status.message());
                    tracing::error!(?code, text, ?wait, "the server refuses; tried again");
                }
            }
            sleep(wait).await;
        }
    }

    async fn open(&self) -> Result<(), Failed> {
        let mut client = self.client.clone();
        let call = client.open_session(self.hello.clone());
        let opened = answer(call, Duration::ZERO).await?;
        if let Some(interval) = opened.renew_interval.and_then(|it| it.try_into().ok()) {
            self.renew_interval.send_replace(interval);
        }
        self.shared.hand().session = Some(opened.session.to_vec());
        let threads = self.hello.threads;
        tracing::info!(threads, "a session with the server is open");
        Ok(())
    }

    /// Asks for tasks where there is room for some, or waits until there is.
    async fn lease_more(&self, session: &Secret) -> Result<(), Failed> {
        let (request, wait) = {
            let hand = self.shared.hand();
            // Only who has nothing to do waits at the server, which takes that for a reason to
            // split tasks of others.
            let wait = match hand.is_idle() {
                true => LEASE_WAIT,
                false => Duration::ZERO,
            };
            let request = LeaseTasksRequest {
                session: session.clone().into(),
                held: hand.held(),
                max_tasks: hand.wants(Instant::now()) as u32,
                wait: prost_types::Duration::try_from(wait).ok(),
            };
            (request, wait)
        };
        if request.max_tasks == 0 {
            self.wait_until(|hand| hand.wants(Instant::now()) > 0).await;
            return Ok(());
        }
        let mut client = self.client.clone();
        let leased = match answer(client.lease_tasks(request), wait).await {
            Err(Failed::SessionLost) => {
                self.shared.hand().lose(session);
                return Err(Failed::SessionLost);
            }
            leased => leased?,
        };
        let is_none = leased.tasks.is_empty();
        {
            let mut hand = self.shared.hand();
            hand.let_go(session, &leased.dropped);
            hand.take(session, leased.tasks);
        }
        self.shared.note();
        if is_none && wait.is_zero() {
            self.wait_until(Hand::is_idle).await;
        }
        Ok(())
    }

    /// Waits until the hand is as wanted or the session is lost, but not for long.
    async fn wait_until(&self, is_wanted: impl Fn(&Hand) -> bool) {
        let interval = *self.renew_interval.borrow();
        let changes = async {
            loop {
                {
                    let hand = self.shared.hand();
                    if is_wanted(&hand) || hand.session.is_none() {
                        return;
                    }
                }
                self.shared.room.notified().await;
            }
        };
        // When the time is over it is looked at all the same.
        let _ = timeout(interval, changes).await;
    }

    /// Keeps the session while it holds tasks.
    async fn renew(&self) -> Infallible {
        loop {
            let interval = *self.renew_interval.borrow();
            sleep(interval).await;
            let (session, request) = {
                let hand = self.shared.hand();
                let Some(session) = hand.session.clone() else {
                    continue;
                };
                let held = hand.held();
                // Who waits for tasks is heard of by that.
                if held.is_empty() {
                    continue;
                }
                let request = RenewSessionRequest {
                    session: session.clone().into(),
                    held,
                    nodes_per_second: hand.nodes_per_second(),
                    stopping: false,
                };
                (session, request)
            };
            let mut client = self.client.clone();
            match answer(client.renew_session(request), Duration::ZERO).await {
                Ok(renewed) => {
                    let mut hand = self.shared.hand();
                    hand.let_go(&session, &renewed.dropped);
                    hand.share(&session, &renewed.split, Instant::now());
                    drop(hand);
                    self.shared.note();
                }
                Err(Failed::SessionLost) => {
                    self.shared.hand().lose(&session);
                    self.shared.note();
                }
                Err(Failed::Passing(status) | Failed::Lasting(status)) => {
                    let (code, text) = (status.code(), status.message());
                    tracing::debug!(?code, text, "the session could not be renewed");
                }
            }
        }
    }

    /// Reports what is counted, again until it is answered.
    async fn report(&self) -> Infallible {
        let mut backoff = Backoff::new();
        loop {
            let is_sent = self.report_once().await;
            match is_sent {
                Some(true) => backoff = Backoff::new(),
                Some(false) => sleep(backoff.next()).await,
                None => self.shared.results.notified().await,
            }
        }
    }

    /// Reports some results, and returns whether they were answered; `None` where there are none.
    async fn report_once(&self) -> Option<bool> {
        let (session, results) = self.shared.hand().reports()?;
        let request = ReportTasksRequest {
            session: session.clone().into(),
            results: results.clone(),
        };
        let mut client = self.client.clone();
        match answer(client.report_tasks(request), Duration::ZERO).await {
            Ok(reported) => note_verdicts(&reported),
            Err(Failed::Passing(status)) => {
                let (code, text) = (status.code(), status.message());
                tracing::debug!(?code, text, "a report was not answered; tried again");
                return Some(false);
            }
            Err(Failed::SessionLost) => {
                tracing::info!("the server has forgotten the session; what it counted is dropped");
                self.shared.hand().lose(&session);
            }
            Err(Failed::Lasting(status)) => {
                let (code, text) = (status.code(), status.message());
                tracing::error!(
                    ?code,
                    text,
                    "the server does not take a report; it is dropped"
                );
                // The tasks are leased again, perhaps to this worker.
                sleep(FAULT_PAUSE).await;
            }
        }
        self.shared.hand().answered(&session, &results);
        self.shared.note();
        Some(true)
    }

    /// Waits for what is counted, reports it and closes the session.
    async fn end(&self) {
        loop {
            let is_counting = self.shared.hand().is_counting();
            if !is_counting {
                break;
            }
            self.shared.results.notified().await;
        }
        let mut backoff = Backoff::new();
        while let Some(is_sent) = self.report_once().await {
            if !is_sent {
                sleep(backoff.next()).await;
            }
        }
        let session = self.shared.hand().session.clone();
        let Some(session) = session else { return };
        loop {
            let mut client = self.client.clone();
            let request = CloseSessionRequest {
                session: session.clone().into(),
            };
            match answer(client.close_session(request), Duration::ZERO).await {
                Ok(_) => return tracing::info!("the session is closed"),
                Err(Failed::Passing(_)) => sleep(backoff.next()).await,
                Err(_) => return,
            }
        }
    }
}

/// Says what became of results, where there is something to say.
fn note_verdicts(reported: &ReportTasksResponse) {
    for told in &reported.tasks {
        let (lease, text) = (told.lease, &told.text);
        match told.verdict() {
            Verdict::Disagrees => {
                tracing::error!(?lease, text, "a count differs from that of another worker");
            }
            Verdict::Refused => tracing::error!(?lease, text, "a count cannot be right"),
            verdict => tracing::debug!(?lease, ?verdict, text, "reported"),
        }
    }
}
