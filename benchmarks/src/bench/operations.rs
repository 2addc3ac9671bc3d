//! Compares operations on disks with common tools for copying images.
//!
//! A full clone passes through the engine in the same way as a step `copy` and a flush. It is
//! compared with cp followed by a sync, and with qemu-img into an existing image, both without
//! sparse files and reflinks. A linked clone shares the blocks of a disk of 8 GiB on xfs in a loop
//! device.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::pairs::{in_pairs, scratch};
use super::process::{self, Cost};
use super::{Figure, median, tilemark};

const PAIRS: usize = 5;
/// Size in bytes of the disk that is cloned.
const CLONE_BYTES: u64 = 1 << 30;
/// Size in bytes of the xfs. 5 GiB and a fifth of it stay free; two disks of 8 GiB and the tile's
/// disks are stored on it.
const XFS_BYTES: u64 = 30 << 30;
/// Exit codes of a run that was measured, whatever its answer is.
const MEASURED: [i32; 3] = [0, 4, 5];

/// Rate and cost of a copy.
#[derive(Debug, Clone, Copy)]
struct Copied {
    bytes_per_s: f64,
    cpu_s: f64,
}

impl Copied {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn in_time(seconds: f64, cost: Cost) -> Self {
        Self { bytes_per_s: CLONE_BYTES as f64 / seconds, cpu_s: cost.user_s + cost.system_s }
    }
}

/// Results that are compared with ours in a pair.
#[derive(Debug, Clone, Copy)]
struct Pair {
    /// Result of our copy alone, or of cp.
    one: Copied,
    qemu: Option<Copied>,
}

/// `operations.files`: a full clone compared with the tools, and a linked clone.
pub(crate) fn files(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let place = out.join("clone");
    std::fs::create_dir_all(&place)?;
    let ours = Clones::prepare(&out, &place, "full", FULL)?;
    let template = place.join("template.img");
    let target = place.join("clone.img");
    process::run(
        Command::new("cp")
            .args(["--reflink=never", "--sparse=never"])
            .args([ours.disk("operations/clone/template")?.as_os_str(), template.as_os_str()]),
    )?;
    let has_qemu = Command::new("qemu-img").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has_qemu {
        eprintln!("{name}: qemu-img is absent, cp is the only peer");
    }
    let theirs = || -> Result<Pair> {
        let one = cp(&template, &target)?;
        let qemu = has_qemu.then(|| qemu_img(&template, &target)).transpose()?;
        Ok(Pair { one, qemu })
    };
    let mine = || -> Result<Pair> { Ok(Pair { one: ours.copied()?, qemu: None }) };
    let pairs = in_pairs(PAIRS, theirs, mine, |pair, theirs, ours| {
        let mb = |own: Copied| own.bytes_per_s / 1e6;
        eprintln!(
            "{name} pair {pair}: cp {:.0} MB/s {:.2} s CPU, qemu-img {}, tilemark {:.0} MB/s {:.2} s CPU",
            mb(theirs.one),
            theirs.one.cpu_s,
            theirs.qemu.map_or_else(|| "absent".to_owned(), |own| format!("{:.0} MB/s", mb(own))),
            mb(ours.one),
            ours.one.cpu_s,
        );
    })?;
    let fastest = |pair: &Pair| {
        pair.qemu.map_or(pair.one.bytes_per_s, |own| own.bytes_per_s.max(pair.one.bytes_per_s))
    };
    let ratio =
        |value: &dyn Fn(&(Pair, Pair)) -> f64| median(&pairs.iter().map(value).collect::<Vec<_>>());
    let speed = ratio(&|(theirs, ours)| ours.one.bytes_per_s / fastest(theirs));
    let cpu = ratio(&|(theirs, ours)| ours.one.cpu_s / theirs.one.cpu_s);
    std::fs::remove_dir_all(&out)?;
    Ok(vec![
        Figure::new(format!("{name}.clone_vs_cp"), speed, "ratio"),
        Figure::new(format!("{name}.cpu_vs_cp"), cpu, "ratio"),
    ])
}

/// `operations.reflink_ms`: time of a linked clone of 8 GiB.
pub(crate) fn reflink(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let xfs = Xfs::new(&out)?;
    let ours = Clones::prepare(&out, &xfs.at, "linked", LINKED)?;
    let (run, _) = ours.run("20s")?;
    let p50 = action(&run, "link/linking")?["service"]["p50_ns"].as_f64().context("a median")?;
    drop(xfs);
    std::fs::remove_dir_all(&out)?;
    Ok(vec![Figure::new(name, p50 / 1e6, "ms")])
}

