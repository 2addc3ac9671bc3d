//! The `tilemark` command: options in, text or JSON out, exit codes. It contains no logic.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod deadline;
mod door;
mod exit;
mod exports;
mod failure;
mod gathering;
mod hints;
mod live;
mod message;
mod notify;
mod open_files;
mod output;
mod page;
mod plan_source;
mod push;
mod report;
mod settings;
mod signals;
mod stored_runs;
mod target;
mod text;
mod this_program;
mod time_left;
mod user_arrays;

use std::process::ExitCode;

use crate::exit::Exit;
use crate::failure::Failure;

fn main() -> ExitCode {
    output::fit_to_terminal();
    let result = match settings::parse() {
        Ok(Ok(cli)) => commands::dispatch(&cli),
        // Requested text, such as --help, belongs on stdout.
        Ok(Err(error)) if !error.use_stderr() => {
            output::print(&error.render().to_string()).map(|()| Exit::Success)
        }
        Ok(Err(error)) => Err(Failure::from_command_line(&error)),
        Err(failure) => Err(failure),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print();
            failure.exit.into()
        }
    }
}
