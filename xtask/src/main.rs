//! The project's own checks and benchmarks: `cargo xtask tidy`, `cargo xtask bench [PREFIX]`,
//! `cargo xtask generate NAME.tmt`, `cargo xtask generate-run DIR`.

#![forbid(unsafe_code)]

mod bench;
mod generate;
mod generate_run;
mod tidy;

use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("bench") => bench::main(arguments.get(1).map_or("", String::as_str)),
        Some("generate") => generate::main(arguments.get(1..).unwrap_or_default()),
        Some("generate-run") => generate_run::main(arguments.get(1..).unwrap_or_default()),
        Some("tidy") => tidy::main(),
        _ => {
            eprintln!(
                "usage: cargo xtask tidy | bench [FIGURE|PREFIX] | generate NAME.tmt [RECORDS [SEED]] \
                 | generate-run DIR [OPTIONS]"
            );
            Ok(ExitCode::from(2))
        }
    }
}
