//! `referee token list`.

use std::io::Write as _;

use clap::Args;
use referee_server::Role;
use referee_store::limits::PAGE_ROWS_MAX;
use referee_store::{Identities as _, TokenRow};

use super::issue::read_platform;
use super::{StoreOfTokens, now_us, of_read, scope_words};
use crate::exit::{Exit, Failure, Outcome};
use crate::printable::{Escape, printable, standard_output};

/// The command line of `referee token list`.
#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// Only those of a platform.
    #[arg(long, value_name = "NAME", value_parser = read_platform)]
    platform: Option<String>,
    #[command(flatten)]
    store: StoreOfTokens,
}

impl ListArguments {
    pub(super) fn run(self) -> Outcome {
        let platform = self.platform.as_deref();
        let now_us = now_us();
        self.store.with(async |store| {
            let mut out = standard_output(false);
            let mut after = String::new();
            loop {
                let page = store.tokens(platform, &after, PAGE_ROWS_MAX).await;
                let page = page.map_err(|error| of_read(&error))?;
                for row in &page {
                    writeln!(out, "{}", line(row, now_us)).map_err(Failure::Output)?;
                }
                match page.last() {
                    Some(last) => after.clone_from(&last.token.id),
                    None => return out.flush().map_err(Failure::Output),
                }
            }
        })?;
        Ok(Exit::Fine)
    }
}

/// One token: its name, its role, its platform, its principal, its scope, and whether it counts.
fn line(row: &TokenRow, now_us: i64) -> String {
    let token = &row.token;
    let role = Role::of(token.role).map_or("unknown", Role::word);
    let is_past = token.expire_time_us.is_some_and(|end_us| end_us <= now_us);
    let standing = match row.revoke_time_us {
        Some(_) => "revoked",
        None if is_past => "expired",
        None => "good",
    };
    let text = format!(
        "tokens/{}  {role}  {}  {}  {}  {standing}",
        token.id,
        token.platform,
        token.principal,
        scope_words(&token.scope)
    );
    printable(&text, Escape::Braces).to_string()
}
