//! Measures how punctually a trace is replayed: 20,000 I/Os a second for ten seconds on a RAM
//! device.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::device::RamDevice;
use super::{Figure, process, tilemark};

const IOPS: u64 = 20_000;
const SECONDS: u64 = 10;
/// Size in bytes of the part of the disk that the trace uses.
const SPACE: u64 = 1 << 30;
/// Number of steps of 100 ns in a second; the step is the trace format's unit of time.
const STEPS: u64 = 10_000_000;

/// Measures the submission error: half of all I/Os are handed to the storage within
/// `median_error_us` of their time in the trace.
pub(crate) fn punctuality(name: &str) -> Result<Vec<Figure>> {
    let device = RamDevice::set_up()?;
    let out = super::pairs::scratch()?;
    let trace = out.join("trace.csv");
    std::fs::write(&trace, msr()?)?;
    let target = format!("block:{}", device.path.display());
    let mut command = Command::new(tilemark::binary()?);
    command.arg("replay").arg(&trace).args(["--on", &target, "--from", "msr"]);
    command.args(["--destroy-data", &device.identity, "--live", "off", "--allow-same-device"]);
    command.args(["--format", "json", "--out"]).arg(out.join("runs"));
    let (text, cost) = process::run(&mut command)?;
    std::fs::remove_dir_all(&out)?;
    let json: Value = serde_json::from_str(&text).context("the run's JSON")?;
    let replay = &json["steps"][0]["replay"];
    let late = &replay["submission_error"];
    let micros = |key: &str| late[key].as_f64().map(|ns| ns / 1e3).context("submission_error");
    eprintln!(
        "{name}: {} I/Os, p50 {:.1} us, p99 {:.1} us, at most {:.1} us, {} over 1 ms, {:.1} s of CPU",
        late["samples"],
        micros("p50_ns")?,
        micros("p99_ns")?,
        micros("max_ns")?,
        replay["late_1ms"],
        cost.user_s + cost.system_s
    );
    Ok(vec![
        Figure::new(format!("{name}.median_error_us"), micros("p50_ns")?, "us"),
        Figure::new(format!("{name}.p99_error_us"), micros("p99_ns")?, "us"),
    ])
}

/// Returns a CSV as from MSR Cambridge, with 70 % reads, of 4 KiB each, all over the disk and
/// evenly spaced in time.
fn msr() -> Result<String> {
    let mut text = String::new();
    for n in 0..IOPS * SECONDS {
        let time = 128_166_372_000_000_000 + n * STEPS / IOPS;
        let verb = if n % 10 < 7 { "Read" } else { "Write" };
        // A multiplicative generator's low bits are poor, so its high ones choose (Knuth).
        let page = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % (SPACE / 4096);
        writeln!(text, "{time},bench,0,{verb},{},4096,1000", page * 4096)?;
    }
    Ok(text)
}
