//! gRPC-Web: calls from browsers, which speak HTTP/1.1 or HTTP/2 and read no trailers. Only pages
//! of origins that are on a list are let read the answers.

use std::fmt;
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, Uri};
use tonic_web::{GrpcWebLayer, GrpcWebService};
use tower::Layer as _;
use tower_http::cors::{Cors, CorsLayer};

use crate::limits;

/// What pages may send beside what every page may (the first two are those of gRPC-Web).
const SENT: [HeaderName; 5] = [
    HeaderName::from_static("x-grpc-web"),
    HeaderName::from_static("x-user-agent"),
    HeaderName::from_static("grpc-timeout"),
    CONTENT_TYPE,
    AUTHORIZATION,
];

/// What pages may read of answers.
const READ: [HeaderName; 4] = [
    HeaderName::from_static("grpc-status"),
    HeaderName::from_static("grpc-message"),
    HeaderName::from_static("grpc-status-details-bin"),
    HeaderName::from_static("grpc-retry-pushback-ms"),
];

/// A service that browsers call.
pub(super) type Web<S> = Cors<GrpcWebService<S>>;

/// The origins whose pages may call.
#[derive(Clone, Debug)]
pub struct WebOrigins(CorsLayer);

/// Why a text is no origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginError {
    /// It stands for more than one.
    Wildcard,
    /// It is none.
    Malformed,
    /// There are too many.
    TooMany,
}

impl fmt::Display for OriginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wildcard => f.write_str(
                "every page of the web would be let call; name the origins, such as \
                 https://play.example.org",
            ),
            Self::Malformed => f.write_str(
                "expected is an origin as browsers write it, scheme, host and port without a path, \
                 such as https://play.example.org or http://localhost:8080",
            ),
            Self::TooMany => write!(f, "more than {} origins", limits::WEB_ORIGINS_MAX),
        }
    }
}

impl std::error::Error for OriginError {}

impl WebOrigins {
    /// Reads a list of origins.
    ///
    /// # Errors
    ///
    /// Where one is no origin, or stands for many, or there are too many.
    pub fn read<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<WebOrigins, OriginError> {
        let origins = texts.into_iter().map(read_origin);
        let origins: Vec<HeaderValue> = origins
            .take(limits::WEB_ORIGINS_MAX + 1)
            .collect::<Result<_, _>>()?;
        if origins.len() > limits::WEB_ORIGINS_MAX {
            return Err(OriginError::TooMany);
        }
        let layer = CorsLayer::new()
            .allow_origin(origins)
            .allow_methods([Method::POST])
            .allow_headers(SENT)
            .expose_headers(READ)
            .max_age(PREFLIGHT_AGE);
        Ok(WebOrigins(layer))
    }

    /// Lets browsers call a service.
    pub(super) fn layer<S>(&self, service: S) -> Web<S> {
        self.0.layer(GrpcWebLayer::new().layer(service))
    }
}

/// How long a browser may remember what it may send.
const PREFLIGHT_AGE: Duration = Duration::from_secs(600);

fn read_origin(text: &str) -> Result<HeaderValue, OriginError> {
    if text.contains('*') {
        return Err(OriginError::Wildcard);
    }
    let uri: Uri = text.parse().map_err(|_| OriginError::Malformed)?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let authority = uri.authority().map(http::uri::Authority::as_str);
    let host = authority.filter(|one| !one.contains('@'));
    let (true, Some(host), Some(scheme)) = (is_web, host, uri.scheme_str()) else {
        return Err(OriginError::Malformed);
    };
    // Browsers write it so, letter for letter: in small letters, without a path.
    if text != format!("{scheme}://{host}") || text.chars().any(|one| one.is_ascii_uppercase()) {
        return Err(OriginError::Malformed);
    }
    HeaderValue::from_str(text).map_err(|_| OriginError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_read_as_browsers_write_it() {
        for good in [
            "https://play.example.org",
            "http://localhost:8080",
            "https://[::1]:9",
        ] {
            assert_eq!(read_origin(good).expect(good), good);
        }
        for wrong in [
            "",
            "null",
            "play.example.org",
            "https://",
            "https://play.example.org/",
            "https://play.example.org/page",
            "https://Play.example.org",
            "https://me@play.example.org",
            "ftp://play.example.org",
            "https://a b",
            "https://play.example.org?x",
        ] {
            assert_eq!(read_origin(wrong), Err(OriginError::Malformed), "{wrong:?}");
        }
        for many in ["*", "https://*.example.org"] {
            assert_eq!(read_origin(many), Err(OriginError::Wildcard), "{many:?}");
        }
        let most = vec!["https://a"; limits::WEB_ORIGINS_MAX];
        assert!(WebOrigins::read(most.clone()).is_ok());
        let more = most.into_iter().chain(["https://a"]);
        assert!(matches!(WebOrigins::read(more), Err(OriginError::TooMany)));
    }
}
