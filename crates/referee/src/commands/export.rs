//! `referee export`: fetches the record of a game from a server and writes it as a record file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use referee_api::v1;
use referee_api::v1::export_game_response::Kind;
use referee_verify::record_file::write_part;

use crate::connection::{self, Server, ServerArguments};
use crate::exit::{Exit, Failure, Outcome};
use crate::limits::EXPORT_SILENCE_SECONDS_MAX;

/// The command line of `referee export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The resource name of the game, such as `games/board-1`.
    name: String,
    #[command(flatten)]
    server: ServerArguments,
    /// Where the record goes; it must not be there yet. Default: the standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ExportArguments {
    /// Writes the record.
    pub(crate) fn run(self) -> Outcome {
        let server = self.server.read()?;
        connection::run(self.export(&server))
    }

    async fn export(&self, server: &Server) -> Outcome {
        let refused = |status: tonic::Status| server.failure(&status);
        let mut games = server.games().await?;
        let request = v1::ExportGameRequest {
            name: self.name.clone(),
        };
        let stream = connection::in_time(games.export_game(request)).await;
        let mut stream = stream.map_err(refused)?.into_inner();
        let mut out = open(self.output.as_deref())?;
        let silence = Duration::from_secs(EXPORT_SILENCE_SECONDS_MAX);
        let mut is_sealed = false;
        loop {
            let next = tokio::time::timeout(silence, stream.message()).await;
            let next = next.map_err(|_| {
                Failure::Trouble(format!(
                    "{} was silent for {EXPORT_SILENCE_SECONDS_MAX} s",
                    server.text()
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
            let text = format!("{} ended the record without a seal", server.text());
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
