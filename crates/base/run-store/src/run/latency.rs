use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Compact;

use crate::quantile::Summary;

/// Latency distribution, summarised in nanoseconds. A percentile is the upper bound of a histogram
/// bucket, at most 0.8 % above the true value. All values are null if there were no samples.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Number of samples.
    pub samples: u64,
    /// Exact mean, in nanoseconds, rounded down.
    pub mean_ns: Option<u64>,
    /// Median of the samples, in nanoseconds.
    pub p50_ns: Option<u64>,
    /// 95th percentile, in nanoseconds.
    pub p95_ns: Option<u64>,
    /// 99th percentile, in nanoseconds.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile, in nanoseconds.
    pub p999_ns: Option<u64>,
    /// Largest sample, in nanoseconds.
    pub max_ns: Option<u64>,
    /// Reason why the values are null; absent if they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl From<&Compact> for Latency {
    fn from(histogram: &Compact) -> Self {
        let Some(summary) = Summary::of(histogram) else {
            return Self { reason: Some("no samples".to_owned()), ..Self::default() };
        };
        Self {
            samples: summary.count,
            mean_ns: Some(summary.mean.0),
            p50_ns: Some(summary.p50.0),
            p95_ns: Some(summary.p95.0),
            p99_ns: Some(summary.p99.0),
            p999_ns: Some(summary.p999.0),
            max_ns: Some(summary.max.0),
            reason: None,
        }
    }
}
