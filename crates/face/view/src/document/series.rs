use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `series`: a measure over time by a breakdown, decimated to the points asked for. `actions`
/// and `calls`: the same of actions and of calls to endpoints; `iops` are of those then, in
/// `actions_per_s` and `call_per_s`, and the time of an action is its response time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// A sentence about it.
    pub sentence: String,
    /// `iops`, `bytes` (a second) or `latency`.
    pub measure: String,
    /// `io_per_s`, `actions_per_s`, `call_per_s`, `bytes_per_s` or `ns`.
    pub unit: String,
    /// Begin of each point on the run's axis, nanoseconds.
    pub at_ns: Vec<u64>,
    /// Length of each point, nanoseconds.
    pub width_ns: Vec<u64>,
    /// Lines, in the breakdown's order.
    pub groups: Vec<Group>,
    /// I/Os of all lines in each point.
    pub count: Vec<u64>,
    /// The same a second of time under load.
    pub operations_per_s: Vec<f64>,
    /// What latencies are held against, if there is a limit on I/O.
    pub limit_ns: Option<u64>,
    /// Groups that were left out because there are too many, the least first.
    pub left_out: u32,
}

/// One line. Each list has one entry a point; none where there was no I/O. For latency `mean`,
/// `p50`, `p99` and `max` are of the point's merged histogram; for rates `mean` is of the whole
/// point, `min` and `max` are of the slices in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// Its value in the lens: `r`, `64k`, `shop`, `12` (a tile), `all`.
    pub key: String,
    /// Its name for people.
    pub label: String,
    /// I/Os in each point: a latency with few of them means little.
    pub count: Vec<u64>,
    /// Mean.
    pub mean: Vec<Option<f64>>,
    /// Least.
    pub min: Vec<Option<f64>>,
    /// Most.
    pub max: Vec<Option<f64>>,
    /// Median; empty for rates.
    pub p50: Vec<Option<f64>>,
    /// 95th percentile; empty for rates.
    pub p95: Vec<Option<f64>>,
    /// 99th percentile; empty for rates.
    pub p99: Vec<Option<f64>>,
    /// Part of all waiting in the point, 0 to 1 (contribution to latency); empty for rates.
    pub wait_share: Vec<Option<f64>>,
}
