//! Reads the table of profiles, `profiles.tsv`, in which every value stands with its source.

use std::sync::LazyLock;

use super::parameters::{ParameterError, Parameters};

/// The names of the profiles that are known.
pub const PROFILE_NAMES: &[&str] = &[
    "fide_standard",
    "fide_rapid",
    "fide_blitz",
    "fide_online",
    "lichess",
    "chesscom",
    "uscf",
    "ics",
    "house_handbook",
    "house_perpetual",
    "house_software",
    "house_strikes",
    "house_captures",
];

/// The table, with a line for every parameter of every profile.
const TEXT: &str = include_str!("profiles.tsv");

/// The profile whose values the sign [`AS_IN_BASE`] stands for.
const BASE: &str = "fide_standard";

/// What stands for the value of [`BASE`].
const AS_IN_BASE: &str = "=";

/// What stands behind a value that no event can change.
const FIXED: char = '!';

/// How the source of a value begins that no source states.
const CHOSEN: &str = "chosen: ";

/// Where the value of a parameter of a profile comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The name of the parameter.
    pub parameter: &'static str,
    /// The value that the profile gives it, as [`Parameters::set`] reads it.
    pub value: &'static str,
    /// The document and the place in it; for a value that was chosen, the reason.
    pub source: &'static str,
    /// Whether the value was chosen because the documents that were read do not state it.
    pub chosen: bool,
}

/// A profile as the table has it.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) name: &'static str,
    pub(super) edition: &'static str,
    pub(super) parameters: Parameters,
    pub(super) origins: Vec<Origin>,
    /// What else is different under a value of `rapid_article`.
    conditional: Vec<Conditional>,
    /// The parameters whose value no event can change, each with that value.
    fixed: Vec<(&'static str, &'static str)>,
}

/// A line of the table that holds only under one value of `rapid_article`.
#[derive(Debug)]
struct Conditional {
    rapid_article: &'static str,
    parameter: &'static str,
    value: &'static str,
}

impl Section {
    /// Returns the parameters, with what follows from `rapid_article` where that has another value
    /// than the profile gives it.
    pub(super) fn parameters_under(&self, rapid_article: &str) -> Parameters {
        let mut parameters = self.parameters;
        let lines = self.conditional.iter();
        for line in lines.filter(|line| line.rapid_article == rapid_article) {
            let set = parameters.set(line.parameter, line.value);
            debug_assert!(set.is_ok(), "the value was read with the table");
        }
        parameters
    }

    /// Checks that a parameter still has its value where no event can change it.
    pub(super) fn check_fixed(
        &self,
        name: &str,
        parameters: &Parameters,
    ) -> Result<(), ParameterError> {
        let mut fixed = self.fixed.iter();
        match fixed.find(|(parameter, _)| *parameter == name) {
            Some(&(parameter, value)) if parameters.get(name).as_deref() != Some(value) => {
                Err(ParameterError::Fixed { parameter, value })
            }
            _ => Ok(()),
        }
    }
}

/// Returns the section of a profile; `None` where no profile has the name.
pub(super) fn section(name: &str) -> Option<&'static Section> {
    static TABLE: LazyLock<Vec<Section>> =
        LazyLock::new(|| read(TEXT).expect("a test reads the table that was compiled in"));
    TABLE.iter().find(|section| section.name == name)
}

/// A line of the table.
#[derive(Clone, Copy)]
struct Line {
    profile: &'static str,
    /// The value of `rapid_article` under which the line holds; empty for every one.
    rapid_article: &'static str,
    parameter: &'static str,
    value: &'static str,
    is_fixed: bool,
    source: &'static str,
}

/// Reads a table; the error says what is wrong with it.
fn read(text: &'static str) -> Result<Vec<Section>, String> {
    let mut lines = Vec::new();
    for (number, text) in (1..).zip(text.lines()) {
        if !text.is_empty() && !text.starts_with('#') {
            lines.push(read_line(text).map_err(|error| format!("line {number}: {error}"))?);
        }
    }
    for line in &lines {
        if !PROFILE_NAMES.contains(&line.profile) {
            return Err(format!("{} is no profile", line.profile));
        }
    }
    PROFILE_NAMES
        .iter()
        .map(|name| read_section(name, &lines).map_err(|error| format!("{name}: {error}")))
        .collect()
}

fn read_line(text: &'static str) -> Result<Line, String> {
    let fields: Vec<&'static str> = text.split('\t').collect();
    let &[profile, parameter, value, source] = fields.as_slice() else {
        return Err(format!("{} fields instead of 4", fields.len()));
    };
    if parameter != "edition" && !Parameters::NAMES.contains(&parameter) {
        return Err(format!("{parameter} is no parameter"));
    }
    if value.is_empty()
        || source
            .trim_start_matches(CHOSEN.trim_end())
            .trim()
            .is_empty()
    {
        return Err(format!("{parameter} has no value or no source"));
    }
    let (profile, rapid_article) = profile.split_once('@').unwrap_or((profile, ""));
    let fixed = value.strip_suffix(FIXED);
    Ok(Line {
        profile,
        rapid_article,
        parameter,
        value: fixed.unwrap_or(value),
        is_fixed: fixed.is_some(),
        source,
    })
}

