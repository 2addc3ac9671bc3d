//! Compares hits of a served tier over vhost-user with `qemu-storage-daemon`, both in memory
//! (`/dev/shm`), with the same client: the VM of the front end's tests. Only the processor time of
//! the servers is counted, not the client's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::front::{PAIRS, Reached, SECONDS, Server, number};
use super::machine::{IN, Machine};
use super::pairs::in_pairs;
use super::{Figure, median, process};

/// Number of requests in progress.
const DEPTH: usize = 32;
const BLOCK: u32 = 4096;
const BYTES: u64 = 256 << 20;
/// Number of requests between two readings of the clock.
const BURST: u32 = 1000;

/// `tier.vhost_d32`: random reads of 4 KiB, 32 at a time.
pub(crate) fn hits(name: &str) -> Result<Vec<Figure>> {
    let out = PathBuf::from(format!("/dev/shm/tilemark-bench-{}", std::process::id()));
    std::fs::create_dir_all(&out)?;
    let result = beside(name, &out);
    std::fs::remove_dir_all(&out)?;
    result
}

fn beside(name: &str, out: &Path) -> Result<Vec<Figure>> {
    let theirs = Server::start(qsd(out)?, &out.join("theirs")).context("starting the daemon")?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("serve-tier").arg(out).arg(out.join("nbd")).arg("through").arg(out.join("ours"));
    let ours = Server::start(command, &out.join("ours")).context("starting our own")?;
    let seconds = Duration::from_secs(number("TILEMARK_BENCH_SECONDS", SECONDS)?);
    let pairs = usize::try_from(number("TILEMARK_BENCH_RUNS", PAIRS as u64)?)?;
    for (server, socket) in [(&theirs, "theirs"), (&ours, "ours")] {
        fill(&out.join(socket)).with_context(|| format!("filling {socket}"))?;
        // Once, so that all is where it is read from.
        reads(server, &out.join(socket), seconds)?;
    }
    let results = in_pairs(
        pairs,
        || reads(&theirs, &out.join("theirs"), seconds),
        || reads(&ours, &out.join("ours"), seconds),
        |pair, theirs, ours| {
            eprintln!(
                "{name} pair {pair}: qsd {:.0} IOPS {:.2} us CPU/IO, ours {:.0} IOPS {:.2} us CPU/IO",
                theirs.operations_per_s,
                theirs.cpu_us_per_io,
                ours.operations_per_s,
                ours.cpu_us_per_io,
            );
        },
    )?;
    let of = |value: fn(&Reached) -> f64| {
        median(
            &results.iter().map(|(theirs, ours)| value(ours) / value(theirs)).collect::<Vec<_>>(),
        )
    };
    let own = median(&results.iter().map(|(_, ours)| ours.cpu_us_per_io).collect::<Vec<_>>());
    Ok(vec![
        Figure::new(format!("{name}.cpu_vs_qsd"), of(|one| one.cpu_us_per_io), "ratio"),
        Figure::new(format!("{name}.iops_vs_qsd"), of(|one| one.operations_per_s), "ratio"),
        Figure::new(format!("{name}.cpu_us_per_io"), own, "us"),
    ])
}

fn qsd(out: &Path) -> Result<Command> {
    let file = out.join("theirs.raw");
    std::fs::File::create(&file)?.set_len(BYTES)?;
    let mut command = Command::new("qemu-storage-daemon");
    command
        .arg("--blockdev")
        .arg(format!("driver=file,filename={},node-name=disk,aio=io_uring", file.display()));
    command.arg("--export").arg(format!(
        "type=vhost-user-blk,id=export,node-name=disk,writable=on,addr.type=unix,addr.path={}",
        out.join("theirs").display()
    ));
    Ok(command)
}

fn machine(socket: &Path) -> Result<Machine> {
    let mut machine = Machine::new(true);
    machine.connect(socket)?;
    Ok(machine)
}

fn fill(socket: &Path) -> Result<()> {
    let mut machine = machine(socket)?;
    let data = [7; 64 << 10];
    for offset in (0..BYTES).step_by(data.len()) {
        anyhow::ensure!(machine.write(offset, &data) == 0, "a write at {offset} failed");
    }
    Ok(())
}

fn reads(server: &Server, socket: &Path, time: Duration) -> Result<Reached> {
    let mut machine = machine(socket)?;
    let blocks = BYTES / u64::from(BLOCK);
    let (mut place, mut done) = (1_u64, 0_u64);
    let before = process::times(server.id())?.own;
    let begin = Instant::now();
    while begin.elapsed() < time {
        for _ in 0..BURST {
            while machine.open() < DEPTH && machine.has_room() {
                place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                machine.ask(IN, (place >> 33) % blocks * u64::from(BLOCK / 512), BLOCK, &[]);
            }
            anyhow::ensure!(machine.wait().status == 0, "a read failed");
            done += 1;
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    while machine.open() > 0 {
        machine.wait();
        done += 1;
    }
    let after = process::times(server.id())?.own;
    let cpu_s = after.0 - before.0 + after.1 - before.1;
    let (operations_per_s, cpu_us_per_io) = (done as f64 / seconds, cpu_s * 1e6 / done as f64);
    Ok(Reached { operations_per_s, cpu_us_per_io })
}
