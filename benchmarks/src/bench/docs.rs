//! Counts the commands of the documentation that a test runs.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Figure;

/// Test that runs the commands. When all of them have worked, it prints the numbers of tested and
/// of not run commands.
const TEST: &str = "commands_documented::every_command_that_is_marked_works";

pub(crate) fn commands(name: &str) -> Result<Vec<Figure>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "-q", "--locked", "-p", "tilemark-cli", "--test", "behaviour", "--"]);
    let output = cargo.args(["--exact", TEST, "--nocapture"]).output().context("cargo test")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}{said}", String::from_utf8_lossy(&output.stdout));
    ["commands_tested", "commands_not_run"]
        .map(|figure| format!("{name}.{figure}"))
        .into_iter()
        .map(|figure| Ok(Figure::new(figure.clone(), count(&said, &figure)?, "count")))
        .collect()
}

/// Returns the value that the test prints after a name; a skipped test prints none.
fn count(said: &str, figure: &str) -> Result<f64> {
    let own = said.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(' '));
    let own = own.with_context(|| format!("the test was skipped: {}", said.trim()))?;
    own.parse().with_context(|| format!("{figure} {own}"))
}
