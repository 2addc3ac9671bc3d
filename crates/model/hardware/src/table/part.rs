use state_machine::{Operation, Stream};
use units::{Bytes, Nanos};

use super::side::{Side, TableLoop};
use crate::error::{Check, ParameterError};
use crate::part::{Component, Job, OUT_OF_RANGE, Outbox};
use crate::usage::{Meter, Usage};
use state_machine::Slab;

/// Measurements of a disk, from which a [`Table`] draws latencies.
#[derive(Debug, Clone, PartialEq)]
pub struct TableParameters {
    /// Usable size, above zero.
    pub capacity: Bytes,
    /// Upper ends of the shares of all I/Os that the entries of each list stand for: increasing,
    /// the last one 1.
    pub shares: Vec<f64>,
    /// Measured loops, at least one, in any order and with gaps.
    pub loops: Vec<TableLoop>,
}

/// A disk that answers as it was measured to answer, after Anderson, "Simple table-based modeling
/// of storage devices" (HPL-SSP-2001-4). The latency of an I/O is drawn from the measurements with
/// its direction, its size and the same number of outstanding I/Os, including itself. So a closed
/// loop on the table has the measured latencies, and by Little's law the measured rate.
///
/// Between loops, each quantile is interpolated along the logarithms of depth and size. With more
/// outstanding I/Os than the deepest loop, latency grows in proportion to their number, so the rate
/// is never above the measured one. Blocks larger than the largest take time in proportion to their
/// bytes; smaller ones take no less than the smallest. If loops have different shares of reads, the
/// share nearest to that of the last I/Os is used. A direction that no loop has is answered like
/// the other direction.
///
/// Limits of the model: draws are independent, so a stall does not affect all I/Os inside, and
/// addresses do not matter. Flushes are answered like the smallest writes.
#[derive(Debug)]
pub struct Table {
    capacity: Bytes,
    shares: Vec<f64>,
    reads: Side,
    writes: Side,
    stream: Stream,
    inside: Slab<Job>,
    count: u32,
    /// Share of reads among the last I/Os, with less weight for older ones; `None` before the
    /// first.
    recent_reads: Option<f64>,
    meter: Meter,
}

/// Number of I/Os over which the share of reads is averaged; our choice. It is large enough that a
/// mix of 70 % is never taken for reads only (half way is 85 %, almost four standard deviations
/// off).
const RECENT: f64 = 64.0;

const CHECK: Check = Check("table");

impl Table {
    /// Creates an idle disk. The random stream draws latencies.
    ///
    /// # Errors
    ///
    /// When a parameter is outside its range.
    pub fn new(parameters: TableParameters, stream: Stream) -> Result<Self, ParameterError> {
        let TableParameters { capacity, shares, loops } = parameters;
        CHECK.that(capacity > Bytes::ZERO, "capacity", capacity, "above 0 B")?;
        let rises = shares.windows(2).all(|pair| pair[0] < pair[1]);
        let ends = shares.first().is_some_and(|first| *first > 0.0)
            && shares.last().is_some_and(|last| last.to_bits() == 1.0_f64.to_bits());
        CHECK.that(rises && ends, "shares", format!("{shares:?}"), "rising from above 0 to 1")?;
        for each in &loops {
            check_loop(each, shares.len())?;
        }
        let (reads, writes) = (Side::new(&loops, |l| &l.read), Side::new(&loops, |l| &l.write));
        let (reads, writes) = match (reads, writes) {
            (Some(reads), Some(writes)) => (reads, writes),
            (Some(only), None) | (None, Some(only)) => (only.clone(), only),
            (None, None) => {
                CHECK.that(false, "loops", loops.len(), "at least one with latencies")?;
                unreachable!("the check above does not hold")
            }
        };
        let (inside, count, recent_reads) = (Slab::new(), 0, None);
        let meter = Meter::new(0);
        Ok(Self { capacity, shares, reads, writes, stream, inside, count, recent_reads, meter })
    }

    fn latency(&mut self, job: &Job) -> Nanos {
        let is_read = job.operation == Operation::Read;
        let now = f64::from(u8::from(is_read));
        let recent = self.recent_reads.map_or(now, |recent| recent + (now - recent) / RECENT);
        self.recent_reads = Some(recent);
        let drawn = self.stream.unit();
        let entry = self.shares.partition_point(|end| *end <= drawn).min(self.shares.len() - 1);
        let side = if is_read { &self.reads } else { &self.writes };
        side.latency(recent, (job.length, self.count), entry)
    }
}

fn check_loop(found: &TableLoop, entries: usize) -> Result<(), ParameterError> {
    CHECK.that((0.0..=1.0).contains(&found.reads), "reads", found.reads, "from 0 to 1")?;
    CHECK.that(found.block > Bytes::ZERO, "block", found.block, "above 0 B")?;
    CHECK.that(found.depth > 0, "depth", found.depth, "at least 1")?;
    for (name, list) in [("read", &found.read), ("write", &found.write)] {
        let fits = list.is_empty() || list.len() == entries;
        CHECK.that(fits, name, format!("of {} entries", list.len()), "one for each share")?;
        let is_time = list.is_sorted() && list.first().is_none_or(|least| *least > Nanos::ZERO);
        CHECK.that(is_time, name, format!("{list:?}"), "ascending and above 0 s")?;
    }
    Ok(())
}

impl Component for Table {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        if job.end() > self.capacity.get() {
            return out.answer(&job, Err(OUT_OF_RANGE));
        }
        self.meter.enter(now);
        self.count += 1;
        let latency = self.latency(&job);
        out.wake_at(now.saturating_add(latency), self.inside.insert(job));
    }

    fn wake(&mut self, now: Nanos, tag: u32, out: &mut Outbox) {
        let job = self.inside.remove(tag);
        self.count -= 1;
        self.meter.leave(now, job.length);
        out.answer(&job, Ok(()));
    }

    fn usage(&self, now: Nanos) -> Usage {
        self.meter.usage(now)
    }
}