/// `operations.qemu.unified_s`: time to migrate a real VM with a disk of 256 MiB and 128 MiB of
/// memory until it runs at its destination, without the check that follows.
pub(crate) fn unified(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let place = out.join("unified");
    std::fs::create_dir_all(&place)?;
    let group = "name = \"unified\"\ntitle = \"One\"\nsource = \"bench\"\n\n[[workload]]\nuse = \"operations/qemu-unified-migration\"\n";
    for (file, text) in
        [("unified.toml", group), ("quiet.toml", QUIET), ("quiet-tile.toml", QUIET_TILE)]
    {
        std::fs::write(out.join(file), text)?;
    }
    let mut command = Command::new(tilemark::binary()?);
    command.args(["run", &format!("dir:{}", place.display()), "--allow-root-fs", "--tiles", "1"]);
    command.arg("--tile").arg(out.join("quiet-tile.toml"));
    command.arg(format!("--operations={}", out.join("unified.toml").display()));
    // A quarter of the workload's disk of 1 GiB.
    command.args([
        "--repeats",
        "1",
        "--footprint",
        "0.25",
        "--warm-up-min",
        "1s",
        "--warm-up-max",
        "1s",
    ]);
    command.args(["--duration", "2m", "--format", "json", "--live", "off", "--out"]).arg(&out);
    let (text, _) = process::ended(&mut command, &MEASURED)?;
    let run: Value = serde_json::from_str(&text).context("tilemark's JSON")?;
    let median_s = |stage: &str| -> Result<f64> {
        let own = action(&run, &format!("unified-migration/{stage}"))?;
        Ok(own["service"]["p50_ns"].as_f64().context("a median")? / 1e9)
    };
    let seconds = median_s("copying")? + median_s("switch-over")?;
    std::fs::remove_dir_all(&out)?;
    Ok(vec![Figure::new(name, seconds, "s")])
}

/// Runs cp, and a sync of the written file, from a file that is not in memory.
fn cp(from: &Path, to: &Path) -> Result<Copied> {
    forget(from)?;
    let begun = Instant::now();
    let command = "cp --sparse=never --reflink=never \"$1\" \"$2\" && sync \"$2\"";
    let (_, cost) = process::run(Command::new("sh").args(["-c", command, "sh"]).args([from, to]))?;
    Ok(Copied::in_time(begun.elapsed().as_secs_f64(), cost))
}

/// Runs qemu-img into an existing image, bypassing the page cache.
fn qemu_img(from: &Path, to: &Path) -> Result<Copied> {
    forget(from)?;
    let begun = Instant::now();
    let words = ["convert", "-n", "-t", "none", "-T", "none", "-f", "raw", "-O", "raw"];
    let (_, cost) = process::run(Command::new("qemu-img").args(words).args([from, to]))?;
    Ok(Copied::in_time(begun.elapsed().as_secs_f64(), cost))
}

/// Removes a file from the page cache (`dd`'s manual: `iflag=nocache count=0`).
fn forget(file: &Path) -> Result<()> {
    let of = format!("if={}", file.display());
    process::run(Command::new("dd").args([&of, "iflag=nocache", "count=0", "status=none"]))?;
    Ok(())
}

/// Disks that are filled once, and runs that reuse them.
struct Clones {
    words: Vec<String>,
    datastore: PathBuf,
    out: PathBuf,
}

impl Clones {
    fn prepare(out: &Path, datastore: &Path, name: &str, operation: &str) -> Result<Self> {
        let group = format!(
            "name = \"{name}\"\ntitle = \"One\"\nsource = \"bench\"\n\n[[workload]]\nuse = \"{name}-one.toml\"\n"
        );
        for (file, text) in [
            (format!("{name}-one.toml"), operation),
            (format!("{name}.toml"), &group),
            ("quiet.toml".to_owned(), QUIET),
            ("quiet-tile.toml".to_owned(), QUIET_TILE),
        ] {
            std::fs::write(out.join(file), text)?;
        }
        let words = [
            format!("dir:{}", datastore.display()),
            "--tile".to_owned(),
            out.join("quiet-tile.toml").display().to_string(),
            format!("--operations={}", out.join(format!("{name}.toml")).display()),
            "--allow-root-fs".to_owned(),
            "--allow-same-device".to_owned(),
        ];
        let options = ["--tiles", "1", "--repeats", "1", "--footprint", "1", "--workers", "1"];
        let words: Vec<String> = words.into_iter().chain(options.map(str::to_owned)).collect();
        let mut command = Command::new(tilemark::binary()?);
        command.arg("prepare").args(&words).args(["--live", "off", "--out"]).arg(out);
        process::run(&mut command)?;
        Ok(Self { words, datastore: datastore.to_owned(), out: out.to_owned() })
    }

    /// Returns the file of a disk.
    fn disk(&self, name: &str) -> Result<PathBuf> {
        let of_run = std::fs::read_dir(&self.datastore)?.flatten().map(|entry| entry.path());
        let mut of_run = of_run.filter(|path| path.is_dir());
        let own = of_run.next().context("the prepared disks")?;
        let last = format!("{}.disk", name.rsplit('/').next().unwrap_or(name));
        let files = std::fs::read_dir(own)?.flatten().map(|entry| entry.path());
        let mut files = files.filter(|path| path.to_string_lossy().ends_with(&last));
        files.next().with_context(|| format!("no file of disk {name}"))
    }

