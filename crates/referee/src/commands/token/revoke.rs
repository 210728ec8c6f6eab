//! `referee token revoke`.

use clap::Args;
use referee_api::v1;
use referee_store::Identities as _;

use super::place::{PlaceArguments, now_us, of_fault};
use crate::connection::{self, Server};
use crate::exit::{self, Exit, Failure, Outcome};

/// The command line of `referee token revoke`.
#[derive(Debug, Args)]
pub(super) struct RevokeArguments {
    /// The token, as `referee token list` names it.
    #[arg(value_name = "TOKEN")]
    token: String,
    #[command(flatten)]
    place: PlaceArguments,
}

impl RevokeArguments {
    pub(super) fn run(self) -> Outcome {
        match self.place.server()? {
            Some(server) => connection::run(self.ask(server)),
            None => self.write(),
        }
    }

    async fn ask(self, server: Server) -> Outcome {
        let tokens = server.tokens().await?;
        let name = format!("tokens/{}", self.id());
        let revoked = connection::call(|| {
            let request = v1::RevokeTokenRequest { name: name.clone() };
            let (mut tokens, request) = (tokens.clone(), self.place.request(request));
            async move { tokens.revoke_token(request).await }
        });
        revoked.await.map_err(|status| server.failure(&status))?;
        exit::tell(format_args!("{name} is revoked"));
        Ok(Exit::Fine)
    }

    fn write(self) -> Outcome {
        let (id, platform) = (self.id().to_owned(), self.place.platform.clone());
        let revoked = self.place.with_store(async |store| {
            let revoked = store.revoke_token(id, platform, now_us()).await;
            revoked.map_err(|fault| of_fault(&fault))
        })?;
        match revoked {
            Some(row) => {
                exit::tell(format_args!("tokens/{} is revoked", row.token.id));
                Ok(Exit::Fine)
            }
            None => Err(Failure::Found(format!(
                "there is no token {}; `referee token list` names them",
                self.token
            ))),
        }
    }

    fn id(&self) -> &str {
        self.token.strip_prefix("tokens/").unwrap_or(&self.token)
    }
}