fn read_section(name: &'static str, lines: &[Line]) -> Result<Section, String> {
    let edition = value_of(name, "edition", lines)?;
    let mut origins = Vec::with_capacity(Parameters::NAMES.len());
    for &parameter in Parameters::NAMES {
        let line = find(name, parameter, lines)?;
        let chosen = line.source.strip_prefix(CHOSEN);
        origins.push(Origin {
            parameter,
            value: value_of(name, parameter, lines)?,
            source: chosen.unwrap_or(line.source),
            chosen: chosen.is_some(),
        });
    }
    // The origins are in the order of the names, each there once.
    let value = |parameter| {
        let origin = origins.iter().find(|origin| origin.parameter == parameter);
        origin.map_or("", |origin| origin.value)
    };
    let parameters = Parameters::read_all(value).map_err(|error| error.to_string())?;
    let mut conditional = Vec::new();
    for line in lines.iter().filter(|line| line.profile == name) {
        if !line.rapid_article.is_empty() {
            let mut copy = parameters;
            copy.set("rapid_article", line.rapid_article)
                .and_then(|()| copy.set(line.parameter, line.value))
                .map_err(|error| error.to_string())?;
            conditional.push(Conditional {
                rapid_article: line.rapid_article,
                parameter: line.parameter,
                value: line.value,
            });
        }
    }
    let own = lines.iter().filter(|line| line.profile == name);
    let fixed = own.filter(|line| line.is_fixed);
    Ok(Section {
        name,
        edition,
        parameters,
        origins,
        conditional,
        fixed: fixed.map(|line| (line.parameter, line.value)).collect(),
    })
}

fn value_of(profile: &str, parameter: &str, lines: &[Line]) -> Result<&'static str, String> {
    match find(profile, parameter, lines)?.value {
        AS_IN_BASE if profile != BASE => Ok(find(BASE, parameter, lines)?.value),
        value => Ok(value),
    }
}

fn find(profile: &str, parameter: &str, lines: &[Line]) -> Result<Line, String> {
    let mut found = lines.iter().filter(|line| {
        line.profile == profile && line.rapid_article.is_empty() && line.parameter == parameter
    });
    match (found.next(), found.next()) {
        (Some(line), None) => Ok(*line),
        (None, _) => Err(format!("{parameter} is missing")),
        (Some(_), Some(_)) => Err(format!("{parameter} stands twice")),
    }
}

#[cfg(test)]
mod tests {
    use super::{TEXT, read};

    /// Reads the table with one line put in the place of another, or taken out.
    fn read_with(line: &str, instead: &str) -> String {
        assert!(TEXT.contains(line), "the table has no line {line:?}");
        let text = TEXT.replacen(line, instead, 1);
        // The table outlives the program, and so does each broken copy of this test.
        match read(Box::leak(text.into_boxed_str())) {
            Ok(_) => String::new(),
            Err(error) => error,
        }
    }

    #[test]
    fn faults_of_the_table_are_found() {
        let touch = "touch_move\ttrue\tL23 4.3";
        let cell = "\nlichess\tabort_plies\t2\t";
        for (line, instead, part) in [
            (
                cell,
                "\n# lichess\tabort_plies\t2\t",
                "lichess: abort_plies is missing",
            ),
            (cell, "\nlichess\tabort\t2\t", "lichess: abort stands twice"),
            (cell, "\nlichess\tcastling\t2\t", "castling is no parameter"),
            (
                cell,
                "\nlichess\tabort_plies\t101\t",
                "abort_plies must be a whole number",
            ),
            (
                cell,
                "\nlichess\tabort_plies\t\t",
                "abort_plies has no value or no source",
            ),
            (cell, "\nlichess\tabort_plies\t2", "fields instead of 4"),
            (cell, "\nlicess\tabort_plies\t2\t", "licess is no profile"),
            (
                touch,
                "touch_move\ttrue\t",
                "touch_move has no value or no source",
            ),
            (
                touch,
                "touch_move\ttrue\tchosen: ",
                "touch_move has no value or no source",
            ),
            ("\nlichess\tedition\t", "\n#", "lichess: edition is missing"),
            (
                "\nfide_blitz@A.4\t",
                "\nfide_blitz@A.6\t",
                "fide_blitz: rapid_article must be",
            ),
        ] {
            let error = read_with(line, instead);
            assert!(error.contains(part), "{instead:?}: {error}");
        }
    }
}
