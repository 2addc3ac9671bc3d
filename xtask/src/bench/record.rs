//! What `tilemark record` takes from a load that it watches.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::device::RamDevice;
use super::pairs::scratch;
use super::{Figure, median, tilemark};

/// Times the recording is switched on within one load.
const ROUNDS: usize = 24;
/// How long each part of a round is counted.
const WINDOW: Duration = Duration::from_millis(1200);
/// Reads of this size keep one core busy with about 100,000 of them each second.
const BLOCK_BYTES: u32 = 32 << 10;
/// Longer than all rounds; the load is ended when they are over.
const LOAD_S: u32 = 600;
const START_TRIES: u32 = 200;
const START_WAIT: Duration = Duration::from_millis(25);

/// One load without a pause, watched in every other window; what a watched window has less
/// than the mean of the two beside it. Whole runs one after the other differ by tens of per
/// cent here, neighbouring seconds of one run by few.
pub(crate) fn overhead(name: &str) -> Result<Vec<Figure>> {
    let device = RamDevice::set_up()?;
    fill(&device.path)?;
    let out = scratch()?;
    let load = Load::start(&device.path)?;
    let counter = Counter::of(&device.path)?;
    std::thread::sleep(WINDOW);
    let (mut losses, mut rates, mut shares, mut lost) = (vec![], vec![], vec![], 0.0);
    let mut before = counter.rate()?;
    for round in 1..=ROUNDS {
        let recording = Recording::start(&device.path, &out.join(format!("{round}.tmt")))?;
        let watched = counter.rate()?;
        let report = recording.stop()?;
        let after = counter.rate()?;
        let alone = f64::midpoint(before, after);
        let loss = 100.0 * (1.0 - watched / alone);
        let share = report["core_percent"].as_f64().context("core_percent")?;
        eprintln!(
            "round {round}: alone {alone:.0} IOPS, watched {watched:.0} IOPS, {loss:.1} % less, \
             own {share:.1} % of a core, lost events {}",
            report["lost_events"],
        );
        losses.push(loss);
        rates.push(alone);
        shares.push(share);
        lost += report["lost_events"].as_f64().context("lost_events")?;
        before = after;
    }
    drop(load);
    std::fs::remove_dir_all(&out)?;
    losses.sort_by(f64::total_cmp);
    Ok(vec![
        Figure::new(format!("{name}.overhead_percent"), median(&losses), "%"),
        Figure::new(format!("{name}.overhead_quartile_1_percent"), losses[ROUNDS / 4], "%"),
        Figure::new(format!("{name}.overhead_quartile_3_percent"), losses[3 * ROUNDS / 4], "%"),
        Figure::new(format!("{name}.iops_alone"), median(&rates), "1/s"),
        Figure::new(format!("{name}.core_percent"), median(&shares), "%"),
        Figure::new(format!("{name}.lost_events"), lost, "count"),
    ])
}

/// A load that goes on until it is dropped.
struct Load(Child);

impl Load {
    fn start(device: &Path) -> Result<Self> {
        let child = Command::new("fio")
            .args(["--name=load", "--ioengine=io_uring", "--direct=1", "--fixedbufs"])
            .args(["--registerfiles", "--norandommap", "--randrepeat=0", "--time_based"])
            .args(["--rw=randread", "--readonly", "--iodepth=16", "--size=1G"])
            .args(["--iodepth_batch_submit=16", "--iodepth_batch_complete_min=16"])
            .arg(format!("--bs={BLOCK_BYTES}"))
            .arg(format!("--runtime={LOAD_S}"))
            .arg(format!("--filename={}", device.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("starting fio")?;
        Ok(Self(child))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // fio ends its worker processes when it is interrupted, not when it is killed.
        let _ = Command::new("kill").args(["-INT", &self.0.id().to_string()]).status();
        let _ = self.0.wait();
    }
}

/// The kernel's count of a device's reads.
struct Counter(PathBuf);

impl Counter {
    fn of(device: &Path) -> Result<Self> {
        let name = device.file_name().context("a device name")?;
        Ok(Self(Path::new("/sys/class/block").join(name).join("stat")))
    }

    fn reads(&self) -> Result<f64> {
        let text = std::fs::read_to_string(&self.0)?;
        let reads = text.split_whitespace().next().context("an empty stat file")?;
        Ok(reads.parse()?)
    }

    /// Reads a second over one window from now.
    fn rate(&self) -> Result<f64> {
        let (begin, first) = (Instant::now(), self.reads()?);
        std::thread::sleep(WINDOW);
        let reads = self.reads()? - first;
        ensure!(reads > 0.0, "{} counts no reads", self.0.display());
        Ok(reads / begin.elapsed().as_secs_f64())
    }
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
