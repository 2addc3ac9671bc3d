use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `map`: who does how much, and how it fares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MapPage {
    /// A sentence: who does most, who is nearest to its limit.
    pub sentence: String,
    /// Every workload of every tile in the lens, the most I/O first.
    pub items: Vec<MapItem>,
}

/// One workload of one tile; of a recorded trace one VM.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MapItem {
    /// `tile-3/shop`, or the VM.
    pub name: String,
    /// Tile, from 1; 0 for a recorded trace.
    pub tile: u32,
    /// Workload.
    pub workload: String,
    /// Host it ran on, if the run has several (`host-1, host-3` where its VMs are on both); of what
    /// was recorded, the machine, if it is known.
    pub host: Option<String>,
    /// I/Os.
    pub count: u64,
    /// I/Os a second.
    pub operations_per_s: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Bytes.
    pub bytes: u64,
    /// Share of reads by count, 0 to 1.
    pub read_share: Option<f64>,
    /// Median service time, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// The limit it is nearest to, or furthest above, in the last step of the lens.
    pub limit: Option<LimitHeld>,
    /// Its course over the lens's time, at most 12 points.
    pub trail: Vec<TrailPoint>,
}

/// A limit and what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitHeld {
    /// `order p95`.
    pub name: String,
    /// Measured, nanoseconds.
    pub measured_ns: Option<u64>,
    /// Allowed, nanoseconds.
    pub limit_ns: u64,
    /// Measured by allowed.
    pub ratio: Option<f64>,
    /// Samples.
    pub samples: u64,
    /// `passed`, `failed` or `inconclusive`.
    pub verdict: String,
}

/// Where an item was at some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrailPoint {
    /// Begin, nanoseconds on the run's axis.
    pub at_ns: u64,
    /// I/Os a second.
    pub operations_per_s: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Median service time.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
}
