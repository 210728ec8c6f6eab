//! Why jobs fail.

use std::fmt::Display;

use prost::Message as _;
use referee_api::v1;
use referee_api::v1::perft_failure::Kind;

/// Why a job is given up.
#[derive(Debug)]
pub(super) struct Failed(pub(super) v1::PerftFailure);

impl Failed {
    pub(super) fn new(kind: Kind, text: &impl Display) -> Failed {
        Failed(v1::PerftFailure {
            kind: kind.into(),
            text: text.to_string(),
        })
    }

    /// What is stored is not what was written.
    pub(super) fn damaged(what: &str) -> Failed {
        let text = format!("what is stored of the job is not what was written: {what}");
        Failed::new(Kind::Damaged, &text)
    }

    pub(super) fn kind(&self) -> Kind {
        self.0.kind()
    }

    /// What is stored of a job that failed.
    pub(super) fn outcome(self) -> Vec<u8> {
        let job = v1::PerftJob {
            failure: Some(self.0),
            ..v1::PerftJob::default()
        };
        job.encode_to_vec()
    }
}
