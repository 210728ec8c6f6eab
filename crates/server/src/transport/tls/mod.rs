//! Encrypted connections: the handshake below HTTP/2, with certificates that are replaced while the
//! server runs.
//!
//! Whether a certificate is good is judged by the machine's time of day, here as in the library: it
//! is a question about the world and not about games, whose time is that of the service.

mod certificate;
mod material;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, UnixTime};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

pub(crate) use self::certificate::ClientCertificate;
use self::material::Material;
pub use self::material::{TlsError, TlsFiles, TlsPart};
use super::ledger::Seldom;
use crate::files::Stamp;
use crate::limits;

/// How the encryption of connections stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsState {
    /// When the first certificate of the chain in force expires, in seconds since 1970.
    pub expires_seconds: i64,
    /// How often certificates came into force.
    pub loads: u64,
    /// Why what the files hold is not in force; `None` where it is.
    pub fault: Option<String>,
}

/// What connections are encrypted with: read from files, and again when these change.
pub struct Tls {
    files: TlsFiles,
    /// What the names of the files led to when they were first read.
    stamps: Stamps,
    current: watch::Sender<Current>,
    seldom: Seldom,
}

type Stamps = Vec<Option<Stamp>>;

struct Current {
    material: Arc<Material>,
    state: TlsState,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("files", &self.files)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the files, which blocks. What they hold is in force for every connection from now on.
    ///
    /// # Errors
    ///
    /// Where a file cannot be read or holds something else, the key is not that of the certificate
    /// or can be read by everybody, or the certificate is not good at this time.
    pub fn open(files: TlsFiles) -> Result<Tls, TlsError> {
        let (stamps, read) = read_settled(&files);
        let material = read?;
        let state = TlsState {
            expires_seconds: material.expires_seconds,
            loads: 1,
            fault: None,
        };
        let material = Arc::new(material);
        Ok(Tls {
            files,
            stamps,
            current: watch::Sender::new(Current { material, state }),
            seldom: Seldom::default(),
        })
    }

    /// Returns how the encryption of connections stands.
    #[must_use]
    pub fn state(&self) -> TlsState {
        self.current.borrow().state.clone()
    }

    /// Looks at the files every few seconds, and whenever `asked` changes, until `stop` is
    /// cancelled. What they hold counts for new connections, all of it or nothing.
    pub(crate) async fn follow(
        self: Arc<Self>,
        mut asked: watch::Receiver<u64>,
        stop: CancellationToken,
    ) {
        let mut seen = self.stamps.clone();
        let mut warned = None;
        let mut is_asked = false;
        loop {
            seen = self.look(seen, is_asked).await;
            self.warn_of_expiry(&mut warned);
            is_asked = tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(limits::TLS_LOOK_INTERVAL) => false,
                // Who could ask may be gone.
                Ok(()) = asked.changed() => true,
            };
        }
    }

    /// Looks at the files, and returns what their names lead to.
    async fn look(self: &Arc<Self>, seen: Stamps, is_asked: bool) -> Stamps {
        let this = Arc::clone(self);
        let before = seen.clone();
        let looking = tokio::task::spawn_blocking(move || this.read_changes(before, is_asked));
        // The task does not panic, and is not cancelled before the runtime is.
        looking.await.unwrap_or(seen)
    }

    fn read_changes(&self, seen: Stamps, is_asked: bool) -> Stamps {
        let has_changed = is_asked || self.files.stamps() != seen;
        // What was at fault may be no more without a change of a file, such as a date.
        if !has_changed && self.current.borrow().state.fault.is_none() {
            return seen;
        }
        let (stamps, read) = read_settled(&self.files);
        match read {
            Ok(material) => {
                let expires_seconds = material.expires_seconds;
                self.current.send_modify(|current| {
                    current.material = Arc::new(material);
                    current.state = TlsState {
                        expires_seconds,
                        loads: current.state.loads + 1,
                        fault: None,
                    };
                });
                let days = days_left(expires_seconds);
                tracing::info!(
                    expires_in_days = days,
                    "the files of TLS were read again and count for new connections"
                );
            }
            Err(error) => {
                let fault = error.to_string();
                let is_new = self.current.borrow().state.fault.as_ref() != Some(&fault);
                if has_changed || is_new {
                    tracing::error!(
                        fault,
                        "the files of TLS changed and cannot be used: what was read before stays \
                         in force"
                    );
                }
                // Connections have nothing to look at.
                self.current.send_if_modified(|current| {
                    current.state.fault = Some(fault);
                    false
                });
            }
        }
        stamps
    }

    /// Says once a day that the certificate expires soon.
    fn warn_of_expiry(&self, warned: &mut Option<(i64, Instant)>) {
        let expires_seconds = self.state().expires_seconds;
        let is_said = warned.is_some_and(|(expires, at)| {
            expires == expires_seconds && at.elapsed() < limits::TLS_EXPIRY_SAID_INTERVAL
        });
        let left = seconds_left(expires_seconds);
        let is_soon = left < limits::TLS_EXPIRY_NEAR.as_secs() as i64;
        if is_said || !is_soon {
            return;
        }
        *warned = Some((expires_seconds, Instant::now()));
        let file = self.files.certificate.display();
        if left < 0 {
            tracing::error!(%file, "the certificate of this server has expired");
        } else {
            let days = days_left(expires_seconds);
            tracing::warn!(%file, days, "the certificate of this server expires soon");
        }
    }

    /// Takes the handshake of a connection. `None` where it fails, which is said in the log now and
    /// then.
    pub(super) async fn shake_hands(
        &self,
        stream: TcpStream,
        peer: IpAddr,
    ) -> Option<(TlsStream<TcpStream>, Option<VerifiedClient>)> {
        // Whoever is verified by what is replaced meanwhile is verified again.
        let mut changes = self.current.subscribe();
        let material = Arc::clone(&changes.borrow_and_update().material);
        let shaken = material.acceptor.accept(stream);
        let shaken = tokio::time::timeout(limits::TLS_HANDSHAKE_TIMEOUT, shaken).await;
        let stream = match shaken {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                self.log_failure(peer, &error);
                return None;
            }
            Err(_) => return None,
        };
        let (_, session) = stream.get_ref();
        let client = session.peer_certificates().and_then(|chain| {
            let (own, _) = chain.split_first()?;
            let certificate = ClientCertificate::read(own);
            // A certificate that was verified can be read.
            Some(VerifiedClient {
                certificate: Arc::new(certificate?),
                chain: chain.iter().map(|one| one.clone().into_owned()).collect(),
                changes,
            })
        });
        Some((stream, client))
    }

    fn log_failure(&self, peer: IpAddr, error: &std::io::Error) {
        use rustls::{Error, InvalidMessage};
        // A connection that is closed before it says anything is a port that is tried.
        if error.kind() == std::io::ErrorKind::UnexpectedEof {
            tracing::debug!(%peer, "a connection ended before its handshake");
            return;
        }
        let Some(others) = self.seldom.now() else {
            return;
        };
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        match inner {
            Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) => tracing::warn!(
                %peer,
                others,
                "a client does not speak TLS, and this server speaks nothing else"
            ),
            _ => tracing::warn!(%peer, %error, others, "a handshake of TLS failed"),
        }
    }
}

