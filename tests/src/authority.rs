//! Authorities and certificates that are made for a test, and files of secrets as Kubernetes mounts
//! them.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType, date_time_ymd,
};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

/// An authority that everybody may ask for certificates.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate, in PEM.
    pub pem: String,
}

/// A certificate with its key, both in PEM.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl Authority {
    /// Makes an authority.
    ///
    /// # Panics
    ///
    /// Where there is no randomness.
    #[must_use]
    pub fn new(name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Authority {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    /// Issues a certificate with what `change` makes of it.
    ///
    /// # Panics
    ///
    /// Where that makes no sense.
    pub fn issue(&self, change: impl FnOnce(&mut CertificateParams)) -> Issued {
        let mut params = CertificateParams::default();
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer);
        Issued {
            certificate: certificate.expect("a certificate").pem(),
            key: key.serialize_pem(),
        }
    }

    /// Issues a certificate for a server on this machine.
    #[must_use]
    pub fn server(&self) -> Issued {
        self.issue(for_this_machine)
    }

    /// Issues a certificate for a client with a name.
    #[must_use]
    pub fn client(&self, name: &str) -> Issued {
        self.issue(|params| {
            params.distinguished_name.push(DnType::CommonName, name);
        })
    }
}

/// Makes a certificate one for a server on this machine.
///
/// # Panics
///
/// Never: the names are those of this machine.
pub fn for_this_machine(params: &mut CertificateParams) {
    params.subject_alt_names = vec![
        SanType::IpAddress([127, 0, 0, 1].into()),
        SanType::DnsName("localhost".try_into().expect("it is a name")),
    ];
}

/// Makes a certificate one that has expired long ago.
pub fn expired(params: &mut CertificateParams) {
    params.not_before = date_time_ymd(2001, 1, 1);
    params.not_after = date_time_ymd(2002, 1, 1);
}

/// Writes a file with a secret, which its owner may read and nobody else.
///
/// # Panics
///
/// Where it cannot be written.
pub fn write_secret(path: &Path, text: &str) {
    fs::write(path, text).expect("the folder can be written to");
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("the file is ours");
}

/// A folder of files as Kubernetes mounts a secret: each name is a symbolic link into `..data`,
/// which is one to a folder with all of them, and is replaced in one step.
#[derive(Debug)]
pub struct Mounted {
    folder: PathBuf,
    puts: u32,
}

impl Mounted {
    /// Mounts files, by name and content, in a folder that is made.
    ///
    /// # Panics
    ///
    /// Where that cannot be done.
    #[must_use]
    pub fn new(folder: &Path, files: &[(&str, &str)]) -> Mounted {
        fs::create_dir_all(folder).expect("a folder can be made");
        let mut mounted = Mounted {
            folder: folder.to_owned(),
            puts: 0,
        };
        mounted.put(files);
        for (name, _) in files {
            let target = Path::new("..data").join(name);
            symlink(target, folder.join(name)).expect("a link can be made");
        }
        mounted
    }

    /// Replaces all files in one step.
    ///
    /// # Panics
    ///
    /// Where that cannot be done.
    pub fn put(&mut self, files: &[(&str, &str)]) {
        let before = format!("..{}", self.puts);
        self.puts += 1;
        let now = format!("..{}", self.puts);
        let folder = self.folder.join(&now);
        fs::create_dir(&folder).expect("a folder can be made");
        for (name, text) in files {
            let path = folder.join(name);
            fs::write(&path, text).expect("a file can be written");
            fs::set_permissions(&path, Permissions::from_mode(0o440)).expect("the file is ours");
        }
        let swap = self.folder.join("..data_tmp");
        symlink(&now, &swap).expect("a link can be made");
        fs::rename(&swap, self.folder.join("..data")).expect("a link can be replaced");
        // Kubernetes removes what was there before.
        let _ = fs::remove_dir_all(self.folder.join(before));
    }

    /// Returns where a file is.
    ///
    /// # Panics
    ///
    /// Where the folder has no plain name.
    #[must_use]
    pub fn path(&self, name: &str) -> String {
        let path = self.folder.join(name);
        path.to_str().expect("a plain name").to_owned()
    }
}

/// Opens an encrypted connection that believes an authority, by itself or with a certificate.
///
/// # Errors
///
/// Where there is none to be had.
pub async fn connect(
    address: SocketAddr,
    authority: &Authority,
    client: Option<&Issued>,
) -> Result<Channel, tonic::transport::Error> {
    let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&authority.pem));
    if let Some(client) = client {
        config = config.identity(Identity::from_pem(&client.certificate, &client.key));
    }
    Endpoint::from_shared(format!("https://{address}"))?
        .tls_config(config)?
        .connect_timeout(Duration::from_secs(10))
        .connect()
        .await
}
