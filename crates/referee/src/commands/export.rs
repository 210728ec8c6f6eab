//! `referee export`: fetches the record of a game from a server and writes it as a record file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use referee_api::v1;
use referee_api::v1::export_game_response::Kind;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_verify::record_file::write_part;
use tonic::transport::Endpoint;

use crate::exit::{Exit, Failure, Outcome};
use crate::limits::EXPORT_SILENCE_SECONDS_MAX;

/// The command line of `referee export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The resource name of the game, such as `games/board-1`.
    name: String,
    /// The server.
    #[arg(
        long,
        short,
        value_name = "URL",
        default_value = "http://127.0.0.1:50051"
    )]
    server: String,
    /// Where the record goes; it must not be there yet. Default: the standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ExportArguments {
    /// Writes the record.
    pub(crate) fn run(self) -> Outcome {
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
        runtime.block_on(self.export(endpoint))
    }

    async fn export(&self, endpoint: Endpoint) -> Outcome {
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
        let refused = |status: tonic::Status| {
            let text = status.message();
            Failure::Trouble(format!("{}: {:?}: {text}", self.server, status.code()))
        };
        let request = v1::ExportGameRequest {
            name: self.name.clone(),
        };
        let stream = GameServiceClient::new(channel).export_game(request).await;
        let mut stream = stream.map_err(refused)?.into_inner();
        let mut out = open(self.output.as_deref())?;
        let mut is_sealed = false;
        loop {
            let next = tokio::time::timeout(silence, stream.message()).await;
            let next = next.map_err(|_| {
                Failure::Trouble(format!(
                    "{} was silent for {EXPORT_SILENCE_SECONDS_MAX} s",
                    self.server
                ))
            })?;
            let Some(message) = next.map_err(refused)? else {
                break;
            };
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
