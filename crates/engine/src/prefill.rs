//! Writes every virtual disk once before anything is measured.
//!
//! The first write to thin, fallocated or trimmed storage costs more than every later one, and
//! reads of blocks that were never written cost nothing at all; so a run first writes
//! everything, and reports the speed of that apart from the speed of writing again.
//!
//! Each disk is written sequentially, 1 MiB at a time with several outstanding, a few disks at
//! once, by threads with plain positioned writes: at this size a system call per write is no
//! limit (1.58 GB/s on a disk whose own limit is about 1.5 GB/s, see the cost section of
//! `docs/formats/verification.md`).

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Instant, SystemTime};

use datastore::VirtualDisk;
use machine::{Pattern, mix};
use stats::{Compact, Histogram};
use units::{Bytes, Nanos};

use crate::aligned::AlignedBuffer;
use crate::payload::{self, Freshness, Resident};
use crate::verify::{Setup, StateError, Tracker, Written};

/// Bytes per write.
const PIECE: u64 = PIECE_BYTES as u64;
const PIECE_BYTES: usize = 1 << 20;

/// Seeds that deduplicable pieces share.
const REPEATED_SEEDS: u64 = 16;

/// One disk and what to fill it with.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The open disk.
    pub disk: VirtualDisk,
    /// Leave it as it is: it was filled by an earlier call.
    pub filled: bool,
    /// How much of each 4 KiB a compressor could remove, 0 to 100 percent.
    pub compressible_percent: u8,
    /// How many of the 1 MiB pieces repeat one of 16 contents, 0 to 100 percent.
    pub dedupable_percent: u8,
    /// Payloads differ between disks whose seeds differ.
    pub seed: u64,
}

/// How to fill.
#[derive(Debug, Clone)]
pub struct Options {
    /// Stamp every block, so that reads of it can be judged.
    pub verify: Option<Setup>,
    /// How much of each piece is new.
    pub freshness: Freshness,
    /// Disks written at the same time; at least 1.
    pub disks_at_once: usize,
    /// Writes outstanding per disk; at least 1.
    pub outstanding: usize,
    /// At most so much is written again for the rewrite figure; zero leaves it out.
    pub rewrite_max: Bytes,
    /// The rewrite stops after this time.
    pub rewrite_time_max: Nanos,
}

impl Default for Options {
    /// 4 disks at once with 4 writes outstanding each; 256 MiB or 5 s of rewriting. Our choice:
    /// 16 MiB in flight fill the queue of an array, and 5 s are short beside any fill.
    fn default() -> Self {
        Self {
            verify: None,
            freshness: Freshness::default(),
            disks_at_once: 4,
            outstanding: 4,
            rewrite_max: Bytes::MIB * 256,
            rewrite_time_max: Nanos::from_secs(5),
        }
    }
}

/// How far the first write has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes written and acknowledged.
    pub done: Bytes,
    /// Bytes to write in all.
    pub total: Bytes,
}

/// What was written, and how fast.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrefillReport {
    /// Names of the disks that this call has filled.
    pub filled: Vec<String>,
    /// The first write of every block, the closing fsync included in the elapsed time.
    pub first_write: RateStats,
    /// A sample of the same blocks, written a second time; empty if there was none.
    pub rewrite: RateStats,
}

/// Speed and latencies of writes of 1 MiB (the last piece of a disk may be smaller).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RateStats {
    /// Bytes acknowledged.
    pub bytes: Bytes,
    /// From the first submit to the end of the closing fsync.
    pub elapsed: Nanos,
    /// Service time of each write.
    pub latency: Compact,
}

impl RateStats {
    /// Bytes per second over the elapsed time; zero if nothing was written.
    pub fn bytes_per_second(&self) -> f64 {
        if self.bytes == Bytes::ZERO {
            return 0.0;
        }
        self.bytes.as_f64() / self.elapsed.as_secs_f64()
    }
}

/// Why a disk could not be filled.
#[derive(Debug, thiserror::Error)]
pub enum PrefillError {
    /// A write failed (no space, an I/O error, a device that vanished).
    #[error("first write of {length} B to disk \"{disk}\" at offset {offset}: {source}")]
    Write {
        /// The disk's name.
        disk: String,
        /// Byte offset on the disk.
        offset: u64,
        /// Bytes of the write.
        length: u64,
        /// The system's answer.
        source: io::Error,
    },
    /// What was written could not be made durable.
    #[error("fsync of disk \"{disk}\" after filling it: {source}")]
    Sync {
        /// The disk's name.
        disk: String,
        /// The system's answer.
        source: io::Error,
    },
    /// Verification state cannot be kept.
    #[error(transparent)]
    State(#[from] StateError),
    /// The caller asked to stop.
    #[error("filling stopped on request after {done} B of {total} B", done = done.get(), total = total.get())]
    Cancelled {
        /// Bytes acknowledged.
        done: Bytes,
        /// Bytes to write in all.
        total: Bytes,
    },
}

impl PrefillError {
    /// What to try next.
    pub fn hint(&self) -> Option<&'static str> {
        let number = match self {
            Self::Write { source, .. } | Self::Sync { source, .. } => source.raw_os_error()?,
            Self::State(StateError::Io { source, .. }) => source.raw_os_error()?,
            Self::State(_) | Self::Cancelled { .. } => return None,
        };
        match number {
            libc::ENOSPC | libc::EDQUOT => Some(
                "the storage promised more than it has (thin, quota, others writing): free \
                      space or run fewer tiles",
            ),
            libc::EIO | libc::ENODEV | libc::ENXIO => {
                Some("the kernel log (dmesg) says what the device answered")
            }
            _ => None,
        }
    }
}

