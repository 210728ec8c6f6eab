//! What `--print-config` shows: each setting of the service, its value, and where it comes from.

use std::io::{self, Write};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};

/// The settings whose value is the name of a file with a secret. Nothing shows more of such a file.
const SECRETS: [&str; 4] = ["operator_token_file", "seat_keys", "signing_key", "tls_key"];

/// What only says how the command line is to be taken.
const NO_SETTINGS: [&str; 4] = ["help", "version", "print_config", "check_config"];

/// Writes every setting of a command.
pub(super) fn write(
    mut out: impl Write,
    command: &clap::Command,
    matches: &ArgMatches,
) -> io::Result<()> {
    let settings = command.get_arguments();
    let settings = settings.filter(|one| !NO_SETTINGS.contains(&one.get_id().as_str()));
    let rows: Vec<[String; 3]> = settings.map(|one| row(one, matches)).collect();
    let width = |column: usize| {
        let lengths = rows.iter().map(|row| row[column].chars().count());
        lengths.max().unwrap_or_default()
    };
    let (names, values) = (width(0), width(1));
    for [name, value, source] in &rows {
        writeln!(out, "{name:names$}  {value:values$}  {source}")?;
    }
    out.flush()
}

/// Returns the name of a setting, its value, and where that comes from.
fn row(argument: &Arg, matches: &ArgMatches) -> [String; 3] {
    let id = argument.get_id().as_str();
    let name = argument.get_long().unwrap_or(id);
    let values = matches.get_raw(id).into_iter().flatten();
    let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
    let value = match values.join(",") {
        none if values.is_empty() => match argument.get_action().takes_values() {
            true => "(none)".to_owned(),
            false => format!("{}{none}", matches.get_flag(id)),
        },
        path if SECRETS.contains(&id) => format!("<file {path}>"),
        value => value,
    };
    let variable = argument.get_env().map(|name| name.to_string_lossy());
    let source = match matches.value_source(id) {
        Some(ValueSource::CommandLine) => format!("--{name}"),
        Some(ValueSource::EnvVariable) => variable.unwrap_or_default().into_owned(),
        _ => "default".to_owned(),
    };
    [format!("--{name}"), value, source]
}
