use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use stats::Compact;
use units::Nanos;

use crate::gauge::{Folded, GaugeName};
use crate::run::{Phase, TierCounts};
use crate::slice::{Direction, SizeClass};

/// Phase of a step on the run's axis. The axis is time under load: the steps of the run one after
/// the other, without the pauses between them.
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
    /// Begin on the axis.
    pub from: Nanos,
    /// End on the axis.
    pub to: Nanos,
    /// Time on the axis at which the load of the step began: the zero of `start_ns` in the series.
    pub zero: Nanos,
}

/// Sender of I/O.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entity {
    /// Tile, from 0; `None` where tiles are taken together, and in a recorded trace.
    pub tile: Option<u32>,
    /// Name of the workload; in a recorded trace the VM.
    pub workload: String,
    /// Number among the copies of this workload in the tile, from 0; 0 where copies are taken
    /// together.
    pub copy: u32,
}

/// End of the workload's name of observed I/O that is part of I/O at a disk above.
const BELOW: &str = " (below)";
/// End of another workload's name that would end like that.
const NOT_BELOW: &str = " (top)";

/// Name of a workload of observed I/O. A VM may have any name; one that ends like a name of I/O
/// below would be in no sum, so such a name gets another end.
pub fn observed_name(name: &str, is_below: bool) -> Cow<'_, str> {
    match (is_below, name.ends_with(BELOW)) {
        (true, _) => Cow::Owned(format!("{name}{BELOW}")),
        (false, true) => Cow::Owned(format!("{name}{NOT_BELOW}")),
        (false, false) => Cow::Borrowed(name),
    }
}

impl Entity {
    /// True for I/O that counts only where it is asked for: it is part of other I/O.
    pub fn is_below(&self) -> bool {
        self.workload.ends_with(BELOW)
    }
}

/// I/O by bucket of time, entity, direction and size class.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Level {
    /// Length of a bucket; the last bucket of a span may be shorter.
    pub width: Nanos,
    /// All entities, in order of appearance.
    pub entities: Vec<Entity>,
    /// Rows, ascending by span, bucket, entity, direction and class; empty rows are left out.
    pub rows: Vec<IoRow>,
}

/// I/O of one bucket, entity, direction and size class.
#[derive(Debug, Clone, PartialEq)]
pub struct IoRow {
    /// Position of the span in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Bucket within the span, from 0.
    pub bucket: u32,
    /// Position of the entity in [`Level::entities`].
    pub entity: u32,
    /// Direction of the I/O.
    pub direction: Direction,
    /// Size class of the I/O.
    pub class: SizeClass,
    /// Bytes moved by I/Os that succeeded.
    pub bytes: u64,
    /// I/Os that failed; they are not in the histogram.
    pub errors: u64,
    /// Service time: from submission to completion.
    pub service: Compact,
    /// Sum of the response times of the same I/Os, in nanoseconds.
    pub response_sum_ns: u64,
}

impl IoRow {
    /// Number of successful I/Os.
    pub fn count(&self) -> u64 {
        self.service.count()
    }
}

/// An action of a workload, all tiles and user groups together.
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
    /// Position of the span in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Bucket within the span, from 0.
    pub bucket: u32,
    /// Position of the action in [`Rollup::action_names`](super::Rollup::action_names).
    pub action: u32,
    /// Actions with a failed I/O or call; they are not in the histogram.
    pub errors: u64,
    /// Intended starts that were given up.
    pub dropped: u64,
    /// Response time: from the intended start to the last answer.
    pub response: Compact,
}

/// A kind of call of a workload, all tiles together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallName {
    /// Name of the workload.
    pub workload: String,
    /// Kind of call, by the name in the workload.
    pub kind: String,
}

/// Calls of a kind in one bucket of the wide level.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    /// Position of the span in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Bucket within the span, from 0.
    pub bucket: u32,
    /// Position of the kind in [`Rollup::call_names`](super::Rollup::call_names).
    pub call: u32,
    /// Bytes of successful answers.
    pub bytes: u64,
    /// Calls that failed; they are not in the histogram.
    pub errors: u64,
    /// Service time: from the call to its answer.
    pub service: Compact,
}

/// A bucket of the wide level: its slices, and the load generator.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceRow {
    /// Position of the span in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Bucket within the span, from 0.
    pub bucket: u32,
    /// Slices that began in the bucket.
    pub slices: u32,
    /// Sum of the widths of the slices, by which counts are divided for rates.
    pub time: Nanos,
    /// I/Os submitted, and calls made.
    pub submitted: u64,
    /// I/Os completed, and calls answered.
    pub completed: u64,
    /// Requests that waited for a free slot of the generator.
    pub queued: u64,
    /// Sum of in-flight times, in I/O-seconds. Divided by `time`, it is the mean number in flight.
    pub in_flight_seconds: f64,
    /// Largest share of a slice that a worker thread of the generator used, 0 to 1.
    pub worker_cpu_max: f64,
    /// Lateness: from the due time to the handling.
    pub lateness: Compact,
}

/// Group of I/Os with rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// All I/O.
    All,
    /// I/O of one direction.
    Direction(Direction),
    /// I/O of one size class, all directions.
    Class(SizeClass),
    /// I/O of one entity of the wide level, which is a workload. Only the first
    /// [`RATE_ENTITIES`](super::RATE_ENTITIES) have rates.
    Entity(u32),
}

/// Least and largest rates of the slices in one bucket of the wide level. A slice without I/O of
/// the group has the rate 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateRow {
    /// Position of the span in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Bucket within the span, from 0.
    pub bucket: u32,
    /// Group of the rates.
    pub group: Group,
    /// Least successful I/Os per second.
    pub operations_min: f64,
    /// Most successful I/Os per second.
    pub operations_max: f64,
    /// Least bytes per second.
    pub bytes_min: f64,
    /// Most bytes per second.
    pub bytes_max: f64,
}

/// Name and size of an acceleration tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierName {
    /// Name of the tier.
    pub name: String,
    /// Room for data, in bytes: the largest of any step.
    pub capacity_bytes: u64,
}

/// A gauge with its scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GaugeOf {
    /// Name of the gauge.
    pub name: GaugeName,
    /// Object that the gauge describes.
    pub scope: String,
}

/// A gauge in one bucket of the wide level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaugeRow {
    /// Position of the span in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Bucket within the span, from 0.
    pub bucket: u32,
    /// Position of the gauge in [`Rollup::gauge_names`](super::Rollup::gauge_names).
    pub gauge: u32,
    /// Name of the gauge.
    pub name: GaugeName,
    /// Value over the slices that began in the bucket.
    pub folded: Folded,
}

/// Service times behind a tier in one bucket of the wide level.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BehindRow {
    pub span: u32,
    pub bucket: u32,
    /// Position of the tier in [`Rollup::tier_names`](super::Rollup::tier_names).
    pub tier: u32,
    pub read: Compact,
    pub write: Compact,
}

/// A tier in one bucket of the wide level: its gauges, and the latencies behind it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TierRow {
    /// Position of the span in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Bucket within the span, from 0.
    pub bucket: u32,
    /// Position of the tier in [`Rollup::tier_names`](super::Rollup::tier_names).
    pub tier: u32,
    /// Counters of the bucket, and levels at its end. `dirty_bytes_max` is the largest
    /// `dirty_bytes` at the end of a slice.
    pub counts: TierCounts,
    /// Service times of reads behind the tier; empty if unknown.
    pub backing_read: Compact,
    /// Service times of writes behind the tier; empty if unknown.
    pub backing_write: Compact,
}
