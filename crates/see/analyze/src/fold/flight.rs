//! Counts the I/Os in flight on a device when an I/O is issued: number of reads, number of writes,
//! and whether one of them is large.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use run_store::slice::SizeClass;
use trace::{IoRecord, Operation};
use units::Nanos;

/// First class of large I/Os, 64 KiB and above.
pub(crate) const LARGE_FROM: u8 = 5;
/// End of the classes of small I/Os, below 32 KiB.
pub(crate) const SMALL_BELOW: u8 = 4;

/// I/Os in flight when an I/O was issued, not counting that I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InFlight {
    pub(crate) ways: [u32; 2],
    pub(crate) beside_large: bool,
}

/// End times of the I/Os in flight.
#[derive(Debug, Clone, Default)]
struct Tracker {
    ends: [BinaryHeap<Reverse<u64>>; 2],
    large_until: u64,
}

impl Tracker {
    #[inline]
    fn step(&mut self, record: &IoRecord, latency: Nanos) -> InFlight {
        let now = record.issue.0;
        for ends in &mut self.ends {
            while ends.peek().is_some_and(|end| end.0 <= now) {
                ends.pop();
            }
        }
        let count = |ends: &BinaryHeap<_>| u32::try_from(ends.len()).unwrap_or(u32::MAX);
        let ways = [count(&self.ends[0]), count(&self.ends[1])];
        let beside_large = self.large_until > now;
        let end = now.saturating_add(latency.0);
        self.ends[usize::from(record.operation == Operation::Write)].push(Reverse(end));
        if SizeClass::of(record.length).index() >= LARGE_FROM {
            self.large_until = self.large_until.max(end);
        }
        InFlight { ways, beside_large }
    }
}

/// I/Os in flight on one device. The first I/Os of a part of a trace are held back, because the
/// I/Os in flight from before the part are known only after the merge.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    hold: usize,
    held: Vec<IoRecord>,
    tracker: Tracker,
    /// Number of I/Os that an earlier part left in flight beyond the I/Os that a later part had
    /// held back.
    pub(crate) unseen: u64,
}

impl Flight {
    pub(crate) fn new(hold: usize) -> Self {
        Self { hold, held: Vec::new(), tracker: Tracker::default(), unseen: 0 }
    }

    /// Adds an I/O and returns the I/Os in flight with it; `None` if it is held back.
    #[inline]
    pub(crate) fn push(&mut self, record: &IoRecord, latency: Nanos) -> Option<InFlight> {
        let found = self.tracker.step(record, latency);
        if self.held.len() < self.hold {
            self.held.push(*record);
            return None;
        }
        Some(found)
    }

    /// Appends a later part; `sink` gets the I/Os that can be resolved now.
    pub(crate) fn merge(&mut self, later: Self, sink: &mut impl FnMut(&IoRecord, InFlight)) {
        let is_whole = later.held.len() < later.hold;
        let carried = if is_whole { Tracker::default() } else { self.tracker.clone() };
        for record in &later.held {
            let latency = record.latency().unwrap_or_default();
            if let Some(found) = self.push(record, latency) {
                sink(record, found);
            }
        }
        self.unseen += later.unseen;
        if is_whole {
            return;
        }
        let until = later.held.last().map_or(0, |record| record.issue.0);
        let large_until = later.tracker.large_until.max(carried.large_until);
        self.tracker = later.tracker;
        self.tracker.large_until = large_until;
        for (mine, before) in self.tracker.ends.iter_mut().zip(carried.ends) {
            let open = before.into_iter().filter(|end| end.0 > until);
            for end in open {
                self.unseen += 1;
                mine.push(end);
            }
        }
    }

    /// Resolves the I/Os held back, for a part with no earlier part.
    pub(crate) fn settle(&mut self, sink: &mut impl FnMut(&IoRecord, InFlight)) {
        let mut tracker = Tracker::default();
        for record in self.held.drain(..) {
            let found = tracker.step(&record, record.latency().unwrap_or_default());
            sink(&record, found);
        }
        self.hold = 0;
    }
}
