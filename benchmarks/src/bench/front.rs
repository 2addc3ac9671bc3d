//! Compares our memory disk with nbdkit's, over the same socket with the same client: fio's NBD
//! engine.
//!
//! Both servers are separate processes that run all the time and hold the same data, so that the
//! sides of a pair differ only in the server. The cost of a server is its own user and system time,
//! which includes the kernel's work for its sends and receives; fio's time is not included.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use block_server::{Limits, Listen, ListenAddress, RamDisk};
use serde_json::Value;

use super::pairs::{in_pairs, scratch};
use super::{Figure, median, process};

pub(super) const PAIRS: usize = 8;
pub(super) const SECONDS: u64 = 5;
pub(super) const BYTES: u64 = 512 << 20;
pub(super) const EXPORT: &str = "memory";
/// Maximum time for the start of a server.
const START_MAX: Duration = Duration::from_secs(10);

/// Rates of one run of fio.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reached {
    pub(super) operations_per_s: f64,
    pub(super) cpu_us_per_io: f64,
}

/// A load: its name in the figure, fio's direction, and the number of requests in progress.
pub(super) type Load = (&'static str, &'static str, u32);

const LOADS: [Load; 3] = [
    ("read_4k_d1", "randread", 1),
    ("read_4k_d32", "randread", 32),
    ("write_4k_d32", "randwrite", 32),
];

/// `front.ram`: I/Os per second and CPU time per I/O of our server, divided by nbdkit's.
pub(crate) fn ram(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let theirs = Server::nbdkit(&out.join("theirs"))?;
    let ours = Server::ours(&out.join("ours"))?;
    for server in [&theirs, &ours] {
        server.fio("write", 8, &["--bs=1m"])?;
    }
    let figures = beside_memory(name, &LOADS, &theirs, &ours)?;
    drop((theirs, ours));
    std::fs::remove_dir_all(&out)?;
    Ok(figures)
}

/// Runs these loads on one of our servers and on nbdkit's memory disk, in pairs.
pub(super) fn beside_memory(
    name: &str,
    loads: &[Load],
    theirs: &Server,
    ours: &Server,
) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (label, direction, depth) in loads {
        let seconds = format!("--runtime={}", number("TILEMARK_BENCH_SECONDS", SECONDS)?);
        let load = ["--bs=4k", "--time_based", "--randrepeat=0", "--norandommap", &seconds];
        let pairs = usize::try_from(number("TILEMARK_BENCH_RUNS", PAIRS as u64)?)?;
        let run = |server: &Server| server.fio(direction, *depth, &load);
        let results = in_pairs(
            pairs,
            || run(theirs),
            || run(ours),
            |pair, theirs, ours| {
                eprintln!(
                    "{name}.{label} pair {pair}: nbdkit {:.0} IOPS {:.2} us CPU/IO, ours {:.0} IOPS \
                 {:.2} us CPU/IO",
                    theirs.operations_per_s,
                    theirs.cpu_us_per_io,
                    ours.operations_per_s,
                    ours.cpu_us_per_io,
                );
            },
        )?;
        figures.extend(ratios(&format!("{name}.{label}"), &results));
    }
    Ok(figures)
}

fn ratios(name: &str, results: &[(Reached, Reached)]) -> Vec<Figure> {
    let of = |value: fn(&Reached) -> f64| {
        median(
            &results.iter().map(|(theirs, ours)| value(ours) / value(theirs)).collect::<Vec<_>>(),
        )
    };
    let own = |value: fn(&Reached) -> f64| {
        median(&results.iter().map(|(_, ours)| value(ours)).collect::<Vec<_>>())
    };
    vec![
        Figure::new(
            format!("{name}.iops_vs_nbdkit_memory"),
            of(|one| one.operations_per_s),
            "ratio",
        ),
        Figure::new(format!("{name}.cpu_vs_nbdkit_memory"), of(|one| one.cpu_us_per_io), "ratio"),
        Figure::new(format!("{name}.iops"), own(|one| one.operations_per_s), "1/s"),
        Figure::new(format!("{name}.cpu_us_per_io"), own(|one| one.cpu_us_per_io), "us"),
    ]
}

