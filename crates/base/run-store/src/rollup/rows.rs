use serde::{Deserialize, Serialize};
use stats::Compact;
use units::Nanos;

use crate::gauge::{Folded, GaugeName};
use crate::run::{Phase, TierCounts};
use crate::slice::{Direction, SizeClass};

/// One part of one step on the run's axis, which is time under load: the steps of the run one
/// after the other, without the pauses between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Step of the ladder, from 1.
    pub step: u32,
    /// Repeat of the step, from 1.
    pub repeat: u32,
    /// Tiles that ran at the same time.
    pub tiles: u32,
    /// Part of the step.
    pub phase: Phase,
    /// Its begin on the axis.
    pub from: Nanos,
    /// Its end.
    pub to: Nanos,
    /// Where on the axis the load of its step began: the zero of the series' `start_ns`.
    pub zero: Nanos,
}

/// Whose I/O it was.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entity {
    /// Tile, from 0; none where tiles are taken together, and in a recorded trace.
    pub tile: Option<u32>,
    /// Workload; in a recorded trace the VM.
    pub workload: String,
    /// Which of several of this workload in the tile, from 0; 0 where they are taken together.
    pub copy: u32,
}

/// I/O by bucket of time, entity, direction and size class.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Level {
    /// Length of a bucket; the last of a span may be shorter.
    pub width: Nanos,
    /// All entities, in the order in which they appeared.
    pub entities: Vec<Entity>,
    /// Ascending by span, bucket, entity, direction and class; none without an event.
    pub rows: Vec<IoRow>,
}

/// One row of a [`Level`].
#[derive(Debug, Clone, PartialEq)]
pub struct IoRow {
    /// Position in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Bucket within the span, from 0.
    pub bucket: u32,
    /// Position in [`Level::entities`].
    pub entity: u32,
    /// Which way.
    pub direction: Direction,
    /// How large.
    pub class: SizeClass,
    /// Bytes moved by I/Os that succeeded.
    pub bytes: u64,
    /// I/Os that failed; they are not in the histogram.
    pub errors: u64,
    /// Submitted to done.
    pub service: Compact,
    /// Sum over the same I/Os of intended start to done, in nanoseconds.
    pub response_sum_ns: u64,
}

impl IoRow {
    /// I/Os that succeeded.
    pub fn count(&self) -> u64 {
        self.service.count()
    }
}

/// An action of a workload, all tiles and groups of users together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ActionName {
    /// Workload.
    pub workload: String,
    /// Action.
    pub action: String,
}

/// What became of an action in one bucket of the wide level.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionRow {
    /// Position in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Bucket within the span, from 0.
    pub bucket: u32,
    /// Position in [`Rollup::action_names`](super::Rollup::action_names).
    pub action: u32,
    /// Actions with a failed I/O or call; they are not in the histogram.
    pub errors: u64,
    /// Intended starts that were given up.
    pub dropped: u64,
    /// Intended start to last answer.
    pub response: Compact,
}

/// A kind of call of a workload, all tiles together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallName {
    /// Workload.
    pub workload: String,
    /// Kind, as the workload names it.
    pub kind: String,
}

/// Calls of a kind in one bucket of the wide level.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    /// Position in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Bucket within the span, from 0.
    pub bucket: u32,
    /// Position in [`Rollup::call_names`](super::Rollup::call_names).
    pub call: u32,
    /// Bytes of good answers.
    pub bytes: u64,
    /// Calls that failed; they are not in the histogram.
    pub errors: u64,
    /// Made to answered.
    pub service: Compact,
}

/// The run in one bucket of the wide level, and the load generator itself.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceRow {
    /// Position in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Bucket within the span, from 0.
    pub bucket: u32,
    /// Slices that began in it.
    pub slices: u32,
    /// Their widths together: what its counts are divided by for rates.
    pub time: Nanos,
    /// I/Os handed to the storage, and calls made.
    pub submitted: u64,
    /// I/Os and calls answered.
    pub completed: u64,
    /// Requests that waited for a free slot of the generator.
    pub queued: u64,
    /// I/O-seconds in flight; divided by `time`, the mean number in flight.
    pub in_flight_seconds: f64,
    /// Largest share of a slice that a worker thread of the generator used, 0 to 1.
    pub worker_cpu_max: f64,
    /// Due time to handling.
    pub lateness: Compact,
}

/// Whose rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Everybody's.
    All,
    /// Those of one direction.
    Direction(Direction),
    /// Those of one class of sizes, all directions.
    Class(SizeClass),
    /// Those of one entity of the wide level: a workload. Only the first
    /// [`RATE_ENTITIES`](super::RATE_ENTITIES) have rates.
    Entity(u32),
}

/// Least and largest rates of the slices in one bucket of the wide level. A slice without any
/// I/O of the group has the rate 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateRow {
    /// Position in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Bucket within the span, from 0.
    pub bucket: u32,
    /// Whose.
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

/// An acceleration tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierName {
    /// Its name.
    pub name: String,
    /// Room for data, in bytes, the largest of any step.
    pub capacity_bytes: u64,
}

/// A gauge of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GaugeOf {
    /// What is measured.
    pub name: GaugeName,
    /// Of which.
    pub scope: String,
}

/// A gauge in one bucket of the wide level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaugeRow {
    /// Position in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Bucket within the span, from 0.
    pub bucket: u32,
    /// Position in [`Rollup::gauge_names`](super::Rollup::gauge_names).
    pub gauge: u32,
    /// What is measured.
    pub name: GaugeName,
    /// The slices that began in the bucket together.
    pub folded: Folded,
}

/// Service times behind a tier in one bucket of the wide level.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BehindRow {
    pub span: u32,
    pub bucket: u32,
    /// Position in [`Rollup::tier_names`](super::Rollup::tier_names).
    pub tier: u32,
    pub read: Compact,
    pub write: Compact,
}

/// What a tier did in one bucket of the wide level: its gauges, and the latencies behind it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TierRow {
    /// Position in [`Rollup::spans`](super::Rollup::spans).
    pub span: u32,
    /// Bucket within the span, from 0.
    pub bucket: u32,
    /// Position in [`Rollup::tier_names`](super::Rollup::tier_names).
    pub tier: u32,
    /// What it did, and what it held at the end of the bucket. `dirty_bytes_max` is the largest
    /// `dirty_bytes` at the end of a slice in it.
    pub counts: TierCounts,
    /// Service times of reads behind the tier; empty where they are not known.
    pub backing_read: Compact,
    /// Service times of writes behind the tier; empty where they are not known.
    pub backing_write: Compact,
}
