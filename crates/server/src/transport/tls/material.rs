//! What connections are encrypted with, read together from its files: the certificate of the server
//! with its key, and the authorities of its clients.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use super::certificate::validity;
use crate::files::{FileFault, Stamp, read_file, read_secret};
use crate::limits;

/// The protocols that a client may choose, by their names in TLS (RFC 7301).
const HTTP_2: &[u8] = b"h2";
const HTTP_1: &[u8] = b"http/1.1";

/// The files that connections are encrypted with.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate of the server and those that lead from it to an authority, in this order, in
    /// PEM.
    pub certificate: PathBuf,
    /// The private key of that certificate, in PEM: PKCS#8, PKCS#1 or SEC1.
    pub key: PathBuf,
    /// The authorities that certificates of clients are good by, in PEM; without it no client is
    /// asked for one.
    pub client_authorities: Option<PathBuf>,
    /// Whether a client without a certificate is served, where there are such authorities.
    pub is_client_certificate_required: bool,
    /// Whether clients may speak HTTP/1.1.
    pub is_http_1_served: bool,
}

/// What a file of TLS is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsPart {
    /// The certificate of the server.
    Certificate,
    /// Its private key.
    Key,
    /// The authorities of the clients.
    ClientAuthorities,
}

/// Why connections cannot be encrypted with what the files hold.
#[derive(Debug)]
pub struct TlsError {
    part: TlsPart,
    file: PathBuf,
    fault: TlsFault,
}

#[derive(Debug)]
enum TlsFault {
    File(FileFault),
    NoCertificate,
    NoKey,
    NotACertificate,
    NotItsKey { certificate: PathBuf },
    Refused(rustls::Error),
    NoAuthority(String),
    Expired { seconds: i64 },
    NotYet { seconds: i64 },
}

impl TlsError {
    /// What the file at fault is for.
    #[must_use]
    pub fn part(&self) -> TlsPart {
        self.part
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file.display())?;
        match &self.fault {
            TlsFault::File(fault) => fault.fmt(f),
            TlsFault::NoCertificate => {
                f.write_str("it has no certificate; expected is PEM with -----BEGIN CERTIFICATE-----")
            }
            TlsFault::NoKey => f.write_str(
                "it has no private key; expected is PEM with -----BEGIN PRIVATE KEY-----, without a \
                 password",
            ),
            TlsFault::NotACertificate => f.write_str("a certificate in it cannot be read"),
            TlsFault::NotItsKey { certificate } => {
                let certificate = certificate.display();
                write!(f, "it is not the key of the certificate in {certificate}")
            }
            TlsFault::Refused(error) => write!(f, "it cannot be used: {error}"),
            TlsFault::NoAuthority(reason) => {
                write!(f, "an authority in it cannot be used: {reason}")
            }
            TlsFault::Expired { seconds } => {
                write!(f, "a certificate in it expired {seconds} s ago")
            }
            TlsFault::NotYet { seconds } => {
                write!(f, "a certificate in it is not good yet, for {seconds} s")
            }
        }
    }
}

impl std::error::Error for TlsError {}

/// What connections are encrypted with. It does not change; new files make new material.
pub(super) struct Material {
    pub(super) acceptor: TlsAcceptor,
    /// What verifies the certificates of clients, where they are asked for any.
    pub(super) verifier: Option<Arc<dyn ClientCertVerifier>>,
    /// When the first certificate of the chain expires, in seconds since 1970.
    pub(super) expires_seconds: i64,
}

impl TlsFiles {
    /// Looks at what the names lead to.
    pub(super) fn stamps(&self) -> Vec<Option<Stamp>> {
        let files = [Some(&self.certificate), Some(&self.key)];
        let files = files.into_iter().chain([self.client_authorities.as_ref()]);
        files.flatten().map(|file| Stamp::of(file)).collect()
    }

