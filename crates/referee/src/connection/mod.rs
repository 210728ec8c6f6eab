//! The connection of every command that asks a server: where the server is, how it is reached, what
//! is worth another attempt, and what its errors say.

mod trust;

use std::error::Error as _;
use std::fmt::Write as _;
use std::future::Future;
use std::time::Duration;

use clap::Args;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::perft_service_client::PerftServiceClient;
use referee_api::v1::store_service_client::StoreServiceClient;
use referee_api::v1::token_service_client::TokenServiceClient;
use referee_worker::Identity;
use tonic::service::Interceptor as _;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Response, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

pub(crate) use self::trust::{Credential, TrustArguments};
use crate::exit::{Exit, Failure, Outcome};
use crate::limits::{
    BACKOFF_FIRST, BACKOFF_MAX, CALL_ATTEMPTS_MAX, CALL_SECONDS_MAX, CONNECT_SECONDS_MAX,
    PING_INTERVAL, PING_TIMEOUT,
};

/// Which server a command asks.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServerArguments {
    /// The server, as http://HOST:PORT or https://HOST:PORT.
    #[arg(
        long,
        short,
        value_name = "URL",
        env = "REFEREE_SERVER",
        default_value = "http://127.0.0.1:50051",
        global = true
    )]
    server: String,
    #[command(flatten)]
    trust: TrustArguments,
}

/// The perft jobs of a server.
pub(crate) type Perft = PerftServiceClient<InterceptedService<Channel, Credential>>;

/// The games of a server.
pub(crate) type Games = GameServiceClient<InterceptedService<Channel, Credential>>;

/// The care of the store of a server.
pub(crate) type Store = StoreServiceClient<InterceptedService<Channel, Credential>>;

/// The tokens of a server.
pub(crate) type Tokens = TokenServiceClient<InterceptedService<Channel, Credential>>;

/// A server: its address, how it is believed, and what every call says about who asks.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    text: String,
    endpoint: Endpoint,
    credential: Credential,
}

impl ServerArguments {
    /// Reads the address. Nothing is connected yet.
    pub(crate) fn read(&self) -> Result<Server, Failure> {
        Server::read("--server", &self.server, &self.trust)
    }
}

impl Server {
    /// Reads the address that an option has, and the files that go with it. Nothing is connected
    /// yet.
    pub(crate) fn read(
        option: &str,
        text: &str,
        trust: &TrustArguments,
    ) -> Result<Server, Failure> {
        let no_address = |why: &str| {
            Failure::Usage(format!(
                "{option}: {text} is no address: {why}; use one such as http://127.0.0.1:50051"
            ))
        };
        if !text.starts_with("http://") && !text.starts_with("https://") {
            return Err(no_address("only http and https are spoken"));
        }
        let endpoint = Endpoint::from_shared(text.to_owned());
        let endpoint = endpoint.map_err(|error| no_address(&error.to_string()))?;
        let endpoint = endpoint.connect_timeout(Duration::from_secs(CONNECT_SECONDS_MAX));
        let (endpoint, credential) = trust.apply(endpoint)?;
        Ok(Server {
            text: text.to_owned(),
            endpoint,
            credential,
        })
    }

    /// Returns how the server is connected to.
    pub(crate) fn endpoint(&self) -> Endpoint {
        self.endpoint.clone()
    }

    /// Returns what every call says about who makes it.
    pub(crate) fn credential(&self) -> Credential {
        self.credential.clone()
    }

    /// Returns the address as text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Connects to the games. A connection that is lost later comes back with the next call.
    pub(crate) async fn games(&self) -> Result<Games, Failure> {
        let channel = self.connect().await?;
        Ok(GameServiceClient::with_interceptor(
            channel,
            self.credential(),
        ))
    }

    /// Connects to the care of the store.
    pub(crate) async fn store(&self) -> Result<Store, Failure> {
        let channel = self.connect().await?;
        Ok(StoreServiceClient::with_interceptor(
            channel,
            self.credential(),
        ))
    }

    /// Connects to perft jobs.
    pub(crate) async fn perft(&self) -> Result<Perft, Failure> {
        let channel = self.connect().await?;
        Ok(PerftServiceClient::with_interceptor(
            channel,
            self.credential(),
        ))
    }

