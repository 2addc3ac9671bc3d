//! The peer: fio with its best settings for the job, as documented in its manual.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::device::LoadTarget;
use super::pairs::{Job, Outcome};
use super::process;

/// Runs the same job with fio on the same part of the same place, in huge pages from a pool that
/// the caller filled.
pub(crate) fn run(place: &LoadTarget, job: &Job) -> Result<Outcome> {
    let mut command = Command::new("fio");
    command.arg("--iomem=mmaphuge");
    command.args(["--name=peer", "--ioengine=io_uring", "--direct=1", "--fixedbufs"]);
    command.args(["--registerfiles", "--norandommap", "--randrepeat=0", "--time_based"]);
    command.args(["--output-format=json", "--group_reporting", "--lat_percentiles=1"]);
    command.arg(format!("--filename={}", place.path().display()));
    command.arg(format!("--rw={}", job.fio_rw));
    command.arg(format!("--bs={}", job.block_bytes));
    command.arg(format!("--iodepth={}", job.outstanding));
    command.arg(format!("--runtime={}", job.seconds));
    command.arg(format!("--offset={}", place.offset_bytes()));
    command.arg(format!("--size={}", job.size_bytes));
    if job.outstanding >= 16 {
        command.args(["--iodepth_batch_submit=16", "--iodepth_batch_complete_min=16"]);
    }
    if job.fio_rw == "randrw" {
        command.arg(format!("--rwmixread={}", job.read_percent));
    } else {
        command.arg("--readonly");
    }
    let (text, cost) = process::run(&mut command)?;
    let json: Value = serde_json::from_str(&text).context("fio's JSON")?;
    let job_json = &json["jobs"][0];
    let sum = |field: &str| -> f64 {
        ["read", "write"].iter().filter_map(|way| job_json[way][field].as_f64()).sum()
    };
    let quantile =
        |key: &str| job_json["read"]["lat_ns"]["percentile"][key].as_f64().unwrap_or(0.0);
    Ok(Outcome {
        operations_per_s: sum("iops"),
        bytes_per_s: sum("bw_bytes"),
        cpu_us_per_io: (cost.user_s + cost.system_s) * 1e6 / sum("total_ios").max(1.0),
        p50_ns: quantile("50.000000"),
        p99_ns: quantile("99.000000"),
    })
}
