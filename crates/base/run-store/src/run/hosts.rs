use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Figure, GeneratorHealth, PooledLimit};

/// A host that drove a part of the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadHost {
    /// Its name in this run.
    pub name: String,
    /// How it was reached, as `--host` has it.
    pub reached: String,
    /// The kernel's name of it.
    pub hostname: String,
    /// The program there; the same version as here.
    pub version: String,
    /// How far its monotonic clock was ahead of the controller's when it joined, in nanoseconds; a clock
    /// counts from its host's start, so the number itself means nothing.
    pub clock_ahead_ns: i64,
    /// By how much that may be wrong: half of the quickest round trip.
    pub clock_uncertainty_ns: u64,
    /// The quickest round trip of a question and its answer.
    pub round_trip_ns: u64,
    /// The target as that host sees it, in one line.
    pub target_summary: String,
    /// Where its disks were.
    pub path: String,
}

/// One host's part of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostStep {
    /// Its name.
    pub host: String,
    /// The tiles that were placed on it when the step began, from 0; `events` of the step say which went
    /// elsewhere.
    pub tiles: Vec<u32>,
    /// How long after the common moment its load began, by its own clock.
    pub began_late_ns: u64,
    /// By how much that moment may be wrong there.
    pub clock_uncertainty_ns: u64,
    /// Slices that were lost on the way and asked for again.
    pub slices_fetched: u64,
    /// The longest time for which its slices were waited for after those of the others.
    pub slice_late_max_ns: u64,
    /// Successful I/Os and calls per second.
    pub operations_per_s: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// How long its I/Os and calls took against those of the other hosts.
    pub against_others: AgainstOthers,
    /// Each limit held against the samples of its `tiles` together, wherever they ran.
    pub limits: Vec<PooledLimit>,
    /// How its generator fared.
    pub generator: GeneratorHealth,
}

/// The time that what one part did took, against the same of all other parts: kind by kind of the tile, so
/// that parts with other shares of small and large ones compare. A part is a host, with its I/Os
/// and calls; or the time in which infrastructure operations ran, with the tiles' actions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgainstOthers {
    /// What it did of kinds that others did, too.
    pub samples: u64,
    /// Mean time over what the same would have taken with the others' means; 1 is equal.
    pub times: Figure,
    /// The lower end of its interval, from blocks of slices; absent with too few.
    pub low: Figure,
    /// The upper end.
    pub high: Figure,
}
