use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// View `map`: amount of I/O and latency by workload and tile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MapPage {
    /// Summary: the workload with the most I/O, and the one nearest to its limit.
    pub sentence: String,
    /// Workloads of all tiles in the lens, the most I/O first.
    pub items: Vec<MapItem>,
}

/// A workload of a tile; in a recorded trace a VM.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MapItem {
    /// Name: `tile-3/shop`, or the VM.
    pub name: String,
    /// Tile, from 1; 0 for a recorded trace.
    pub tile: u32,
    /// Name of the workload.
    pub workload: String,
    /// Host of the workload, if the run has several (`host-1, host-3` if its VMs are on both); in a
    /// recorded trace the recording host, if known.
    pub host: Option<String>,
    /// Number of I/Os.
    pub count: u64,
    /// I/Os per second.
    pub operations_per_s: f64,
    /// Throughput, in bytes per second.
    pub bytes_per_s: f64,
    /// Number of bytes.
    pub bytes: u64,
    /// Share of reads by count, 0 to 1.
    pub read_share: Option<f64>,
    /// Median service time, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the service time, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Limit with the least room, or the most exceeded limit, in the last step of the lens.
    pub limit: Option<LimitHeld>,
    /// Position over the lens's time, at most 12 points.
    pub trail: Vec<TrailPoint>,
}

/// A limit and its measured value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitHeld {
    /// Name of the limit: `order p95`.
    pub name: String,
    /// Measured value, in nanoseconds.
    pub measured_ns: Option<u64>,
    /// Limit, in nanoseconds.
    pub limit_ns: u64,
    /// Measured value divided by the limit.
    pub ratio: Option<f64>,
    /// Number of samples.
    pub samples: u64,
    /// Verdict: `passed`, `failed` or `inconclusive`.
    pub verdict: String,
}

/// Position of an item at one point in time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrailPoint {
    /// Begin, nanoseconds on the run's axis.
    pub at_ns: u64,
    /// I/Os per second.
    pub operations_per_s: f64,
    /// Throughput, in bytes per second.
    pub bytes_per_s: f64,
    /// Median service time, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the service time, nanoseconds.
    pub p99_ns: Option<u64>,
}
