//! Who calls: put there by one layer, for every call, before any service sees it. The same layer
//! turns away who may not make it. The span of the call is open by then, and names the caller from
//! there on.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderMap, Request, Response};
use referee_store::{GameKey, TokenScope};
use tonic::Status;
use tower::{Layer, Service};
use tracing::Span;

use super::connection::Line;
use super::tls::ClientCertificate;
use crate::access::table::{Allowed, allowed};
use crate::access::{
    Gate, HeldThing, Hold, Principal, Role, Seat, Session, SignedSeat, Taken, is_platform,
};
use crate::error::{Refusal, ServiceError};
use crate::limits;

/// The header in which an operator names the platform that a call is about.
const PLATFORM_HEADER: &str = "referee-platform";

/// The header with the credential.
const CREDENTIAL_HEADER: &str = "authorization";

/// What the credential comes behind, in whatever case.
const SCHEME: &str = "bearer ";

/// Who calls.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The platform (tenant) whose games the call is about.
    platform: Arc<str>,
    session: Arc<Session>,
    gate: Arc<Gate>,
    /// The way that the call came by.
    line: Line,
}

impl Caller {
    /// Who made a call.
    ///
    /// # Errors
    ///
    /// [`ServiceError::InvariantBroken`] where a service runs without the layer.
    pub(crate) fn of<T>(request: &tonic::Request<T>) -> Result<Caller, ServiceError> {
        let caller = request.extensions().get::<Caller>();
        caller
            .cloned()
            .ok_or_else(|| ServiceError::InvariantBroken {
                what: "a call without a caller".into(),
            })
    }

    /// The platform that the caller acts on.
    pub(crate) fn platform(&self) -> &str {
        &self.platform
    }

    /// Who calls, and what they may do.
    pub(crate) fn identity(&self) -> &Principal {
        &self.session.principal
    }

    /// Who the caller is, for the record.
    pub(crate) fn principal(&self) -> &Arc<str> {
        &self.session.principal.id
    }

    /// The way that the call came by.
    pub(crate) fn line(&self) -> &Line {
        &self.line
    }

    /// Waits until the credential is good no more, and says why. From now on it is looked up again
    /// and again.
    pub(crate) fn lost(&self) -> impl Future<Output = ServiceError> + Send + use<> {
        let session = Arc::clone(&self.session);
        self.gate.follow(&session);
        async move { session.lost().await }
    }

    /// Covers a place within something of the platform, so that it tells nothing of others.
    ///
    /// # Errors
    ///
    /// Where the system has no random bytes.
    pub(crate) fn cover(&self, scope: &[u8], place: &str) -> Result<String, ServiceError> {
        let covered = self.gate.cover().cover(&self.platform, scope, place);
        covered.ok_or_else(|| ServiceError::InvariantBroken {
            what: "the system gives no random bytes".into(),
        })
    }

    /// Returns a place that was covered; nothing where it is of another platform or of something
    /// else.
    pub(crate) fn uncover(&self, scope: &[u8], text: &str) -> Option<String> {
        self.gate.cover().uncover(&self.platform, scope, text)
    }

    /// Signs a seat token, which counts for a time, but no longer than the credential of the
    /// caller.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SeatTokensOff`].
    pub(crate) fn sign_seat(
        &self,
        seat: Seat,
        lifetime: Duration,
    ) -> Result<SignedSeat, ServiceError> {
        self.gate.sign_seat(&self.session, seat, lifetime)
    }

    /// Puts a stream on the account of the caller, until what is returned is dropped.
    ///
    /// # Errors
    ///
    /// [`ServiceError::AllowanceSpent`].
    pub(crate) fn hold_stream(&self) -> Result<Option<[Hold; 2]>, ServiceError> {
        let payer = self.session.payer.as_ref();
        payer.map(|payer| payer.hold(HeldThing::Stream)).transpose()
    }

    /// Puts an action that came on a stream on the account of the caller.
    ///
    /// # Errors
    ///
    /// [`ServiceError::AllowanceSpent`].
    pub(crate) fn take_call(&self) -> Result<(), ServiceError> {
        self.take(Taken::Calls, 1)
    }

    /// Puts questions to the solver on the account of the caller, by the positions that they may
    /// visit.
    ///
    /// # Errors
    ///
    /// [`ServiceError::AllowanceSpent`].
    pub(crate) fn take_solver_nodes(&self, nodes: u64) -> Result<(), ServiceError> {
        self.take(Taken::SolverNodes, nodes)
    }

    /// Checks that the caller may have another action refused.
    ///
    /// # Errors
    ///
    /// [`ServiceError::AllowanceSpent`].
    pub(crate) fn check_refusals(&self) -> Result<(), ServiceError> {
        self.take(Taken::Refusals, 0)
    }

    /// Notes that an action was refused.
    pub(crate) fn note_refusal(&self) {
        if let Some(payer) = &self.session.payer {
            payer.charge(Taken::Refusals, 1, self.gate.now_us());
        }
    }

