//! What a command demands of a server before it believes it, and what it shows of itself. Secrets
//! come from files, never from the command line, which every user of a machine can read.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use clap::builder::BoolishValueParser;
use referee_server::files::{Stamp, read_file, read_secret};
use referee_server::limits::TLS_FILE_BYTES_MAX;
use tokio::time::Instant;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, Uri};
use tonic::{Request, Status};

use crate::exit::Failure;
use crate::limits::{CONNECT_SECONDS_MAX, TOKEN_BYTES_MAX, TOKEN_LOOK_INTERVAL};

/// What stands before a token where it is shown (RFC 6750).
const SCHEME: &str = "Bearer ";

/// What a command demands of a server, and what it shows of itself.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TrustArguments {
    /// A file with the authorities that the certificate of the server is good by, in PEM. Default:
    /// those of this machine.
    #[arg(long, value_name = "FILE", env = "REFEREE_CA", global = true)]
    ca: Option<PathBuf>,
    /// A file with the token that says who asks, which not everybody may read.
    #[arg(long, value_name = "FILE", env = "REFEREE_TOKEN_FILE", global = true)]
    token_file: Option<PathBuf>,
    /// A file with the certificate that says who asks, and those that lead from it to an authority,
    /// in PEM; with --key.
    #[arg(
        long,
        value_name = "FILE",
        env = "REFEREE_CLIENT_CERTIFICATE",
        global = true
    )]
    certificate: Option<PathBuf>,
    /// A file with the private key of that certificate, in PEM, which not everybody may read.
    #[arg(long, value_name = "FILE", env = "REFEREE_CLIENT_KEY", global = true)]
    key: Option<PathBuf>,
    /// Sends the token to another machine without encryption, where everybody on the way can read
    /// and use it.
    #[arg(
        long,
        env = "REFEREE_INSECURE_TOKEN",
        value_parser = BoolishValueParser::new(),
        global = true
    )]
    insecure_token: bool,
}

impl TrustArguments {
    /// Returns how an endpoint is connected to, with encryption where its address says so, and what
    /// every call carries.
    pub(super) fn apply(&self, endpoint: Endpoint) -> Result<(Endpoint, Credential), Failure> {
        let credential = self.read_credential(endpoint.uri())?;
        if endpoint.uri().scheme_str() != Some("https") {
            return Ok((endpoint, credential));
        }
        let encrypted = endpoint.tls_config(self.read_tls()?);
        let encrypted = encrypted.map_err(|error| {
            let cause = std::error::Error::source(&error);
            let cause = cause.map_or_else(|| error.to_string(), ToString::to_string);
            Failure::Trouble(format!(
                "nothing can be encrypted with what was given: {cause}; name the authority of the \
                 server with --ca FILE (REFEREE_CA)"
            ))
        })?;
        Ok((encrypted, credential))
    }

    fn read_credential(&self, server: &Uri) -> Result<Credential, Failure> {
        let Some(path) = &self.token_file else {
            return Ok(Credential(None));
        };
        let is_safe = server.scheme_str() == Some("https") || is_own(server);
        if !is_safe && !self.insecure_token {
            return Err(Failure::Usage(format!(
                "--token-file (REFEREE_TOKEN_FILE): {server} is another machine and not encrypted, so \
                 that everybody on the way could read the token and use it; use https://, or add \
                 --insecure-token (REFEREE_INSECURE_TOKEN=true)"
            )));
        }
        let file = TokenFile::open(path).map_err(|text| {
            Failure::Trouble(format!("--token-file (REFEREE_TOKEN_FILE): {text}"))
        })?;
        Ok(Credential(Some(Arc::new(file))))
    }

    fn read_tls(&self) -> Result<ClientTlsConfig, Failure> {
        let mut config =
            ClientTlsConfig::new().timeout(std::time::Duration::from_secs(CONNECT_SECONDS_MAX));
        config = match &self.ca {
            Some(path) => config.ca_certificates(read_certificates("--ca (REFEREE_CA)", path)?),
            None => config.with_native_roots(),
        };
        match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                let option = "--certificate (REFEREE_CLIENT_CERTIFICATE)";
                let chain = read_file(certificate, TLS_FILE_BYTES_MAX)
                    .map_err(|error| fault(option, certificate, &error.to_string()))?;
                let key = read_secret(key, TLS_FILE_BYTES_MAX)
                    .map_err(|error| fault("--key (REFEREE_CLIENT_KEY)", key, &error.to_string()))?;
                Ok(config.identity(Identity::from_pem(chain, key)))
            }
            (None, None) => Ok(config),
            _ => Err(Failure::Usage(
                "--certificate (REFEREE_CLIENT_CERTIFICATE) and --key (REFEREE_CLIENT_KEY) are of use together \
                 only"
                    .to_owned(),
            )),
        }
    }
}

fn fault(option: &str, path: &Path, reason: &str) -> Failure {
    Failure::Trouble(format!("{option}: {}: {reason}", path.display()))
}

/// Reads authorities, of which there must be one at least: without any no server is believed.
fn read_certificates(option: &str, path: &Path) -> Result<Vec<Certificate>, Failure> {
    let bytes = read_file(path, TLS_FILE_BYTES_MAX);
    let bytes = bytes.map_err(|error| fault(option, path, &error.to_string()))?;
    let begin = b"-----BEGIN CERTIFICATE-----";
    if !bytes.windows(begin.len()).any(|found| found == begin) {
        let reason = "it has no certificate; expected is PEM with -----BEGIN CERTIFICATE-----";
        return Err(fault(option, path, reason));
    }
    Ok(vec![Certificate::from_pem(bytes)])
}

