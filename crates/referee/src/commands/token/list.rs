//! `referee token list`.

use std::io::Write as _;

use clap::Args;
use referee_api::v1;
use referee_server::limits::TOKENS_PAGE_MAX;
use referee_store::Identities as _;
use referee_store::limits::PAGE_ROWS_MAX;

use super::place::{PlaceArguments, now_us, of_read};
use super::shown::Shown;
use crate::connection::{self, Server};
use crate::exit::{Exit, Failure, Outcome};
use crate::printable::standard_output;

/// The command line of `referee token list`.
#[derive(Debug, Args)]
pub(super) struct ListArguments {
    #[command(flatten)]
    place: PlaceArguments,
}

impl ListArguments {
    pub(super) fn run(self) -> Outcome {
        match self.place.server()? {
            Some(server) => connection::run(self.ask(server)),
            None => self.read(),
        }
    }

    async fn ask(self, server: Server) -> Outcome {
        let tokens = server.tokens().await?;
        let mut page_token = String::new();
        loop {
            let request = v1::ListTokensRequest {
                page_size: i32::try_from(TOKENS_PAGE_MAX).unwrap_or(i32::MAX),
                page_token,
            };
            let listed = connection::call(|| {
                let (mut tokens, request) = (tokens.clone(), self.place.request(request.clone()));
                async move { tokens.list_tokens(request).await }
            });
            let listed = listed.await.map_err(|status| server.failure(&status))?;
            print(listed.tokens.iter().map(Shown::from))?;
            page_token = listed.next_page_token;
            if page_token.is_empty() {
                return Ok(Exit::Fine);
            }
        }
    }

    fn read(self) -> Outcome {
        let platform = self.place.platform.as_deref();
        self.place.with_store(async |store| {
            let mut after = String::new();
            loop {
                let page = store.tokens(platform, &after, PAGE_ROWS_MAX).await;
                let page = page.map_err(|error| of_read(&error))?;
                print(page.iter().map(Shown::from))?;
                match page.last() {
                    Some(last) => after.clone_from(&last.token.id),
                    None => return Ok(()),
                }
            }
        })?;
        Ok(Exit::Fine)
    }
}

fn print(tokens: impl Iterator<Item = Shown>) -> Result<(), Failure> {
    let now_us = now_us();
    let mut out = standard_output(false);
    for token in tokens {
        writeln!(out, "{}", token.line(now_us)).map_err(Failure::Output)?;
    }
    out.flush().map_err(Failure::Output)
}
