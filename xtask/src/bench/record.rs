//! What `tilemark record` takes from a load that it watches.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::device::RamDevice;
use super::pairs::{Job, scratch};
use super::{Figure, fio, median, tilemark};

const PAIRS: usize = 7;
/// Reads of this size keep one core busy with about 100,000 of them each second.
const JOB: Job = Job {
    tile: "",
    fio_rw: "randread",
    block_bytes: 32 << 10,
    outstanding: 16,
    read_percent: 100,
    seconds: 4,
    offset_bytes: 0,
    size_bytes: 1 << 30,
};
const START_TRIES: u32 = 200;
const START_WAIT: Duration = Duration::from_millis(25);

/// Pairs of the same load, alone and watched, one directly after the other.
pub(crate) fn overhead(name: &str) -> Result<Vec<Figure>> {
    let device = RamDevice::set_up()?;
    fill(&device.path)?;
    let out = scratch()?;
    let (mut losses, mut rates, mut shares, mut lost) = (vec![], vec![], vec![], 0.0);
    for pair in 1..=PAIRS {
        let alone = fio::run(&device.path, &JOB)?;
        let recording = Recording::start(&device.path, &out.join(format!("{pair}.tmt")))?;
        let watched = fio::run(&device.path, &JOB)?;
        let report = recording.stop()?;
        let loss = 100.0 * (1.0 - watched.operations_per_s / alone.operations_per_s);
        let share = report["core_percent"].as_f64().context("core_percent")?;
        eprintln!(
            "pair {pair}: alone {:.0} IOPS {:.2} us CPU/IO, watched {:.0} IOPS {:.2} us CPU/IO, \
             {loss:.1} % less, own {share:.1} % of a core, lost events {}",
            alone.operations_per_s,
            alone.cpu_us_per_io,
            watched.operations_per_s,
            watched.cpu_us_per_io,
            report["lost_events"],
        );
        losses.push(loss);
        rates.push(alone.operations_per_s);
        shares.push(share);
        lost += report["lost_events"].as_f64().context("lost_events")?;
    }
    std::fs::remove_dir_all(&out)?;
    Ok(vec![
        Figure::new(format!("{name}.overhead_percent"), median(&losses), "%"),
        Figure::new(format!("{name}.iops_alone"), median(&rates), "1/s"),
        Figure::new(format!("{name}.core_percent"), median(&shares), "%"),
        Figure::new(format!("{name}.lost_events"), lost, "count"),
    ])
}

/// Data that compresses to half, so that reads of a zram device decompress something.
fn fill(device: &Path) -> Result<()> {
    let status = Command::new("fio")
        .args(["--name=fill", "--rw=write", "--bs=1M", "--direct=1", "--size=1G"])
        .args(["--buffer_compress_percentage=50", "--refill_buffers"])
        .arg(format!("--filename={}", device.display()))
        .stdout(Stdio::null())
        .status()
        .context("starting fio")?;
    ensure!(status.success(), "filling {} ended with {status}", device.display());
    Ok(())
}

/// A running `tilemark record`.
struct Recording(Child);

impl Recording {
    fn start(device: &Path, trace: &Path) -> Result<Self> {
        let child = Command::new(tilemark::binary()?)
            .arg("record")
            .arg(device)
            .arg("--out")
            .arg(trace)
            .args(["--live", "line", "--format", "json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("starting tilemark record")?;
        let recording = Self(child);
        for _ in 0..START_TRIES {
            if recording.is_tracing() {
                return Ok(recording);
            }
            std::thread::sleep(START_WAIT);
        }
        let output = recording.stop();
        anyhow::bail!("tilemark record did not start: {output:?} (it needs root and tracefs)")
    }

    /// Whether its tracing instance is there and switched on.
    fn is_tracing(&self) -> bool {
        let prefix = format!("tilemark-{}-", self.0.id());
        let Ok(entries) = std::fs::read_dir("/sys/kernel/tracing/instances") else { return false };
        let ours = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
        };
        let is_on = |path: PathBuf| {
            std::fs::read_to_string(path.join("tracing_on")).is_ok_and(|text| text.trim() == "1")
        };
        entries.flatten().map(|entry| entry.path()).filter(ours).any(is_on)
    }

    /// Ends it as Ctrl-C does; what it printed.
    fn stop(self) -> Result<Value> {
        Command::new("kill").args(["-INT", &self.0.id().to_string()]).status()?;
        let output = self.0.wait_with_output()?;
        ensure!(output.status.success(), "tilemark record ended with {}", output.status);
        serde_json::from_slice(&output.stdout).context("tilemark record's JSON")
    }
}
