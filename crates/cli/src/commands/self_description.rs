//! Completions and the manual page, made from the option definitions.

use clap::CommandFactory;

use crate::args::Cli;
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

/// Prints the manual page: the command's own, then one per verb.
pub fn manual() -> Result<Exit, Failure> {
    let mut page = Vec::new();
    let render = |command: clap::Command, page: &mut Vec<u8>| {
        clap_mangen::Man::new(command)
            .render(page)
            .map_err(|error| Failure::new(Exit::Failure, format!("making the manual: {error}")))
    };
    let mut command = Cli::command();
    command.build();
    render(command.clone(), &mut page)?;
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let name = format!("tilemark-{}", verb.get_name());
        render(verb.clone().name(name.clone()).bin_name(name), &mut page)?;
    }
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Success)
}
