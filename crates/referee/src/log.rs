//! What is logged, and how: text for people or JSON for machines, on standard error.

use std::fmt;

use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

/// Behind the options that a command has of its own.
const LAST: usize = 900;

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The part of the command line about logging.
#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// What is logged, such as `info` or `warn,referee_server=debug`.
    #[arg(
        long,
        env = "REFEREE_LOG",
        default_value = "info",
        global = true,
        display_order = LAST
    )]
    log: String,
    /// How log lines are written.
    #[arg(
        long,
        env = "REFEREE_LOG_FORMAT",
        value_enum,
        default_value = "text",
        global = true,
        display_order = LAST
    )]
    log_format: LogFormat,
}

/// The filter cannot be read.
#[derive(Debug)]
pub(crate) struct LogError {
    filter: String,
    reason: String,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "--log (REFEREE_LOG) is '{}', which is no filter: {}; use a level such as info, or \
             target=level pairs with commas between them",
            self.filter, self.reason
        )
    }
}

impl LogArguments {
    /// Starts logging.
    pub(crate) fn start(&self) -> Result<(), LogError> {
        let filter = EnvFilter::try_new(&self.log).map_err(|error| LogError {
            filter: self.log.clone(),
            reason: error.to_string(),
        })?;
        let builder = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            // A log that nobody reads stops nothing.
            .log_internal_errors(false);
        match self.log_format {
            LogFormat::Text => builder.with_ansi(false).init(),
            LogFormat::Json => builder.json().init(),
        }
        Ok(())
    }
}
