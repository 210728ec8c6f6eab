//! `TokenService`: tokens issued, listed and revoked.

use std::sync::Arc;
use std::time::Duration;

use referee_api::v1;
use referee_record::convert::time::{read_duration, write_us};
use referee_record::{Fields, read_name, resource_name};
use referee_store::{Identities, IssueError, NewToken, TokenRow, TokenScope};
use tonic::{Request, Response, Status};

use crate::access::{Role, Seat, Secret, table};
use crate::clock::Clock;
use crate::error::ServiceError;
use crate::limits;
use crate::transport::Caller;

/// What the resource name of a token begins with.
const COLLECTION: &str = "tokens/";

/// How often a token is drawn again whose id is taken, which chance never brings about.
const DRAWS_MAX: usize = 3;

/// Answers `TokenService`.
#[derive(Clone)]
pub(crate) struct TokenKeeper {
    store: Arc<dyn Identities>,
    clock: Arc<dyn Clock>,
}

impl TokenKeeper {
    pub(crate) fn new(store: Arc<dyn Identities>, clock: Arc<dyn Clock>) -> TokenKeeper {
        TokenKeeper { store, clock }
    }

    async fn issue(
        &self,
        caller: &Caller,
        request: &v1::IssueTokenRequest,
    ) -> Result<v1::IssueTokenResponse, ServiceError> {
        let Wanted {
            role,
            scope,
            lifetime,
        } = read_wanted(request)?;
        if !table::issues(caller.identity().roles, role) {
            return Err(ServiceError::RoleDenied {
                action: format!("token.{}", role.word()),
                roles: "operator".to_owned(),
                description: "a platform issues tokens of players, spectators and arbiters; \
                              others are issued by an operator",
            });
        }
        let create_time_us = self.clock.now_us();
        let lifetime_us = i64::try_from(lifetime.as_micros()).unwrap_or(i64::MAX);
        for _ in 0..DRAWS_MAX {
            let secret = Secret::draw().map_err(|error| ServiceError::InvariantBroken {
                what: error.to_string(),
            })?;
            let token = NewToken {
                id: secret.id().to_owned(),
                secret_hash: secret.hash(),
                principal: request.principal.clone(),
                platform: caller.platform().to_owned(),
                role: role.number(),
                scope: scope.clone(),
                issuer: caller.principal().to_string(),
                create_time_us,
                expire_time_us: Some(create_time_us.saturating_add(lifetime_us)),
            };
            match self.store.issue_token(token).await {
                Ok(row) => {
                    let TokenRow { token, .. } = &row;
                    tracing::info!(token = token.id, of = token.principal, "a token was issued");
                    return Ok(v1::IssueTokenResponse {
                        token: Some(write_token(&row)),
                        secret: secret.reveal(),
                    });
                }
                Err(IssueError::IdTaken) => {}
                Err(error) => return Err(from_issue(error)),
            }
        }
        Err(ServiceError::InvariantBroken {
            what: "random ids of tokens come again".into(),
        })
    }

    fn issue_seat(
        caller: &Caller,
        request: &v1::IssueSeatTokenRequest,
    ) -> Result<v1::IssueSeatTokenResponse, ServiceError> {
        let (seat, lifetime) = read_seat(caller, request)?;
        let signed = caller.sign_seat(seat, lifetime)?;
        tracing::debug!(
            key = signed.key_id,
            of = request.principal,
            "a seat token was signed"
        );
        Ok(v1::IssueSeatTokenResponse {
            token: signed.token,
            expire_time: Some(write_us(signed.expire_us)),
            key_id: signed.key_id,
        })
    }

    async fn list(
        &self,
        caller: &Caller,
        request: &v1::ListTokensRequest,
    ) -> Result<v1::ListTokensResponse, ServiceError> {
        let mut fields = Fields::default();
        let size = fields.page_size(
            request.page_size,
            limits::TOKENS_PAGE_DEFAULT,
            limits::TOKENS_PAGE_MAX,
        );
        let token = &request.page_token;
        fields.length("page_token", token, limits::PAGE_TOKEN_BYTES_MAX);
        fields.finish()?;
        // It names the last token of the page before; those of others are not found behind it.
        let is_known = token.is_empty() || id_of(token).is_some();
        if !is_known {
            return Err(ServiceError::InvalidPageToken);
        }
        let after = id_of(token).unwrap_or_default();
        let rows = self.store.tokens(Some(caller.platform()), after, size);
        let rows = rows.await?;
        let next_page_token = match rows.last() {
            Some(last) if rows.len() == size => name_of(&last.token.id),
            _ => String::new(),
        };
        Ok(v1::ListTokensResponse {
            tokens: rows.iter().map(write_token).collect(),
            next_page_token,
        })
    }