/// Returns a number from the environment, which may be set for a short trial.
pub(super) fn number(variable: &str, otherwise: u64) -> Result<u64> {
    let Ok(text) = std::env::var(variable) else { return Ok(otherwise) };
    let value = text.parse().with_context(|| format!("{variable}={text} is no number"))?;
    ensure!(value > 0, "{variable}=0; at least 1");
    Ok(value)
}

/// A server in a process of its own, which is ended when dropped.
pub(super) struct Server {
    process: Child,
    socket: PathBuf,
}

impl Server {
    pub(super) fn nbdkit(socket: &Path) -> Result<Self> {
        let mut command = Command::new("nbdkit");
        // In front, so that the process is the server.
        command.args(["-f", "-U"]).arg(socket).arg("memory").arg(format!("{BYTES}"));
        // It complains of who only looks whether it is there.
        command.stderr(Stdio::null());
        Self::start(command, socket).context("starting nbdkit")
    }

    fn ours(socket: &Path) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve-memory").arg(socket).arg(format!("{BYTES}"));
        Self::start(command, socket)
    }

    /// Returns the resident memory of the server (VmRSS), in bytes.
    pub(super) fn memory_bytes(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.context("VmRSS")?.trim().trim_end_matches(" kB").parse::<f64>()?;
        Ok(kib * 1024.0)
    }

    pub(super) fn start(
        command: impl std::borrow::BorrowMut<Command>,
        socket: &Path,
    ) -> Result<Self> {
        let mut command = command;
        let command = command.borrow_mut();
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        let mut server = Self { process: child, socket: socket.to_owned() };
        let begin = Instant::now();
        while std::os::unix::net::UnixStream::connect(socket).is_err() {
            if let Some(status) = server.process.try_wait()? {
                bail!("{command:?} ended with {status}");
            }
            ensure!(begin.elapsed() < START_MAX, "{command:?} does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    /// Returns the process id of the server.
    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Runs fio once on the server.
    pub(super) fn fio(&self, direction: &str, depth: u32, more: &[&str]) -> Result<Reached> {
        let mut fio = Command::new("fio");
        fio.args(["--name=client", "--ioengine=nbd", "--output-format=json"]);
        fio.arg(format!("--uri=nbd+unix:///{EXPORT}?socket={}", self.socket.display()));
        fio.args([format!("--rw={direction}"), format!("--iodepth={depth}")]);
        fio.arg(format!("--size={BYTES}")).args(more);
        let before = process::times(self.process.id())?.own;
        let (text, _) = process::run(&mut fio)?;
        let after = process::times(self.process.id())?.own;
        // Its engine says a word before.
        let start = text.find('{').context("fio's JSON")?;
        let json: Value = serde_json::from_str(&text[start..]).context("fio's JSON")?;
        let sum = |field: &str| -> f64 {
            let job = &json["jobs"][0];
            ["read", "write"].iter().filter_map(|way| job[way][field].as_f64()).sum()
        };
        let cpu_s = after.0 - before.0 + after.1 - before.1;
        ensure!(sum("total_ios") > 0.0, "fio made no I/O");
        Ok(Reached { operations_per_s: sum("iops"), cpu_us_per_io: cpu_s * 1e6 / sum("total_ios") })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended already is not an error.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `serve-memory SOCKET BYTES`: serves our memory disk until the input ends.
pub(crate) fn serve(arguments: &[String]) -> Result<()> {
    let [socket, bytes] = arguments else { bail!("usage: serve-memory SOCKET BYTES") };
    let disk = RamDisk::new(EXPORT, bytes.parse().context("a number of bytes")?)?;
    let listen = [Listen { place: ListenAddress::Unix(socket.into()), tls: None }];
    let running = block_server::start(vec![Box::new(disk)], &listen, Limits::default())?;
    std::io::stdin().lines().next();
    Ok(running.stop()?)
}
