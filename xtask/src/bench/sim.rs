//! The simulation's figures: from a benchmark of the crate, and from the program itself.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Figure;

/// The bare event loop, see the benchmark's own words.
pub(crate) fn event_loop(_: &str) -> Result<Vec<Figure>> {
    let mut cargo = Command::new(env!("CARGO"));
    let output = cargo
        .args(["bench", "-q", "--locked", "-p", "tilemark-sim", "--bench", "hold"])
        .output()
        .context("cargo bench")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().filter_map(figure).collect()
}

/// A line of the form `figure <name> <value> <unit>`.
fn figure(line: &str) -> Option<Result<Figure>> {
    let [name, value, _] = line.strip_prefix("figure ")?.split(' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    let value = value.parse().with_context(|| line.to_owned());
    Some(value.map(|value| Figure::new(name, value, "1/s")))
}