    async fn revoke(
        &self,
        caller: &Caller,
        request: &v1::RevokeTokenRequest,
    ) -> Result<v1::RevokeTokenResponse, ServiceError> {
        let mut fields = Fields::default();
        let name = &request.name;
        fields.length("name", name, limits::TOKEN_NAME_BYTES_MAX);
        let id = id_of(name);
        if id.is_none() {
            fields.refuse(
                "name",
                "must be the resource name of a token, such as tokens/0123456789abcdef",
            );
        }
        fields.finish()?;
        let id = id.unwrap_or_default().to_owned();
        let platform = Some(caller.platform().to_owned());
        let revoked = self
            .store
            .revoke_token(id, platform, self.clock.now_us())
            .await?;
        let row = revoked.ok_or_else(|| ServiceError::TokenNotFound { name: name.clone() })?;
        tracing::info!(
            token = row.token.id,
            of = row.token.principal,
            "a token was revoked"
        );
        Ok(v1::RevokeTokenResponse {
            token: Some(write_token(&row)),
        })
    }
}

#[tonic::async_trait]
impl v1::token_service_server::TokenService for TokenKeeper {
    async fn issue_token(
        &self,
        request: Request<v1::IssueTokenRequest>,
    ) -> Result<Response<v1::IssueTokenResponse>, Status> {
        let caller = Caller::of(&request)?;
        Ok(Response::new(self.issue(&caller, request.get_ref()).await?))
    }

    async fn issue_seat_token(
        &self,
        request: Request<v1::IssueSeatTokenRequest>,
    ) -> Result<Response<v1::IssueSeatTokenResponse>, Status> {
        let caller = Caller::of(&request)?;
        let issued = TokenKeeper::issue_seat(&caller, request.get_ref())?;
        Ok(Response::new(issued))
    }

    async fn list_tokens(
        &self,
        request: Request<v1::ListTokensRequest>,
    ) -> Result<Response<v1::ListTokensResponse>, Status> {
        let caller = Caller::of(&request)?;
        Ok(Response::new(self.list(&caller, request.get_ref()).await?))
    }

    async fn revoke_token(
        &self,
        request: Request<v1::RevokeTokenRequest>,
    ) -> Result<Response<v1::RevokeTokenResponse>, Status> {
        let caller = Caller::of(&request)?;
        Ok(Response::new(
            self.revoke(&caller, request.get_ref()).await?,
        ))
    }
}

/// What a request asks for.
struct Wanted {
    role: Role,
    scope: TokenScope,
    lifetime: Duration,
}

fn read_wanted(request: &v1::IssueTokenRequest) -> Result<Wanted, ServiceError> {
    let mut fields = Fields::default();
    check_principal(&request.principal, &mut fields);
    let role = Role::of(i64::from(
        fields.choice::<v1::Role>("role", request.role) as i32
    ));
    if role.is_none() {
        fields.refuse("role", "is required: what the token allows");
    }
    let scope = read_scope(request, role, &mut fields);
    let lifetime = read_duration(
        "lifetime",
        request.lifetime,
        limits::TOKEN_LIFETIME_DEFAULT,
        limits::TOKEN_LIFETIME_MIN..=limits::TOKEN_LIFETIME_MAX,
        &mut fields,
    );
    fields.finish()?;
    let role = role.ok_or_else(|| ServiceError::field("role", "is required"))?;
    Ok(Wanted {
        role,
        scope,
        lifetime,
    })
}

fn check_principal(principal: &str, fields: &mut Fields) {
    if principal.is_empty() {
        fields.refuse(
            "principal",
            "is required: the name of who presents the token",
        );
    } else if !principal.bytes().all(|byte| byte.is_ascii_graphic()) {
        fields.refuse("principal", "must be printable ASCII without blanks");
    }
    fields.length("principal", principal, limits::PRINCIPAL_BYTES_MAX);
}