/// Whether an address is that of this machine.
fn is_own(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default();
    let number = host.trim_start_matches('[').trim_end_matches(']');
    match number.parse::<std::net::IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

/// What every call says about who makes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credential(Option<Arc<TokenFile>>);

impl Credential {
    /// Returns the header `authorization`, where there is a token.
    pub(crate) fn header(&self) -> Option<MetadataValue<Ascii>> {
        self.0.as_ref().map(|file| file.header())
    }
}

impl Interceptor for Credential {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(header) = self.header() {
            request.metadata_mut().insert("authorization", header);
        }
        Ok(request)
    }
}

/// A token in a file, which is read again when the file changes: a command may run for days.
#[derive(Debug)]
struct TokenFile {
    path: PathBuf,
    read: Mutex<ReadToken>,
}

#[derive(Debug)]
struct ReadToken {
    header: MetadataValue<Ascii>,
    stamp: Option<Stamp>,
    looked: Instant,
}

impl TokenFile {
    fn open(path: &Path) -> Result<TokenFile, String> {
        let stamp = Stamp::of(path);
        let header = read_token(path).map_err(|text| format!("{}: {text}", path.display()))?;
        Ok(TokenFile {
            path: path.to_owned(),
            read: Mutex::new(ReadToken {
                header,
                stamp,
                looked: Instant::now(),
            }),
        })
    }

    fn header(&self) -> MetadataValue<Ascii> {
        // Every change is a few assignments that do not fail halfway.
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.looked.elapsed() >= TOKEN_LOOK_INTERVAL {
            read.looked = Instant::now();
            let stamp = Stamp::of(&self.path);
            if stamp != read.stamp {
                read.stamp = stamp;
                match read_token(&self.path) {
                    Ok(header) => read.header = header,
                    Err(reason) => tracing::warn!(
                        file = %self.path.display(),
                        reason,
                        "the token file changed and cannot be used: the token of before is sent"
                    ),
                }
            }
        }
        read.header.clone()
    }
}

/// Reads a token, and returns the header that it is sent in. What is wrong with a token is said
/// without a word of it.
fn read_token(path: &Path) -> Result<MetadataValue<Ascii>, String> {
    let text = read_secret(path, TOKEN_BYTES_MAX).map_err(|error| error.to_string())?;
    let token = text.trim();
    if token.is_empty() {
        return Err("it is empty; expected is a token".to_owned());
    }
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("it holds more than a token; expected is one word on one line".to_owned());
    }
    let header: Result<MetadataValue<Ascii>, _> = format!("{SCHEME}{token}").parse();
    let mut header = header.map_err(|_| "it holds no token".to_owned())?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::write(path, text).expect("the folder can be written to");
        fs::set_permissions(path, Permissions::from_mode(0o600)).expect("it is ours");
    }

    /// Makes it time to look at the file.
    fn look_again(file: &TokenFile) {
        let mut read = file.read.lock().expect("nobody else has it");
        read.looked -= TOKEN_LOOK_INTERVAL;
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        let is_own = |text: &'static str| is_own(&Uri::from_static(text));
        for own in [
            "http://127.0.0.1:50051",
            "http://127.9.9.9",
            "http://[::1]:50051",
            "http://[::ffff:127.0.0.1]:1",
            "http://localhost:50051",
            "http://LocalHost",
        ] {
            assert!(is_own(own), "{own}");
        }
        for other in [
            "http://10.0.0.1",
            "http://0.0.0.0",
            "http://[::]:1",
            "http://localhost.example.org",
            "http://127.0.0.1.example.org",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }

    #[test]
    fn a_token_is_one_word_and_never_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        write(&path, "  rfr_a_b\n");
        let header = read_token(&path).expect("it is a token");
        assert_eq!(header.as_encoded_bytes(), b"Bearer rfr_a_b");
        assert!(!format!("{header:?}").contains("rfr_a_b"));
        for (wrong, says) in [
            ("", "empty"),
            (" \n", "empty"),
            ("rfr_a_b\nrfr_c_d", "one word"),
            ("rfr_ä", "one word"),
        ] {
            write(&path, wrong);
            let said = read_token(&path).expect_err("it is none");
            assert!(said.contains(says), "{said}");
            assert!(!said.contains("rfr_"), "{said}");
        }
        write(&path, &"t".repeat(TOKEN_BYTES_MAX));
        assert!(read_token(&path).is_ok());
        write(&path, &"t".repeat(TOKEN_BYTES_MAX + 1));
        assert!(read_token(&path).is_err());
    }

    #[test]
    fn a_token_that_is_replaced_is_sent_and_a_broken_one_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        write(&path, "first");
        let file = TokenFile::open(&path).expect("it is a token");
        let sent = || file.header().as_encoded_bytes().to_vec();
        // Another length, so that it is another file whatever the grain of its times is.
        write(&path, "second");
        assert_eq!(sent(), b"Bearer first", "it is looked at now and then");
        look_again(&file);
        assert_eq!(sent(), b"Bearer second");
        write(&path, "");
        look_again(&file);
        assert_eq!(sent(), b"Bearer second", "the file holds none");
        fs::remove_file(&path).expect("it is ours");
        look_again(&file);
        assert_eq!(sent(), b"Bearer second", "the file is gone");
        write(&path, "the-third");
        look_again(&file);
        assert_eq!(sent(), b"Bearer the-third");
    }
}
