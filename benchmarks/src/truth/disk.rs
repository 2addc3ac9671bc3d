//! What reaches a disk: the kernel's counters, and a recording for the sizes.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::place::{Place, said};
use crate::bench::binary;

const SECTOR: f64 = 512.0;

/// What reached the disk in a span of time.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Disk {
    pub reads_per_s: f64,
    pub writes_per_s: f64,
    pub flushes_per_s: f64,
    pub read_bytes: f64,
    pub write_bytes: f64,
}

impl Disk {
    /// Reads of all reads and writes, from 0 to 1.
    pub(super) fn read_share(&self) -> f64 {
        self.reads_per_s / (self.reads_per_s + self.writes_per_s)
    }
}

/// Watches the disk for a time, and records its I/O in `trace`.
pub(super) fn watch(place: &Place, time: Duration, trace: &Path) -> Result<Disk> {
    let before = counters(place.disk())?;
    let seconds = time.as_secs().to_string() + "s";
    let mut command = Command::new(binary()?);
    command.args(["record", place.disk(), "--duration", &seconds, "--out"]).arg(trace);
    said(&mut command)?;
    let after = counters(place.disk())?;
    let change = |field: usize| (after[field] - before[field]) as f64;
    let seconds = time.as_secs_f64();
    // Documentation/block/stat.rst: reads and their sectors are fields 1 and 3, those of writes 5
    // and 7, flushes are field 16.
    let (reads, writes) = (change(0), change(4));
    Ok(Disk {
        reads_per_s: reads / seconds,
        writes_per_s: writes / seconds,
        flushes_per_s: change(15) / seconds,
        read_bytes: change(2) * SECTOR / reads.max(1.0),
        write_bytes: change(6) * SECTOR / writes.max(1.0),
    })
}

fn counters(disk: &str) -> Result<Vec<u64>> {
    let name = disk.strip_prefix("/dev/").context("a device in /dev")?;
    let text = std::fs::read_to_string(format!("/sys/block/{name}/stat"))?;
    Ok(text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}