/// Reads the files, again where they were replaced meanwhile.
fn read_settled(files: &TlsFiles) -> (Stamps, Result<Material, TlsError>) {
    let mut stamps = files.stamps();
    let mut reads = 0;
    loop {
        let read = files.read(UnixTime::now());
        let now = files.stamps();
        reads += 1;
        if now == stamps || reads == limits::TLS_READS_MAX {
            return (stamps, read);
        }
        stamps = now;
    }
}

fn seconds_left(expires_seconds: i64) -> i64 {
    let now = i64::try_from(UnixTime::now().as_secs()).unwrap_or(i64::MAX);
    expires_seconds.saturating_sub(now)
}

fn days_left(expires_seconds: i64) -> i64 {
    seconds_left(expires_seconds).div_euclid(24 * 60 * 60)
}

/// A client that showed a certificate which is good.
pub(super) struct VerifiedClient {
    certificate: Arc<ClientCertificate>,
    chain: Vec<CertificateDer<'static>>,
    changes: watch::Receiver<Current>,
}

impl VerifiedClient {
    /// Whose certificate it is.
    pub(super) fn certificate(&self) -> &Arc<ClientCertificate> {
        &self.certificate
    }

    /// Waits until the certificate is good no more: it has expired, or none of the authorities in
    /// force stands for it.
    pub(super) async fn until_void(&mut self) {
        loop {
            let left = seconds_left(self.certificate.expires_seconds);
            let Ok(left) = u64::try_from(left) else {
                return;
            };
            // The time of day may be set meanwhile.
            let left = Duration::from_secs(left.saturating_add(1)).min(limits::TLS_CLIENT_INTERVAL);
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                changed = self.changes.changed() => if changed.is_err() || !self.is_good() {
                    return;
                }
            }
        }
    }

    /// Verifies the certificate by the authorities that are in force now.
    fn is_good(&mut self) -> bool {
        let current = self.changes.borrow_and_update();
        let Some(verifier) = &current.material.verifier else {
            return false;
        };
        let Some((own, others)) = self.chain.split_first() else {
            return false;
        };
        let verified = verifier.verify_client_cert(own, others, UnixTime::now());
        verified.is_ok()
    }
}
