use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use untrusted::Malformed;

use super::{Figure, Latency, Verdict};

/// Results of one workload in one step. The workload belongs to a tile, or is an infrastructure
/// operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadResult {
    /// Tile, from 0; null for infrastructure operations, which belong to no tile.
    pub tile: Option<u32>,
    /// Name of the workload.
    pub workload: String,
    /// Number among the copies of this workload in the tile, from 0.
    pub copy: u32,
    /// Amount of work, compared with its reference.
    pub metric: MetricResult,
    /// Results of the actions, in the workload's order.
    pub actions: Vec<ActionResult>,
    /// Results of the limits, in the workload's order.
    pub limits: Vec<LimitResult>,
}

/// Amount of work of a workload, compared with its reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricResult {
    /// Work per unit of time, in `unit`; absent if the workload only generates load.
    pub value: Figure,
    /// Unit of `value` and `reference`: `orders/min`.
    pub unit: String,
    /// Amount of work that counts as one tile's worth, in `unit`.
    pub reference: Figure,
    /// Source of `reference`: the workload's definition, or a simulation on ideal storage.
    pub reference_origin: ReferenceOrigin,
    /// `value / reference`: the factor that enters the tile's geometric mean.
    pub normalised: Figure,
}

/// Origin of a reference value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceOrigin {
    /// The definition of the workload states it.
    Declared,
    /// The workload was run in virtual time against storage that answers immediately.
    IdealStorage,
    /// There is none: the workload is not part of the score.
    None,
}

/// Results of one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionResult {
    /// Name of the action.
    pub action: String,
    /// Number of successful actions.
    pub count: u64,
    /// Number of actions with a failed I/O or call; they are not in the latencies.
    pub errors: u64,
    /// Number of intended starts that were dropped because the backlog was full.
    pub dropped: u64,
    /// Service time: from the first step to the last answer.
    pub service: Latency,
    /// Response time: from the intended start to the last answer.
    pub response: Latency,
}

/// Limit, with the measured value and the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitResult {
    /// Kind of object in `name`: an action (response time), or a kind of I/O or call (service
    /// time).
    pub on: LimitOn,
    /// Name of the action, or of the kind of I/O or call.
    pub name: String,
    /// `mean`, `max` or a percentile: `p95`, `p99.9`.
    pub statistic: Statistic,
    /// Value of the limit, in nanoseconds.
    pub limit_ns: u64,
    /// Measured value, in nanoseconds; null if there were too few samples.
    pub measured_ns: Option<u64>,
    /// Lower end of the confidence interval, in nanoseconds; null without an interval.
    pub interval_low_ns: Option<u64>,
    /// Upper end of the confidence interval, in nanoseconds; null without an interval.
    pub interval_high_ns: Option<u64>,
    /// Share of such intervals that contain the true value: 0.95 for 95 %; null without an
    /// interval.
    pub confidence: Option<f64>,
    /// Number of samples.
    pub samples: u64,
    /// Number of unfinished pieces of work at the end of the window that are older than the limit.
    /// Their ages are lower bounds of samples.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfinished: u64,
    /// Probability that the limit is exceeded, estimated from the differences between blocks of the
    /// window; null if the samples do not suffice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance_of_break: Option<f64>,
    /// Verdict on the limit.
    pub verdict: Verdict,
    /// Remaining room, as a share of the limit: `(limit - measured) / limit`. Negative if the limit
    /// was exceeded.
    pub margin: Figure,
    /// Reason for the verdict, if the numbers do not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl LimitResult {
    /// Returns true if the verdict on a step depends on this limit. A maximum is reported but
    /// decides nothing: it is one sample of thousands, and grows with the measured time.
    pub fn decides(&self) -> bool {
        self.statistic != Statistic::Max
    }

    /// Returns the remaining room, as a share of the limit. It is negative if the limit was
    /// exceeded, and infinite if nothing was measured.
    pub fn room(&self) -> f64 {
        self.margin.value.unwrap_or(f64::INFINITY)
    }

    /// Returns true if the limit was exceeded, and the verdict on the step depends on it.
    pub fn is_broken(&self) -> bool {
        self.decides() && self.verdict == Verdict::Failed
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Statistic that is compared with a limit. In files and on screens: `p95`, `p99.9`, `mean` or
/// `max`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
#[schemars(with = "String")]
pub enum Statistic {
    /// Percentile, in percent, above 0 and below 100.
    Percentile(f64),
    /// Arithmetic mean of the samples.
    Mean,
    /// Maximum of the samples.
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
                format!("\"{other}\" is not a statistic (p95, p99.9, mean or max are)").into()
            }),
        }
    }
}

/// Returns the name of a limit: `shop order p95`, `shop read I/O p99`.
pub fn limit_name(workload: &str, on: LimitOn, name: &str, statistic: Statistic) -> String {
    let what = match on {
        LimitOn::Action => "",
        LimitOn::Io => " I/O",
        LimitOn::Call => " call",
    };
    format!("{workload} {name}{what} {statistic}")
}

/// Kind of object that a limit applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitOn {
    /// Action, by its response time from the intended start.
    Action,
    /// Kind of I/O, by its service time.
    Io,
    /// Kind of call, by its service time.
    Call,
}