/// Fills all disks that are not filled yet, tells `progress` after each MiB, and returns when
/// everything is durable. Setting `cancel` stops it within the writes that are in flight:
/// during the first write that is [`PrefillError::Cancelled`], during the rewrite it only makes
/// the sample smaller.
///
/// With verification it opens (and locks) the state of these disks for as long as it runs.
pub fn run(
    plans: &[Plan],
    options: &Options,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<PrefillReport, PrefillError> {
    let todo: Vec<&Plan> = plans.iter().filter(|plan| !plan.filled).collect();
    let mut filler = Filler::new(todo, options, cancel)?;
    let total = filler.targets.iter().map(Target::size).sum();
    let mut report = |done| progress(Progress { done, total });
    report(Bytes::ZERO);

    let first_write = filler.pass(&Filler::whole, Limit::Never, &mut report)?;
    let rewrite = filler.rewrite(options)?;
    let filled = filler.targets.iter().map(|target| target.plan.disk.name.clone()).collect();
    Ok(PrefillReport { filled, first_write, rewrite })
}

/// What all passes share.
struct Filler<'a> {
    targets: Vec<Target<'a>>,
    threads_per_lane: usize,
    lanes: usize,
    freshness: Freshness,
    cancel: &'a AtomicBool,
    started: Instant,
    round: u64,
}

struct Target<'a> {
    plan: &'a Plan,
    tracker: Option<Mutex<Tracker>>,
}

/// A range of a target that is still to be claimed.
struct Span {
    target: usize,
    at: u64,
    end: u64,
}

type Lanes = Vec<Mutex<VecDeque<Span>>>;

#[derive(Clone, Copy)]
enum Limit {
    Never,
    Until(Instant),
}

struct Wrote {
    bytes: u64,
    took: Nanos,
}

impl<'a> Filler<'a> {
    fn new(
        plans: Vec<&'a Plan>,
        options: &Options,
        cancel: &'a AtomicBool,
    ) -> Result<Self, PrefillError> {
        let epoch_unix_ns = unix_ns();
        let targets = plans
            .into_iter()
            .map(|plan| {
                let setup = options.verify.as_ref();
                let tracker = setup
                    .map(|setup| {
                        Tracker::open(&Setup { epoch_unix_ns, ..setup.clone() }, &plan.disk)
                    })
                    .transpose()?;
                Ok(Target { plan, tracker: tracker.map(Mutex::new) })
            })
            .collect::<Result<Vec<_>, StateError>>()?;
        Ok(Self {
            lanes: options.disks_at_once.clamp(1, targets.len().max(1)),
            threads_per_lane: options.outstanding.max(1),
            freshness: options.freshness,
            started: Instant::now(),
            round: 0,
            targets,
            cancel,
        })
    }

    /// All of a disk.
    fn whole(target: &Target) -> u64 {
        target.size().get()
    }

    /// Writes the start of every disk again, the sample shared out evenly.
    fn rewrite(&mut self, options: &Options) -> Result<RateStats, PrefillError> {
        if options.rewrite_max == Bytes::ZERO || self.targets.is_empty() {
            return Ok(RateStats::default());
        }
        let share = options.rewrite_max.get() / self.targets.len() as u64;
        let share = (share / PIECE * PIECE).max(PIECE);
        let until = Limit::Until(Instant::now() + options.rewrite_time_max.to_duration());
        self.pass(&|target| target.size().get().min(share), until, &mut |_| ())
    }

    /// Writes the first bytes of every target, as many as `amount` says, and makes them durable.
    fn pass(
        &mut self,
        amount: &dyn Fn(&Target) -> u64,
        limit: Limit,
        report: &mut dyn FnMut(Bytes),
    ) -> Result<RateStats, PrefillError> {
        self.round += 1;
        let lanes = self.share_out(amount);
        let wanted: u64 = self.targets.iter().map(amount).sum();
        let start = Instant::now();
        let (bytes, latency) = self.write_all(&lanes, limit, report)?;
        if bytes.get() < wanted && matches!(limit, Limit::Never) {
            return Err(PrefillError::Cancelled { done: bytes, total: Bytes::new(wanted) });
        }
        self.sync()?;
        Ok(RateStats { bytes, elapsed: start.elapsed().into(), latency: latency.compact() })
    }

