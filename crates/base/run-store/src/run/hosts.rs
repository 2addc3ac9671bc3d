use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Figure, GeneratorHealth, PooledLimit};

/// A host that drove a part of the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadHost {
    /// Name of the host in this run.
    pub name: String,
    /// Address of the host, as given with `--host`.
    pub reached: String,
    /// Name of the host by its kernel.
    pub hostname: String,
    /// Version of the program on the host, equal to the version here.
    pub version: String,
    /// Lead of the host's monotonic clock over the controller's when it joined, in nanoseconds. A
    /// clock counts from its host's start, so only changes of this number mean something.
    pub clock_ahead_ns: i64,
    /// Uncertainty of the lead, in nanoseconds: half of the quickest round trip.
    pub clock_uncertainty_ns: u64,
    /// Quickest round trip of a question and its answer, in nanoseconds.
    pub round_trip_ns: u64,
    /// Description of the target as that host sees it, in one line.
    pub target_summary: String,
    /// Path of the host's disks.
    pub path: String,
}

/// Part of one host in a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostStep {
    /// Name of the host.
    pub host: String,
    /// Tiles that were placed on the host when the step began, from 0; `events` of the step has
    /// later moves.
    pub tiles: Vec<u32>,
    /// Delay of the host's load behind the common start, by its own clock, in nanoseconds.
    pub began_late_ns: u64,
    /// Uncertainty of the common start on that host, in nanoseconds.
    pub clock_uncertainty_ns: u64,
    /// Number of slices that were lost on the way and fetched again.
    pub slices_fetched: u64,
    /// Longest wait for a slice of this host after those of the others had arrived, in nanoseconds.
    pub slice_late_max_ns: u64,
    /// Successful I/Os and calls per second.
    pub operations_per_s: f64,
    /// Throughput, in bytes per second.
    pub bytes_per_s: f64,
    /// Times of the host's I/Os and calls, compared with those of the other hosts.
    pub against_others: AgainstOthers,
    /// Each limit against the samples of the host's `tiles` together, wherever they ran.
    pub limits: Vec<PooledLimit>,
    /// State of the host's load generator.
    pub generator: GeneratorHealth,
}

/// Time per I/O and call of one part, compared with all other parts, kind by kind of the tile, so
/// that parts with other shares of small and large I/Os compare. A part is a host with its I/Os and
/// calls, or the time in which infrastructure operations ran with the tiles' actions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgainstOthers {
    /// Number of the part's samples of kinds that others did, too.
    pub samples: u64,
    /// Mean time, divided by the mean of the same mix with the others' times; 1 is equal.
    pub times: Figure,
    /// Lower end of the interval, from blocks of slices; absent with too few.
    pub low: Figure,
    /// Upper end of the interval, from blocks of slices; absent with too few.
    pub high: Figure,
}
