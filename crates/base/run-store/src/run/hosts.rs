use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Figure, GeneratorHealth, PooledLimit};

/// Host that drove a part of the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadHost {
    /// Name of the host in this run.
    pub name: String,
    /// Address of the host, as given with `--host`.
    pub reached: String,
    /// Hostname that the host's kernel reports.
    pub hostname: String,
    /// Version of the program on the host. It equals the controller's version.
    pub version: String,
    /// Lead of the host's monotonic clock over the controller's clock when the host joined, in
    /// nanoseconds. Each clock counts from its host's boot, so only changes of the lead are
    /// meaningful.
    pub clock_ahead_ns: i64,
    /// Uncertainty of the lead, in nanoseconds: half of the shortest round trip.
    pub clock_uncertainty_ns: u64,
    /// Shortest round trip between controller and host, in nanoseconds.
    pub round_trip_ns: u64,
    /// Description of the target as this host sees it, in one line.
    pub target_summary: String,
    /// Path of the disks on the host.
    pub path: String,
}

/// Share of one host in a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostStep {
    /// Name of the host.
    pub host: String,
    /// Tiles that the host drove when the step began, from 0. Later moves are in the step's
    /// `events`.
    pub tiles: Vec<u32>,
    /// Delay of the host's load after the common start, by the host's own clock, in nanoseconds.
    pub began_late_ns: u64,
    /// Uncertainty of the common start on that host, in nanoseconds.
    pub clock_uncertainty_ns: u64,
    /// Number of slices that were lost in transfer and fetched again.
    pub slices_fetched: u64,
    /// Maximum wait for a slice of this host after the other hosts' slices had arrived, in
    /// nanoseconds.
    pub slice_late_max_ns: u64,
    /// Successful I/Os and calls per second.
    pub operations_per_s: f64,
    /// Throughput, in bytes per second.
    pub bytes_per_s: f64,
    /// Times of the host's I/Os and calls, compared with the other hosts.
    pub against_others: AgainstOthers,
    /// Each limit, checked against all samples of the host's `tiles` together, on whichever host
    /// they ran.
    pub limits: Vec<PooledLimit>,
    /// State of the host's load generator.
    pub generator: GeneratorHealth,
}

/// Time per I/O and call of one part, compared with all other parts. Each kind is compared with
/// itself, so that parts with different shares of small and large I/Os are comparable. A part is a
/// host with its I/Os and calls, or the time in which infrastructure operations ran, with the
/// tiles' actions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgainstOthers {
    /// Number of the part's samples whose kind other parts also have.
    pub samples: u64,
    /// Mean time of the part, divided by the mean of the same mix with the other parts' times; 1 is
    /// equal.
    pub times: Figure,
    /// Lower end of the confidence interval of `times`, from blocks of slices; absent with too few
    /// blocks.
    pub low: Figure,
    /// Upper end of the confidence interval of `times`, from blocks of slices; absent with too few
    /// blocks.
    pub high: Figure,
}
