//! Measures the simulation: with a benchmark of the crate, and with the program itself.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Figure, process, tilemark};

/// Heading of the study's table of events.
const EVENTS: &str = "Events";

/// Runs the whole study of FAST Cache: its time on this host, and the number of events that one
/// core handles in a second, all other work (warming tiers, percentiles) included.
pub(crate) fn fast_cache(name: &str) -> Result<Vec<Figure>> {
    let mut command = Command::new(tilemark::binary()?);
    command.args(["study", "run", "fast-cache", "--format", "json"]);
    let start = Instant::now();
    let (text, cost) = process::run(&mut command)?;
    let study_s = start.elapsed().as_secs_f64();
    let json: Value = serde_json::from_str(&text).context("the study's JSON")?;
    let events = events(&json)?;
    let core_s = cost.user_s + cost.system_s;
    eprintln!(
        "{name}: {events:.0} events, {core_s:.1} s of CPU, {:.0} MB",
        cost.memory_bytes / 1e6
    );
    Ok(vec![
        Figure::new(format!("{name}.events_per_s"), events / core_s, "1/s"),
        Figure::new(format!("{name}.study_s"), study_s, "s"),
    ])
}

/// Returns the number of events of all repeats of all steps.
fn events(study: &Value) -> Result<f64> {
    let tables = study["tables"].as_array().context("tables")?;
    let table = tables.iter().find(|table| table["title"] == EVENTS);
    let rows = table.context("a table of events")?["rows"].as_array().context("rows")?;
    let cells = rows.iter().filter_map(|row| row["cells"].as_array()).flatten();
    let mean: f64 = cells.filter_map(Value::as_f64).sum();
    Ok(mean * study["repeats"].as_f64().context("repeats")?)
}

/// Simulates 40 `datacenter` tiles (320 virtual machines, 40,000 I/Os a second) on eight hosts that
/// are their own storage. The figure is the number of seconds that pass in the model for each
/// second of CPU time on one thread, from reading definitions to percentiles.
pub(crate) fn vsan_40(name: &str) -> Result<Vec<Figure>> {
    let out = super::pairs::scratch()?;
    let mut command = Command::new(tilemark::binary()?);
    command.args(["simulate", "--array", "vsan-6-hybrid", "--tile", "datacenter"]);
    command.args(["--tiles", "40", "--repeats", "1", "--footprint", "0.05"]);
    command.args(["--warm-up-min", "10s", "--warm-up-max", "10s", "--duration", "5m"]);
    command.args(["--format", "json", "--out"]).arg(&out);
    // Whether a limit is kept, broken or undecided then is not the question.
    let (text, cost) = process::ended(&mut command, &[0, 4, 5])?;
    std::fs::remove_dir_all(&out)?;
    let json: Value = serde_json::from_str(&text).context("the run's JSON")?;
    let step = &json["steps"][0];
    let measured = step["measured_ns"].as_f64().context("measured_ns")? / 1e9;
    let core_s = cost.user_s + cost.system_s;
    eprintln!("{name}: {measured:.0} s measured, {core_s:.1} s of CPU");
    Ok(vec![Figure::new(format!("{name}.realtime_factor"), measured / core_s, "1")])
}
