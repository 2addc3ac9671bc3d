//! Compares the generator's own cost for 40 `datacenter` tiles (320 VMs) with fio's cost for the
//! same rates, sizes and flushes, with a thread for each VM.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::device::{DiskFile, LoadTarget};
use super::pairs::{self, Job};
use super::process::{self, Cost};
use super::{Figure, median, tilemark};

/// Footprint of the disks, which are made small (1/4096 of their size), because the figure is about
/// the generator.
const FOOTPRINT: &str = "0.000244140625";
const SECONDS: u32 = 10;
const PAIRS: u32 = 3;
/// Number of fio's threads: one for each VM.
const THREADS: u32 = 320;

/// Cost and rates of a run.
#[derive(Debug, Clone, Copy)]
struct Spent {
    /// User and system time per I/O, kernel workers included.
    cpu_us: f64,
    user_us: f64,
    memory_bytes: f64,
    read: DirectionLoad,
    write: DirectionLoad,
    flushes_per_s: f64,
}

/// I/Os of one direction.
#[derive(Debug, Clone, Copy)]
struct DirectionLoad {
    per_s: f64,
    mean_bytes: f64,
}

pub(crate) fn tiles_40(name: &str) -> Result<Vec<Figure>> {
    let out = pairs::scratch()?;
    let place = LoadTarget::Disk(DiskFile::set_up()?);
    tilemark::run(&place, &Job { seconds: 3, ..pairs::MIXED }, &out)?;
    let mut results = Vec::new();
    for pair in 0..PAIRS {
        let ours = ours(&out)?;
        let theirs = theirs(place.path(), &ours)?;
        eprintln!(
            "{name} pair {}: tilemark {:.0} IOPS ({:.0} of them flushes) {:.2} us CPU/IO {:.0} MB, \
             fio {:.0} IOPS {:.2} us CPU/IO {:.0} MB",
            pair + 1,
            ours.per_s() + ours.flushes_per_s,
            ours.flushes_per_s,
            ours.cpu_us,
            ours.memory_bytes / 1e6,
            theirs.per_s() + theirs.flushes_per_s,
            theirs.cpu_us,
            theirs.memory_bytes / 1e6,
        );
        results.push((ours, theirs));
    }
    std::fs::remove_dir_all(&out)?;
    let of = |value: fn(&(Spent, Spent)) -> f64| {
        median(&results.iter().map(value).collect::<Vec<f64>>())
    };
    let figure = |what: &str, value, unit| Figure::new(format!("{name}.{what}"), value, unit);
    Ok(vec![
        figure("memory_mb", of(|(ours, _)| ours.memory_bytes / 1e6), "MB"),
        figure("user_us_per_io", of(|(ours, _)| ours.user_us), "us"),
        figure("iops", of(|(ours, _)| ours.per_s()), "1/s"),
        figure("cpu_vs_fio", of(|(ours, theirs)| ours.cpu_us / theirs.cpu_us), "ratio"),
        figure(
            "memory_vs_fio",
            of(|(ours, theirs)| ours.memory_bytes / theirs.memory_bytes),
            "ratio",
        ),
    ])
}

/// Returns the user and system time per I/O of one such run.
pub(crate) fn cpu_us_per_io(out: &Path) -> Result<f64> {
    ours(out).map(|spent| spent.cpu_us)
}

impl Spent {
    fn per_s(&self) -> f64 {
        self.read.per_s + self.write.per_s
    }
}

fn ours(out: &Path) -> Result<Spent> {
    let directory = std::env::var("TILEMARK_BENCH_DIR").unwrap_or_else(|_| ".".to_owned());
    let (target, duration) = (format!("dir:{directory}"), format!("{SECONDS}s"));
    let arguments = [
        target.as_str(),
        "--quick",
        "--tile",
        "datacenter",
        "--tiles",
        "40",
        "--footprint",
        FOOTPRINT,
        "--allow-root-fs",
        "--duration",
        &duration,
    ];
    let (json, cost) = tilemark::run_json(&arguments, out)?;
    let step = &json["steps"][0];
    let cpu = |key: &str| step["generator"][key]["value"].as_f64().context("generator CPU");
    let io = step["io"].as_array().context("io")?;
    let way = |direction: &str| -> Result<DirectionLoad> {
        let row = io.iter().find(|row| row["direction"] == direction).context("a direction")?;
        DirectionLoad::of(|key| row[key].as_f64(), "operations_per_s", "bytes_per_s")
    };
    let user_us = cpu("cpu_user_us_per_io")?;
    Ok(Spent {
        cpu_us: user_us + cpu("cpu_system_us_per_io")?,
        user_us,
        memory_bytes: cost.memory_bytes,
        read: way("read")?,
        write: way("write")?,
        flushes_per_s: way("flush").map_or(0.0, |flushes| flushes.per_s),
    })
}

/// Runs fio with a thread for each VM. Each thread has its share of our rates, with the mean sizes
/// of our reads and writes in whole pages, and sends a flush after as many writes as our run has
/// for each flush.
fn theirs(file: &Path, ours: &Spent) -> Result<Spent> {
    let rate = |way: DirectionLoad| (way.per_s / f64::from(THREADS)).round().max(1.0);
    let size = |way: DirectionLoad| (way.mean_bytes / 4096.0).round().max(1.0) * 4096.0;
    let mut command = Command::new("fio");
    command.args(["--name=peer", "--ioengine=io_uring", "--direct=1", "--rw=randrw", "--thread"]);
    command.args(["--norandommap", "--randrepeat=0", "--time_based", "--group_reporting"]);
    command.args(["--output-format=json", "--iodepth=4", "--size=1g"]);
    command.arg(format!("--numjobs={THREADS}"));
    command.arg(format!("--filename={}", file.display()));
    command.arg(format!("--runtime={SECONDS}"));
    command.arg(format!("--bs={},{}", size(ours.read), size(ours.write)));
    command.arg(format!("--rate_iops={},{}", rate(ours.read), rate(ours.write)));
    // Whole writes to a flush; without any it is none.
    let writes = (ours.write.per_s / ours.flushes_per_s).round().clamp(1.0, 1e9);
    command.arg(format!("--fdatasync={writes}"));
    let (text, Cost { user_s, system_s, memory_bytes }) = process::run(&mut command)?;
    let json: Value = serde_json::from_str(&text).context("fio's JSON")?;
    let job = &json["jobs"][0];
    let way = |way: &str| DirectionLoad::of(|key| job[way][key].as_f64(), "iops", "bw_bytes");
    let count = |way: &str| job[way]["total_ios"].as_f64().context("fio's total_ios");
    let write = way("write")?;
    // Ours counts flushes as I/Os, and fio does not.
    let count = count("read")? + count("write")? * (1.0 + 1.0 / writes);
    Ok(Spent {
        cpu_us: (user_s + system_s) * 1e6 / count.max(1.0),
        user_us: user_s * 1e6 / count.max(1.0),
        memory_bytes,
        read: way("read")?,
        write,
        flushes_per_s: write.per_s / writes,
    })
}

impl DirectionLoad {
    fn of(field: impl Fn(&str) -> Option<f64>, rate: &str, bytes: &str) -> Result<Self> {
        let per_s = field(rate).context("a rate")?;
        let bytes_per_s = field(bytes).context("bytes a second")?;
        Ok(Self { per_s, mean_bytes: bytes_per_s / per_s.max(1.0) })
    }
}
