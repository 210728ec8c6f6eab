//! The part of the command line about the log.

use clap::{Args, ValueEnum};
use referee_telemetry::log::{self, LogError};

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
    pub(crate) log: String,
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

impl LogArguments {
    /// Starts logging; says what is wrong with the command line otherwise.
    pub(crate) fn start(&self) -> Result<(), String> {
        let format = match self.log_format {
            LogFormat::Text => log::LogFormat::Text,
            LogFormat::Json => log::LogFormat::Json,
        };
        log::start(&self.log, format).map_err(|error| match error {
            LogError::Filter(error) => format!("--log (REFEREE_LOG): {error}"),
            error => error.to_string(),
        })
    }
}