    fn run(&self, duration: &str) -> Result<(Value, Cost)> {
        let mut command = Command::new(tilemark::binary()?);
        command.arg("run").args(&self.words).args(["--reuse", "latest"]);
        command.args(["--warm-up-min", "1s", "--warm-up-max", "1s", "--duration", duration]);
        command.args(["--format", "json", "--live", "off", "--out"]).arg(&self.out);
        let (text, cost) = process::ended(&mut command, &MEASURED)?;
        Ok((serde_json::from_str(&text).context("tilemark's JSON")?, cost))
    }

    /// Returns the mean clone of half a minute, with the processor time of one clone: the time of
    /// all I/Os of the window, nearly all of which belong to a clone, divided in proportion to the
    /// bytes that it writes.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn copied(&self) -> Result<Copied> {
        let (run, _) = self.run("30s")?;
        let own = action(&run, "clone/copying")?;
        let seconds = own["service"]["mean_ns"].as_f64().context("a mean")? / 1e9;
        let step = &run["steps"][0];
        let cpu = |key: &str| step["generator"][key]["value"].as_f64().context("generator CPU");
        let each_s = (cpu("cpu_user_us_per_io")? + cpu("cpu_system_us_per_io")?) / 1e6;
        let rate = |key: &str| step["throughput"][key].as_f64().context("throughput");
        let ios_per_byte = rate("operations_per_s")? / rate("bytes_per_s")?;
        // Every byte is read once and written once.
        let cpu_s = each_s * ios_per_byte * 2.0 * CLONE_BYTES as f64;
        Ok(Copied { bytes_per_s: CLONE_BYTES as f64 / seconds, cpu_s })
    }
}

/// Returns the facts of an action in a run's first step.
fn action<'a>(run: &'a Value, name: &str) -> Result<&'a Value> {
    let workloads = run["steps"][0]["workloads"].as_array().context("workloads")?;
    let mut actions = workloads.iter().filter_map(|own| own["actions"].as_array()).flatten();
    let found = actions.find(|own| own["action"] == name);
    let found = found.with_context(|| format!("no action {name}"))?;
    ensure!(found["count"].as_u64().unwrap_or(0) > 0, "no {name} ended in the measured time");
    Ok(found)
}

/// An xfs file system in a loop device over a sparse file.
struct Xfs {
    at: PathBuf,
    device: String,
}

impl Xfs {
    fn new(scratch: &Path) -> Result<Self> {
        let (file, at) = (scratch.join("xfs.img"), scratch.join("xfs"));
        std::fs::create_dir_all(&at)?;
        std::fs::File::create(&file)?.set_len(XFS_BYTES)?;
        let (device, _) = process::run(Command::new("losetup").args(["-f", "--show"]).arg(&file))?;
        let own = Self { at, device: device.trim().to_owned() };
        process::run(Command::new("mkfs.xfs").args(["-q", "-m", "reflink=1", &own.device]))?;
        process::run(Command::new("mount").arg(&own.device).arg(&own.at))?;
        Ok(own)
    }
}

impl Drop for Xfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).status();
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
    }
}

const QUIET_TILE: &str = r#"
name = "quiet"
title = "Hardly any load"
source = "bench"

[[workload]]
use = "quiet.toml"
"#;

const QUIET: &str = r#"
name = "quiet"
title = "A read every 100 ms"
source = "bench"
metric = { unit = "IOPS", count = "io" }
vm = [{ name = "vm", disk = [{ name = "data", size = "64MiB" }] }]
users = [{ name = "one", vm = "vm", load = { closed = { users = 1, think = "100ms" } } }]
action = [{ name = "read", steps = [{ read = { disk = "data", size = "4k" } }] }]
"#;

const FULL: &str = r#"
name = "clone"
title = "A full clone"
source = "bench"
metric = { unit = "clones/h", count = "actions", of = ["clone"], per = "1h" }
vm = [{ name = "vm", disk = [{ name = "template", size = "1GiB" }, { name = "copied", size = "1GiB" }] }]
users = [{ name = "one", vm = "vm", load = { closed = { users = 1, think = "1ms" } } }]
action = [{ name = "clone", steps = [{ stage = { name = "copying", steps = [
    { copy = { from = "template", to = "copied" } },
    { flush = { disk = "copied" } },
] } }] }]
limit = [{ action = "clone", percentile = 95, limit = "1h", source = "bench" }]
"#;

const LINKED: &str = r#"
name = "link"
title = "A linked clone"
source = "bench"
metric = { unit = "clones/h", count = "actions", of = ["link"], per = "1h" }
vm = [{ name = "vm", disk = [{ name = "template", size = "8GiB" }, { name = "linked", size = "8GiB" }] }]
users = [{ name = "one", vm = "vm", load = { closed = { users = 1, think = "100ms" } } }]
action = [{ name = "link", steps = [
    { stage = { name = "linking", steps = [{ link = { from = "template", to = "linked" } }] } },
    { write = { disk = "linked", size = "4k", count = 16 } },
] }]
limit = [{ action = "link", percentile = 95, limit = "1h", source = "bench" }]
"#;
