//! `referee perft --export JOB --server URL`: writes the record of a job.

use std::io::Write as _;

use referee_api::v1;
use referee_api::v1::export_perft_job_response::Kind;
use referee_verify::perft_file::write_part;

use super::arguments::PerftArguments;
use crate::commands::export::{next, open};
use crate::connection;
use crate::exit::{Exit, Failure, Outcome};

/// Writes the record of a job on a server.
pub(super) fn run(arguments: &PerftArguments, url: &str, job: &str) -> Outcome {
    let server = arguments.read_server(url)?;
    // What `--detach` prints is taken, and so is what stands behind it.
    let name = match job.contains('/') {
        true => job.to_owned(),
        false => format!("perftJobs/{job}"),
    };
    connection::run(async {
        let mut client = server.perft().await?;
        let request = v1::ExportPerftJobRequest { name };
        let stream = connection::in_time(client.export_perft_job(request)).await;
        let stream = stream.map_err(|status| server.failure(&status))?;
        let mut stream = stream.into_inner();
        let mut out = open(arguments.output.as_deref())?;
        let mut is_sealed = false;
        while let Some(message) = next(&server, &mut stream).await? {
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
    })
}
