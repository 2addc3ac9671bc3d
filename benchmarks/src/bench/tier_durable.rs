//! Measures durable writes and misses of a served tier, with one client for both sides: that of the
//! front end's tests, over NBD.
//!
//! All files are stored on the disk of the temporary directory and bypass the page cache.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use block_server::{Access, Buffer, FileDisk, Limits, Listen, ListenAddress};
use nbd::Operation;

use super::front::{BYTES, EXPORT, PAIRS, SECONDS, Server, number};
use super::nbd_client::Client;
use super::pairs::{in_pairs, scratch};
use super::{Figure, median};

const BLOCK: u32 = 4096;

/// `tier.fua_d32`: writes of 4 KiB that are durable when answered, 32 in progress, compared with
/// `qemu-nbd` without a cache.
pub(crate) fn fua_d32(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let file = out.join("theirs.raw");
    fill(&file)?;
    fill(&out.join("ours.raw"))?;
    let socket = out.join("theirs");
    let mut command = Command::new("qemu-nbd");
    command.args(["-t", "-f", "raw", "--cache=none", "--aio=io_uring", "-x", EXPORT, "-k"]);
    command.arg(&socket).arg(&file);
    let theirs = Server::start(command, &socket).context("starting qemu-nbd")?;
    let ours = tier(&out, "back")?;
    let run = |socket: &Path| loads(socket, Operation::Write { fua: true }, 32);
    let results = in_pairs(
        pairs()?,
        || run(&socket),
        || run(&out.join("ours")),
        |pair, theirs, ours| {
            eprintln!("{name} pair {pair}: qemu-nbd {:.0} IOPS, ours {:.0} IOPS", theirs.0, ours.0);
        },
    )?;
    drop((theirs, ours));
    std::fs::remove_dir_all(&out)?;
    Ok(vec![
        Figure::new(format!("{name}.iops_vs_qemu"), ratio(&results, |one| one.0), "ratio"),
        Figure::new(format!("{name}.iops"), own(&results, |one| one.0), "1/s"),
    ])
}

/// `tier.fua_d1`: the same, one at a time, compared with the minimum work of a log: 8 KiB written
/// in place and fdatasync.
pub(crate) fn fua_d1(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let file = out.join("theirs.raw");
    fill(&file)?;
    fill(&out.join("ours.raw"))?;
    let ours = tier(&out, "back")?;
    let results = in_pairs(
        pairs()?,
        || bare(&file),
        || loads(&out.join("ours"), Operation::Write { fua: true }, 1),
        |pair, theirs, ours| told(name, pair, "bare", *theirs, *ours),
    )?;
    drop(ours);
    std::fs::remove_dir_all(&out)?;
    Ok(latencies(name, "bare", &results))
}

/// `tier.miss`: reads of 4 KiB that are in no page, one at a time, compared with the same file
/// served without a tier.
pub(crate) fn miss(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let file = out.join("theirs.raw");
    fill(&file)?;
    fill(&out.join("ours.raw"))?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("serve-file").arg(&file).arg(out.join("theirs"));
    let theirs = Server::start(command, &out.join("theirs"))?;
    let ours = tier(&out, "out")?;
    let results = in_pairs(
        pairs()?,
        || loads(&out.join("theirs"), Operation::Read, 1),
        || loads(&out.join("ours"), Operation::Read, 1),
        |pair, theirs, ours| told(name, pair, "bare", *theirs, *ours),
    )?;
    drop((theirs, ours));
    std::fs::remove_dir_all(&out)?;
    Ok(latencies(name, "bare", &results))
}

/// I/Os per second, and the median of their times in microseconds.
type Reached = (f64, f64);

fn told(name: &str, pair: usize, peer: &str, theirs: Reached, ours: Reached) {
    eprintln!("{name} pair {pair}: {peer} p50 {:.1} us, ours p50 {:.1} us", theirs.1, ours.1);
}

fn latencies(name: &str, peer: &str, results: &[(Reached, Reached)]) -> Vec<Figure> {
    vec![
        Figure::new(format!("{name}.latency_vs_{peer}"), ratio(results, |one| one.1), "ratio"),
        Figure::new(format!("{name}.p50_us"), own(results, |one| one.1), "us"),
    ]
}

fn ratio(results: &[(Reached, Reached)], value: fn(&Reached) -> f64) -> f64 {
    median(&results.iter().map(|(theirs, ours)| value(ours) / value(theirs)).collect::<Vec<_>>())
}

