//! Where the service listens, and how connections are encrypted there.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use referee_server::{Subjects, Tls, TlsFiles, TlsPart, WebOrigins};

use super::settings::read_listen;
use crate::exit::Failure;

/// The part of the command line about the listener.
#[derive(Debug, Args)]
pub(super) struct ListenArguments {
    /// The address to listen on, by number or by name; port 0 picks a free one.
    #[arg(
        long,
        short,
        value_name = "HOST:PORT",
        env = "REFEREE_LISTEN",
        default_value = "127.0.0.1:50051",
        value_parser = read_listen
    )]
    pub(super) listen: String,
    /// The address to listen on for workers, which count for perft jobs; the other one does not
    /// serve them then. Default: they come by the same.
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "REFEREE_WORKER_LISTEN",
        value_parser = read_listen
    )]
    worker_listen: Option<String>,
    /// A file with the certificate that the service shows, and those that lead from it to an
    /// authority, in PEM. With it connections are encrypted, and no others are taken. Default: they
    /// are not encrypted, which only this machine is let do.
    #[arg(
        long,
        value_name = "FILE",
        env = "REFEREE_TLS_CERTIFICATE",
        requires = "tls_key"
    )]
    tls_certificate: Option<PathBuf>,
    /// A file with the private key of that certificate, in PEM, which not everybody may read.
    #[arg(
        long,
        value_name = "FILE",
        env = "REFEREE_TLS_KEY",
        requires = "tls_certificate"
    )]
    tls_key: Option<PathBuf>,
    /// A file with the authorities that certificates of clients are good by, in PEM. Default: no
    /// client is asked for one.
    #[arg(
        long,
        value_name = "FILE",
        env = "REFEREE_TLS_CLIENT_CA",
        requires = "tls_certificate"
    )]
    tls_client_ca: Option<PathBuf>,
    /// Whether a client must show a certificate, where there are authorities for them.
    #[arg(
        long,
        env = "REFEREE_TLS_CLIENT_AUTH",
        value_enum,
        default_value = "required",
        requires = "tls_client_ca"
    )]
    tls_client_auth: ClientCertificate,
    /// The origins whose pages may call from browsers by gRPC-Web, with commas between them, such
    /// as `https://play.example.org`. Default: none, and nothing but HTTP/2 is spoken.
    #[arg(
        long,
        value_name = "ORIGIN,...",
        env = "REFEREE_GRPC_WEB_ORIGINS",
        value_delimiter = ','
    )]
    grpc_web_origins: Vec<String>,
    /// A file that says whose the certificates of clients are: a line for each subject, as SUBJECT
    /// ROLE PLATFORM PRINCIPAL. Callers have to say who they are then.
    #[arg(
        long,
        value_name = "FILE",
        env = "REFEREE_CLIENT_PRINCIPALS",
        requires = "tls_client_ca"
    )]
    client_principals: Option<PathBuf>,
    /// Lets the service listen where other machines reach it, though nothing is encrypted: such as
    /// behind a proxy that encrypts.
    #[arg(
        long,
        env = "REFEREE_INSECURE_LISTEN",
        value_parser = BoolishValueParser::new()
    )]
    insecure_listen: bool,
}

/// Whether a client must show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClientCertificate {
    /// Who has none is served as well.
    Optional,
    /// Who has none is not served.
    Required,
}

impl ListenArguments {
    /// Reads what connections are encrypted with, if they are.
    pub(super) fn read_tls(&self) -> Result<Option<Arc<Tls>>, Failure> {
        let (Some(certificate), Some(key)) = (&self.tls_certificate, &self.tls_key) else {
            return Ok(None);
        };
        let files = TlsFiles {
            certificate: certificate.clone(),
            key: key.clone(),
            client_authorities: self.tls_client_ca.clone(),
            is_client_certificate_required: self.tls_client_auth == ClientCertificate::Required,
            is_http_1_served: !self.grpc_web_origins.is_empty(),
        };
        let tls = Tls::open(files).map_err(|error| {
            let option = match error.part() {
                TlsPart::Certificate => "--tls-certificate (REFEREE_TLS_CERTIFICATE)",
                TlsPart::Key => "--tls-key (REFEREE_TLS_KEY)",
                TlsPart::ClientAuthorities => "--tls-client-ca (REFEREE_TLS_CLIENT_CA)",
            };
            Failure::Trouble(format!("{option}: {error}"))
        })?;
        Ok(Some(Arc::new(tls)))
    }

