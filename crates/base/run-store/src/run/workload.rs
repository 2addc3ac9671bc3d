use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use untrusted::Malformed;

use super::{Figure, Latency, Verdict};

/// What one workload of one tile, or of the infrastructure operations, reached in one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadResult {
    /// Tile, from 0; null for infrastructure operations, which belong to no tile.
    pub tile: Option<u32>,
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
    pub statistic: Statistic,
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
    /// How many of them had not finished when the window ended, and had been waited for longer
    /// than the limit: each is a lower bound.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfinished: u64,
    /// How probable it is that the limit was broken, from how blocks of the window differ;
    /// null if the samples do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance_of_break: Option<f64>,
    /// Whether it held.
    pub verdict: Verdict,
    /// Room left, as a share of the limit: `(limit - measured) / limit`; negative if broken.
    pub margin: Figure,
    /// Why the verdict is what it is, if that is not plain from the numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl LimitResult {
    /// Whether the verdict of a step hangs on it. A maximum is reported and decides nothing:
    /// it is one sample of thousands, and grows with the time measured.
    pub fn decides(&self) -> bool {
        self.statistic != Statistic::Max
    }

    /// Room left, as a share of the limit: negative if it was exceeded, infinite if nothing was
    /// measured.
    pub fn room(&self) -> f64 {
        self.margin.value.unwrap_or(f64::INFINITY)
    }

    /// Whether it was broken and decides.
    pub fn is_broken(&self) -> bool {
        self.decides() && self.verdict == Verdict::Failed
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What a limit is held against. In files and on screens `p95`, `p99.9`, `mean` or `max`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
#[schemars(with = "String")]
pub enum Statistic {
    /// A percentile, in per cent, above 0 and below 100.
    Percentile(f64),
    /// The mean.
    Mean,
    /// The maximum.
    Max,
}

impl std::fmt::Display for Statistic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Percentile(p) => write!(f, "p{p}"),
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
        }
    }
}

impl From<Statistic> for String {
    fn from(statistic: Statistic) -> Self {
        statistic.to_string()
    }
}

impl TryFrom<String> for Statistic {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        let percentile = |text: &str| {
            let p: f64 = text.strip_prefix('p')?.parse().ok()?;
            (p > 0.0 && p < 100.0).then_some(Self::Percentile(p))
        };
        match text.as_str() {
            "mean" => Ok(Self::Mean),
            "max" => Ok(Self::Max),
            other => percentile(other).ok_or_else(|| {
                format!("\"{other}\" is no statistic (p95, p99.9, mean or max are)").into()
            }),
        }
    }
}

/// Name of a limit wherever it is named: `shop order p95`, `shop read I/O p99`.
pub fn limit_name(workload: &str, on: LimitOn, name: &str, statistic: Statistic) -> String {
    let what = match on {
        LimitOn::Action => "",
        LimitOn::Io => " I/O",
        LimitOn::Call => " call",
    };
    format!("{workload} {name}{what} {statistic}")
}

/// What a limit is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitOn {
    /// An action's response time, from its intended start.
    Action,
    /// A kind of I/O, by service time.
    Io,
    /// A kind of call, by service time.
    Call,
}
