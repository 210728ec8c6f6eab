//! `referee export`: fetches the record of a game from a server and writes it as a record file, or
//! games as Portable Game Notation.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use referee_api::v1;
use referee_api::v1::export_game_response::Kind;
use referee_api::v1::export_pgn_request::Games as Chosen;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_verify::record_file::write_part;
use tonic::transport::{Channel, Endpoint};

use crate::exit::{Exit, Failure, Outcome};
use crate::limits::EXPORT_SILENCE_SECONDS_MAX;

type Client = GameServiceClient<Channel>;

/// The command line of `referee export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The resource name of the game, such as `games/board-1`.
    #[arg(required_unless_present = "pgn")]
    name: Option<String>,
    /// Write Portable Game Notation: of the game, or where none is named of all games, newest
    /// first.
    #[arg(long)]
    pgn: bool,
    /// Only games with this label, such as `round=3`; it can be given several times.
    #[arg(
        long = "label",
        value_name = "KEY=VALUE",
        requires = "pgn",
        conflicts_with = "name"
    )]
    labels: Vec<String>,
    /// The server.
    #[arg(
        long,
        short,
        value_name = "URL",
        default_value = "http://127.0.0.1:50051"
    )]
    server: String,
    /// Where it goes; the file must not be there yet. Default: the standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ExportArguments {
    /// Writes the record, or the games.
    pub(crate) fn run(self) -> Outcome {
        let labels = self.read_labels()?;
        let endpoint = Endpoint::from_shared(self.server.clone()).map_err(|error| {
            Failure::Usage(format!(
                "--server: {} is no address: {error}; use one such as http://127.0.0.1:50051",
                self.server
            ))
        })?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime =
            runtime.map_err(|error| Failure::Trouble(format!("cannot start: {error}")))?;
        runtime.block_on(self.export(endpoint, labels))
    }

    fn read_labels(&self) -> Result<BTreeMap<String, String>, Failure> {
        let labels = self.labels.iter().map(|label| {
            let (key, value) = label.split_once('=').ok_or_else(|| {
                let text = format!("--label: {label} has no `=`; use one such as round=3");
                Failure::Usage(text)
            })?;
            Ok((key.to_owned(), value.to_owned()))
        });
        labels.collect()
    }

    async fn export(&self, endpoint: Endpoint, labels: BTreeMap<String, String>) -> Outcome {
        let silence = Duration::from_secs(EXPORT_SILENCE_SECONDS_MAX);
        let channel = endpoint.connect_timeout(silence).connect().await;
        let channel = channel.map_err(|error| {
            let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
            let server = &self.server;
            Failure::Trouble(format!(
                "cannot reach {server}: {error}{}",
                source.unwrap_or_default()
            ))
        })?;
        let games = GameServiceClient::new(channel);
        match &self.name {
            Some(name) if !self.pgn => self.export_record(games, name.clone()).await,
            name => {
                let chosen = match name.clone() {
                    Some(name) => Chosen::Name(name),
                    None => Chosen::Filter(v1::GameFilter {
                        labels,
                        ..v1::GameFilter::default()
                    }),
                };
                self.export_pgn(games, chosen).await
            }
        }
    }

    async fn export_record(&self, mut games: Client, name: String) -> Outcome {
        let stream = games.export_game(v1::ExportGameRequest { name }).await;
        let mut stream = stream.map_err(|status| self.refused(&status))?.into_inner();
        let mut out = open(self.output.as_deref())?;
        let mut is_sealed = false;
        while let Some(message) = self.next(&mut stream).await? {
            if let Some(kind) = &message.kind {
                write_part(&mut out, kind).map_err(Failure::Output)?;
                is_sealed = matches!(kind, Kind::Seal(_));
            }
        }
        out.flush().map_err(Failure::Output)?;
        if is_sealed {
            Ok(Exit::Fine)
        } else {
            let text = format!("{} ended the record without a seal", self.server);
            Err(Failure::Trouble(text))
        }
    }

    async fn export_pgn(&self, mut games: Client, chosen: Chosen) -> Outcome {
        let games = games.export_pgn(v1::ExportPgnRequest {
            games: Some(chosen),
        });
        let stream = games.await;
        let mut stream = stream.map_err(|status| self.refused(&status))?.into_inner();
        let mut out = open(self.output.as_deref())?;
        while let Some(piece) = self.next(&mut stream).await? {
            let written = out.write_all(piece.pgn.as_bytes());
            written.map_err(Failure::Output)?;
        }
        out.flush().map_err(Failure::Output)?;
        Ok(Exit::Fine)
    }

    /// Waits for the next message, for as long as the server may be silent.
    async fn next<T>(&self, stream: &mut tonic::Streaming<T>) -> Result<Option<T>, Failure> {
        let silence = Duration::from_secs(EXPORT_SILENCE_SECONDS_MAX);
        let next = tokio::time::timeout(silence, stream.message()).await;
        let next = next.map_err(|_| {
            Failure::Trouble(format!(
                "{} was silent for {EXPORT_SILENCE_SECONDS_MAX} s",
                self.server
            ))
        })?;
        next.map_err(|status| self.refused(&status))
    }

    fn refused(&self, status: &tonic::Status) -> Failure {
        let text = status.message();
        Failure::Trouble(format!("{}: {:?}: {text}", self.server, status.code()))
    }
}

fn open(output: Option<&Path>) -> Result<Box<dyn Write>, Failure> {
    Ok(match output {
        None => Box::new(BufWriter::new(io::stdout().lock())),
        Some(path) => {
            let file = File::create_new(path).map_err(|error| {
                Failure::Trouble(format!("--output: {}: {error}", path.display()))
            })?;
            Box::new(BufWriter::new(file))
        }
    })
}
