//! Compares hits of a served tier with other servers of a file on fast storage:
//! `qemu-storage-daemon` without a cache, and nbdkit's cache filter, over the same socket with
//! fio's NBD engine.
//!
//! The tier's cache file, its backing file and those of the peers are stored on the disk of the
//! temporary directory. All reads bypass the page cache, except nbdkit's, which cannot bypass it.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use block_server::{Limits, Listen, ListenAddress};
use cache::tier::Admission;
use tier::{Mode, Plan};
use tier_service::{Caching, Copies, Opening, Set};

use super::front::{BYTES, EXPORT, PAIRS, SECONDS, Server, beside_memory, number};
use super::pairs::{in_pairs, scratch};
use super::{Figure, median};

/// Number of requests in progress.
const DEPTH: u32 = 16;

/// `tier.flash_hit`: random reads of 4 KiB that all hit, compared with `qemu-storage-daemon` on a
/// file.
pub(crate) fn flash_hit(name: &str) -> Result<Vec<Figure>> {
    against(name, "qsd", ("through", &[]), |file, socket| {
        let mut command = Command::new("qemu-storage-daemon");
        let file = file.display();
        command.arg("--blockdev").arg(format!(
            "driver=file,filename={file},node-name=disk,cache.direct=on,aio=io_uring"
        ));
        command.arg("--nbd-server").arg(format!("addr.type=unix,addr.path={}", socket.display()));
        command
            .arg("--export")
            .arg(format!("type=nbd,id=export,node-name=disk,name={EXPORT},writable=on"));
        command
    })
}

/// `tier.hit`: the same compared with nbdkit's cache filter, which holds all data.
pub(crate) fn hit(name: &str) -> Result<Vec<Figure>> {
    against(name, "nbdkit_cache", ("through", &[]), cache_filter)
}

/// `tier.memory_hit`: the same from the tier's memory, which has room for all data without
/// compression; and `tier.memory_hit_packed` with data of which half compresses away.
pub(crate) fn memory_hit(name: &str) -> Result<Vec<Figure>> {
    let mut figures = against(name, "nbdkit_cache", ("memory", &[]), cache_filter)?;
    let half =
        ["--refill_buffers", "--buffer_compress_percentage=50", "--buffer_compress_chunk=4k"];
    let name = format!("{name}_packed");
    figures.extend(against(&name, "nbdkit_cache", ("memory", &half), cache_filter)?);
    Ok(figures)
}

fn cache_filter(file: &Path, socket: &Path) -> Command {
    let mut command = Command::new("nbdkit");
    command.args(["-f", "-U"]).arg(socket).args(["--filter=cache", "file"]).arg(file);
    command.arg("cache-on-read=true").stderr(Stdio::null());
    command
}

/// `tier.memory_read`: the same with 1 and 32 requests in progress, compared with nbdkit's memory
/// disk.
pub(crate) fn memory_read(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let theirs = Server::nbdkit(&out.join("theirs"))?;
    let ours = ours(&out, "memory")?;
    fill(&[&theirs, &ours], &[])?;
    let loads = [("4k_d1", "randread", 1), ("4k_d32", "randread", 32)];
    let figures = beside_memory(name, &loads, &theirs, &ours)?;
    drop((theirs, ours));
    std::fs::remove_dir_all(&out)?;
    Ok(figures)
}

fn ours(out: &Path, mode: &str) -> Result<Server> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("serve-tier").arg(out).arg(out.join("ours")).arg(mode);
    Server::start(command, &out.join("ours")).context("starting our own")
}

/// Writes the data, and reads them until they are in the place from which the measured reads come.
fn fill(servers: &[&Server], data: &[&str]) -> Result<()> {
    for server in servers {
        server.fio("write", 8, &[&["--bs=512k"], data].concat())?;
        // Pages that were read faster than pages can be written are admitted by the next pass.
        for _ in 0..3 {
            server.fio("read", 8, &["--bs=512k"])?;
        }
    }
    Ok(())
}

