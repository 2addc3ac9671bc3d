//! The `tilemark` command: options in, text or JSON out, exit codes. No logic of its own.

mod args;
mod commands;
mod exit;
mod failure;
mod live;
mod output;
mod plan_source;
mod signals;
mod text;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    match commands::dispatch(&cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print();
            failure.exit.into()
        }
    }
}
