//! What an operator sees of a service: its metrics, probes, traces, and what it logs.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use referee_telemetry::limits::LOG_FILTER_BYTES_MAX;
use referee_telemetry::{AdminListener, Telemetry, TraceOptions, log};
use tokio_util::sync::CancellationToken;

use super::settings::read_listen;

/// The part of the command line about that.
#[derive(Debug, Args)]
pub(super) struct ObservedArguments {
    /// The address of the admin listener, with /metrics, /live, /ready, /scale and /log-level. It
    /// has no TLS and no credentials: keep it on loopback or within the network of a pod. Default:
    /// there is none.
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "REFEREE_ADMIN_LISTEN",
        value_parser = read_listen
    )]
    admin_listen: Option<String>,
    /// A file with what is logged, in the place of --log; it is read at the start and on SIGHUP.
    #[arg(long, value_name = "FILE", env = "REFEREE_LOG_FILTER_FILE")]
    log_filter_file: Option<PathBuf>,
    /// The collector that calls are traced to, over OTLP and gRPC without TLS, such as
    /// http://127.0.0.1:4317. Default: calls are not traced.
    #[arg(
        long,
        value_name = "URL",
        env = "REFEREE_OTLP_ENDPOINT",
        value_parser = read_collector
    )]
    otlp_endpoint: Option<String>,
    /// The part of the calls that are traced whose caller does not say, from 0 to 1.
    #[arg(
        long,
        value_name = "PART",
        env = "REFEREE_OTLP_RATIO",
        default_value_t = 1.0,
        value_parser = read_part
    )]
    otlp_ratio: f64,
}

impl ObservedArguments {
    /// Begins to measure and to trace.
    pub(super) fn begin(&self) -> Result<Telemetry, String> {
        let mut telemetry = Telemetry::default();
        let (version, revision) = (referee_record::VERSION, referee_record::REVISION);
        telemetry.metrics().name_build(version, revision);
        if let Some(endpoint) = &self.otlp_endpoint {
            let options = TraceOptions {
                endpoint: endpoint.clone(),
                ratio: self.otlp_ratio,
                version: version.to_owned(),
            };
            telemetry
                .trace(&options)
                .map_err(|error| error.to_string())?;
            tracing::info!(endpoint, "calls are traced");
        }
        Ok(telemetry)
    }

    /// Opens the admin listener, where there is to be one, and serves on it until `stop`.
    pub(super) async fn serve(
        &self,
        telemetry: &Telemetry,
        stop: CancellationToken,
    ) -> Result<(), String> {
        let Some(listen) = &self.admin_listen else {
            return Ok(());
        };
        let admin = AdminListener::bind(listen, telemetry.clone()).await;
        let admin = admin.map_err(|error| format!("cannot listen on {listen}: {error}"))?;
        let address = admin.address().map_err(|error| error.to_string())?;
        announce(address);
        tracing::info!(%address, "the admin listener is open");
        tokio::spawn(admin.run(stop));
        Ok(())
    }

    /// Reads what is logged from the file, where there is one.
    pub(super) fn read_filter(&self) -> Result<(), String> {
        match &self.log_filter_file {
            Some(path) => set_filter(path),
            None => Ok(()),
        }
    }

    /// Reads it again: from the file, or else as the command line has it.
    pub(super) fn reload_filter(&self, log: &str) {
        let set = match &self.log_filter_file {
            Some(path) => set_filter(path),
            None => log::set_filter(log).map_err(|error| error.to_string()),
        };
        match set {
            Ok(()) => {
                let filter = log::filter();
                tracing::info!(filter, "what is logged was read again");
            }
            Err(error) => tracing::error!(error, "what is logged stays as it was"),
        }
    }
}

/// Says on standard output where the admin listener is, for scripts that start the service.
fn announce(address: SocketAddr) {
    let mut out = std::io::stdout();
    // Nobody may be listening to standard output; that is no reason to stop.
    let said = writeln!(out, "the admin listener is on {address}");
    let _ = said.and_then(|()| out.flush());
}

fn set_filter(path: &Path) -> Result<(), String> {
    let name = path.display();
    let fault = |text: String| format!("--log-filter-file (REFEREE_LOG_FILTER_FILE): {text}");
    let file = File::open(path).map_err(|error| fault(format!("{name}: {error}")))?;
    let mut text = String::new();
    file.take(LOG_FILTER_BYTES_MAX as u64 + 1)
        .read_to_string(&mut text)
        .map_err(|error| fault(format!("{name}: {error}")))?;
    log::set_filter(text.trim()).map_err(|error| fault(format!("{name}: {error}")))
}

/// Takes the address of a collector.
fn read_collector(text: &str) -> Result<String, String> {
    let address = text.strip_prefix("http://");
    let address = address.map(|rest| rest.strip_suffix('/').unwrap_or(rest));
    match address {
        Some(address) if read_listen(address).is_ok() => Ok(text.to_owned()),
        _ => Err("expected is http://HOST:PORT, such as http://127.0.0.1:4317".into()),
    }
}

/// Takes a part of the whole.
fn read_part(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(part) if (0.0..=1.0).contains(&part) => Ok(part),
        _ => Err("expected is a number from 0 to 1, such as 0.05".into()),
    }
}