    /// Reads everything, at a time of the machine.
    pub(super) fn read(&self, now: UnixTime) -> Result<Material, TlsError> {
        let provider = Arc::new(default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        // Both versions are those of the provider.
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(|error| self.refused(error))?;
        let verifier = self.read_authorities(provider)?;
        let builder = match &verifier {
            Some(verifier) => builder.with_client_cert_verifier(Arc::clone(verifier)),
            None => builder.with_no_client_auth(),
        };
        let chain = read_certificates(TlsPart::Certificate, &self.certificate)?;
        let expires_seconds = self.check_validity(&chain, now)?;
        let mut config = builder
            .with_single_cert(chain, self.read_key()?)
            .map_err(|error| self.refused(error))?;
        config.alpn_protocols = vec![HTTP_2.to_vec()];
        if self.is_http_1_served {
            config.alpn_protocols.push(HTTP_1.to_vec());
        }
        if verifier.is_some() {
            // A session that is taken up again would pass by the verification of its client.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Material {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            verifier,
            expires_seconds,
        })
    }

    fn refused(&self, error: rustls::Error) -> TlsError {
        match error {
            rustls::Error::InconsistentKeys(_) => {
                let certificate = self.certificate.clone();
                fault(TlsPart::Key, &self.key, TlsFault::NotItsKey { certificate })
            }
            error => fault(
                TlsPart::Certificate,
                &self.certificate,
                TlsFault::Refused(error),
            ),
        }
    }

    fn read_key(&self) -> Result<PrivateKeyDer<'static>, TlsError> {
        let file = &self.key;
        let text = read_secret(file, limits::TLS_FILE_BYTES_MAX);
        let text = text.map_err(|error| fault(TlsPart::Key, file, TlsFault::File(error)))?;
        PrivateKeyDer::from_pem_slice(text.as_bytes())
            .map_err(|_| fault(TlsPart::Key, file, TlsFault::NoKey))
    }

    /// Returns when the first certificate of the chain expires.
    fn check_validity(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Result<i64, TlsError> {
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let mut first = i64::MAX;
        for certificate in chain {
            let validity = validity(certificate).ok_or_else(|| {
                fault(
                    TlsPart::Certificate,
                    &self.certificate,
                    TlsFault::NotACertificate,
                )
            })?;
            if validity.until < now {
                let seconds = now - validity.until;
                return Err(fault(
                    TlsPart::Certificate,
                    &self.certificate,
                    TlsFault::Expired { seconds },
                ));
            }
            if validity.from > now {
                let seconds = validity.from - now;
                return Err(fault(
                    TlsPart::Certificate,
                    &self.certificate,
                    TlsFault::NotYet { seconds },
                ));
            }
            first = first.min(validity.until);
        }
        Ok(first)
    }

    fn read_authorities(
        &self,
        provider: Arc<rustls::crypto::CryptoProvider>,
    ) -> Result<Option<Arc<dyn ClientCertVerifier>>, TlsError> {
        let Some(file) = &self.client_authorities else {
            return Ok(None);
        };
        let no_authority = |reason: String| {
            fault(
                TlsPart::ClientAuthorities,
                file,
                TlsFault::NoAuthority(reason),
            )
        };
        let mut roots = RootCertStore::empty();
        for certificate in read_certificates(TlsPart::ClientAuthorities, file)? {
            let added = roots.add(certificate);
            added.map_err(|error| no_authority(error.to_string()))?;
        }
        let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        if !self.is_client_certificate_required {
            builder = builder.allow_unauthenticated();
        }
        let verifier = builder.build();
        verifier
            .map(Some)
            .map_err(|error| no_authority(error.to_string()))
    }
}

fn fault(part: TlsPart, file: &Path, fault: TlsFault) -> TlsError {
    TlsError {
        part,
        file: file.to_owned(),
        fault,
    }
}

/// Reads the certificates of a file in PEM, of which there must be one at least.
fn read_certificates(part: TlsPart, file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bytes = read_file(file, limits::TLS_FILE_BYTES_MAX);
    let bytes = bytes.map_err(|error| fault(part, file, TlsFault::File(error)))?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match read {
        Ok(read) if !read.is_empty() => Ok(read),
        _ => Err(fault(part, file, TlsFault::NoCertificate)),
    }
}
