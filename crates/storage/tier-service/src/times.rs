use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use run_store::slice::{Direction, SizeClass};
use stats::Histogram;
use tier::{IoId, Op, Place};
use units::Nanos;

use crate::requests::Open;

/// How long backing stores and the tier took, since a set was opened. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Times(Arc<Mutex<Both>>);

#[derive(Debug, Default)]
struct Both {
    /// What was taken.
    before: Taken,
    /// What was not yet.
    fresh: Taken,
}

/// What was measured.
#[derive(Debug, Clone, Default)]
pub struct Taken {
    /// By the disk's index.
    pub disks: Vec<DiskTimes>,
}

/// What was measured of a disk.
#[derive(Debug, Clone, Default)]
pub struct DiskTimes {
    /// Reads of its backing store, for a request or to fill pages.
    pub backing_reads: Histogram,
    /// Writes of it, for a request or out of a log.
    pub backing_writes: Histogram,
    /// Clients' requests by direction, as of [`Direction::ALL`], and size.
    requests: [[Requests; SizeClass::COUNT]; Direction::ALL.len()],
}

/// Requests of one direction and size.
#[derive(Debug, Clone, Default)]
pub struct Requests {
    /// From their coming to their answer; those that failed are not in it.
    pub times: Histogram,
    /// Bytes of those that did not fail.
    pub bytes: u64,
    /// Those that failed.
    pub errors: u64,
}

impl DiskTimes {
    /// Requests by direction and size, where there were any.
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

    /// A request was answered after this time, or failed.
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
    /// Clients' requests of a direction, of all disks and sizes.
    #[must_use]
    pub fn requests(&self, wanted: Direction) -> Histogram {
        let all = self.disks.iter().flat_map(DiskTimes::requests);
        let of = all.filter(|(direction, ..)| *direction == wanted).map(|(.., cell)| &cell.times);
        merged(of)
    }

    /// Reads of backing stores.
    #[must_use]
    pub fn backing_reads(&self) -> Histogram {
        merged(self.disks.iter().map(|disk| &disk.backing_reads))
    }

    /// Writes of backing stores.
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
    /// What was measured since this was last asked.
    #[must_use]
    pub fn take(&self) -> Taken {
        let mut both = self.lock();
        let taken = std::mem::take(&mut both.fresh);
        both.before.merge(&taken);
        taken
    }

    /// All that was measured.
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

    /// A client was answered.
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

/// What is under way on backing stores, and since when.
#[derive(Debug, Default)]
pub(crate) struct Watch(Vec<Option<(u16, bool, Instant)>>);

impl Watch {
    /// An I/O was begun, or goes on with what is left of it.
    pub(crate) fn begun(&mut self, io: IoId, place: Place, is_write: bool) {
        let Place::Backing(disk) = place else { return };
        let at = io.0 as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        self.0[at].get_or_insert_with(|| (disk, is_write, Instant::now()));
    }

    /// It has ended.
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