/// Compares our server, in a mode and with data that these options of fio produce, with a peer.
fn against(
    name: &str,
    peer: &str,
    (mode, data): (&str, &[&str]),
    serve: impl Fn(&Path, &Path) -> Command,
) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let file = out.join("theirs.raw");
    std::fs::File::create(&file)?.set_len(BYTES)?;
    let theirs = Server::start(serve(&file, &out.join("theirs")), &out.join("theirs"))?;
    let ours = ours(&out, mode)?;
    fill(&[&theirs, &ours], data)?;
    let seconds = format!("--runtime={}", number("TILEMARK_BENCH_SECONDS", SECONDS)?);
    let load = ["--bs=4k", "--time_based", "--randrepeat=0", "--norandommap", &seconds];
    let pairs = usize::try_from(number("TILEMARK_BENCH_RUNS", PAIRS as u64)?)?;
    let run = |server: &Server| server.fio("randread", DEPTH, &load);
    let results = in_pairs(
        pairs,
        || run(&theirs),
        || run(&ours),
        |pair, theirs, ours| {
            eprintln!(
                "{name} pair {pair}: {peer} {:.0} IOPS {:.2} us CPU/IO, ours {:.0} IOPS {:.2} us CPU/IO",
                theirs.operations_per_s,
                theirs.cpu_us_per_io,
                ours.operations_per_s,
                ours.cpu_us_per_io,
            );
        },
    )?;
    drop((theirs, ours));
    std::fs::remove_dir_all(&out)?;
    let of = |value: fn(&super::front::Reached) -> f64| {
        median(
            &results.iter().map(|(theirs, ours)| value(ours) / value(theirs)).collect::<Vec<_>>(),
        )
    };
    let own = median(&results.iter().map(|(_, ours)| ours.cpu_us_per_io).collect::<Vec<_>>());
    Ok(vec![
        Figure::new(format!("{name}.cpu_vs_{peer}"), of(|one| one.cpu_us_per_io), "ratio"),
        Figure::new(format!("{name}.iops_vs_{peer}"), of(|one| one.operations_per_s), "ratio"),
        Figure::new(format!("{name}.cpu_us_per_io"), own, "us"),
    ])
}

/// `serve-tier DIR SOCKET MODE [VHOST]`: serves a new tier in a directory until the input ends;
/// also over a vhost-user socket if one is given. Mode `out` is write-through without admissions;
/// `memory` is write-through with memory for twice the disk's size.
pub(crate) fn serve(arguments: &[String]) -> Result<()> {
    let [directory, socket, how, vhost @ ..] = arguments else {
        bail!("usage: serve-tier DIR SOCKET MODE [VHOST]")
    };
    let (mode, admission) = match how.as_str() {
        "back" => (Mode::Back, Admission::Always),
        "out" => (Mode::Through, Admission::NthAccess { accesses: u8::MAX, fill_percent: 0 }),
        _ => (Mode::Through, Admission::Always),
    };
    let directory = Path::new(directory);
    let backing = directory.join("ours.raw");
    // One that was filled is left so.
    std::fs::File::options().create(true).append(true).open(&backing)?.set_len(BYTES)?;
    let cache = directory.join("tier");
    tier_service::make(&cache, Plan { chunk_bytes: 4 << 20, ..Plan::new(2 * BYTES) })?;
    let disk = Opening {
        name: EXPORT.to_owned(),
        backing,
        mode,
        sidecar: None,
        copies: Copies::default(),
        reserve: None,
    };
    let memory_bytes = if how == "memory" { 2 * BYTES } else { 0 };
    let caching = Caching { admission, memory_bytes, ..Caching::default() };
    let set = Set::open(&cache, caching, &[], &[disk])?;
    let mut listen = vec![Listen { place: ListenAddress::Unix(socket.into()), tls: None }];
    listen.extend(vhost.iter().map(|path| {
        let (path, disk) = (path.into(), EXPORT.to_owned());
        Listen { place: ListenAddress::Vhost { path, disk }, tls: None }
    }));
    let running = block_server::start_with(set.offer, &listen, Limits::default())?;
    std::io::stdin().lines().next();
    Ok(running.stop()?)
}
