//! Completions and the manual page, generated from the option definitions.

use clap::CommandFactory;

use crate::args::{Cli, ManArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Prints completions for a shell.
pub fn completions(shell: clap_complete::Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tilemark", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

/// Prints the manual pages, or writes each to a file. The program's page comes first, then one page
/// per subcommand.
pub fn manual(args: &ManArgs) -> Result<Exit, Failure> {
    let pages = pages().map_err(|error| failure("making the manual", &error))?;
    match &args.to {
        None => {
            let all: Vec<u8> = pages.into_iter().flat_map(|(_, page)| page).collect();
            output::print(&String::from_utf8_lossy(&all))?;
        }
        Some(directory) => {
            for (name, page) in pages {
                let path = directory.join(format!("{name}.1"));
                let what = format!("writing {}", path.display());
                std::fs::write(&path, page).map_err(|error| failure(&what, &error))?;
            }
        }
    }
    Ok(Exit::Success)
}

/// Returns the pages with their names: `tilemark`, then `tilemark-run` and so on.
fn pages() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut command = Cli::command();
    command.build();
    let mut pages = vec![("tilemark".to_owned(), page(command.clone())?)];
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let name = format!("tilemark-{}", verb.get_name());
        pages.push((name.clone(), page(verb.clone().name(name.clone()).bin_name(name))?));
    }
    Ok(pages)
}

fn page(command: clap::Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(page)
}

fn failure(doing: &str, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Failure, format!("{doing}: {error}"))
}
