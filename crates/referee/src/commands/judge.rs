//! `referee judge`: re-judges games from files in Portable Game Notation, under any profile and on
//! all cores, and never stops at a bad game.

mod file;
mod games;
mod output;
mod profile;
mod source;
mod split;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;

use crate::exit::{Exit, Failure, Outcome, tell};
use crate::printable::{Escape, Printable};
use file::judge_file;
use games::Judge;
use output::{Output, Summary};

/// The command line of `referee judge`.
#[derive(Debug, Args)]
pub(crate) struct JudgeArguments {
    /// Files in Portable Game Notation, plain, gzip or Zstandard; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The rules under which the games are judged.
    #[arg(
        long,
        short,
        value_name = "NAME",
        default_value = "fide_standard",
        env = "REFEREE_PROFILE"
    )]
    profile: String,
    /// Writes a line of JSON for each game, and one for the summary.
    #[arg(long, short)]
    json: bool,
    /// Shows faults of the text, too, that leave no doubt about the game.
    #[arg(long, short)]
    warnings: bool,
    /// Leaves out the games that are clean.
    #[arg(long, short)]
    quiet: bool,
    /// How many threads judge. Range: 1 to 1024. Default: one for each core.
    #[arg(long, short, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl JudgeArguments {
    /// Judges all files.
    pub(crate) fn run(self) -> Outcome {
        let profile = profile::named(&self.profile).map_err(Failure::Usage)?;
        let threads = self.threads.map_or(0, usize::from);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool
            .map_err(|error| Failure::Trouble(format!("the threads cannot be started: {error}")))?;
        let judge = Judge { profile };
        let mut summary = Summary::default();
        let judged = self.judge_all(&judge, &pool, &mut summary);
        judged.map_err(Failure::Output)?;
        Ok(match summary {
            // What is in a file that cannot be read, nobody knows.
            Summary { failed_files, .. } if failed_files > 0 => Exit::Trouble,
            _ if summary.is_clean() => Exit::Fine,
            _ => Exit::Found,
        })
    }

    fn judge_all(
        &self,
        judge: &Judge,
        pool: &rayon::ThreadPool,
        summary: &mut Summary,
    ) -> io::Result<()> {
        let mut output = Output {
            out: Printable::new(BufWriter::new(io::stdout().lock()), Escape::of(self.json)),
            as_json: self.json,
            shows_warnings: self.warnings,
            is_quiet: self.quiet,
            summary,
            first_stray: None,
        };
        for path in &self.files {
            output.first_stray = None;
            let before = output.summary.games;
            let failure = judge_file(path, judge, pool, &mut output)?;
            let has_games = output.summary.games > before;
            let failure = failure.map(|error| error.to_string());
            let no_game = || match &output.first_stray {
                None => "there is no game in it".to_owned(),
                Some(fault) => format!("there is no game in it: {fault}"),
            };
            if let Some(why) = failure.or_else(|| (!has_games).then(no_game)) {
                output.summary.failed_files += 1;
                output.out.flush()?;
                tell(format_args!("error: {}: {why}", path.display()));
            }
        }
        let Output {
            mut out, summary, ..
        } = output;
        summary.print(&mut out, self.json)?;
        out.flush()
    }
}
