//! Who has to say who they are, and by which files that is known.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;
use referee_server::{Issuers, OperatorFile, SeatKeys};

use crate::exit::Failure;

/// The part of the command line about callers.
#[derive(Debug, Args)]
pub(super) struct IdentityArguments {
    /// Whether callers have to say who they are, by a token of `referee token issue`. Default:
    /// where other machines reach the address, but for `--insecure-listen`.
    #[arg(
        long,
        env = "REFEREE_REQUIRE_CREDENTIALS",
        value_parser = BoolishValueParser::new()
    )]
    require_credentials: bool,
    /// A file with the token of the first operator: one line of 32 to 256 printable characters,
    /// such as `openssl rand -base64 32` writes. Callers have to say who they are then.
    #[arg(long, value_name = "FILE", env = "REFEREE_OPERATOR_TOKEN_FILE")]
    operator_token_file: Option<PathBuf>,
    /// Files with the Ed25519 keys of seat tokens, with commas between them: the first signs, and
    /// all of them count. Each is PKCS#8 in PEM, or the 32 bytes of the secret in hexadecimal
    /// digits or base64. Callers have to say who they are then. Default: there are no seat tokens.
    #[arg(
        long,
        value_name = "FILE,...",
        env = "REFEREE_SEAT_KEYS",
        value_delimiter = ','
    )]
    seat_keys: Vec<PathBuf>,
    /// A file that says whose JSON Web Tokens count: their issuers, key sets, and what their claims
    /// mean. Callers have to say who they are then.
    #[arg(long, value_name = "FILE", env = "REFEREE_JWT_ISSUERS")]
    jwt_issuers: Option<PathBuf>,
}

impl IdentityArguments {
    /// Whether callers have to say who they are, as far as these settings say.
    pub(super) fn is_required(&self) -> bool {
        self.require_credentials
            || self.operator_token_file.is_some()
            || !self.seat_keys.is_empty()
            || self.jwt_issuers.is_some()
    }

    /// Reads the token of the first operator, where a file has one.
    pub(super) fn read_operator(&self) -> Result<Option<OperatorFile>, Failure> {
        let Some(path) = &self.operator_token_file else {
            return Ok(None);
        };
        let option = "--operator-token-file (REFEREE_OPERATOR_TOKEN_FILE)";
        let read = OperatorFile::open(path);
        read.map(Some)
            .map_err(|error| Failure::Trouble(format!("{option}: {}: {error}", path.display())))
    }

    /// Reads the keys of seat tokens, where there are any.
    pub(super) fn read_seat_keys(&self) -> Result<Option<SeatKeys>, Failure> {
        if self.seat_keys.is_empty() {
            return Ok(None);
        }
        let read = SeatKeys::open(&self.seat_keys);
        read.map(Some)
            .map_err(|error| Failure::Trouble(format!("--seat-keys (REFEREE_SEAT_KEYS): {error}")))
    }

    /// Reads whose tokens count, where there are any.
    pub(super) fn read_issuers(&self) -> Result<Option<Issuers>, Failure> {
        let path = self.jwt_issuers.as_deref();
        path.map(Issuers::open).transpose().map_err(|error| {
            Failure::Trouble(format!("--jwt-issuers (REFEREE_JWT_ISSUERS): {error}"))
        })
    }
}
