//! Compares latencies recorded by `tilemark record` with those reported by fio, which makes the
//! load.
//!
//! The load is one outstanding I/O through io_uring, whose completion latency begins when the I/O
//! has been handed to the kernel, as the recorder's does (fio's manual, "clat" and "slat"). fio's
//! `psync` has no such border: its figure includes the whole system call and the wake-up after it.

use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;
use trace::store::{self, Columns};
use trace::{IoRecord, Operation, Source};

use super::pairs::scratch;
use super::record::Recording;
use super::{Figure, median, process};

const SIZES: [(&str, u32); 3] = [("4k", 4 << 10), ("64k", 64 << 10), ("256k", 256 << 10)];
const ROUNDS: usize = 5;
const SECONDS: u32 = 4;
const FILE_BYTES: u64 = 512 << 20;
const PERCENTILES: [(&str, f64); 3] = [("50.000000", 0.5), ("90.000000", 0.9), ("99.000000", 0.99)];

/// Returns, for each size and percentile, the difference between our value and fio's: the median of
/// the rounds.
pub(crate) fn against_fio(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let disk = disk_of(&out)?;
    let mut figures = Vec::new();
    for (label, bytes) in SIZES {
        let mut off = [const { Vec::new() }; 3];
        let mut missed = 0.0;
        for _ in 0..ROUNDS {
            let round = round(&disk, &out, bytes)?;
            missed += round.missed;
            for (list, value) in off.iter_mut().zip(round.off_percent) {
                list.push(value);
            }
        }
        for ((key, _), list) in PERCENTILES.iter().zip(&off) {
            let figure = format!("{name}.p{}_{label}_percent", &key[..2]);
            figures.push(Figure::new(figure, median(list), "%"));
        }
        figures.push(Figure::new(format!("{name}.missed_{label}"), missed, "count"));
    }
    std::fs::remove_dir_all(&out)?;
    Ok(figures)
}

struct Round {
    /// Our value minus fio's, in per cent of fio's, by percentile.
    off_percent: [f64; 3],
    /// Number of I/Os of fio that are not in the trace.
    missed: f64,
}

fn round(disk: &Path, out: &Path, bytes: u32) -> Result<Round> {
    let trace = out.join("beside-fio.tmt");
    let file = out.join("load");
    if !file.exists() {
        make_file(&file)?;
    }
    let recording = Recording::start(disk, &trace)?;
    let said = load(&file, bytes, "randread")?;
    recording.stop()?;
    let mut seen = latencies(&trace, bytes)?;
    std::fs::remove_dir_all(&trace)?;
    seen.sort_unstable();
    let read = &said["jobs"][0]["read"];
    let mut off_percent = [0.0; 3];
    for (off, (key, share)) in off_percent.iter_mut().zip(PERCENTILES) {
        let theirs = read["clat_ns"]["percentile"][key].as_f64().context("fio's percentile")?;
        *off = 100.0 * (at(&seen, share) / theirs - 1.0);
    }
    let count = read["total_ios"].as_f64().context("fio's count")?;
    #[expect(clippy::cast_precision_loss, reason = "less than 2^53 I/Os")]
    let missed = count - seen.len() as f64;
    Ok(Round { off_percent, missed })
}

/// Returns the nearest rank of sorted values.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ranks far below 2^53"
)]
fn at(sorted: &[u64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).map_or(f64::NAN, |value| *value as f64)
}

/// Writes a file of 512 MiB for the reads.
pub(super) fn make_file(file: &Path) -> Result<()> {
    load(file, 0, "write").map(drop)
}

fn load(file: &Path, bytes: u32, way: &str) -> Result<Value> {
    let mut command = Command::new("fio");
    command.args(["--name=load", "--ioengine=io_uring", "--direct=1", "--iodepth=1"]);
    command.args(["--norandommap", "--randrepeat=0", "--output-format=json"]);
    command.arg(format!("--filename={}", file.display()));
    command.arg(format!("--size={FILE_BYTES}")).arg(format!("--rw={way}"));
    if way == "write" {
        command.arg("--bs=1M");
    } else {
        command.arg(format!("--bs={bytes}")).arg("--time_based");
        command.arg(format!("--runtime={SECONDS}"));
    }
    let (text, _) = process::run(&mut command)?;
    serde_json::from_str(&text).context("fio's JSON")
}

/// Returns the queue and device time of all reads of a size.
fn latencies(trace: &Path, bytes: u32) -> Result<Vec<u64>> {
    let mut source = store::open(trace)?.source(Columns::ALL);
    let (mut batch, mut seen): (Vec<IoRecord>, _) = (Vec::new(), Vec::new());
    loop {
        source.read(&mut batch)?;
        if batch.is_empty() {
            return Ok(seen);
        }
        let ours = batch.iter().filter(|io| io.operation == Operation::Read && io.length == bytes);
        seen.extend(ours.filter_map(IoRecord::latency).map(|time| time.0));
    }
}

/// Returns the disk that stores a directory.
pub(super) fn disk_of(place: &Path) -> Result<PathBuf> {
    let device = std::fs::metadata(place)?.st_dev();
    let (major, minor) = (device >> 8 & 0xfff, device & 0xff);
    let node = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}"))
        .with_context(|| format!("{} is on no disk (TMPDIR names another)", place.display()))?;
    let is_part = node.join("partition").exists();
    let disk = if is_part { node.parent().context("a partition's disk")? } else { &node };
    Ok(Path::new("/dev").join(disk.file_name().context("a disk's name")?))
}
