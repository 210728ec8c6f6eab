//! `ExportPgn`: games as Portable Game Notation, one after the other, in pieces.

mod tags;
mod text;

use std::sync::Arc;

use referee_api::v1;
use referee_api::v1::export_pgn_request::Games as Chosen;
use referee_record::{Fields, resource_name};
use referee_store::{GameKey, ListFilter};
use tokio::sync::OwnedSemaphorePermit;

use super::listing::read_filter;
use super::service::GamesService;
use crate::error::ServiceError;
use crate::limits;
use crate::transport::{Caller, Outgoing, Sender};

/// Begins to write the games that a request names.
pub(super) async fn begin(
    service: &GamesService,
    caller: &Caller,
    request: v1::ExportPgnRequest,
) -> Result<Outgoing<v1::ExportPgnResponse>, ServiceError> {
    let place = Arc::clone(&service.pgn_exports);
    let place = place
        .try_acquire_owned()
        .map_err(|_| ServiceError::overloaded())?;
    let export = Export {
        service: service.clone(),
        _place: place,
    };
    let stop = service.stop.clone();
    match request.games {
        None => Err(ServiceError::field(
            "games",
            "is required: the name of a game, or a filter",
        )),
        Some(Chosen::Name(name)) => {
            let key = service.key(caller, "name", &name).await?;
            let game = service.games.read(&key).await?;
            let text = text::write(service, &key, game).await?;
            service.streams.open(caller, |sender| async move {
                tokio::select! {
                    _ = export.send(&sender, &key, text) => {}
                    () = stop.cancelled() => sender.fail(ServiceError::ShuttingDown).await,
                }
            })
        }
        Some(Chosen::Filter(filter)) => {
            let mut fields = Fields::default();
            let mut filter = read_filter(Some(&filter), &mut fields);
            fields.finish()?;
            filter.labels = caller.list_labels(filter.labels)?;
            let platform = caller.platform().to_owned();
            service.streams.open(caller, |sender| async move {
                let ended = tokio::select! {
                    ended = export.send_all(&sender, &platform, &filter) => ended,
                    () = stop.cancelled() => Err(Broken::Service(ServiceError::ShuttingDown)),
                    () = sender.closed() => Err(Broken::Gone),
                };
                if let Err(Broken::Service(error)) = ended {
                    sender.fail(error).await;
                }
            })
        }
    }
}

/// Why an export ended before its end.
enum Broken {
    /// The reader is gone.
    Gone,
    /// The service cannot go on.
    Service(ServiceError),
}

impl From<ServiceError> for Broken {
    fn from(error: ServiceError) -> Broken {
        Broken::Service(error)
    }
}

/// An export, which holds its place until it ends.
struct Export {
    service: GamesService,
    _place: OwnedSemaphorePermit,
}

impl Export {
    /// Sends all games of a platform that pass a filter, newest first.
    async fn send_all(
        &self,
        sender: &Sender<v1::ExportPgnResponse>,
        platform: &str,
        filter: &ListFilter,
    ) -> Result<(), Broken> {
        let registry = &self.service.games.registry;
        let mut cursor = None;
        let mut is_first = true;
        loop {
            let wanted = limits::PGN_EXPORT_GAMES_READ_MAX;
            let turn = registry.bulk_turn().await?;
            let page = registry.records().list(platform, filter, cursor, wanted);
            let page = page.await.map_err(ServiceError::from)?;
            drop(turn);
            for row in page.games {
                let game = match registry.read_once(&row.key).await {
                    // It was deleted after it was found.
                    Err(ServiceError::GameNotFound { .. } | ServiceError::GameDeleted { .. }) => {
                        continue;
                    }
                    game => game?,
                };
                let mut text = text::write(&self.service, &row.key, game).await?;
                if !is_first {
                    text.insert(0, '\n');
                }
                is_first = false;
                self.send(sender, &row.key, text).await?;
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(());
            }
        }
    }

    /// Sends the text of a game in pieces.
    async fn send(
        &self,
        sender: &Sender<v1::ExportPgnResponse>,
        key: &GameKey,
        text: String,
    ) -> Result<(), Broken> {
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let end = rest.floor_char_boundary(limits::PGN_EXPORT_PIECE_BYTES_MAX);
            let (piece, more) = rest.split_at(end);
            rest = more;
            let message = v1::ExportPgnResponse {
                pgn: piece.to_owned(),
                name: resource_name(&key.game),
            };
            sender.send(message).await.map_err(|_gone| Broken::Gone)?;
        }
        Ok(())
    }
}