    fn share_out(&self, amount: &dyn Fn(&Target) -> u64) -> Lanes {
        let mut lanes: Vec<VecDeque<Span>> = (0..self.lanes).map(|_| VecDeque::new()).collect();
        for (number, target) in self.targets.iter().enumerate() {
            let span = Span { target: number, at: 0, end: amount(target) };
            lanes[number % self.lanes].push_back(span);
        }
        lanes.into_iter().map(Mutex::new).collect()
    }

    /// Runs the threads; the first error stops all of them.
    fn write_all(
        &self,
        lanes: &Lanes,
        limit: Limit,
        report: &mut dyn FnMut(Bytes),
    ) -> Result<(Bytes, Histogram), PrefillError> {
        let halt = AtomicBool::new(false);
        let (sender, results) = mpsc::channel();
        std::thread::scope(|scope| {
            for thread in 0..self.lanes * self.threads_per_lane {
                let (sender, halt) = (sender.clone(), &halt);
                scope.spawn(move || self.work(lanes, thread % self.lanes, limit, halt, &sender));
            }
            drop(sender);
            let (mut bytes, mut latency, mut failed) = (Bytes::ZERO, Histogram::new(), None);
            for result in results {
                match result {
                    Ok(Wrote { bytes: more, took }) => {
                        bytes = bytes + Bytes::new(more);
                        latency.record(took);
                        report(bytes);
                    }
                    Err(error) => {
                        halt.store(true, Ordering::Relaxed);
                        failed.get_or_insert(error);
                    }
                }
            }
            failed.map_or(Ok((bytes, latency)), Err)
        })
    }

    fn work(
        &self,
        lanes: &Lanes,
        home: usize,
        limit: Limit,
        halt: &AtomicBool,
        results: &Sender<Result<Wrote, PrefillError>>,
    ) {
        let mut buffer = AlignedBuffer::new(PIECE_BYTES);
        let mut resident = Resident::EMPTY;
        let stopped = || {
            halt.load(Ordering::Relaxed)
                || self.cancel.load(Ordering::Relaxed)
                || matches!(limit, Limit::Until(end) if Instant::now() >= end)
        };
        while !stopped() {
            let Some((target, offset, length)) = claim(lanes, home) else { return };
            let bytes = &mut buffer[..length];
            let target = &self.targets[target];
            payload::make(bytes, &mut resident, self.pattern(target, offset), self.freshness);
            if results.send(self.write(target, offset, bytes)).is_err() {
                return;
            }
        }
    }

    fn pattern(&self, target: &Target, offset: u64) -> Pattern {
        let plan = target.plan;
        let own = mix(mix(mix(plan.seed) ^ self.round) ^ offset);
        let repeated = own % 100 < u64::from(plan.dedupable_percent);
        Pattern {
            seed: if repeated { mix((own >> 32) % REPEATED_SEEDS) } else { own },
            compressible_percent: plan.compressible_percent,
        }
    }

    fn write(&self, target: &Target, offset: u64, bytes: &mut [u8]) -> Result<Wrote, PrefillError> {
        let ticket = match &target.tracker {
            None => None,
            Some(tracker) => {
                let now = self.started.elapsed().into();
                let (ticket, seal) = lock(tracker).reserve(now, offset, bytes.len())?;
                seal.apply(bytes);
                Some((tracker, ticket))
            }
        };
        let disk = &target.plan.disk;
        let start = Instant::now();
        let result = disk.file.write_all_at(bytes, disk.base + offset);
        let took = start.elapsed().into();
        if let Some((tracker, ticket)) = ticket {
            let written = if result.is_ok() { Written::Acknowledged } else { Written::Failed };
            lock(tracker).on_write_done(ticket, written);
        }
        let length = bytes.len() as u64;
        result.map(|()| Wrote { bytes: length, took }).map_err(|source| PrefillError::Write {
            disk: disk.name.clone(),
            offset,
            length,
            source,
        })
    }

    /// One fsync per file; the disks of a device share one.
    fn sync(&self) -> Result<(), PrefillError> {
        let mut synced: Vec<&Arc<File>> = Vec::new();
        for VirtualDisk { file, name, .. } in self.targets.iter().map(|target| &target.plan.disk) {
            if !synced.iter().any(|other| Arc::ptr_eq(other, file)) {
                file.sync_all()
                    .map_err(|source| PrefillError::Sync { disk: name.clone(), source })?;
                synced.push(file);
            }
        }
        Ok(())
    }
}

impl Target<'_> {
    /// What can be written with the disk's alignment.
    fn size(&self) -> Bytes {
        self.plan.disk.size.round_down(Bytes::new(u64::from(self.plan.disk.alignment)))
    }
}

/// The next piece of the thread's own lane, or of another lane that still has one.
fn claim(lanes: &Lanes, home: usize) -> Option<(usize, u64, usize)> {
    (0..lanes.len()).find_map(|step| {
        let mut lane = lock(&lanes[(home + step) % lanes.len()]);
        let span = lane.front_mut()?;
        let (target, at) = (span.target, span.at);
        let length = (span.end - at).min(PIECE);
        span.at += length;
        if span.at == span.end {
            lane.pop_front();
        }
        Some((target, at, usize::try_from(length).expect("at most one piece")))
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder panics")
}

fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Nanos::from(since).0
}