    /// Returns a channel that connects when it is first used, and again whenever the server was
    /// lost, which shows by pings.
    pub(crate) fn connect_lazily(&self) -> Channel {
        let endpoint = self.endpoint.clone();
        endpoint
            .http2_keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .connect_lazy()
    }

    /// Returns what a worker says of who it is.
    pub(crate) fn identity(&self) -> Identity {
        let credential = self.credential();
        Identity::new(move |request| credential.clone().call(request))
    }

    /// Connects to the tokens.
    pub(crate) async fn tokens(&self) -> Result<Tokens, Failure> {
        let channel = self.connect().await?;
        Ok(TokenServiceClient::with_interceptor(
            channel,
            self.credential(),
        ))
    }

    async fn connect(&self) -> Result<Channel, Failure> {
        self.endpoint.connect().await.map_err(|error| {
            let mut text = format!("cannot reach {}: {error}", self.text);
            let mut source = error.source();
            while let Some(error) = source {
                // Writing into a text does not fail.
                let _ = write!(text, ": {error}");
                source = error.source();
            }
            let is_encrypted = self.text.starts_with("https://");
            if is_encrypted && let Some(way_out) = way_out_of_handshake(&text) {
                let _ = write!(text, "\n{way_out}");
            }
            Failure::Trouble(text)
        })
    }

    /// Says an error of the server: its kind, its reason, the fields at fault, and the way out.
    pub(crate) fn failure(&self, status: &Status) -> Failure {
        let details = status.get_error_details();
        let mut text = format!("{}: {:?}", self.text, status.code());
        let reason = reason_of(&details);
        if !reason.is_empty() {
            let _ = write!(text, " {reason}");
        }
        let _ = write!(text, ": {}", status.message());
        let faults = details.bad_request();
        for fault in faults.map_or(&[][..], |bad| &bad.field_violations) {
            if !status.message().contains(&fault.description) {
                let _ = write!(text, "\n  {}: {}", fault.field, fault.description);
            }
        }
        if let Some(way_out) = way_out(reason) {
            let _ = write!(text, "\n{way_out}");
        }
        // What a connection breaks at tells nothing of why.
        if reason.is_empty() && is_passing(status) && self.text.starts_with("http://") {
            text.push_str("\nif the server speaks TLS, use https://");
        }
        Failure::Trouble(text)
    }
}

fn reason_of(details: &ErrorDetails) -> &str {
    details.error_info().map_or("", |info| &info.reason)
}

/// What can be done about a handshake that failed, by the words of the library.
fn way_out_of_handshake(text: &str) -> Option<&'static str> {
    let has = |words: &str| text.contains(words);
    if has("UnknownIssuer") {
        Some("name the authority of the server with --ca FILE (REFEREE_CA)")
    } else if has("not valid for name") || has("NotValidForName") {
        Some("use a name that the certificate of the server is for")
    } else if has("InvalidContentType") || has("reset by peer") || has("handshake eof") {
        Some("the server may not speak TLS there; if it is to be trusted without, use http://")
    } else if has("CaUsedAsEndEntity") {
        Some("the server shows the certificate of an authority; it needs one with CA:FALSE")
    } else if has("CertificateRequired") {
        Some("the server asks for a certificate: --certificate FILE --key FILE")
    } else {
        None
    }
}

/// What can be done about an error, where its message does not say so to a person at a terminal.
fn way_out(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "NAME_TAKEN" => "choose another --id, or leave it out and the server chooses one",
        "GAME_NOT_FOUND" => "a game is named as `referee game create` has printed it",
        "SEQUENCE_MISMATCH" => "look at the game with `referee game show`, and decide again",
        "SEQUENCE_AHEAD" => "leave --after out to begin with the game as it stands",
        "CREDENTIAL_REFUSED" => "say who asks with --token-file FILE",
        "ROLE_DENIED" => "ask with the token of another role: --token-file FILE",
        "TOKEN_NOT_FOUND" => "`referee token list` names the tokens of a platform",
        "BACKUP_REFUSED" => "see the log of the server, which names the folder",
        "PERFT_JOBS_FULL" => "wait for a job to end, or cancel one and delete it",
        "GENERATOR_UNKNOWN" => "run a worker of the version of the server",
        "REQUEST_ID_REUSED" => "leave --request-id out for an action that is new",
        "OVERLOADED" => "the server has as much work as it takes; try again in a while",
        "STORE_UNAVAILABLE" | "DEADLINE_EXCEEDED" | "SHUTTING_DOWN" => {
            "what became of a write is not known; repeated with the same --request-id, it is done \
             once"
        }
        _ => return None,
    })
}

