//! Exporting a game: its record as it is stored, chained by hashes and signed.

use std::sync::Arc;

use bytes::Bytes;
use referee_api::v1;
use referee_api::v1::export_game_response::Kind;
use referee_record::{REVISION, RecordKey, VERSION, resource_name};
use referee_store::{GameKey, GameRow, PrivateText, chain};
use tokio_util::sync::CancellationToken;

use crate::error::ServiceError;
use crate::games::Games;
use crate::limits;
use crate::transport::Sender;

/// The version of the form that records are exported in.
const FORMAT: u32 = 1;

/// A game that is being exported: as far as it was when the export began.
pub(super) struct Export {
    games: Arc<Games>,
    record_key: Option<Arc<RecordKey>>,
    row: GameRow,
}

impl Export {
    /// Finds the game.
    pub(super) async fn begin(
        games: Arc<Games>,
        key: &GameKey,
        record_key: Option<Arc<RecordKey>>,
    ) -> Result<Export, ServiceError> {
        let turn = games.registry.bulk_turn().await?;
        let row = games.registry.records().game(key).await?;
        drop(turn);
        let Some(row) = row else {
            return Err(games.registry.missing(key).await);
        };
        Ok(Export {
            games,
            record_key,
            row,
        })
    }

    /// Sends the whole record, or why it cannot.
    pub(super) async fn run(self, sender: Sender<v1::ExportGameResponse>, stop: CancellationToken) {
        let ended = tokio::select! {
            ended = self.send(&sender) => ended,
            () = stop.cancelled() => Err(Broken::Service(ServiceError::ShuttingDown)),
            () = sender.closed() => Err(Broken::Gone),
        };
        if let Err(Broken::Service(error)) = ended {
            sender.fail(error).await;
        }
    }

    async fn send(&self, sender: &Sender<v1::ExportGameResponse>) -> Result<(), Broken> {
        let row = &self.row;
        let _held = sender.hold(row.genesis.len());
        let tell = async |kind| {
            let message = v1::ExportGameResponse { kind: Some(kind) };
            sender.send(message).await.map_err(|_gone| Broken::Gone)
        };
        let mut link = chain::genesis(&row.key, &row.genesis);
        let (private_text, private_salt) = match &row.description {
            Some(described) if described.sequence == 0 => told(Some(described.text.clone())),
            _ => told(None),
        };
        tell(Kind::Header(v1::RecordHeader {
            format: FORMAT,
            platform: row.key.platform.clone(),
            name: resource_name(&row.key.game),
            genesis: row.genesis.clone().into(),
            chain_hash: link.to_vec().into(),
            private_text,
            private_salt,
        }))
        .await?;
        let mut sequence = 0;
        while sequence < row.sequence {
            let registry = &self.games.registry;
            let turn = registry.bulk_turn().await?;
            let page = registry
                .records()
                .entries(&row.key, sequence, limits::EXPORT_ENTRIES_READ_MAX)
                .await
                .map_err(ServiceError::from)?;
            drop(turn);
            // It waits here for a reader that may be slow.
            let _held = sender.hold(page.iter().map(|entry| entry.bytes.len()).sum());
            if page.is_empty() {
                return Err(match self.games.registry.missing(&row.key).await {
                    // It went while it was read.
                    deleted @ ServiceError::GameDeleted { .. } => deleted.into(),
                    _ => ServiceError::damaged("an entry is missing").into(),
                });
            }
            let left = usize::try_from(row.sequence - sequence).unwrap_or(usize::MAX);
            for entry in page.into_iter().take(left) {
                // What does not hold together is not exported, and above all not signed.
                link = chain::next(&link, &entry.bytes);
                if entry.sequence != sequence + 1 || entry.chain != link {
                    let what = "the chain of its entries is broken";
                    return Err(ServiceError::damaged(what).into());
                }
                sequence = entry.sequence;
                let (private_text, private_salt) = told(entry.private);
                tell(Kind::Entry(v1::RecordEntry {
                    sequence,
                    event: entry.bytes.into(),
                    chain_hash: link.to_vec().into(),
                    private_text,
                    private_salt,
                }))
                .await?;
            }
        }
        tell(Kind::Seal(self.seal(&link)?)).await
    }

    fn seal(&self, head: &[u8; 32]) -> Result<v1::RecordSeal, ServiceError> {
        let row = &self.row;
        if *head != row.chain_head {
            let what = "its entries do not lead to its head";
            return Err(ServiceError::damaged(what));
        }
        let sign =
            |key: &Arc<RecordKey>| key.sign(&row.key.platform, &row.key.game, row.sequence, head);
        Ok(v1::RecordSeal {
            entry_count: row.sequence,
            head_hash: head.to_vec().into(),
            signature: self.record_key.as_ref().map(sign),
            referee_version: VERSION.to_owned(),
            revision: REVISION.to_owned(),
        })
    }
}

/// A text about persons and its salt, as they are told beside what is hashed.
fn told(text: Option<PrivateText>) -> (Bytes, Bytes) {
    let pair = text.map(|text| (text.bytes.into(), text.salt.to_vec().into()));
    pair.unwrap_or_default()
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
