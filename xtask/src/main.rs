//! Commands of the project: `cargo xtask tidy` and `words` here, `bench`, `generate`,
//! `generate-run` and `truth` in `benchmarks`, which is built for them.

#![forbid(unsafe_code)]

mod tidy;
mod words;

use std::process::{Command, ExitCode};

use anyhow::Context;

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("bench" | "generate" | "generate-run" | "truth") => figures(&arguments),
        Some("tidy") => tidy::main(),
        Some("words") => words::main(&arguments[1..]),
        _ => {
            eprintln!(
                "usage: cargo xtask tidy | words | bench | generate | generate-run | truth \
                 [ARGUMENTS]"
            );
            Ok(ExitCode::from(2))
        }
    }
}

fn figures(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--release", "--locked", "--package", "benchmarks", "--"]);
    let status = command.args(arguments).status().context("running cargo")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
