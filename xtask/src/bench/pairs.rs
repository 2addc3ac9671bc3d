//! Interleaved pairs: peer, ours, peer, ours, ... on one RAM device, one worker thread each.

use std::path::PathBuf;

use anyhow::Result;

use super::device::RamDevice;
use super::{Figure, fio, median, tilemark};

/// One load, as both programs are told it.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// The shipped tile that is this load.
    pub tile: &'static str,
    pub fio_rw: &'static str,
    pub block_bytes: u32,
    pub outstanding: u32,
    pub read_percent: u32,
    pub seconds: u32,
    /// Where our first virtual disk lies on a device: after the reserved 8 MiB.
    pub offset_bytes: u64,
    pub size_bytes: u64,
}

/// What one program reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    pub operations_per_s: f64,
    pub bytes_per_s: f64,
    /// User and system time of the whole process, kernel workers included.
    pub cpu_us_per_io: f64,
    pub p50_ns: f64,
    pub p99_ns: f64,
}

const PAIRS: usize = 5;
const MIXED: Job = Job {
    tile: "micro/mixed-8k",
    fio_rw: "randrw",
    block_bytes: 8192,
    outstanding: 64,
    read_percent: 70,
    seconds: 6,
    offset_bytes: 8 << 20,
    size_bytes: 1 << 30,
};

/// Runs the pairs; the device was filled by a first run of the writing tile, so that reads
/// decompress real data.
fn pairs(job: &Job) -> Result<Vec<(Outcome, Outcome)>> {
    let device = RamDevice::set_up()?;
    let out = scratch()?;
    tilemark::run(&device, &Job { seconds: 3, ..MIXED }, &out)?;
    let mut results = Vec::new();
    for pair in 1..=PAIRS {
        let theirs = fio::run(&device.path, job)?;
        let ours = tilemark::run(&device, job, &out)?;
        eprintln!(
            "{} pair {pair}: fio {:.0} IOPS {:.2} us CPU/IO p50 {:.1} us p99 {:.1} us, \
             tilemark {:.0} IOPS {:.2} us CPU/IO p50 {:.1} us p99 {:.1} us",
            job.tile,
            theirs.operations_per_s,
            theirs.cpu_us_per_io,
            theirs.p50_ns / 1e3,
            theirs.p99_ns / 1e3,
            ours.operations_per_s,
            ours.cpu_us_per_io,
            ours.p50_ns / 1e3,
            ours.p99_ns / 1e3,
        );
        results.push((theirs, ours));
    }
    std::fs::remove_dir_all(&out)?;
    Ok(results)
}

/// A directory for run directories that is removed again, in the system's temporary one.
pub(crate) fn scratch() -> Result<PathBuf> {
    let path = std::env::temp_dir().join(format!("tilemark-bench-{}", std::process::id()));
    std::fs::create_dir_all(&path)?;
    Ok(path)
}

fn ratio(results: &[(Outcome, Outcome)], value: fn(&Outcome) -> f64) -> f64 {
    median(&results.iter().map(|(theirs, ours)| value(ours) / value(theirs)).collect::<Vec<_>>())
}

fn ours(results: &[(Outcome, Outcome)], value: fn(&Outcome) -> f64) -> f64 {
    median(&results.iter().map(|(_, ours)| value(ours)).collect::<Vec<_>>())
}

fn operations(outcome: &Outcome) -> f64 {
    outcome.operations_per_s
}

fn bytes(outcome: &Outcome) -> f64 {
    outcome.bytes_per_s
}

fn cpu(outcome: &Outcome) -> f64 {
    outcome.cpu_us_per_io
}

pub(crate) fn read_4k(name: &str) -> Result<Vec<Figure>> {
    let job = Job { tile: "micro/read-4k", fio_rw: "randread", block_bytes: 4096, ..MIXED };
    let results = pairs(&job)?;
    Ok(vec![
        Figure::new(format!("{name}.iops_vs_fio"), ratio(&results, operations), "ratio"),
        Figure::new(format!("{name}.cpu_vs_fio"), ratio(&results, cpu), "ratio"),
        Figure::new(format!("{name}.iops"), ours(&results, operations), "1/s"),
        Figure::new(format!("{name}.cpu_us_per_io"), ours(&results, cpu), "us"),
    ])
}

pub(crate) fn mixed_8k(name: &str) -> Result<Vec<Figure>> {
    let results = pairs(&MIXED)?;
    Ok(vec![
        Figure::new(format!("{name}.iops_vs_fio"), ratio(&results, operations), "ratio"),
        Figure::new(format!("{name}.iops"), ours(&results, operations), "1/s"),
    ])
}

pub(crate) fn seq_1m(name: &str) -> Result<Vec<Figure>> {
    let job = Job {
        tile: "micro/seq-read-1m",
        fio_rw: "read",
        block_bytes: 1 << 20,
        outstanding: 8,
        ..MIXED
    };
    let results = pairs(&job)?;
    Ok(vec![
        Figure::new(format!("{name}.bytes_vs_fio"), ratio(&results, bytes), "ratio"),
        Figure::new(format!("{name}.bytes_per_s"), ours(&results, bytes), "B/s"),
    ])
}

pub(crate) fn qd1(name: &str) -> Result<Vec<Figure>> {
    let job = Job {
        tile: "micro/read-4k-qd1",
        fio_rw: "randread",
        block_bytes: 4096,
        outstanding: 1,
        ..MIXED
    };
    let results = pairs(&job)?;
    Ok(vec![
        Figure::new(format!("{name}.p50_vs_fio"), ratio(&results, |o| o.p50_ns), "ratio"),
        Figure::new(format!("{name}.p99_vs_fio"), ratio(&results, |o| o.p99_ns), "ratio"),
        Figure::new(format!("{name}.p50_ns"), ours(&results, |o| o.p50_ns), "ns"),
        Figure::new(format!("{name}.p99_ns"), ours(&results, |o| o.p99_ns), "ns"),
    ])
}