/// Reads what a seat token is to allow, and for how long.
fn read_seat(
    caller: &Caller,
    request: &v1::IssueSeatTokenRequest,
) -> Result<(Seat, Duration), ServiceError> {
    let mut fields = Fields::default();
    check_principal(&request.principal, &mut fields);
    let role = match fields.choice::<v1::Role>("role", request.role) {
        v1::Role::Player => Some(Role::Player),
        v1::Role::Spectator => Some(Role::Spectator),
        _ => {
            fields.refuse("role", "is required: ROLE_PLAYER or ROLE_SPECTATOR");
            None
        }
    };
    let seat = fields.choice::<v1::Seat>("seat", request.seat);
    match (role, seat) {
        (Some(Role::Player), v1::Seat::White | v1::Seat::Black)
        | (Some(Role::Spectator), v1::Seat::Unspecified)
        | (None, _) => {}
        (Some(Role::Player), _) => {
            fields.refuse("seat", "must be SEAT_WHITE or SEAT_BLACK for a player");
        }
        _ => fields.refuse("seat", "is for players; leave it out"),
    }
    let game = read_name("game", &request.game).unwrap_or_else(|_| {
        fields.refuse(
            "game",
            "is required: the resource name of a game, such as games/board-1",
        );
        String::new()
    });
    let lifetime = read_duration(
        "lifetime",
        request.lifetime,
        limits::SEAT_TOKEN_LIFETIME_DEFAULT,
        limits::SEAT_TOKEN_LIFETIME_MIN..=limits::SEAT_TOKEN_LIFETIME_MAX,
        &mut fields,
    );
    fields.finish()?;
    let seat = Seat {
        principal: request.principal.clone(),
        platform: caller.platform().to_owned(),
        role: role.ok_or_else(|| ServiceError::field("role", "is required"))?,
        game,
        seat,
    };
    Ok((seat, lifetime))
}

/// Reads what a token is confined to.
fn read_scope(
    request: &v1::IssueTokenRequest,
    role: Option<Role>,
    fields: &mut Fields,
) -> TokenScope {
    let is_player = role == Some(Role::Player);
    let is_confined = role.is_none_or(table::is_confined);
    let seat = fields.choice::<v1::Seat>("seat", request.seat);
    match (is_player, seat) {
        (true, v1::Seat::White | v1::Seat::Black) | (false, v1::Seat::Unspecified) => {}
        (true, _) => fields.refuse("seat", "must be SEAT_WHITE or SEAT_BLACK for a player"),
        (false, _) => fields.refuse("seat", "is for players; leave it out"),
    }
    if is_player && request.game.is_empty() {
        fields.refuse(
            "game",
            "is required for a player: the resource name of the game",
        );
    }
    if !is_confined && !request.game.is_empty() {
        fields.refuse("game", "this role is for a whole platform; leave it out");
    }
    if let Some(label) = &request.label {
        if is_player || !is_confined || !request.game.is_empty() {
            fields.refuse(
                "label",
                "is for arbiters and spectators without a game; leave it out",
            );
        }
        if label.key.is_empty() {
            fields.refuse("label.key", "is required");
        }
        fields.text("label.key", &label.key, limits::LABEL_KEY_BYTES_MAX);
        fields.text("label.value", &label.value, limits::LABEL_VALUE_BYTES_MAX);
        return TokenScope::Label {
            key: label.key.clone(),
            value: label.value.clone(),
        };
    }
    if request.game.is_empty() {
        return TokenScope::Platform;
    }
    let game = match read_name("game", &request.game) {
        Ok(game) => game,
        Err(_) => {
            fields.refuse(
                "game",
                "must be the resource name of a game, such as games/board-1",
            );
            String::new()
        }
    };
    TokenScope::Game {
        game,
        seat: i64::from(seat as i32),
    }
}

fn name_of(id: &str) -> String {
    format!("{COLLECTION}{id}")
}

/// Returns the id in the resource name of a token; none where it is no such name.
fn id_of(name: &str) -> Option<&str> {
    let id = name.strip_prefix(COLLECTION)?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (id.len() == 16 && id.bytes().all(is_digit)).then_some(id)
}

/// Writes a token as the contract shows it, without what its secret could be found by.
fn write_token(row: &TokenRow) -> v1::Token {
    let token = &row.token;
    let (mut game, mut seat, mut label) = (String::new(), 0, None);
    match &token.scope {
        TokenScope::Platform => {}
        TokenScope::Game { game: id, seat: of } => {
            game = resource_name(id);
            seat = i32::try_from(*of).unwrap_or_default();
        }
        TokenScope::Label { key, value } => {
            label = Some(v1::TokenLabel {
                key: key.clone(),
                value: value.clone(),
            });
        }
    }
    v1::Token {
        name: name_of(&token.id),
        principal: token.principal.clone(),
        platform: token.platform.clone(),
        role: i32::try_from(token.role).unwrap_or_default(),
        game,
        seat,
        label,
        issuer: token.issuer.clone(),
        create_time: Some(write_us(token.create_time_us)),
        expire_time: token.expire_time_us.map(write_us),
        revoke_time: row.revoke_time_us.map(write_us),
    }
}

fn from_issue(error: IssueError) -> ServiceError {
    match error {
        IssueError::Full { limit } => ServiceError::TokensFull { limit },
        IssueError::Fault(fault) => fault.into(),
        IssueError::Invalid(invalid) => ServiceError::InvariantBroken {
            what: invalid.to_string(),
        },
        IssueError::IdTaken => ServiceError::InvariantBroken {
            what: "an id of a token was drawn twice".into(),
        },
    }
}
