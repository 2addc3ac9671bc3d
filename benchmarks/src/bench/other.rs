//! Compares another `tilemark` with the one beside this program, in pairs: an older one, to measure
//! the cost of a change, or the same one, to measure the effect of chance.
//!
//! `TILEMARK_BENCH_OTHER` names the other program. Each figure is the median of the ratios, ours /
//! theirs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::device::{LoadTarget, RamDevice};
use super::pairs::{self, Job, in_pairs};
use super::{Figure, median, process, sim, tilemark, tiles};

/// Number of pairs of the engine's runs, which are short and scatter more than all others.
const ENGINE_PAIRS: usize = 8;
const PAIRS: usize = 3;

/// Arguments of a ladder in virtual time whose steps are the same for the same seed.
const LADDER: [&str; 12] = [
    "simulate", "--array", "vnx5500", "--tiles", "1..5", "--quick", "--seed", "7", "--live", "off",
    "--format", "json",
];

pub(crate) fn other(name: &str) -> Result<Vec<Figure>> {
    let Some(other) = std::env::var_os("TILEMARK_BENCH_OTHER").map(PathBuf::from) else {
        eprintln!("{name}: left out; TILEMARK_BENCH_OTHER names no other binary");
        return Ok(Vec::new());
    };
    let out = pairs::scratch()?;
    let place = LoadTarget::Ram(RamDevice::set_up()?);
    tilemark::run(&place, &Job { seconds: 3, ..pairs::MIXED }, &out)?;
    let engine = |job: &Job| tilemark::run(&place, job, &out);
    let read_4k = || engine(&pairs::READ_4K).map(|o| [o.operations_per_s, o.cpu_us_per_io]);
    let qd1 = || engine(&pairs::QD1).map(|o| [o.p50_ns]);
    let tiles_40 = || tiles::cpu_us_per_io(&out).map(|us| [us]);
    let ladder = || ladder_cpu_s(&out).map(|s| [s]);
    let of = |what: &str| format!("{name}.{what}");
    let mut figures = Vec::new();
    let (iops, cpu) = (of("read_4k.iops"), of("read_4k.cpu_us_per_io"));
    figures.extend(against([&iops, &cpu], &other, ENGINE_PAIRS, read_4k)?);
    figures.extend(against([&of("qd1.p50_ns")], &other, ENGINE_PAIRS, qd1)?);
    figures.extend(against([&of("tiles_40.cpu_us_per_io")], &other, PAIRS, tiles_40)?);
    figures.extend(against([&of("simulate.cpu_s")], &other, PAIRS, ladder)?);
    std::fs::remove_dir_all(&out)?;
    // This makes and removes the same directory itself.
    let vsan_40 = || sim::vsan_40("vsan_40").map(|figures| [figures[0].value()]);
    figures.extend(against([&of("vsan_40.realtime_factor")], &other, PAIRS, vsan_40)?);
    Ok(figures)
}

/// Returns the figures of one measurement, by name.
fn against<const N: usize>(
    names: [&str; N],
    other: &Path,
    pairs: usize,
    measured: impl Fn() -> Result<[f64; N]>,
) -> Result<Vec<Figure>> {
    let theirs = || tilemark::by(other, &measured);
    let results = in_pairs(pairs, theirs, &measured, |pair, theirs, ours| {
        eprintln!("{} pair {pair}: other {theirs:?}, this {ours:?}", names.join(" and "));
    })?;
    let of = |(at, name): (usize, &&str)| {
        let ratios: Vec<f64> = results.iter().map(|(theirs, ours)| ours[at] / theirs[at]).collect();
        Figure::new(*name, median(&ratios), "ratio")
    };
    Ok(names.iter().enumerate().map(of).collect())
}

/// Returns the user and system time of a ladder in virtual time.
fn ladder_cpu_s(out: &Path) -> Result<f64> {
    let mut command = Command::new(tilemark::binary()?);
    let (_, cost) = process::run(command.args(LADDER).arg("--out").arg(out))?;
    Ok(cost.user_s + cost.system_s)
}
