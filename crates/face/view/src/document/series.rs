use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// View `series`: a measure over time by a breakdown, decimated to the requested number of points.
/// The views `actions` and `calls` show the same for actions and for calls to endpoints. There
/// `iops` counts actions or calls, in `actions_per_s` and `call_per_s`, and the time of an action
/// is its response time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Summary in one sentence.
    pub sentence: String,
    /// Measure: `iops`, `bytes` (per second) or `latency`.
    pub measure: String,
    /// Unit: `io_per_s`, `actions_per_s`, `call_per_s`, `bytes_per_s` or `ns`.
    pub unit: String,
    /// Begin of each point on the run's axis, nanoseconds.
    pub at_ns: Vec<u64>,
    /// Length of each point, nanoseconds.
    pub width_ns: Vec<u64>,
    /// Lines, in the breakdown's order.
    pub groups: Vec<Group>,
    /// Number of I/Os of all lines in each point.
    pub count: Vec<u64>,
    /// I/Os of all lines per second of time under load.
    pub operations_per_s: Vec<f64>,
    /// Limit for latencies, if there is a limit on I/O.
    pub limit_ns: Option<u64>,
    /// Number of groups that were left out because there are too many; groups with the least I/O
    /// are left out first.
    pub left_out: u32,
}

/// A line. Each list has one entry per point; none where there was no I/O. For latency, `mean`,
/// `p50`, `p99` and `max` come from the point's merged histogram. For rates, `mean` covers the
/// whole point, and `min` and `max` are the extremes of its slices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// Key in the lens: `r`, `64k`, `shop`, `12` (a tile), `all`.
    pub key: String,
    /// Name for people.
    pub label: String,
    /// Number of I/Os in each point; a latency from few I/Os means little.
    pub count: Vec<u64>,
    /// Mean of each point.
    pub mean: Vec<Option<f64>>,
    /// Minimum of each point.
    pub min: Vec<Option<f64>>,
    /// Maximum of each point.
    pub max: Vec<Option<f64>>,
    /// Median of each point; empty for rates.
    pub p50: Vec<Option<f64>>,
    /// 95th percentile of each point; empty for rates.
    pub p95: Vec<Option<f64>>,
    /// 99th percentile of each point; empty for rates.
    pub p99: Vec<Option<f64>>,
    /// Share of all waiting in the point, 0 to 1: the contribution to latency. Empty for rates.
    pub wait_share: Vec<Option<f64>>,
}
