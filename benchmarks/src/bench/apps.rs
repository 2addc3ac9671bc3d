//! Measures the real servers of a tile: how much processor time they and their users take, and how
//! long they take to set up.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Figure, pairs, tilemark};

/// Options of the runs. Steps are short, because the figures are about processors, whose load is
/// steady at once.
const OPTIONS: [&str; 8] =
    ["--tile", "datacenter-real", "--quick", "--duration", "20s", "--allow-root-fs", "--seed", "1"];

/// `apps.driver_cpu_share`: processor time of the generator divided by that of the servers, with
/// the largest number of tiles that passed. `apps.tiles_per_core`: this number of tiles divided by
/// the number of cores. `apps.prepare_s_per_tile`: time in steps outside of warm-up and measured
/// time, divided by the largest number of tiles that were set up.
pub(super) fn real_servers(name: &str) -> Result<Vec<Figure>> {
    let out = pairs::scratch()?;
    let store = out.join("datastore");
    std::fs::create_dir(&store)?;
    let cores = std::thread::available_parallelism()?.get();
    // The goal is 2.5 tiles a core. Beyond the edge each count is tried three times.
    let (tiles, target) = (format!("{cores}..{}", cores * 3), store.display().to_string());
    let options: Vec<&str> = OPTIONS.into_iter().chain(["--tiles", &tiles, &target]).collect();
    // Where the processors are the limit, a limit that breaks is inconclusive.
    let (json, _) = tilemark::ended_json(&options, &out.join("runs"), &[0, 4, 5])?;
    let steps = json["steps"].as_array().context("steps")?;
    for step in steps {
        eprintln!("{name}: {} tiles {}: {}", step["tiles"], step["verdict"], step["reason"]);
    }
    let held = steps.iter().filter(|step| step["verdict"] == "passed");
    let held = held.max_by_key(|step| step["tiles"].as_u64()).context("no step passed")?;
    let tiles = held["tiles"].as_f64().context("tiles")?;
    let cores = cores as f64;
    // This gauge of a step is a sum of seconds, and the other a mean share.
    let seconds = held["measured_ns"].as_f64().context("measured time")? / 1e9;
    let servers = gauge(held, "servers.cpu")? / seconds;
    let driver = gauge(held, "cpu.own")? * cores;
    eprintln!(
        "{name}: at {tiles} tiles {servers:.2} s/s of servers, {driver:.2} s/s of the generator"
    );
    let made = steps.iter().filter_map(|step| step["tiles"].as_f64()).fold(0.0, f64::max);
    let making = making(&out.join("runs"), steps)?;
    std::fs::remove_dir_all(&out)?;
    Ok(vec![
        Figure::new(format!("{name}.driver_cpu_share"), driver / servers, "ratio"),
        Figure::new(format!("{name}.tiles_per_core"), tiles / cores, "tiles"),
        Figure::new(format!("{name}.prepare_s_per_tile"), making / made, "s"),
    ])
}

fn gauge(step: &Value, name: &str) -> Result<f64> {
    let gauges = step["gauges"].as_array().context("gauges")?;
    let found = gauges.iter().find(|gauge| gauge["name"] == name);
    found.and_then(|gauge| gauge["value"].as_f64()).with_context(|| format!("no gauge {name}"))
}

/// Returns the seconds of the steps that were neither warm-up nor measured time.
fn making(runs: &Path, steps: &[Value]) -> Result<f64> {
    let run = std::fs::read_dir(runs)?.next().context("no run was stored")??.path();
    let events = std::fs::read_to_string(run.join("events.jsonl"))?;
    let mut seconds = 0.0;
    for line in events.lines() {
        let event: Value = serde_json::from_str(line)?;
        let at = event["at_ns"].as_f64().context("time of an event")? / 1e9;
        match event["kind"].as_str() {
            Some("step-start") => seconds -= at,
            Some("step-end") => seconds += at,
            _ => {}
        }
    }
    let load = |step: &Value| {
        let time = |value: &Value| value.as_f64().unwrap_or(0.0) / 1e9;
        time(&step["measured_ns"]) + time(&step["warm_up"]["duration_ns"])
    };
    Ok(seconds - steps.iter().map(load).sum::<f64>())
}
