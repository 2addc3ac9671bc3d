//! Measures runs over hosts: agents on this host, on a RAM device with a file system that all of
//! them see.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::device::RamDevice;
use super::pairs::{in_pairs, scratch};
use super::process::Times;
use super::{Figure, median, process, tilemark};

const PAIRS: usize = 5;
const AGENTS: usize = 64;
/// Number of pairs of studies; a study takes minutes on one thread.
const STUDY_PAIRS: usize = 3;
/// Time over which the controller's processor time is measured.
const WATCHED: Duration = Duration::from_secs(20);

/// Size of the device. 5 GiB and a fifth of a file system stay free, and every host reserves its
/// part; less than 1 GiB is written.
const SIZE_BYTES: u64 = 16 << 30;

/// A RAM device with ext4, mounted.
struct Mounted {
    at: PathBuf,
    _device: RamDevice,
}

impl Mounted {
    fn new(scratch: &Path) -> Result<Self> {
        let device = RamDevice::of_size(SIZE_BYTES)?;
        let at = scratch.join("mounted");
        std::fs::create_dir(&at)?;
        process::run(Command::new("mkfs.ext4").arg("-q").arg(&device.path))?;
        process::run(Command::new("mount").arg(&device.path).arg(&at))?;
        Ok(Self { at, _device: device })
    }

    fn target(&self) -> String {
        format!("dir:{}", self.at.display())
    }

    fn hosts(&self, count: usize) -> Result<Vec<String>> {
        let (binary, target) = (tilemark::binary()?, self.target());
        let host = |number| {
            format!(
                "h{number}=exec:TILEMARK_AGENT_SLOT=bench-{number} exec {} agent --join - --allow {target}",
                binary.display()
            )
        };
        Ok((0..count).flat_map(|number| ["--host".to_owned(), host(number)]).collect())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).status();
    }
}

/// Measures the I/Os per second of two agents with one worker each, divided by those of one process
/// with two workers, on the same two tiles.
pub(crate) fn efficiency(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let mounted = Mounted::new(&out)?;
    let target = mounted.target();
    let operations = |workers: &str, hosts: &[String]| -> Result<f64> {
        let options = [
            "--tile",
            "micro/read-4k",
            "--tiles",
            "2",
            "--footprint",
            "0.02",
            "--warm-up-min",
            "1s",
            "--warm-up-max",
            "1s",
            "--duration",
            "8s",
            "--repeats",
            "1",
            "--workers",
        ];
        let hosts = hosts.iter().map(String::as_str);
        let words: Vec<&str> =
            [target.as_str()].into_iter().chain(options).chain([workers]).collect();
        let words: Vec<&str> = words.into_iter().chain(hosts).collect();
        let (json, _) = tilemark::run_json(&words, &out)?;
        json["steps"][0]["throughput"]["operations_per_s"].as_f64().context("throughput")
    };
    let hosts = mounted.hosts(2)?;
    let results = in_pairs(
        PAIRS,
        || operations("2", &[]),
        || operations("1", &hosts),
        |pair, one, two| {
            eprintln!("{name} pair {pair}: one process {one:.0}, two agents {two:.0} IOPS")
        },
    )?;
    let ratios: Vec<f64> = results.iter().map(|(one, two)| two / one).collect();
    drop(mounted);
    std::fs::remove_dir_all(&out)?;
    Ok(vec![Figure::new(name, median(&ratios), "ratio")])
}

/// Measures the share of one processor that a controller of 64 agents takes while each agent drives
/// a tile and the live view is on.
pub(crate) fn merge_64(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let mounted = Mounted::new(&out)?;
    for (file, text) in [("tile.toml", TILE), ("light.toml", LIGHT)] {
        std::fs::write(out.join(file), text)?;
    }
    let mut command = Command::new(tilemark::binary()?);
    command.arg("run").arg(mounted.target()).args(mounted.hosts(AGENTS)?).current_dir(&out);
    command.args(["--tile", "tile.toml", "--tiles", &AGENTS.to_string(), "--workers", "1"]);
    command.args([
        "--duration",
        "40s",
        "--warm-up-min",
        "2s",
        "--warm-up-max",
        "3s",
        "--repeats",
        "1",
    ]);
    command.args([
        "--footprint",
        "0.0005",
        "--live",
        "line",
        "--allow-same-device",
        "--join-within",
    ]);
    command.args(["120s", "--out"]).arg(&out);
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = command.spawn().context("starting tilemark")?;
    let mut lines = BufReader::new(run.stderr.take().context("stderr is piped")?).lines();
    let mut said = Vec::new();
    loop {
        let line = lines.next().transpose()?;
        let Some(line) = line else { break };
        said.push(line);
        if said.last().is_some_and(|line| line.contains("measuring")) {
            break;
        }
    }
    let begun = Instant::now();
    let taken = || process::times(run.id()).map(|Times { own, .. }| own.0 + own.1);
    let before = taken();
    std::thread::sleep(WATCHED);
    let (after, took) = (taken(), begun.elapsed().as_secs_f64());
    lines.for_each(drop);
    let status = run.wait()?;
    drop(mounted);
    std::fs::remove_dir_all(&out)?;
    ensure!(matches!(status.code(), Some(0 | 5)), "{status}: {}", said.join("\n"));
    Ok(vec![Figure::new(name, 100.0 * (after? - before?) / took, "%")])
}

/// Measures the speed of a study over two agents with one processor each, relative to one thread.
pub(crate) fn study_speedup(name: &str) -> Result<Vec<Figure>> {
    let binary = tilemark::binary()?;
    let seconds = |options: &[String]| -> Result<f64> {
        let begun = Instant::now();
        let mut command = Command::new(&binary);
        command.args(["study", "run", "fast-cache", "--format", "json"]).args(options);
        process::run(&mut command)?;
        Ok(begun.elapsed().as_secs_f64())
    };
    let host = |core: usize| {
        let own = format!("TILEMARK_AGENT_SLOT=bench-{core} exec taskset -c {core}");
        let agent = format!("{} agent --join - --allow dir:/nowhere", binary.display());
        ["--host".to_owned(), format!("h{core}=exec:{own} {agent}")]
    };
    let hosts = [host(0), host(1)].concat();
    let one = ["--threads".to_owned(), "1".to_owned()];
    let results = in_pairs(
        STUDY_PAIRS,
        || seconds(&one),
        || seconds(&hosts),
        |pair, one, two| {
            eprintln!("{name} pair {pair}: one thread {one:.1} s, two agents {two:.1} s")
        },
    )?;
    let ratios: Vec<f64> = results.iter().map(|(one, two)| one / two).collect();
    Ok(vec![Figure::new(name, median(&ratios), "ratio")])
}

const TILE: &str = r#"
name = "light"
title = "Eight machines whose users pause"
source = "Made up for this figure: little load, so that the machine can hold 64 of them."

[[workload]]
use = "light.toml"
count = 8
"#;

const LIGHT: &str = r#"
name = "light"
title = "Four users who pause between 8 KiB reads and writes"
source = "Made up for this figure."
metric = { unit = "IOPS", count = "io", reference = 40 }
vm = [{ name = "light", disk = [{ name = "data", size = "2GiB" }] }]
users = [{ name = "users", vm = "light", load = { closed = { users = 4, think = { exponential = "100ms" } } } }]
action = [
    { name = "read", weight = 70, steps = [{ read = { disk = "data", size = "8k" } }] },
    { name = "write", weight = 30, steps = [{ write = { disk = "data", size = "8k" } }] },
]
"#;
