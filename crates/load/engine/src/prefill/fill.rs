use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Instant, SystemTime};

use datastore::{AlignedBuffer, VirtualDisk};
use state_machine::{Pattern, mix};
use stats::Histogram;
use units::{Bytes, Nanos};

use super::error::PrefillError;
use super::plan::{Options, Plan, PrefillReport, Progress, RateStats};
use crate::payload::{self, Freshness, Resident};
use crate::verify::{Setup, StateError, Tracker, Written};

/// Length of a write, in bytes.
const PIECE: u64 = PIECE_BYTES as u64;
const PIECE_BYTES: usize = 1 << 20;

/// Number of seeds from which repeated pieces take theirs.
const REPEATED_SEEDS: u64 = 16;

/// Fills all disks that are not filled yet, calls `progress` after each MiB, and returns when all
/// data is durable. Setting `cancel` stops it after the writes in flight. During the first write
/// the result is then [`PrefillError::Cancelled`]; during the rewrite only the sample becomes
/// smaller.
///
/// With verification it opens (and locks) the state of these disks until it returns.
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

/// State that all passes share.
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

/// Range of a target that no thread has claimed yet.
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

    /// Returns the size of a whole disk, in bytes.
    fn whole(_number: usize, target: &Target) -> u64 {
        target.size().get()
    }

    /// Rewrites the start of the disks. The sample is divided evenly among the disks in whole
    /// pieces.
    fn rewrite(&mut self, options: &Options) -> Result<RateStats, PrefillError> {
        if options.rewrite_max == Bytes::ZERO || self.targets.is_empty() {
            return Ok(RateStats::default());
        }
        let share = options.rewrite_max.get() / self.targets.len() as u64;
        let share = (share / PIECE * PIECE).max(PIECE);
        let until = Limit::Until(Instant::now() + options.rewrite_time_max.to_duration());
        let sampled = options.rewrite_max.get().div_ceil(share);
        let amount = |number: usize, target: &Target| {
            if (number as u64) < sampled { target.size().get().min(share) } else { 0 }
        };
        self.pass(&amount, until, &mut |_| ())
    }

    /// Writes the first `amount` bytes of every target and makes them durable.
    fn pass(
        &mut self,
        amount: &dyn Fn(usize, &Target) -> u64,
        limit: Limit,
        report: &mut dyn FnMut(Bytes),
    ) -> Result<RateStats, PrefillError> {
        self.round += 1;
        let lanes = self.share_out(amount);
        let wanted: u64 =
            self.targets.iter().enumerate().map(|(number, target)| amount(number, target)).sum();
        let start = Instant::now();
        let (bytes, latency) = self.write_all(&lanes, limit, report)?;
        if bytes.get() < wanted && matches!(limit, Limit::Never) {
            return Err(PrefillError::Cancelled { done: bytes, total: Bytes::new(wanted) });
        }
        self.sync()?;
        Ok(RateStats { bytes, elapsed: start.elapsed().into(), latency: latency.compact() })
    }

    fn share_out(&self, amount: &dyn Fn(usize, &Target) -> u64) -> Lanes {
        let mut lanes: Vec<VecDeque<Span>> = (0..self.lanes).map(|_| VecDeque::new()).collect();
        for (number, target) in self.targets.iter().enumerate() {
            let span = Span { target: number, at: 0, end: amount(number, target) };
            if span.end > 0 {
                lanes[number % self.lanes].push_back(span);
            }
        }
        lanes.into_iter().map(Mutex::new).collect()
    }

    /// Runs the writer threads. The first error stops all of them.
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
            content: state_machine::Content::Made,
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
            let mut tracker = lock(tracker);
            tracker.check()?;
            tracker.on_write_done(ticket, written);
        }
        let length = bytes.len() as u64;
        result.map(|()| Wrote { bytes: length, took }).map_err(|source| PrefillError::Write {
            disk: disk.name.clone(),
            offset,
            length,
            source,
        })
    }

    /// Syncs each file once, because several disks may share the file of a device.
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
    /// Returns the size of the disk, rounded down to its alignment.
    fn size(&self) -> Bytes {
        self.plan.disk.size.round_down(Bytes::new(u64::from(self.plan.disk.alignment)))
    }
}

/// Claims the next piece of the thread's own lane, or of another lane that has pieces left.
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