    /// Reads the origins whose pages may call, if any may.
    pub(super) fn read_web(&self) -> Result<Option<WebOrigins>, Failure> {
        if self.grpc_web_origins.is_empty() {
            return Ok(None);
        }
        let origins = self.grpc_web_origins.iter().map(|text| text.trim());
        let origins = WebOrigins::read(origins);
        origins.map(Some).map_err(|error| {
            let all = self.grpc_web_origins.join(",");
            let option = "--grpc-web-origins (REFEREE_GRPC_WEB_ORIGINS)";
            Failure::Usage(format!("{option}: {all}: {error}"))
        })
    }

    /// Reads whose the certificates of clients are, where that is said.
    pub(super) fn read_subjects(&self) -> Result<Option<Subjects>, Failure> {
        let Some(path) = &self.client_principals else {
            return Ok(None);
        };
        let subjects = Subjects::open(path).map_err(|error| {
            let path = path.display();
            Failure::Trouble(format!(
                "--client-principals (REFEREE_CLIENT_PRINCIPALS): {path}: {error}"
            ))
        })?;
        Ok(Some(subjects))
    }

    /// Whether callers have to say who they are, because other machines reach the address; but for
    /// those who asked by name for a listener without anything.
    pub(super) fn wants_credentials(&self, addresses: &[SocketAddr]) -> bool {
        !self.insecure_listen && !addresses.iter().all(is_own)
    }

    /// Returns the addresses that the name stands for, of which one is to be listened on. Where
    /// other machines could reach one, connections must be encrypted, or it must have been asked
    /// for by name.
    pub(super) fn addresses(&self) -> Result<Vec<SocketAddr>, Failure> {
        self.addresses_of(&self.listen, "--listen (REFEREE_LISTEN)")
    }

    /// Returns the addresses for workers, and the name that they come from, where workers have a
    /// listener of their own.
    pub(super) fn worker_addresses(&self) -> Result<Option<(Vec<SocketAddr>, String)>, Failure> {
        let Some(listen) = &self.worker_listen else {
            return Ok(None);
        };
        let addresses = self.addresses_of(listen, "--worker-listen (REFEREE_WORKER_LISTEN)")?;
        Ok(Some((addresses, listen.clone())))
    }

    fn addresses_of(&self, listen: &str, option: &str) -> Result<Vec<SocketAddr>, Failure> {
        let addresses = listen.to_socket_addrs();
        let addresses: Vec<_> = addresses
            .map_err(|error| Failure::Trouble(format!("cannot listen on {listen}: {error}")))?
            .collect();
        let is_encrypted = self.tls_certificate.is_some();
        let exposed = addresses.iter().find(|address| !is_own(address));
        match exposed {
            Some(address) if !is_encrypted && !self.insecure_listen => {
                Err(Failure::Usage(format!(
                    "{option}: other machines reach {address}, and nothing would \
                     be encrypted: who is on the way could read and change everything\neither \
                     encrypt with --tls-certificate FILE --tls-key FILE (REFEREE_TLS_CERTIFICATE, \
                     REFEREE_TLS_KEY)\nor, where the network is trusted or a proxy encrypts, add \
                     --insecure-listen (REFEREE_INSECURE_LISTEN=true)"
                )))
            }
            _ => Ok(addresses),
        }
    }
}

/// Whether only this machine reaches an address.
fn is_own(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}
