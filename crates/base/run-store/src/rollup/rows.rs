use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use stats::Compact;
use units::Nanos;

use crate::gauge::{Folded, GaugeName};
use crate::run::{Phase, TierCounts};
use crate::slice::{Direction, SizeClass};

/// Phase of a step on the run's time axis. The axis has only the time under load: the steps follow
/// each other without the pauses between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Step of the ladder, from 1.
    pub step: u32,
    /// Repeat of the step, from 1.
    pub repeat: u32,
    /// Tiles that ran at the same time.
    pub tiles: u32,
    /// Phase of the step.
    pub phase: Phase,
    /// Start of the phase on the axis.
    pub from: Nanos,
    /// End of the phase on the axis.
    pub to: Nanos,
    /// Time on the axis at which the load of the step began. `start_ns` in the series is relative
    /// to this time.
    pub zero: Nanos,
}

/// Source of I/O: a workload, or all its tiles or copies together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entity {
    /// Tile, from 0; `None` if all tiles are one entity, and in a recorded trace.
    pub tile: Option<u32>,
    /// Name of the workload; in a recorded trace, of the VM.
    pub workload: String,
    /// Number among the copies of this workload in the tile, from 0; 0 if all copies are one
    /// entity.
    pub copy: u32,
}

/// Suffix of the workload name of observed I/O that is part of I/O at a disk above.
const BELOW: &str = " (below)";
/// Suffix that is added to a name that ends with [`BELOW`] but is not I/O below.
const NOT_BELOW: &str = " (top)";

/// Returns the workload name of observed I/O. A VM name that happens to end like I/O below would be
/// left out of all sums; such a name gets another suffix.
pub fn observed_name(name: &str, is_below: bool) -> Cow<'_, str> {
    match (is_below, name.ends_with(BELOW)) {
        (true, _) => Cow::Owned(format!("{name}{BELOW}")),
        (false, true) => Cow::Owned(format!("{name}{NOT_BELOW}")),
        (false, false) => Cow::Borrowed(name),
    }
}

impl Entity {
    /// Returns true if this I/O is part of other I/O. Sums leave it out; it counts only when asked
    /// for by name.
    pub fn is_below(&self) -> bool {
        self.workload.ends_with(BELOW)
    }
}

/// I/O grouped by time bucket, entity, direction and size class.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Level {
    /// Length of a bucket; the last bucket of a span may be shorter.
    pub width: Nanos,
    /// All entities, in order of appearance.
    pub entities: Vec<Entity>,
    /// Rows, sorted by span, bucket, entity, direction and class in ascending order. Empty rows are
    /// left out.
    pub rows: Vec<IoRow>,
}

/// I/O of one bucket, entity, direction and size class.
#[derive(Debug, Clone, PartialEq)]
pub struct IoRow {
    /// Index of the span in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Index of the bucket within the span, from 0.
    pub bucket: u32,
    /// Index of the entity in [`Level::entities`].
    pub entity: u32,
    /// Direction of the I/O.
    pub direction: Direction,
    /// Size class of the I/O.
    pub class: SizeClass,
    /// Bytes moved by successful I/Os.
    pub bytes: u64,
    /// Number of failed I/Os; they are not in the histogram.
    pub errors: u64,
    /// Service time: from submission to completion.
    pub service: Compact,
    /// Sum of the response times of the same I/Os, in nanoseconds.
    pub response_sum_ns: u64,
}

impl IoRow {
    /// Returns the number of successful I/Os.
    pub fn count(&self) -> u64 {
        self.service.count()
    }
}

/// Action of a workload. All tiles and user groups are one entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ActionName {
    /// Name of the workload.
    pub workload: String,
    /// Name of the action.
    pub action: String,
}

/// Actions of one name in one bucket of the wide level.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionRow {
    /// Index of the span in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Index of the bucket within the span, from 0.
    pub bucket: u32,
    /// Index of the action in [`Rollup::action_names`](super::Rollup::action_names).
    pub action: u32,
    /// Number of actions with a failed I/O or call; they are not in the histogram.
    pub errors: u64,
    /// Number of intended starts that were dropped.
    pub dropped: u64,
    /// Response time: from the intended start to the last answer.
    pub response: Compact,
}

