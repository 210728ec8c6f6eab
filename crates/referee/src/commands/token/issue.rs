//! `referee token issue`.

use std::io::Write as _;
use std::time::Duration;

use clap::{Args, ValueEnum};
use referee_api::v1;
use referee_record::resource_name;
use referee_server::limits::{TOKEN_LIFETIME_MAX, TOKEN_LIFETIME_MIN};
use referee_server::{Role, Secret};
use referee_store::limits::{LABEL_KEY_BYTES_MAX, LABEL_VALUE_BYTES_MAX, PRINCIPAL_BYTES_MAX};
use referee_store::{Identities as _, IssueError, NewToken, TokenScope};

use super::place::{PlaceArguments, now_us, of_fault};
use super::shown::Shown;
use crate::connection::{self, Server};
use crate::exit::{self, Exit, Failure, Outcome};
use crate::printable::standard_output;

/// Who is named as the issuer of tokens that were issued without a server.
const ISSUER: &str = "command-line";

/// The platform of tokens that were issued without a server, where nobody says.
const PLATFORM: &str = "default";

/// The command line of `referee token issue`.
#[derive(Debug, Args)]
pub(super) struct IssueArguments {
    /// What the token allows.
    #[arg(long, value_name = "ROLE")]
    role: RoleWord,
    /// Who presents it: what events say about who acted. Printable, without blanks.
    #[arg(long, value_name = "NAME", value_parser = read_principal)]
    principal: String,
    /// The game that it is confined to, as games/NAME: required for a player, and possible for an
    /// arbiter and a spectator.
    #[arg(long, value_name = "GAME", value_parser = read_game, conflicts_with = "label")]
    game: Option<String>,
    /// The seat of a player.
    #[arg(long, value_name = "SEAT", requires = "game")]
    seat: Option<SeatWord>,
    /// The label that games must have, as KEY=VALUE: for arbiters and spectators.
    #[arg(long, value_name = "KEY=VALUE", value_parser = read_label)]
    label: Option<(String, String)>,
    /// For how long it counts: a number with s, m, h or d. Range: 1s to 3660d.
    #[arg(long, value_name = "TIME", default_value = "90d", value_parser = read_lifetime)]
    lifetime: Duration,
    #[command(flatten)]
    place: PlaceArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RoleWord {
    Player,
    Spectator,
    Arbiter,
    Platform,
    Worker,
    Operator,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SeatWord {
    White,
    Black,
}

impl IssueArguments {
    pub(super) fn run(self) -> Outcome {
        let scope = self.scope()?;
        match self.place.server()? {
            Some(server) => connection::run(self.ask(server, scope)),
            None => self.write(scope),
        }
    }

    /// Asks a server. It is asked once: each answer is another token.
    async fn ask(self, server: Server, scope: TokenScope) -> Outcome {
        let (mut game, mut seat, mut label) = (String::new(), 0, None);
        match scope {
            TokenScope::Platform => {}
            TokenScope::Game { game: id, seat: of } => {
                game = resource_name(&id);
                seat = i32::try_from(of).unwrap_or_default();
            }
            TokenScope::Label { key, value } => label = Some(v1::TokenLabel { key, value }),
        }
        let lifetime = prost_types::Duration {
            seconds: i64::try_from(self.lifetime.as_secs()).unwrap_or(i64::MAX),
            nanos: 0,
        };
        let request = v1::IssueTokenRequest {
            principal: self.principal.clone(),
            role: i32::try_from(self.role.role().number()).unwrap_or_default(),
            game,
            seat,
            label,
            lifetime: Some(lifetime),
        };
        let mut tokens = server.tokens().await?;
        let issued = connection::in_time(tokens.issue_token(self.place.request(request))).await;
        let issued = issued
            .map_err(|status| server.failure(&status))?
            .into_inner();
        let token = issued.token.unwrap_or_default();
        tell(&issued.secret, &Shown::from(&token))
    }

    /// Writes the token into a store.
    fn write(self, scope: TokenScope) -> Outcome {
        let secret = Secret::draw().map_err(|error| Failure::Trouble(error.to_string()))?;
        let create_time_us = now_us();
        let lifetime_us = i64::try_from(self.lifetime.as_micros()).unwrap_or(i64::MAX);
        let platform = self.place.platform.as_deref().unwrap_or(PLATFORM);
        let token = NewToken {
            id: secret.id().to_owned(),
            secret_hash: secret.hash(),
            principal: self.principal,
            platform: platform.to_owned(),
            role: self.role.role().number(),
            scope,
            issuer: ISSUER.to_owned(),
            create_time_us,
            expire_time_us: Some(create_time_us.saturating_add(lifetime_us)),
        };
        let issued = self.place.with_store(async |store| {
            let issued = store.issue_token(token).await;
            issued.map_err(|error| match error {
                IssueError::Full { limit } => Failure::Trouble(format!(
                    "the platform has {limit} tokens, as many as it may; revoke some"
                )),
                IssueError::Fault(fault) => of_fault(&fault),
                IssueError::Invalid(invalid) => Failure::Usage(invalid.to_string()),
                IssueError::IdTaken => Failure::Trouble("try again".to_owned()),
            })
        })?;
        tell(&secret.reveal(), &Shown::from(&issued))
    }

    /// What the token is confined to.
    fn scope(&self) -> Result<TokenScope, Failure> {
        let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
        let is_player = self.role == RoleWord::Player;
        match (&self.game, self.seat, &self.label) {
            (None, ..) | (_, None, _) if is_player => {
                usage("a player needs a --game and a --seat, white or black")
            }
            (_, Some(_), _) if !is_player => usage("--seat is for players"),
            (_, _, Some(_)) if is_player => usage("--label is for arbiters and spectators"),
            (None, _, None) => Ok(TokenScope::Platform),
            _ if !self.role.is_confined() => {
                usage("--game and --label are for players, arbiters and spectators")
            }
            (Some(game), seat, _) => Ok(TokenScope::Game {
                game: game.clone(),
                seat: seat.map_or(0, |seat| 1 + i64::from(seat == SeatWord::Black)),
            }),
            (None, _, Some((key, value))) => Ok(TokenScope::Label {
                key: key.clone(),
                value: value.clone(),
            }),
        }
    }
}

/// Prints the secret alone, so that it can be written to a file, and says beside it what it is.
fn tell(secret: &str, token: &Shown) -> Outcome {
    writeln!(standard_output(false), "{secret}").map_err(Failure::Output)?;
    exit::tell(token.issued());
    Ok(Exit::Fine)
}

impl RoleWord {
    fn role(self) -> Role {
        match self {
            RoleWord::Player => Role::Player,
            RoleWord::Spectator => Role::Spectator,
            RoleWord::Arbiter => Role::Arbiter,
            RoleWord::Platform => Role::Platform,
            RoleWord::Worker => Role::Worker,
            RoleWord::Operator => Role::Operator,
        }
    }

    fn is_confined(self) -> bool {
        matches!(
            self,
            RoleWord::Player | RoleWord::Arbiter | RoleWord::Spectator
        )
    }
}

fn read_principal(text: &str) -> Result<String, String> {
    let fits = !text.is_empty()
        && text.len() <= PRINCIPAL_BYTES_MAX
        && text.bytes().all(|byte| byte.is_ascii_graphic());
    let expected = format!(
        "expected is a name of at most {PRINCIPAL_BYTES_MAX} printable characters without blanks"
    );
    fits.then(|| text.to_owned()).ok_or(expected)
}

fn read_game(text: &str) -> Result<String, String> {
    referee_record::read_name("game", text).map_err(|error| error.to_string())
}

fn read_label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    let fits = text.contains('=')
        && !key.is_empty()
        && key.len() <= LABEL_KEY_BYTES_MAX
        && value.len() <= LABEL_VALUE_BYTES_MAX
        && !text.contains(char::is_control);
    let expected = "expected is KEY=VALUE, such as event=open-2026";
    fits.then(|| (key.to_owned(), value.to_owned()))
        .ok_or_else(|| expected.to_owned())
}

fn read_lifetime(text: &str) -> Result<Duration, String> {
    let expected = "expected is a number with s, m, h or d, from 1s to 3660d, such as 90d";
    let last = text.chars().last().ok_or(expected)?;
    let seconds: u64 = match last {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(expected.into()),
    };
    let number = text[..text.len() - 1].parse::<u64>();
    let number = number.map_err(|_| expected.to_owned())?;
    let lifetime = number.checked_mul(seconds).map(Duration::from_secs);
    lifetime
        .filter(|lifetime| (TOKEN_LIFETIME_MIN..=TOKEN_LIFETIME_MAX).contains(lifetime))
        .ok_or_else(|| expected.to_owned())
}
