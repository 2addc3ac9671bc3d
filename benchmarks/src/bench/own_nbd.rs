//! Compares our NBD server with nbdkit's file plugin on the same file, with the client that runs
//! use: the engine's.
//!
//! Both servers are separate processes that run all the time and use the page cache, because
//! nbdkit's plugin cannot bypass it. The cost of a server is its own user and system time, which
//! includes the kernel's work for its sends, receives and copies. The client's time, and that of
//! the kernel's later writes, are not included.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use datastore::VirtualDisk;
use engine::{EngineInstance, Options, Served, ServerAddress};
use run_store::recorder::InstanceShape;
use run_store::slice::{InstanceId, VmId};
use state_machine::{
    DiskId, Effects, Event, IoRequest, KindId, Machine, Operation, Pattern, Purpose, Stream, Token,
};
use units::{Bytes, Nanos};

use super::front::{BYTES, EXPORT, PAIRS, Reached, SECONDS, Server, number};
use super::pairs::{in_pairs, scratch};
use super::tier_durable::fill;
use super::{Figure, median, process};

const BLOCK: u32 = 4096;
/// Number of requests in progress.
const DEPTH: u32 = 32;
/// Share of reads among all requests; the others are writes that need not be durable.
const READS: f64 = 0.75;

/// `protocols.nbd_own_cpu_vs_nbdkit`: processor time per I/O of our server, divided by nbdkit's.
pub(super) fn beside_nbdkit(name: &str) -> Result<Vec<Figure>> {
    if let Err(error) = Command::new("nbdkit").arg("--version").stdout(Stdio::null()).status() {
        eprintln!("{name} was not measured: nbdkit cannot be started ({error}): install nbdkit");
        return Ok(Vec::new());
    }
    let out = scratch()?;
    let result = pairs(name, &out);
    std::fs::remove_dir_all(&out)?;
    result
}

fn pairs(name: &str, out: &Path) -> Result<Vec<Figure>> {
    let (file, theirs, ours) = (out.join("disk.raw"), out.join("theirs"), out.join("ours"));
    fill(&file)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("serve-file").arg(&file).arg(&ours).arg("buffered");
    let own = Server::start(command, &ours).context("starting our own")?;
    let mut command = Command::new("nbdkit");
    // In front, so that the process is the server. It complains of who only looks whether it is there.
    command.args(["-f", "-U"]).arg(&theirs).arg("file").arg(&file).stderr(Stdio::null());
    let nbdkit = Server::start(command, &theirs).context("starting nbdkit")?;
    let time = Duration::from_secs(number("TILEMARK_BENCH_SECONDS", SECONDS)?);
    let results = in_pairs(
        usize::try_from(number("TILEMARK_BENCH_RUNS", PAIRS as u64)?)?,
        || load(&nbdkit, &theirs, &file, time),
        || load(&own, &ours, &file, time),
        |pair, theirs, ours| {
            eprintln!(
                "{name} pair {pair}: nbdkit {:.0} IOPS {:.2} us CPU/IO, ours {:.0} IOPS {:.2} us CPU/IO",
                theirs.operations_per_s,
                theirs.cpu_us_per_io,
                ours.operations_per_s,
                ours.cpu_us_per_io,
            );
        },
    )?;
    let ratio = |value: fn(&Reached) -> f64| {
        let each = results.iter().map(|(theirs, ours)| value(ours) / value(theirs));
        median(&each.collect::<Vec<_>>())
    };
    let own = median(&results.iter().map(|(_, ours)| ours.cpu_us_per_io).collect::<Vec<_>>());
    Ok(vec![
        Figure::new(name, ratio(|one| one.cpu_us_per_io), "ratio"),
        Figure::new(format!("{name}.iops"), ratio(|one| one.operations_per_s), "ratio"),
        Figure::new(format!("{name}.cpu_us_per_io"), own, "us"),
    ])
}

/// Runs one load of the engine on a server.
fn load(server: &Server, socket: &Path, file: &Path, time: Duration) -> Result<Reached> {
    let options = Options {
        depth: DEPTH,
        served: Some(Served {
            server: ServerAddress::Unix(socket.to_owned()),
            exports: BTreeMap::from([(EXPORT.to_owned(), EXPORT.to_owned())]),
        }),
        ..Options::default()
    };
    let instance = EngineInstance::new(Mixed::new(), shape(), vec![disk(file)?]);
    let before = process::times(server.id())?.own;
    let begin = Instant::now();
    let running = engine::start(vec![instance], options).context("starting the load")?;
    while let Some(left) = time.checked_sub(begin.elapsed()) {
        // Slices are only read so that they do not pile up; their sums are also in the outcome.
        let _ = running.slices().recv_timeout(left);
    }
    running.stop();
    let outcome = running.join().context("the load")?;
    let seconds = begin.elapsed().as_secs_f64();
    let after = process::times(server.id())?.own;
    ensure!(outcome.errors.is_empty() && outcome.completed > 0, "a request failed, or none ended");
    let done = outcome.completed as f64;
    let cpu_s = after.0 - before.0 + after.1 - before.1;
    Ok(Reached { operations_per_s: done / seconds, cpu_us_per_io: cpu_s * 1e6 / done })
}

/// Returns the file as a disk; the engine sends its requests to its server instead.
fn disk(file: &Path) -> Result<VirtualDisk> {
    Ok(VirtualDisk {
        file: Arc::new(File::open(file)?),
        base: 0,
        size: Bytes::new(BYTES),
        alignment: BLOCK,
        direct: false,
        writable: true,
        name: EXPORT.to_owned(),
    })
}

fn shape() -> InstanceShape {
    InstanceShape {
        instance: InstanceId(0),
        disk_vms: vec![VmId(0)],
        kinds: 1,
        actions: 0,
        groups: 0,
    }
}

/// Users that request again at once, at uniformly random places.
#[derive(Debug)]
struct Mixed {
    stream: Stream,
}

impl Mixed {
    fn new() -> Self {
        Self { stream: Stream::derive(7, &[], Purpose::User) }
    }

    fn ask(&mut self, due: Nanos, fx: &mut Effects) {
        let is_read = self.stream.chance(READS);
        fx.submit(IoRequest {
            token: Token(0),
            disk: DiskId(0),
            operation: if is_read { Operation::Read } else { Operation::Write },
            kind: KindId(0),
            offset: self.stream.below(BYTES / u64::from(BLOCK)) * u64::from(BLOCK),
            length: BLOCK,
            due,
            pattern: Pattern::default(),
            durable: false,
        });
    }
}

impl Machine for Mixed {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        match event {
            Event::Start => (0..DEPTH).for_each(|_| self.ask(now, fx)),
            Event::Done(..) => self.ask(now, fx),
            _ => {}
        }
    }
}