/// Whether a call that failed so may do better a moment later: the server said so, or the error is
/// none of the referee's, as that of a connection that broke.
pub(crate) fn is_passing(status: &Status) -> bool {
    let details = status.get_error_details();
    match (status.code(), reason_of(&details)) {
        (Code::ResourceExhausted, reason) => reason != "MESSAGE_TOO_LARGE",
        (Code::Unavailable | Code::DeadlineExceeded, _) => true,
        (Code::Unknown | Code::Internal | Code::Cancelled, "") => true,
        _ => false,
    }
}

/// Calls until there is an answer, an error that will not pass, or no attempt left. Every call of
/// the contract that is made so is safe to repeat.
pub(crate) async fn call<T, F>(mut attempt: impl FnMut() -> F) -> Result<T, Status>
where
    F: Future<Output = Result<Response<T>, Status>>,
{
    let mut backoff = Backoff::new();
    let mut attempts = 0;
    loop {
        attempts += 1;
        let answer = in_time(attempt()).await;
        match answer {
            Err(status) if attempts < CALL_ATTEMPTS_MAX && is_passing(&status) => {
                tokio::time::sleep(backoff.next()).await;
            }
            answer => return answer.map(Response::into_inner),
        }
    }
}

/// Waits for an answer for as long as one call may take.
pub(crate) async fn in_time<T>(
    answer: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    let patience = Duration::from_secs(CALL_SECONDS_MAX);
    let answer = tokio::time::timeout(patience, answer).await;
    answer.unwrap_or_else(|_| {
        let text = format!("no answer within {CALL_SECONDS_MAX} s");
        Err(Status::deadline_exceeded(text))
    })
}

/// How long to wait before the next attempt: twice as long each time, up to a limit, and of that a
/// part by chance, so that those who lost a server do not all come back at once.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    /// Begins with the shortest wait.
    pub(crate) fn new() -> Backoff {
        Backoff {
            next: BACKOFF_FIRST,
        }
    }

    /// Returns the next wait: between half of it and all of it.
    pub(crate) fn next(&mut self) -> Duration {
        let whole = self.next;
        self.next = (whole * 2).min(BACKOFF_MAX);
        let chance = f64::from(uuid::Uuid::new_v4().as_fields().0) / f64::from(u32::MAX);
        whole.mul_f64(0.5 + chance / 2.0)
    }
}

/// Runs what asks a server, until it is done or interrupted.
pub(crate) fn run(work: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::Trouble(format!("cannot start: {error}")))?;
    runtime.block_on(async {
        tokio::select! {
            done = work => done,
            _ = tokio::signal::ctrl_c() => Ok(Exit::Interrupted),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_limit_and_differ() {
        let mut backoff = Backoff::new();
        let mut whole = BACKOFF_FIRST;
        let mut waits = Vec::new();
        for _ in 0..20 {
            let wait = backoff.next();
            assert!(wait >= whole / 2 && wait <= whole, "{wait:?} of {whole:?}");
            waits.push(wait);
            whole = (whole * 2).min(BACKOFF_MAX);
        }
        assert_eq!(whole, BACKOFF_MAX);
        waits.dedup();
        assert!(waits.len() > 10, "{waits:?}");
    }

    #[test]
    fn what_the_referee_means_is_not_tried_again() {
        let plain = |code| Status::new(code, "");
        assert!(is_passing(&plain(Code::Unavailable)));
        assert!(is_passing(&plain(Code::Unknown)));
        assert!(!is_passing(&plain(Code::NotFound)));
        let reasoned = |code, reason: &str| {
            let details = ErrorDetails::with_error_info(reason, "chess-referee", []);
            Status::with_error_details(code, "", details)
        };
        assert!(is_passing(&reasoned(Code::ResourceExhausted, "OVERLOADED")));
        assert!(!is_passing(&reasoned(
            Code::ResourceExhausted,
            "MESSAGE_TOO_LARGE"
        )));
        assert!(!is_passing(&reasoned(Code::Internal, "INVARIANT_BROKEN")));
        assert!(!is_passing(&reasoned(Code::Aborted, "SEQUENCE_MISMATCH")));
    }
}
