//! The project's figures: measurements of tilemark compared with its peers, and inputs of any size
//! for trials.
//!
//! What it does: `bench [FIGURE|PREFIX]` measures and prints one line for each figure; `generate
//! NAME.tmt` and `generate-run DIR` make traces and runs; `truth DIR TILE...` lets a dialogue and
//! real servers run on the same slow disk. It is run by `cargo xtask`, which itself needs none of
//! the product's dependencies.
//!
//! What it refuses: a figure of a peer that was not measured in the same call.
#![forbid(unsafe_code)]

extern crate block_server as tilemark_block_server;

mod bench;
mod generate;
mod generate_run;
mod truth;

use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("bench") => bench::main(arguments.get(1).map_or("", String::as_str)),
        Some("generate") => generate::main(arguments.get(1..).unwrap_or_default()),
        Some("generate-run") => generate_run::main(arguments.get(1..).unwrap_or_default()),
        Some("truth") => truth::main(arguments.get(1..).unwrap_or_default()),
        // Process that a figure starts.
        Some("serve-memory") => {
            bench::serve(arguments.get(1..).unwrap_or_default())?;
            Ok(ExitCode::SUCCESS)
        }
        Some("serve-file") => {
            bench::serve_file(arguments.get(1..).unwrap_or_default())?;
            Ok(ExitCode::SUCCESS)
        }
        Some("watch-a-day") => {
            bench::keep_a_day(arguments.get(1..).unwrap_or_default())?;
            Ok(ExitCode::SUCCESS)
        }
        Some("serve-tier") => {
            bench::serve_tier(arguments.get(1..).unwrap_or_default())?;
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            eprintln!(
                "usage: cargo xtask bench [FIGURE|PREFIX] | generate NAME.tmt [RECORDS [SEED]] \
                 | generate-run DIR [OPTIONS] | truth DIR TILE..."
            );
            Ok(ExitCode::from(2))
        }
    }
}
