//! Measures how long the first build takes.

use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use super::{Figure, pairs, process};

/// Builds the release binary and all its dependencies from nothing; only the sources of the
/// dependencies are present already.
pub(crate) fn clean(name: &str) -> Result<Vec<Figure>> {
    let target = pairs::scratch()?;
    process::run(Command::new(env!("CARGO")).args(["fetch", "--locked"]))?;
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--release", "--locked", "-p", "tilemark-cli", "--target-dir"]);
    let start = Instant::now();
    let (_, cost) = process::run(command.arg(&target))?;
    let seconds = start.elapsed().as_secs_f64();
    std::fs::remove_dir_all(&target)?;
    eprintln!("{name}: {:.0} s of CPU", cost.user_s + cost.system_s);
    Ok(vec![Figure::new(format!("{name}.clean_s"), seconds, "s")])
}
