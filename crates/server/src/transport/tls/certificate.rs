//! What certificates say: how long they are good, and whose they are.

use rustls::pki_types::CertificateDer;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer as _;

/// From when until when a certificate is good, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) from: i64,
    pub(super) until: i64,
}

/// Reads the validity of a certificate; `None` where it is none.
pub(super) fn validity(certificate: &CertificateDer<'_>) -> Option<Validity> {
    let (_, read) = X509Certificate::from_der(certificate).ok()?;
    let validity = read.validity();
    Some(Validity {
        from: validity.not_before.timestamp(),
        until: validity.not_after.timestamp(),
    })
}

/// Whose certificate a client showed. Its chain was verified, and so was that the client has its
/// key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientCertificate {
    /// The URIs of its subject, such as `spiffe://example.org/platform`, in their order.
    pub(crate) uris: Vec<String>,
    /// The DNS names of its subject, in their order.
    pub(crate) dns_names: Vec<String>,
    /// The common name of its subject, the last where there are several.
    pub(crate) common_name: Option<String>,
    /// The last second at which the certificate is good, since 1970. The connection that it came by
    /// is closed then.
    pub(crate) expires_seconds: i64,
}

impl ClientCertificate {
    /// Reads a certificate; `None` where it is none. A name that is no text is left out.
    pub(super) fn read(certificate: &CertificateDer<'_>) -> Option<ClientCertificate> {
        let (_, read) = X509Certificate::from_der(certificate).ok()?;
        let alternatives = read.subject_alternative_name().ok()?;
        let names = alternatives.map_or(&[][..], |found| &found.value.general_names);
        let uri = |name: &GeneralName<'_>| match name {
            GeneralName::URI(uri) => Some((*uri).to_owned()),
            _ => None,
        };
        let dns_name = |name: &GeneralName<'_>| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        };
        let common_names = read.subject().iter_common_name();
        let common_name = common_names.filter_map(|name| name.as_str().ok()).last();
        Some(ClientCertificate {
            uris: names.iter().filter_map(uri).collect(),
            dns_names: names.iter().filter_map(dns_name).collect(),
            common_name: common_name.map(str::to_owned),
            expires_seconds: read.validity().not_after.timestamp(),
        })
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair, SanType, date_time_ymd};

    use super::*;

    fn certificate(change: impl FnOnce(&mut CertificateParams)) -> CertificateDer<'static> {
        let mut params = CertificateParams::default();
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").into()
    }

    #[test]
    fn the_names_of_a_client_are_read_in_their_order() {
        let text = |text: &str| text.try_into().expect("it is ASCII");
        let der = certificate(|params| {
            params.distinguished_name.push(DnType::CommonName, "Club");
            params.subject_alt_names = vec![
                SanType::DnsName(text("b.example.org")),
                SanType::URI(text("spiffe://example.org/b")),
                SanType::URI(text("spiffe://example.org/a")),
                SanType::IpAddress([127, 0, 0, 1].into()),
                SanType::DnsName(text("a.example.org")),
            ];
        });
        let expected = ClientCertificate {
            uris: vec![
                "spiffe://example.org/b".into(),
                "spiffe://example.org/a".into(),
            ],
            dns_names: vec!["b.example.org".into(), "a.example.org".into()],
            common_name: Some("Club".into()),
            // 2002-01-01.
            expires_seconds: 1_009_843_200,
        };
        assert_eq!(ClientCertificate::read(&der), Some(expected));
        let validity = validity(&der).expect("it is a certificate");
        assert_eq!(validity.from, 978_307_200);
        assert_eq!(validity.until, 1_009_843_200);
    }

    #[test]
    fn what_is_missing_is_missing_and_what_is_no_certificate_is_none() {
        let der = certificate(|params| {
            params.distinguished_name = rcgen::DistinguishedName::new();
        });
        let read = ClientCertificate::read(&der).expect("it is a certificate");
        assert_eq!(read.common_name, None);
        assert!(read.uris.is_empty() && read.dns_names.is_empty());
        for len in [0, 1, 10, der.len() - 1] {
            let cut = CertificateDer::from(der[..len].to_vec());
            assert_eq!(ClientCertificate::read(&cut), None, "{len}");
            assert_eq!(validity(&cut), None, "{len}");
        }
    }
}
