//! What a caller may do in a game, by the one table of roles.

use referee_api::v1;
use referee_store::GameKey;

use super::service::GamesService;
use crate::access::table;
use crate::error::ServiceError;
use crate::transport::Caller;

/// Checks that a caller may act from a seat.
///
/// # Errors
///
/// [`ServiceError::RoleDenied`].
pub(super) fn check_seat(caller: &Caller, field: &str, seat: v1::Seat) -> Result<(), ServiceError> {
    let principal = caller.identity();
    if principal.seat().is_some_and(|own| own != seat) {
        return Err(ServiceError::RoleDenied {
            action: field.to_owned(),
            roles: "platform,operator".to_owned(),
            description: "the credential is for another seat; act from the seat that it is for",
        });
    }
    let roles = table::seat_allowed(seat);
    if principal.roles.meets(roles) {
        return Ok(());
    }
    Err(ServiceError::RoleDenied {
        action: field.to_owned(),
        roles: roles.to_string(),
        description: "the role of the credential does not act from this seat",
    })
}

/// Checks that a caller may send an action: its seat, its kind, and a time that it tells.
///
/// # Errors
///
/// [`ServiceError::RoleDenied`], and [`ServiceError::AllowanceSpent`] where too many were refused.
pub(super) fn check_action(caller: &Caller, action: &v1::Action) -> Result<(), ServiceError> {
    caller.check_refusals()?;
    // What is no seat is refused where the action is read.
    check_seat(caller, "action.seat", action.seat())?;
    let roles = caller.identity().roles;
    if let Some(kind) = &action.kind {
        let (name, allowed) = table::action_allowed(kind);
        // What nobody sends is refused where the action is read.
        if !roles.meets(allowed) && allowed != Default::default() {
            return Err(ServiceError::RoleDenied {
                action: format!("action.{name}"),
                roles: allowed.to_string(),
                description: "the role of the credential does not allow this kind of action",
            });
        }
    }
    let (name, allowed) = table::PLATFORM_TIME;
    if action.platform_time.is_some() && !roles.meets(allowed) {
        return Err(ServiceError::RoleDenied {
            action: format!("action.{name}"),
            roles: allowed.to_string(),
            description: "the time of a game is told by the platform or the arbiter; leave it out",
        });
    }
    Ok(())
}

/// Puts a refusal on the account of the caller: refusals are kept, and cost nothing else.
pub(super) fn note_refusal(caller: &Caller, answer: &v1::SubmitActionResponse) {
    let ruling = answer.ruling.as_ref();
    if ruling.is_some_and(|ruling| ruling.verdict() == v1::ruling::Verdict::Refused) {
        caller.note_refusal();
    }
}

/// Checks that a game is one that a caller is told of, where that depends on the labels of the game.
///
/// # Errors
///
/// What the caller would hear of a game that is not there; and errors of the store.
pub(super) async fn check_label(
    service: &GamesService,
    caller: &Caller,
    key: &GameKey,
) -> Result<(), ServiceError> {
    let Some((name, value)) = caller.label() else {
        return Ok(());
    };
    let game = match service.games.read(key).await {
        Ok(game) => game,
        // Whether there was one is told to those it concerned.
        Err(ServiceError::GameNotFound { .. } | ServiceError::GameDeleted { .. }) => {
            return Err(ServiceError::not_found(key));
        }
        Err(error) => return Err(error),
    };
    let label = game.folded.genesis.labels.get(name);
    if label.is_some_and(|label| label == value) {
        Ok(())
    } else {
        Err(ServiceError::not_found(key))
    }
}
