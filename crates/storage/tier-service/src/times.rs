use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use run_store::slice::{Direction, SizeClass};
use stats::Histogram;
use tier::{IoId, IoTarget, Op};
use units::Nanos;

use crate::requests::Open;

/// Latencies of backing stores and of the tier since a set was opened. Clones share the same data.
#[derive(Debug, Clone, Default)]
pub struct Times(Arc<Mutex<Both>>);

#[derive(Debug, Default)]
struct Both {
    /// Measurements up to the last call of [`Times::take`].
    before: Taken,
    /// Measurements since the last call of [`Times::take`].
    fresh: Taken,
}

/// Measurements of a set.
#[derive(Debug, Clone, Default)]
pub struct Taken {
    /// Measurements by index of the disk.
    pub disks: Vec<DiskTimes>,
}

/// Measurements of a disk.
#[derive(Debug, Clone, Default)]
pub struct DiskTimes {
    /// Latencies of reads from the backing store, for a request or to fill pages.
    pub backing_reads: Histogram,
    /// Latencies of writes to the backing store, for a request or from a log.
    pub backing_writes: Histogram,
    /// Clients' requests, indexed by direction (in the order of [`Direction::ALL`]) and by size
    /// class.
    requests: [[Requests; SizeClass::COUNT]; Direction::ALL.len()],
}

/// Requests of one direction and size class.
#[derive(Debug, Clone, Default)]
pub struct Requests {
    /// Latencies from arrival to answer, without failed requests.
    pub times: Histogram,
    /// Bytes of successful requests, in total.
    pub bytes: u64,
    /// Number of failed requests.
    pub errors: u64,
}

impl DiskTimes {
    /// Iterates over the requests by direction and size class, without empty classes.
    pub fn requests(&self) -> impl Iterator<Item = (Direction, SizeClass, &Requests)> {
        let cells =
            Direction::ALL.into_iter().zip(&self.requests).flat_map(|(direction, by_class)| {
                SizeClass::all()
                    .into_iter()
                    .zip(by_class)
                    .map(move |(class, cell)| (direction, class, cell))
            });
        cells.filter(|(.., cell)| !cell.times.is_empty() || cell.errors > 0)
    }

    /// Counts a request, with its latency or as failed.
    pub fn answered(&mut self, direction: Direction, bytes: u32, time: Option<Nanos>) {
        let class = usize::from(SizeClass::of(bytes).index());
        let cell = &mut self.requests[direction as usize][class];
        match time {
            Some(time) => {
                cell.times.record(time);
                cell.bytes += u64::from(bytes);
            }
            None => cell.errors += 1,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.backing_reads.merge(&other.backing_reads);
        self.backing_writes.merge(&other.backing_writes);
        let cells = self.requests.iter_mut().flatten().zip(other.requests.iter().flatten());
        for (cell, other) in cells {
            cell.times.merge(&other.times);
            cell.bytes += other.bytes;
            cell.errors += other.errors;
        }
    }
}

impl Taken {
    /// Returns the latencies of clients' requests of a direction, over all disks and sizes.
    #[must_use]
    pub fn requests(&self, wanted: Direction) -> Histogram {
        let all = self.disks.iter().flat_map(DiskTimes::requests);
        let of = all.filter(|(direction, ..)| *direction == wanted).map(|(.., cell)| &cell.times);
        merged(of)
    }

    /// Returns the latencies of reads from all backing stores.
    #[must_use]
    pub fn backing_reads(&self) -> Histogram {
        merged(self.disks.iter().map(|disk| &disk.backing_reads))
    }

    /// Returns the latencies of writes to all backing stores.
    #[must_use]
    pub fn backing_writes(&self) -> Histogram {
        merged(self.disks.iter().map(|disk| &disk.backing_writes))
    }

    fn merge(&mut self, other: &Self) {
        for (index, disk) in other.disks.iter().enumerate() {
            self.disk(index).merge(disk);
        }
    }

    fn disk(&mut self, index: usize) -> &mut DiskTimes {
        if self.disks.len() <= index {
            self.disks.resize_with(index + 1, DiskTimes::default);
        }
        &mut self.disks[index]
    }
}

fn merged<'a>(of: impl Iterator<Item = &'a Histogram>) -> Histogram {
    let mut all = Histogram::new();
    of.for_each(|one| all.merge(one));
    all
}

impl Times {
    /// Returns the measurements since the last call, and adds them to the earlier ones.
    #[must_use]
    pub fn take(&self) -> Taken {
        let mut both = self.lock();
        let taken = std::mem::take(&mut both.fresh);
        both.before.merge(&taken);
        taken
    }

    /// Returns all measurements since the set was opened.
    #[must_use]
    pub fn so_far(&self) -> Taken {
        let both = self.lock();
        let mut all = both.before.clone();
        all.merge(&both.fresh);
        all
    }

    fn lock(&self) -> MutexGuard<'_, Both> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an answered request of a client.
    pub(crate) fn answered(&self, open: &Open) {
        let direction = match open.op {
            Op::Read => Direction::Read,
            Op::Write | Op::Zero { .. } => Direction::Write,
            Op::Flush => Direction::Flush,
        };
        let time = open.result.is_ok().then(|| Nanos::from(open.since.elapsed()));
        self.lock().fresh.disk(open.disk.into()).answered(direction, open.bytes, time);
    }
}

/// I/O in progress on backing stores, indexed by the number of the I/O: disk, true for a write, and
/// start.
#[derive(Debug, Default)]
pub(crate) struct Watch(Vec<Option<(u16, bool, Instant)>>);

impl Watch {
    /// Records the start of an I/O; a continued I/O keeps its first start.
    pub(crate) fn begun(&mut self, io: IoId, place: IoTarget, is_write: bool) {
        let IoTarget::Backing(disk) = place else { return };
        let at = io.0 as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        self.0[at].get_or_insert_with(|| (disk, is_write, Instant::now()));
    }

    /// Records the completion of an I/O.
    pub(crate) fn ended(&mut self, io: IoId, is_ok: bool, times: &Times) {
        let found = self.0.get_mut(io.0 as usize).and_then(Option::take);
        let Some((disk, is_write, since)) = found else { return };
        if is_ok {
            let mut both = times.lock();
            let disk = both.fresh.disk(disk.into());
            let of = if is_write { &mut disk.backing_writes } else { &mut disk.backing_reads };
            of.record(Nanos::from(since.elapsed()));
        }
    }
}