    fn take(&self, taken: Taken, amount: u64) -> Result<(), ServiceError> {
        match &self.session.payer {
            Some(payer) => payer.take(taken, amount, self.gate.now_us()),
            None => Ok(()),
        }
    }

    /// The key of a game of the caller's platform. The span of the call names the game from here
    /// on.
    ///
    /// # Errors
    ///
    /// Where the caller is confined to another game: what they would hear of one that is not there.
    pub(crate) fn key(&self, game: String) -> Result<GameKey, ServiceError> {
        Span::current().record("game", &game);
        let key = GameKey {
            platform: self.platform().to_owned(),
            game,
        };
        match &self.session.principal.scope {
            TokenScope::Game { game, .. } if *game != key.game => {
                Err(ServiceError::not_found(&key))
            }
            _ => Ok(key),
        }
    }

    /// The label that games of the caller must have; none where they need none.
    pub(crate) fn label(&self) -> Option<(&str, &str)> {
        match &self.session.principal.scope {
            TokenScope::Label { key, value } => Some((key, value)),
            _ => None,
        }
    }

    /// The labels that games must have for the caller to be told of them in a list.
    ///
    /// # Errors
    ///
    /// Where the caller is confined to one game.
    pub(crate) fn list_labels(
        &self,
        mut labels: Vec<(String, String)>,
    ) -> Result<Vec<(String, String)>, ServiceError> {
        if let TokenScope::Game { .. } = self.session.principal.scope {
            return Err(ServiceError::RoleDenied {
                action: "a list of games".into(),
                roles: "platform,operator".into(),
                description: "the credential is of one game; ask for that game by its name",
            });
        }
        if let Some((key, value)) = self.label() {
            let label = (key.to_owned(), value.to_owned());
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        Ok(labels)
    }
}

/// Names the caller of every call.
#[derive(Clone, Debug)]
pub(crate) struct CallerLayer {
    gate: Arc<Gate>,
    /// Who everybody is, where that is known by the door that they came through.
    known: Option<Arc<Session>>,
}

impl CallerLayer {
    /// Callers are known by a gate.
    pub(crate) fn new(gate: Arc<Gate>) -> CallerLayer {
        CallerLayer { gate, known: None }
    }

    /// Every caller is the worker in the process of the server.
    pub(crate) fn own_worker(gate: Arc<Gate>) -> CallerLayer {
        let known = Some(Arc::clone(gate.own_worker()));
        CallerLayer { gate, known }
    }
}

impl<S> Layer<S> for CallerLayer {
    type Service = Called<S>;

    fn layer(&self, inner: S) -> Called<S> {
        Called {
            inner,
            gate: Arc::clone(&self.gate),
            known: self.known.clone(),
        }
    }
}

/// See [`CallerLayer`].
#[derive(Clone, Debug)]
pub(crate) struct Called<S> {
    inner: S,
    gate: Arc<Gate>,
    known: Option<Arc<Session>>,
}

impl<S, B, C> Service<Request<B>> for Called<S>
where
    S: Service<Request<B>, Response = Response<C>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send,
    B: Send + 'static,
    C: Default,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let next = self.inner.clone();
        // The one that was asked whether it is ready is the one that is called.
        let mut inner = std::mem::replace(&mut self.inner, next);
        let (gate, known) = (Arc::clone(&self.gate), self.known.clone());
        let answer = async move {
            let line = request.extensions().get::<Line>().cloned();
            let shown = line.as_ref().and_then(|line| line.certificate.clone());
            let (path, headers) = (request.uri().path(), request.headers());
            let door = known.map_or_else(
                || knock(&gate, path, headers, shown.as_deref()),
                Door::Known,
            );
            let session = match door {
                Door::Known(session) => Ok(session),
                Door::Asked(presented) => gate.admit(&presented).await,
                Door::Shut(refusal) => Err(ServiceError::CredentialRefused(refusal)),
            };
            let admitted = session.and_then(|session| {
                let platform = authorize(&gate, &session, request.uri().path(), request.headers())?;
                pay(&gate, &session, line.as_ref())?;
                Ok((session, platform))
            });
            let (session, platform) = match admitted {
                Ok(admitted) => admitted,
                Err(error) => return Ok(turn_away(error)),
            };
            let span = Span::current();
            span.record("platform", &*platform);
            span.record("principal", &*session.principal.id);
            if let Some(line) = line {
                request.extensions_mut().insert(Caller {
                    platform,
                    session,
                    gate,
                    line,
                });
            }
            inner.call(request).await
        };
        Box::pin(answer)
    }
}

/// Puts a call on the account of who makes it, with the connection that it came by.
fn pay(gate: &Gate, session: &Session, line: Option<&Line>) -> Result<(), ServiceError> {
    let Some(payer) = &session.payer else {
        return Ok(());
    };
    payer.take(Taken::Calls, 1, gate.now_us())?;
    if let Some(line) = line {
        line.account.payers().note(payer)?;
        // Each call has a line of its own, so that nobody was there before.
        let _ = line.payer.set(payer.clone());
    }
    Ok(())
}

/// What is known of a caller at first sight.
enum Door {
    Known(Arc<Session>),
    /// The store is to be asked about a credential.
    Asked(String),
    Shut(Refusal),
}