/// Kind of call of a workload. All tiles are one entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallName {
    /// Name of the workload.
    pub workload: String,
    /// Kind of call, as the workload names it.
    pub kind: String,
}

/// Calls of a kind in one bucket of the wide level.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    /// Index of the span in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Index of the bucket within the span, from 0.
    pub bucket: u32,
    /// Index of the kind in [`Rollup::call_names`](super::Rollup::call_names).
    pub call: u32,
    /// Bytes of successful answers.
    pub bytes: u64,
    /// Number of failed calls; they are not in the histogram.
    pub errors: u64,
    /// Service time: from the call to its answer.
    pub service: Compact,
}

/// Slices and state of the load generator in one bucket of the wide level.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceRow {
    /// Index of the span in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Index of the bucket within the span, from 0.
    pub bucket: u32,
    /// Number of slices that began in the bucket.
    pub slices: u32,
    /// Sum of the widths of the slices. Counts are divided by it for rates.
    pub time: Nanos,
    /// Number of submitted I/Os and calls.
    pub submitted: u64,
    /// Number of completed I/Os and answered calls.
    pub completed: u64,
    /// Number of requests that waited for a free slot of the generator.
    pub queued: u64,
    /// Sum of the times in flight, in I/O-seconds. Divided by `time`, it is the mean number in
    /// flight.
    pub in_flight_seconds: f64,
    /// Largest CPU share of any worker thread of the generator in any slice, 0 to 1.
    pub worker_cpu_max: f64,
    /// Lateness: from the due time of the work to its handling.
    pub lateness: Compact,
}

/// Group of I/Os for which rates are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// All I/O.
    All,
    /// I/O of one direction.
    Direction(Direction),
    /// I/O of one size class, all directions.
    Class(SizeClass),
    /// I/O of one entity of the wide level (a workload). Only the first
    /// [`RATE_ENTITIES`](super::RATE_ENTITIES) entities have rates.
    Entity(u32),
}

/// Smallest and largest rates of the slices in one bucket of the wide level. A slice without I/O of
/// the group has the rate 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateRow {
    /// Index of the span in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Index of the bucket within the span, from 0.
    pub bucket: u32,
    /// Group of I/Os.
    pub group: Group,
    /// Smallest number of successful I/Os per second.
    pub operations_min: f64,
    /// Largest number of successful I/Os per second.
    pub operations_max: f64,
    /// Smallest throughput, in bytes per second.
    pub bytes_min: f64,
    /// Largest throughput, in bytes per second.
    pub bytes_max: f64,
}

/// Name and size of an acceleration tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierName {
    /// Name of the tier.
    pub name: String,
    /// Capacity for data, in bytes: the largest of any step.
    pub capacity_bytes: u64,
}

/// Gauge of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GaugeOf {
    /// Name of the gauge.
    pub name: GaugeName,
    /// Object that the gauge describes: a host, a device, a tier.
    pub scope: String,
}

/// Value of a gauge in one bucket of the wide level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaugeRow {
    /// Index of the span in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Index of the bucket within the span, from 0.
    pub bucket: u32,
    /// Index of the gauge in [`Rollup::gauge_names`](super::Rollup::gauge_names).
    pub gauge: u32,
    /// Name of the gauge.
    pub name: GaugeName,
    /// Value over the slices that began in the bucket.
    pub folded: Folded,
}

/// Service times of the storage behind a tier, in one bucket of the wide level.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BehindRow {
    pub span: u32,
    pub bucket: u32,
    /// Index of the tier in [`Rollup::tier_names`](super::Rollup::tier_names).
    pub tier: u32,
    pub read: Compact,
    pub write: Compact,
}

/// Gauges of a tier, and service times of the storage behind it, in one bucket of the wide level.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TierRow {
    /// Index of the span in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Index of the bucket within the span, from 0.
    pub bucket: u32,
    /// Index of the tier in [`Rollup::tier_names`](super::Rollup::tier_names).
    pub tier: u32,
    /// Counters of the bucket, and levels at its end. `dirty_bytes_max` is the largest
    /// `dirty_bytes` at the end of a slice.
    pub counts: TierCounts,
    /// Service times of reads by the storage behind the tier; empty if unknown.
    pub backing_read: Compact,
    /// Service times of writes by the storage behind the tier; empty if unknown.
    pub backing_write: Compact,
}
