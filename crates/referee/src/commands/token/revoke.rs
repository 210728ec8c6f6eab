//! `referee token revoke`.

use clap::Args;
use referee_store::Identities as _;

use super::{StoreOfTokens, now_us, of_fault};
use crate::exit::{self, Exit, Failure, Outcome};

/// The command line of `referee token revoke`.
#[derive(Debug, Args)]
pub(super) struct RevokeArguments {
    /// The token, as `referee token list` names it.
    #[arg(value_name = "TOKEN")]
    token: String,
    #[command(flatten)]
    store: StoreOfTokens,
}

impl RevokeArguments {
    pub(super) fn run(self) -> Outcome {
        let name = &self.token;
        let id = name.strip_prefix("tokens/").unwrap_or(name).to_owned();
        let revoked = self.store.with(async |store| {
            let revoked = store.revoke_token(id, None, now_us()).await;
            revoked.map_err(|fault| of_fault(&fault))
        })?;
        match revoked {
            Some(row) => {
                exit::tell(format_args!("tokens/{} is revoked", row.token.id));
                Ok(Exit::Fine)
            }
            None => Err(Failure::Found(format!(
                "there is no token {name}; `referee token list` names them"
            ))),
        }
    }
}