fn own(results: &[(Reached, Reached)], value: fn(&Reached) -> f64) -> f64 {
    median(&results.iter().map(|(_, ours)| value(ours)).collect::<Vec<_>>())
}

fn pairs() -> Result<usize> {
    Ok(usize::try_from(number("TILEMARK_BENCH_RUNS", PAIRS as u64)?)?)
}

fn time() -> Result<Duration> {
    Ok(Duration::from_secs(number("TILEMARK_BENCH_SECONDS", SECONDS)?))
}

/// Writes all bytes of a file, so that measured writes do not have to allocate.
pub(super) fn fill(path: &Path) -> Result<()> {
    let file = File::create(path)?;
    let data = vec![7; 1 << 20];
    for offset in (0..BYTES).step_by(data.len()) {
        file.write_all_at(&data, offset)?;
    }
    Ok(file.sync_all()?)
}

/// Starts a tier on `ours.raw` in this directory. Its mode is `through`, `back` or `out`
/// (write-through without admissions).
fn tier(out: &Path, mode: &str) -> Result<Server> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("serve-tier").arg(out).arg(out.join("ours")).arg(mode);
    Server::start(command, &out.join("ours")).context("starting our own")
}

/// Keeps this number of requests in progress for a time, at random places.
fn loads(socket: &Path, operation: Operation, depth: usize) -> Result<Reached> {
    let mut client = Client::open(&ListenAddress::Unix(socket.to_owned()), EXPORT)?;
    let is_read = operation == Operation::Read;
    let data = vec![9; if is_read { 0 } else { BLOCK as usize }];
    let (time, begin) = (time()?, Instant::now());
    let (mut place, mut times) = (1_u64, Vec::new());
    let mut asked = std::collections::BTreeMap::new();
    while begin.elapsed() < time || !asked.is_empty() {
        while asked.len() < depth && begin.elapsed() < time {
            place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let offset = (place >> 33) % (BYTES / u64::from(BLOCK)) * u64::from(BLOCK);
            asked.insert(client.ask(operation, offset, BLOCK, &data)?, Instant::now());
        }
        if let Some(cookie) = asked.keys().next().copied() {
            let (done, answer) =
                if depth == 1 { (cookie, client.wait(cookie)?) } else { client.wait_any()? };
            answer.context("a request failed")?;
            let begun: Instant = asked.remove(&done).context("an answer to nothing")?;
            times.push(begun.elapsed().as_secs_f64() * 1e6);
        }
    }
    reached(times, begin.elapsed())
}

fn reached(times: Vec<f64>, elapsed: Duration) -> Result<Reached> {
    ensure!(!times.is_empty(), "nothing was done");
    Ok((times.len() as f64 / elapsed.as_secs_f64(), median(&times)))
}

fn bare(path: &Path) -> Result<Reached> {
    // O_DIRECT of Linux on x86-64 and most others.
    let mut options = File::options();
    let file = options
        .write(true)
        .custom_flags(rustix::fs::OFlags::DIRECT.bits().cast_signed())
        .open(path)?;
    let mut data = Buffer::zeroed(2 * BLOCK as usize);
    data.fill(9);
    let (time, begin) = (time()?, Instant::now());
    let (mut times, mut at) = (Vec::new(), 0);
    while begin.elapsed() < time {
        let begun = Instant::now();
        file.write_all_at(&data, at)?;
        file.sync_data()?;
        times.push(begun.elapsed().as_secs_f64() * 1e6);
        at = (at + data.len() as u64) % BYTES;
    }
    reached(times, begin.elapsed())
}

/// `serve-file FILE SOCKET [buffered]`: serves a file without a tier until the input ends.
pub(crate) fn serve(arguments: &[String]) -> Result<()> {
    let (file, socket, buffered) = match arguments {
        [file, socket] => (file, socket, false),
        [file, socket, word] if word == "buffered" => (file, socket, true),
        _ => bail!("usage: serve-file FILE SOCKET [buffered]"),
    };
    let disk = FileDisk::open(EXPORT, Path::new(file), Access { buffered, ..Access::default() })?;
    let listen = [Listen { place: ListenAddress::Unix(socket.into()), tls: None }];
    let running = block_server::start(vec![Box::new(disk)], &listen, Limits::default())?;
    std::io::stdin().lines().next();
    Ok(running.stop()?)
}
