//! Peers that are libraries. They are fetched, built and called in a separate directory, so that
//! the workspace depends on none of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use cache::policy::{Lru, Policy};

use super::cache::{CAPACITY, LOW, rate_of, stream};
use super::{Figure, median, pairs, process, sim};

/// Number of pairs; the median is used.
const PAIRS: usize = 5;

/// Compares our LRU with that of libCacheSim's PyPI package, on one stream: its compiled loop over
/// a trace in its binary format, mapped into memory, without Python between requests.
pub(crate) fn libcachesim(name: &str) -> Result<Vec<Figure>> {
    let scratch = pairs::scratch()?;
    let python = python(&scratch, "libcachesim==0.3.5")?;
    let pages = stream(LOW);
    let trace = scratch.join("stream.oracleGeneral");
    // Per request: time in s, object, size, and the next reference, which LRU does not look at.
    let row = |page: &cache::PageId| {
        let mut row = [0_u8; 24];
        row[4..12].copy_from_slice(&page.0.to_le_bytes());
        row[12..16].copy_from_slice(&1_u32.to_le_bytes());
        row
    };
    std::fs::write(&trace, pages.iter().flat_map(row).collect::<Vec<u8>>())?;
    let script = scratch.join("lru.py");
    std::fs::write(&script, LIBCACHESIM)?;
    let mut ratios = Vec::new();
    for pair in 0..PAIRS {
        let (mut lru, mut misses) = (Lru::new(CAPACITY), 0_u64);
        let ours = rate_of(&pages, |page| misses += u64::from(!lru.reference(page).is_hit()));
        let mut command = Command::new(&python);
        let (text, _) = process::run(command.arg(&script).arg(&trace).arg(CAPACITY.to_string()))?;
        let (theirs, ratio) = text.trim().split_once(' ').context("a rate and a miss ratio")?;
        let theirs: f64 = theirs.parse().context("libCacheSim's rate")?;
        eprintln!(
            "{name} pair {}: {ours:.0}/s, libCacheSim {theirs:.0}/s (misses {ratio})",
            pair + 1
        );
        ratios.push(ours / theirs);
    }
    std::fs::remove_dir_all(&scratch)?;
    Ok(vec![Figure::new(name, median(&ratios), "ratio")])
}

const LIBCACHESIM: &str = include_str!("peers/lru.py");

/// Compares the events per second of CPU time of the whole study of FAST Cache with those of a bare
/// hold model on nexosim: a thousand timers, each of which sets itself again, on one thread.
pub(crate) fn nexosim(name: &str) -> Result<Vec<Figure>> {
    let scratch = pairs::scratch()?;
    std::fs::create_dir_all(scratch.join("src"))?;
    std::fs::write(scratch.join("Cargo.toml"), NEXOSIM_MANIFEST)?;
    std::fs::write(scratch.join("src/main.rs"), NEXOSIM)?;
    let mut build = Command::new(env!("CARGO"));
    let build = build.args(["build", "--release", "--quiet", "--target-dir", "target"]);
    process::run(build.current_dir(&scratch))?;
    let mut ratios = Vec::new();
    for pair in 0..PAIRS.div_ceil(2) {
        let ours = sim::fast_cache("sim.fast_cache")?;
        let ours = ours.first().context("events_per_s")?.value();
        let mut command = Command::new(scratch.join("target/release/hold"));
        let (text, cost) = process::run(&mut command)?;
        let events: f64 = text.trim().parse().context("nexosim's events")?;
        let theirs = events / (cost.user_s + cost.system_s);
        eprintln!("{name} pair {}: {ours:.0}/s, nexosim {theirs:.0}/s", pair + 1);
        ratios.push(ours / theirs);
    }
    std::fs::remove_dir_all(&scratch)?;
    Ok(vec![Figure::new(name, median(&ratios), "ratio")])
}

const NEXOSIM: &str = include_str!("peers/hold.rs.txt");
const NEXOSIM_MANIFEST: &str = "[package]\nname = \"hold\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
    [dependencies]\nnexosim = \"=1.0.0\"\nserde = { version = \"1\", features = [\"derive\"] }\n\
    [workspace]\n";

/// Returns an interpreter with this package, in a separate environment.
pub(super) fn python(scratch: &Path, package: &str) -> Result<PathBuf> {
    let environment = scratch.join("venv");
    process::run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let python = environment.join("bin/python");
    process::run(Command::new(&python).args(["-m", "pip", "install", "-q", package]))?;
    Ok(python)
}
