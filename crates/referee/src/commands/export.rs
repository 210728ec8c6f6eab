//! `referee export`: fetches the record of a game from a server and writes it as a record file, or
//! games as Portable Game Notation.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use referee_api::v1;
use referee_api::v1::export_game_response::Kind;
use referee_api::v1::export_pgn_request::Games as Chosen;
use referee_verify::record_file::write_part;
use tonic::Streaming;

use super::read_label;
use crate::connection::{self, Server, ServerArguments};
use crate::exit::{Exit, Failure, Outcome};
use crate::limits::EXPORT_SILENCE_SECONDS_MAX;

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
        long,
        value_name = "KEY=VALUE",
        value_parser = read_label,
        requires = "pgn",
        conflicts_with = "name"
    )]
    label: Vec<(String, String)>,
    #[command(flatten)]
    server: ServerArguments,
    /// Where it goes; the file must not be there yet. Default: the standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ExportArguments {
    /// Writes the record, or the games.
    pub(crate) fn run(self) -> Outcome {
        let server = self.server.read()?;
        connection::run(async {
            match &self.name {
                Some(name) if !self.pgn => self.export_record(&server, name.clone()).await,
                _ => self.export_pgn(&server).await,
            }
        })
    }

    async fn export_record(&self, server: &Server, name: String) -> Outcome {
        let mut games = server.games().await?;
        let request = v1::ExportGameRequest { name };
        let stream = connection::in_time(games.export_game(request)).await;
        let stream = stream.map_err(|status| server.failure(&status))?;
        let mut stream = stream.into_inner();
        let mut out = open(self.output.as_deref())?;
        let mut is_sealed = false;
        while let Some(message) = next(server, &mut stream).await? {
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

    async fn export_pgn(&self, server: &Server) -> Outcome {
        let chosen = match self.name.clone() {
            Some(name) => Chosen::Name(name),
            None => Chosen::Filter(v1::GameFilter {
                labels: self.label.iter().cloned().collect(),
                ..v1::GameFilter::default()
            }),
        };
        let mut games = server.games().await?;
        let request = v1::ExportPgnRequest {
            games: Some(chosen),
        };
        let stream = connection::in_time(games.export_pgn(request)).await;
        let stream = stream.map_err(|status| server.failure(&status))?;
        let mut stream = stream.into_inner();
        let mut out = open(self.output.as_deref())?;
        while let Some(piece) = next(server, &mut stream).await? {
            let written = out.write_all(piece.pgn.as_bytes());
            written.map_err(Failure::Output)?;
        }
        out.flush().map_err(Failure::Output)?;
        Ok(Exit::Fine)
    }
}

/// Waits for the next message of a stream, for as long as the server may be silent.
pub(super) async fn next<T>(
    server: &Server,
    stream: &mut Streaming<T>,
) -> Result<Option<T>, Failure> {
    let silence = Duration::from_secs(EXPORT_SILENCE_SECONDS_MAX);
    let next = tokio::time::timeout(silence, stream.message()).await;
    let next = next.map_err(|_| {
        Failure::Trouble(format!(
            "{} was silent for {EXPORT_SILENCE_SECONDS_MAX} s",
            server.text()
        ))
    })?;
    next.map_err(|status| server.failure(&status))
}

pub(super) fn open(output: Option<&Path>) -> Result<Box<dyn Write>, Failure> {
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
