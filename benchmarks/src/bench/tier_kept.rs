//! Measures a served tier: the memory it uses, its pages after a kill, and all writes after crashes
//! at any point.
//!
//! The served program is the released one; the crashes are those of the state machine's own
//! simulation.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::front::{BYTES, EXPORT, Server, number};
use super::pairs::scratch;
use super::{Figure, process, tilemark};

/// Time until the map of a filled page is surely written: it is written within a second, and a slow
/// host gets more time.
const TOLD: Duration = Duration::from_millis(2500);
/// Maximum number of readings of a tier until it holds all data.
const READINGS: usize = 50;
/// Number of crash points of `make bench`; `tier.crash_points_long` has a million.
const POINTS: u64 = 10_000;
const POINTS_LONG: u64 = 1_000_000;

/// A tier of some size in a directory, in front of a sparse file of twice the size.
pub(super) struct Tier {
    pub(super) directory: PathBuf,
    pub(super) socket: PathBuf,
}

impl Tier {
    pub(super) fn make(directory: &Path, name: &str, bytes: u64) -> Result<Self> {
        let directory = directory.join(name);
        std::fs::create_dir(&directory)?;
        std::fs::File::create(directory.join("disk.raw"))?.set_len(2 * bytes)?;
        let mut init = Command::new(tilemark::binary()?);
        init.args(["tier", "init"]).arg(directory.join("tier"));
        process::run(init.args(["--size", &format!("{bytes}B"), "--chunk", "4MiB"]))?;
        Ok(Self { socket: directory.join("s"), directory })
    }

    pub(super) fn serve(&self) -> Result<Server> {
        let mut command = Command::new(tilemark::binary()?);
        command.args(["tier", "serve"]).arg(self.directory.join("tier")).arg("--disk");
        command.arg(format!("{EXPORT}={}", self.directory.join("disk.raw").display()));
        Server::start(command.arg("--socket").arg(&self.socket), &self.socket)
    }

    fn status(&self) -> Result<Value> {
        let mut status = Command::new(tilemark::binary()?);
        status.args(["tier", "status"]).arg(&self.socket).args(["--format", "json"]);
        Ok(serde_json::from_str(&process::run(&mut status)?.0)?)
    }
}

/// `tier.memory_mb_per_gib`: memory of a server whose tier is full, for each GiB of pages. The
/// memory of a server with a small tier is subtracted. The same number of bytes is read from both
/// tiers, because the small one's server would otherwise use fewer buffers.
pub(crate) fn memory(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let mut of = Vec::new();
    for (label, bytes) in [("small", BYTES / 4), ("large", 4 * BYTES)] {
        let tier = Tier::make(&out, label, bytes)?;
        let server = tier.serve()?;
        let sizes = [format!("--size={bytes}"), format!("--io_size={}", 4 * BYTES)];
        server.fio("read", 8, &["--bs=512k", &sizes[0], &sizes[1]])?;
        let pages = tier.status()?["held_bytes"].as_f64().context("bytes of pages")?;
        of.push((pages, server.memory_bytes()?));
        let (_, memory) = of[of.len() - 1];
        eprintln!("{name} {label}: {:.1} MiB for {:.2} GiB", memory / 1048576.0, pages / GIB);
    }
    std::fs::remove_dir_all(&out)?;
    let [(few, little), (many, much)] = of[..] else { unreachable!("two were measured") };
    ensure!(many > few, "the large tier held no more than the small one");
    let mib = (much - little) / 1048576.0;
    Ok(vec![Figure::new(name, mib / ((many - few) / GIB), "MiB")])
}

const GIB: f64 = (1_u64 << 30) as f64;

/// `tier.warm_after_kill_percent`: share of reads that still hit after kill -9 and a restart, when
/// all of them hit before.
pub(crate) fn warm(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let tier = Tier::make(&out, "killed", 2 * BYTES)?;
    let server = tier.serve()?;
    // Pages that are read faster than pages can be written are not admitted. The next pass admits
    // them.
    for _ in 0..READINGS {
        server.fio("read", 8, &["--bs=64k"])?;
        if tier.status()?["held_bytes"].as_u64() >= Some(BYTES) {
            break;
        }
    }
    std::thread::sleep(TOLD);
    // The end of a server that is dropped is kill -9.
    drop(server);
    // What listened there may answer until the kernel is through with it.
    std::fs::remove_file(&tier.socket)?;
    let server = tier.serve()?;
    server.fio("randread", 8, &["--bs=64k"])?;
    let status = tier.status()?;
    let count = |key: &str| status[key].as_f64().context("a counter");
    let (hits, reads) = (count("hits")?, count("hits")? + count("partial")? + count("misses")?);
    drop(server);
    std::fs::remove_dir_all(&out)?;
    eprintln!("{name}: {hits} of {reads} reads");
    Ok(vec![Figure::new(name, hits / reads * 100.0, "%")])
}

/// `tier.crash_points`: number of points at which the state machine was stopped, opened again and
/// compared without any loss. The benchmark fails if a point loses data. With
/// `TILEMARK_CRASH_POINTS=1000000`, the figure is `tier.crash_points_long`.
pub(crate) fn crash_points(name: &str) -> Result<Vec<Figure>> {
    let wanted = number("TILEMARK_CRASH_POINTS", POINTS)?;
    let mut test = Command::new(env!("CARGO"));
    test.args([
        "test",
        "--release",
        "--locked",
        "-p",
        "tilemark-tier",
        "--test",
        "behaviour",
        "--",
    ]);
    test.args(["--ignored", "--nocapture", "as_many_points_as_are_asked_for"]);
    test.env("TILEMARK_CRASH_POINTS", wanted.to_string());
    let output = test.output().context("starting cargo test")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "a point lost something:\n{said}");
    let last = said.lines().rev().find_map(|line| line.strip_suffix(" points, none lost"));
    let points: f64 = last.context("how many points")?.trim().parse()?;
    ensure!(points >= wanted as f64, "{points} points of {wanted}");
    let long = if wanted >= POINTS_LONG { "_long" } else { "" };
    Ok(vec![Figure::new(format!("{name}{long}"), points, "points")])
}
