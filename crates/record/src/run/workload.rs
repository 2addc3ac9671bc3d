use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Figure, Latency, Verdict};

/// What one workload of one tile reached in one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadResult {
    /// Tile, from 0.
    pub tile: u32,
    /// The workload's name.
    pub workload: String,
    /// Which of several of this workload in the tile, from 0.
    pub copy: u32,
    /// How much work it did.
    pub metric: MetricResult,
    /// Its actions, in the workload's order.
    pub actions: Vec<ActionResult>,
    /// Its limits, in the workload's order.
    pub limits: Vec<LimitResult>,
}

/// How much work a workload did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricResult {
    /// Work per time, in `unit`; absent if the workload is load only.
    pub value: Figure,
    /// Unit of `value` and `reference`: `orders/min`.
    pub unit: String,
    /// The value that counts as one tile's worth, in `unit`.
    pub reference: Figure,
    /// Where the reference comes from.
    pub reference_origin: ReferenceOrigin,
    /// `value / reference`: what enters the tile's geometric mean.
    pub normalised: Figure,
}

/// Where a reference value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceOrigin {
    /// The workload's definition gives it.
    Declared,
    /// The workload was run in virtual time against storage that answers at once.
    IdealStorage,
    /// The workload has no part in the score.
    None,
}

/// What became of one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionResult {
    /// The action's name.
    pub action: String,
    /// How many finished well.
    pub count: u64,
    /// How many had a failed I/O; they are not in the latencies.
    pub errors: u64,
    /// Intended starts that were given up because the backlog was full.
    pub dropped: u64,
    /// First step to last answer.
    pub service: Latency,
    /// Intended start to last answer.
    pub response: Latency,
}

/// A limit and what was measured against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitResult {
    /// Whether `name` is an action (response time) or a kind of I/O (service time).
    pub on: LimitOn,
    /// The action or kind of I/O.
    pub name: String,
    /// `mean`, `max` or a percentile: `p95`, `p99.9`.
    pub statistic: String,
    /// The limit, in nanoseconds.
    pub limit_ns: u64,
    /// What was measured, in nanoseconds; null if there were too few samples.
    pub measured_ns: Option<u64>,
    /// Lower end of its interval, in nanoseconds; null if it has none.
    pub interval_low_ns: Option<u64>,
    /// Upper end of its interval, in nanoseconds; null if it has none.
    pub interval_high_ns: Option<u64>,
    /// Share of such intervals that cover the true value: 0.95 for 95 %; null without one.
    pub confidence: Option<f64>,
    /// Samples the measurement stands on.
    pub samples: u64,
    /// Whether it held.
    pub verdict: Verdict,
    /// Room left, as a share of the limit: `(limit - measured) / limit`; negative if broken.
    pub margin: Figure,
    /// Why the verdict is what it is, if that is not plain from the numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a limit is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitOn {
    /// An action's response time, from its intended start.
    Action,
    /// A kind of I/O, by service time.
    Io,
}
