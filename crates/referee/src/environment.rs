//! Variables of the environment that begin like ours and are none of them: mostly a name that was
//! typed wrong, whose setting would silently be the default.

use std::collections::BTreeSet;

use crate::names::nearest;

/// What all our variables begin with.
const PREFIX: &str = "REFEREE_";

/// Variables that are of use where this program is built.
const OF_BUILDS: [&str; 1] = ["REFEREE_COMMIT"];

/// A variable that is none of ours.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stranger {
    pub(crate) name: String,
    /// The variable that may have been meant.
    pub(crate) meant: Option<String>,
}

/// Returns the variables that a command line knows, those of all its commands.
pub(crate) fn known(command: &clap::Command) -> BTreeSet<String> {
    let own = command.get_arguments().filter_map(|one| one.get_env());
    let mut known: BTreeSet<String> = own
        .filter_map(|name| name.to_str())
        .map(str::to_owned)
        .collect();
    for command in command.get_subcommands() {
        known.append(&mut self::known(command));
    }
    known
}

/// Returns those of some variables that are none of ours, each with what may have been meant.
pub(crate) fn strangers(
    names: impl IntoIterator<Item = String>,
    known: &BTreeSet<String>,
) -> Vec<Stranger> {
    let is_strange = |name: &String| {
        name.starts_with(PREFIX)
            && !known.contains(name)
            && !OF_BUILDS.contains(&name.as_str())
            && !is_of_kubernetes(name)
    };
    let names = names.into_iter().filter(is_strange);
    names
        .map(|name| Stranger {
            meant: nearest(&name, known.iter().map(String::as_str)).map(str::to_owned),
            name,
        })
        .collect()
}

/// Whether a variable is one of those by which Kubernetes tells each process of a service named
/// `referee`, or with a name that begins so: `REFEREE_SERVICE_HOST`, `REFEREE_PORT_50051_TCP_ADDR`.
fn is_of_kubernetes(name: &str) -> bool {
    let has_part = |part: &str| name.ends_with(part) || name.contains(&format!("{part}_"));
    ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT"]
        .into_iter()
        .any(has_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_variable_is_found_and_others_are_left_alone() {
        let known = ["REFEREE_LISTEN", "REFEREE_STORE"].map(str::to_owned);
        let names = [
            "REFEREE_LISTN",
            "REFEREE_LISTEN",
            "REFEREE_SOMETHING_ELSE",
            "REFEREE_COMMIT",
            "REFEREE_SERVICE_HOST",
            "REFEREE_SERVICE_PORT",
            "REFEREE_SERVICE_PORT_GRPC",
            "REFEREE_WORKERS_SERVICE_HOST",
            "REFEREE_PORT",
            "REFEREE_PORT_50051_TCP",
            "REFEREE_PORT_50051_TCP_ADDR",
            "REFEREES",
            "PATH",
        ];
        let found = strangers(names.map(str::to_owned), &BTreeSet::from(known));
        let expected = [
            ("REFEREE_LISTN", Some("REFEREE_LISTEN")),
            ("REFEREE_SOMETHING_ELSE", None),
        ];
        let expected = expected.map(|(name, meant)| Stranger {
            name: name.to_owned(),
            meant: meant.map(str::to_owned),
        });
        assert_eq!(found, expected);
    }
}
