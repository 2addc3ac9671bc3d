//! Measures how much the model of power and operations slows down a simulation that uses neither.
//! This program is compared with one without the model, built from the commit before it was added.

use std::process::Command;

use anyhow::{Context, Result};

use super::{Figure, median, pairs, process, tilemark};

/// Environment variable that names a program of the commit stated in `docs/benchmarks.md`.
const VARIABLE: &str = "TILEMARK_BENCH_BEFORE";
const PAIRS: usize = 7;
/// Exit codes of a simulation that was completed, whatever its answer is.
const MEASURED: [i32; 3] = [0, 4, 5];

/// `sim.power_overhead_percent`.
pub(crate) fn power_overhead(name: &str) -> Result<Vec<Figure>> {
    let before = std::env::var(VARIABLE).with_context(|| {
        format!("{VARIABLE} names no program of the commit before (docs/benchmarks.md says which)")
    })?;
    let now = tilemark::binary()?;
    let scratch = pairs::scratch()?;
    let cpu_s = |program: &std::ffi::OsStr| -> Result<f64> {
        let out = scratch.join("runs");
        let mut command = Command::new(program);
        command.args([
            "simulate",
            "--array",
            "vsan-6-hybrid",
            "--tile",
            "datacenter",
            "--tiles",
            "8",
        ]);
        command.args(["--repeats", "1", "--footprint", "0.05", "--seed", "1", "--duration", "5m"]);
        command.args(["--warm-up-min", "10s", "--warm-up-max", "10s", "--format", "json", "--out"]);
        let (_, cost) = process::ended(command.arg(&out), &MEASURED)?;
        std::fs::remove_dir_all(&out)?;
        Ok(cost.user_s + cost.system_s)
    };
    let (old, new) = (|| cpu_s(before.as_ref()), || cpu_s(now.as_os_str()));
    let found = pairs::in_pairs(PAIRS, old, new, |pair, old, new| {
        eprintln!("{name} pair {pair}: before {old:.2} s of CPU, now {new:.2} s");
    })?;
    std::fs::remove_dir_all(&scratch)?;
    // The number of events is the same, so the lost share of the rate shows the increase in time.
    let lost: Vec<f64> = found.iter().map(|(old, new)| 100.0 * (1.0 - old / new)).collect();
    Ok(vec![Figure::new(name, median(&lost), "%")])
}
