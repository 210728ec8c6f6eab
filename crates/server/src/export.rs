//! Exporting a game: its record as it is stored, chained by hashes and signed.

use std::sync::Arc;

use referee_api::v1;
use referee_api::v1::export_game_response::Kind;
use referee_record::{Error, RecordKey, resource_name};
use referee_store::{GameKey, GameRow, chain};
use tokio::sync::watch;

use crate::desk::{Desk, PLATFORM};
use crate::limits;
use crate::status::ApiError;
use crate::stream::{Sender, stopped};

/// The version of the form that records are exported in.
const FORMAT: u32 = 1;

/// A game that is being exported: as far as it was when the export began.
pub(crate) struct Export {
    desk: Arc<Desk>,
    key: Option<Arc<RecordKey>>,
    row: GameRow,
}

impl Export {
    /// Finds the game.
    pub(crate) async fn begin(
        desk: Arc<Desk>,
        key: Option<Arc<RecordKey>>,
        id: &str,
    ) -> Result<Export, ApiError> {
        let row = desk.store().game(&GameKey::new(PLATFORM, id)).await?;
        let row = row.ok_or_else(|| ApiError::GameNotFound {
            name: resource_name(id),
        })?;
        Ok(Export { desk, key, row })
    }

    /// Sends the whole record, or why it cannot.
    pub(crate) async fn run(
        self,
        sender: Sender<v1::ExportGameResponse>,
        mut is_stopping: watch::Receiver<bool>,
    ) {
        let ended = tokio::select! {
            ended = self.send(&sender) => ended,
            () = stopped(&mut is_stopping) => Err(Some(ApiError::ShuttingDown)),
        };
        if let Err(Some(error)) = ended {
            sender.fail(error).await;
        }
    }

    /// Sends the record; the error is none where the reader is gone.
    async fn send(&self, sender: &Sender<v1::ExportGameResponse>) -> Result<(), Option<ApiError>> {
        let row = &self.row;
        let tell = async |kind| {
            let message = v1::ExportGameResponse { kind: Some(kind) };
            sender.send(message).await.map_err(|_gone| None)
        };
        let mut link = chain::genesis(&row.key, &row.genesis);
        tell(Kind::Header(v1::RecordHeader {
            format: FORMAT,
            platform: row.key.platform.clone(),
            name: resource_name(&row.key.game),
            genesis: row.genesis.clone().into(),
            chain_hash: link.to_vec().into(),
        }))
        .await?;
        let mut sequence = 0;
        while sequence < row.sequence {
            let page = self
                .desk
                .store()
                .entries(&row.key, sequence, limits::EXPORT_PAGE_ENTRIES);
            let page = page.await.map_err(|error| Some(error.into()))?;
            if page.is_empty() {
                return Err(Some(damaged("an entry is missing")));
            }
            let left = usize::try_from(row.sequence - sequence).unwrap_or(usize::MAX);
            for entry in page.into_iter().take(left) {
                // What does not hold together is not exported, and above all not signed.
                link = chain::next(&link, &entry.bytes);
                if entry.sequence != sequence + 1 || entry.chain != link {
                    return Err(Some(damaged("the chain of its entries is broken")));
                }
                sequence = entry.sequence;
                tell(Kind::Entry(v1::RecordEntry {
                    sequence,
                    event: entry.bytes.into(),
                    chain_hash: link.to_vec().into(),
                }))
                .await?;
            }
        }
        tell(Kind::Seal(self.seal(&link)?)).await
    }

    fn seal(&self, head: &[u8; 32]) -> Result<v1::RecordSeal, Option<ApiError>> {
        let row = &self.row;
        if *head != row.chain_head {
            return Err(Some(damaged("its entries do not lead to its head")));
        }
        let sign =
            |key: &Arc<RecordKey>| key.sign(&row.key.platform, &row.key.game, row.sequence, head);
        Ok(v1::RecordSeal {
            entry_count: row.sequence,
            head_hash: head.to_vec().into(),
            signature: self.key.as_ref().map(sign),
            referee_version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }
}

/// The error of a record that does not hold together.
fn damaged(what: &str) -> ApiError {
    Error::damaged(what).into()
}
