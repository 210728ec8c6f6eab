//! What comes with a program: completions for shells (`referee completions`) and manual pages
//! (`referee man`), both made from the command line as it is.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::exit::{Exit, Failure, Outcome};

/// The command line of `referee completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell that they are for.
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArguments {
    /// Writes the completions to standard output.
    pub(crate) fn run(self, mut command: clap::Command) -> Outcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "referee", &mut script);
        let mut out = io::stdout().lock();
        let written = out.write_all(&script).and_then(|()| out.flush());
        written.map(|()| Exit::Fine).map_err(Failure::Output)
    }
}

/// The command line of `referee man`.
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The folder that the pages go to, one for each command; it is made where it is missing.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl ManArguments {
    /// Writes a page for the program and one for each command, also for those below others.
    pub(crate) fn run(self, command: clap::Command) -> Outcome {
        let failed = |error: io::Error| {
            let folder = self.folder.display();
            Failure::Trouble(format!("{folder}: the pages cannot be written: {error}"))
        };
        fs::create_dir_all(&self.folder).map_err(failed)?;
        self.write_pages(&command, "referee").map_err(failed)?;
        Ok(Exit::Fine)
    }

    /// Writes the page of a command and those of the commands below it.
    fn write_pages(&self, command: &clap::Command, typed: &str) -> io::Result<()> {
        let globals: Vec<_> = command
            .get_arguments()
            .filter(|one| one.is_global_set())
            .collect();
        for page in command.get_subcommands() {
            // A page is about what is typed, and global options belong to each command.
            let typed = format!("{typed} {}", page.get_name());
            let page = page.clone().args(globals.iter().copied());
            self.write_pages(&page, &typed)?;
        }
        let name = typed.replace(' ', "-");
        let page = command.clone().display_name(name.clone()).bin_name(typed);
        write_page(&self.folder, &name, page)
    }
}

fn write_page(folder: &Path, name: &str, command: clap::Command) -> io::Result<()> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    fs::write(folder.join(format!("{name}.1")), page)
}