/// Says who makes a call, as far as that is known without asking the store.
fn knock(gate: &Gate, path: &str, headers: &HeaderMap, shown: Option<&ClientCertificate>) -> Door {
    if gate.is_open() || allowed(path) == Allowed::Everybody {
        return Door::Known(Arc::clone(gate.anybody()));
    }
    match read_credential(headers) {
        Ok(presented) => match gate.recall(presented) {
            Some(session) => Door::Known(session),
            None => Door::Asked(presented.to_owned()),
        },
        // Who says nothing is known by their certificate.
        Err(Refusal::Missing) if shown.is_some() => {
            let session = shown.and_then(|shown| gate.recognize(&names(shown), expire_us(shown)));
            session.map_or(Door::Shut(Refusal::Stranger), Door::Known)
        }
        Err(refusal) => Door::Shut(refusal),
    }
}

/// The names of a certificate as a file of subjects has them: URIs first, then names of machines,
/// then the common name.
fn names(shown: &ClientCertificate) -> Vec<String> {
    let uris = shown.uris.iter().map(|uri| format!("uri:{uri}"));
    let machines = shown.dns_names.iter().map(|name| format!("dns:{name}"));
    let common = shown.common_name.iter().map(|name| format!("cn:{name}"));
    uris.chain(machines).chain(common).collect()
}

/// When a certificate is good no more, in microseconds since 1970.
fn expire_us(shown: &ClientCertificate) -> i64 {
    shown.expires_seconds.saturating_mul(1_000_000)
}

/// Says for which platform a call is, where the caller may make it.
fn authorize(
    gate: &Gate,
    session: &Session,
    path: &str,
    headers: &HeaderMap,
) -> Result<Arc<str>, ServiceError> {
    let principal = &session.principal;
    if let Allowed::To(roles) = allowed(path)
        && !gate.is_open()
        && !principal.roles.meets(roles)
    {
        let method = path.rsplit('/').next().unwrap_or_default();
        return Err(ServiceError::RoleDenied {
            action: method.to_owned(),
            roles: roles.to_string(),
            description: "the role of the credential does not allow this method; use a credential \
                          of another role",
        });
    }
    platform_of(headers, principal)
}

/// Reads the credential of a call.
fn read_credential(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut values = headers.get_all(CREDENTIAL_HEADER).iter();
    let value = values.next().ok_or(Refusal::Missing)?;
    if values.next().is_some() || value.len() > limits::CREDENTIAL_BYTES_MAX {
        return Err(Refusal::Malformed);
    }
    let text = value.to_str().map_err(|_| Refusal::Malformed)?;
    let (scheme, credential) = text
        .split_at_checked(SCHEME.len())
        .ok_or(Refusal::Malformed)?;
    let is_bearer = scheme.eq_ignore_ascii_case(SCHEME) && !credential.is_empty();
    if is_bearer {
        Ok(credential)
    } else {
        Err(Refusal::Malformed)
    }
}

/// Returns the platform that a call is about: that of the credential, or the one that an operator
/// names.
fn platform_of(headers: &HeaderMap, principal: &Principal) -> Result<Arc<str>, ServiceError> {
    let Some(named) = headers.get(PLATFORM_HEADER) else {
        return Ok(Arc::clone(&principal.platform));
    };
    let named = named.to_str().unwrap_or_default();
    if !is_platform(named) {
        return Err(ServiceError::field(
            PLATFORM_HEADER,
            "must name a platform: from 1 to 128 lower-case letters, digits, hyphens, \
             dots and underscores",
        ));
    }
    // Whoever names their own says nothing new.
    if principal.roles.has(Role::Operator) || *named == *principal.platform {
        return Ok(named.into());
    }
    Err(ServiceError::RoleDenied {
        action: PLATFORM_HEADER.into(),
        roles: "operator".into(),
        description: "only an operator names another platform than that of the credential; leave \
                      the header out",
    })
}

/// The answer to a call that is not made.
fn turn_away<C: Default>(error: ServiceError) -> Response<C> {
    tracing::debug!(%error, "a call was turned away");
    let refused: Response<()> = Status::from(error).into_http();
    let mut response = Response::new(C::default());
    *response.headers_mut() = refused.headers().clone();
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(CREDENTIAL_HEADER, value.parse().expect("a header"));
        }
        headers
    }

    #[test]
    fn a_credential_comes_once_behind_its_scheme() {
        let read = |values: &[&'static str]| read_credential(&headers(values)).map(str::to_owned);
        assert_eq!(read(&["Bearer abc"]), Ok("abc".to_owned()));
        assert_eq!(read(&["bearer abc"]), Ok("abc".to_owned()));
        assert_eq!(read(&[]), Err(Refusal::Missing));
        for wrong in [
            &["Basic abc"][..],
            &["Bearer"],
            &["Bearer "],
            &["abc"],
            &["Bearer abc", "Bearer abc"],
        ] {
            assert_eq!(read(wrong), Err(Refusal::Malformed), "{wrong:?}");
        }
    }
}
