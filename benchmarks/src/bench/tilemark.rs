//! Our side: the released binary, called as a user would call it.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::device::LoadTarget;
use super::pairs::{Job, Outcome};
use super::process::{self, Cost};

/// Footprint of the micro tiles. Their disks have 16 GiB; 1 GiB of RAM is enough to measure the
/// generator, and it is the capacity of the device.
const FOOTPRINT: f64 = 0.0625;

thread_local! {
    /// Binary that is run instead of the one beside this program, if set.
    static OTHER: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// Uses another binary while `measured` runs.
pub(crate) fn by<T>(other: &Path, measured: impl FnOnce() -> T) -> T {
    OTHER.set(Some(other.to_owned()));
    let result = measured();
    OTHER.set(None);
    result
}

/// Returns `target/release/tilemark`, which is beside this program.
pub(crate) fn binary() -> Result<PathBuf> {
    if let Some(other) = OTHER.with_borrow(Clone::clone) {
        return Ok(other);
    }
    let mut path = std::env::current_exe()?;
    path.set_file_name("tilemark");
    anyhow::ensure!(path.exists(), "{} is missing: make build", path.display());
    Ok(path)
}

/// Runs tilemark and returns its `run.json` and cost.
pub(crate) fn run_json(arguments: &[&str], out: &Path) -> Result<(Value, Cost)> {
    ended_json(arguments, out, &[0])
}

/// Runs tilemark, which must end with one of these codes, and returns its `run.json` and cost.
pub(crate) fn ended_json(arguments: &[&str], out: &Path, codes: &[i32]) -> Result<(Value, Cost)> {
    let mut command = Command::new(binary()?);
    command.arg("run").args(arguments);
    command.args(["--format", "json", "--live", "off", "--allow-same-device", "--out"]).arg(out);
    let (text, cost) = process::ended(&mut command, codes)?;
    Ok((serde_json::from_str(&text).context("tilemark's JSON")?, cost))
}

/// Runs one tile for each worker, each tile with one disk.
pub(crate) fn run(place: &LoadTarget, job: &Job, out: &Path) -> Result<Outcome> {
    let words = place.words();
    let duration = format!("{}s", job.seconds - 1);
    let footprint = (FOOTPRINT / f64::from(job.workers)).to_string();
    let workers = job.workers.to_string();
    let options = [
        "--tile",
        job.tile.as_ref(),
        "--tiles",
        &workers,
        "--workers",
        &workers,
        "--repeats",
        "1",
        "--footprint",
        &footprint,
        "--warm-up-min",
        "1s",
        "--warm-up-max",
        "1s",
        "--duration",
        &duration,
    ];
    let arguments: Vec<&str> = words.iter().map(String::as_str).chain(options).collect();
    let (json, _) = run_json(&arguments, out)?;
    let step = &json["steps"][0];
    let operations_per_s = step["throughput"]["operations_per_s"].as_f64().context("throughput")?;
    let cpu = |key: &str| step["generator"][key]["value"].as_f64().context("generator CPU");
    let read = step["io"].as_array().context("io")?.iter().find(|row| row["direction"] == "read");
    let quantile = |key: &str| read.and_then(|row| row["service"][key].as_f64()).unwrap_or(0.0);
    Ok(Outcome {
        operations_per_s,
        bytes_per_s: step["throughput"]["bytes_per_s"].as_f64().context("throughput")?,
        cpu_us_per_io: cpu("cpu_user_us_per_io")? + cpu("cpu_system_us_per_io")?,
        p50_ns: quantile("p50_ns"),
        p99_ns: quantile("p99_ns"),
    })
}
