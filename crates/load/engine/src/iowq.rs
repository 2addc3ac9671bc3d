//! Limits for the kernel's helper threads (io-wq).
//!
//! Some files and devices cannot start I/O without blocking (no `FMODE_NOWAIT`: zram, FUSE, some
//! network and stacked devices). There io_uring hands every request to a helper thread, which
//! carries it out synchronously. The number of helpers limits the number of requests that the
//! storage sees at once. So it is a part of the measurement and is not left to the kernel's default
//! (the smaller of the ring's size and four per CPU).

use std::fs::File;
use std::io::{IoSliceMut, Seek, SeekFrom};
use std::sync::Arc;

use io_uring::Submitter;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use units::Nanos;

use crate::clock;

/// Number of test reads that decide if a target is memory.
const PROBES: u64 = 9;
const PAGE: u64 = 4096;

/// Limit on a ring's helper threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Helpers {
    /// The target starts I/O without blocking, so helpers are only used for flushes.
    NotNeeded,
    /// The target blocks and waits: one helper per outstanding request.
    OnePerRequest,
    /// The target is memory: a request uses the CPU of its helper, and more helpers than CPUs would
    /// only wait for each other. The value is the number of helpers.
    PerSpareCpu(u32),
}

/// Chooses and sets the limit of a ring.
pub(crate) fn limit(
    submitter: &Submitter<'_>,
    files: &[Arc<File>],
    depth: u32,
    workers: usize,
) -> Helpers {
    let spare = spare_cpus(workers);
    let blocks = |file: &&Arc<File>| !starts_without_blocking(file);
    let blocking = files.iter().filter(blocks).count();
    let (helpers, count) = if blocking == 0 {
        return Helpers::NotNeeded;
    } else if blocking == files.len() && files.iter().all(|file| is_memory(file)) {
        (Helpers::PerSpareCpu(spare), spare)
    } else {
        (Helpers::OnePerRequest, depth)
    };
    // The first limit is for bounded workers, which carry out I/O of files and devices; zero leaves
    // the unbounded ones alone. An old kernel refuses, and its default stays.
    let _ = submitter.register_iowq_max_workers(&mut [count, 0]);
    helpers
}

/// Returns the number of CPUs per worker that the workers themselves do not need; at least one.
fn spare_cpus(workers: usize) -> u32 {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cpus.saturating_sub(workers) / workers.max(1)).unwrap_or(1).max(1)
}

/// Returns true if the kernel accepts a read that must not block.
fn starts_without_blocking(file: &File) -> bool {
    read_probe(file, 0, ReadWriteFlags::NOWAIT) != Err(Errno::OPNOTSUPP)
}

/// Returns true if the target is memory. Reads a few distant blocks and compares CPU time with
/// elapsed time, because memory is read by the caller's CPU. The median guards against
/// interruptions.
fn is_memory(mut file: &File) -> bool {
    let size = file.seek(SeekFrom::End(0)).unwrap_or(0);
    let mut shares: Vec<u64> = (0..PROBES)
        .filter_map(|probe| {
            let offset = size / PROBES * probe / PAGE * PAGE;
            let clock = clock::Clock::start();
            let before = clock::thread_cpu();
            read_probe(file, offset, ReadWriteFlags::empty()).ok()?;
            let cpu = clock::thread_cpu().saturating_sub(before);
            Some(cpu.0 * 100 / clock.now().max(Nanos(1)).0)
        })
        .collect();
    shares.sort_unstable();
    shares.get(shares.len() / 2).is_some_and(|percent| *percent >= 80)
}

#[repr(align(4096))]
struct Page([u8; 4096]);

fn read_probe(file: &File, offset: u64, flags: ReadWriteFlags) -> rustix::io::Result<()> {
    let mut page = Box::new(Page([0; 4096]));
    preadv2(file, &mut [IoSliceMut::new(&mut page.0)], offset, flags).map(drop)
}
