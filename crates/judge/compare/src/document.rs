use run_store::gauge::GaugeUnit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of the document. A minor version only adds optional fields.
pub const SCHEMA: &str = "tilemark.compare/1.1";

/// Comparison of two groups of runs, B against A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Schema name and version: `tilemark.compare/1.1`.
    pub schema: String,
    /// Baseline group.
    pub a: SideFacts,
    /// Group that is compared with the baseline.
    pub b: SideFacts,
    /// Minimum relevant effect, as a relative change: 0.03 for 3 %.
    pub min_effect: f64,
    /// Confidence level of the intervals: 0.95 for 95 %.
    pub confidence: f64,
    /// Assumed minimum difference of two runs of the same plan, in 95 % of cases: 0.03 for 3 %.
    pub between_runs: f64,
    /// Differences of the computers, targets or programs.
    pub environment: Vec<Difference>,
    /// Differences of the plans, tiles or scales.
    pub plan: Vec<Difference>,
    /// Overlap of the random streams.
    pub seeds: Seeds,
    /// Notes for readers.
    pub notes: Vec<String>,
    /// Figures that both groups have.
    pub metrics: Vec<MetricComparison>,
    /// Verdict over all figures, the first that occurs of: worse, inconclusive, better, same.
    pub verdict: Verdict,
}

/// Group of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SideFacts {
    /// Ids of the runs.
    pub runs: Vec<String>,
    /// Distinct seeds in ascending order.
    pub seeds: Vec<u64>,
}

/// Fact that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Name of the fact: `kernel.release`, `measure.duration`.
    pub key: String,
    /// Distinct values in group A; `absent` if a run does not have the fact.
    pub a: Vec<String>,
    /// Distinct values in group B.
    pub b: Vec<String>,
}

/// Overlap of the random streams of both groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Seeds {
    /// Same seeds: both loads sent the same requests in the same order.
    Same,
    /// Some, but not all, seeds are in both groups.
    Overlapping,
    /// Different seeds: the difference of the results includes the difference of the loads.
    Different,
}

/// Direction of improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Higher is better (throughput, tiles).
    Higher,
    /// Lower is better (latency).
    Lower,
}

/// Unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Unit {
    /// Whole tiles.
    #[serde(rename = "tiles")]
    Tiles,
    /// Tiles' worth of work, or a share of one tile's worth.
    #[serde(rename = "tiles' worth")]
    TilesWorth,
    /// I/Os per second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Share of the time, or of all CPUs, 0 to 1.
    #[serde(rename = "share")]
    Share,
    /// Other counts, such as waiting I/Os.
    #[serde(rename = "count")]
    Count,
}

impl Unit {
    /// Returns the unit of a gauge's level.
    pub(crate) const fn of_gauge(unit: GaugeUnit) -> Self {
        match unit {
            GaugeUnit::Share | GaugeUnit::ShareOfCpus | GaugeUnit::ShareOfTime => Self::Share,
            GaugeUnit::BytesPerSecond => Self::BytesPerSecond,
            GaugeUnit::IosPerSecond | GaugeUnit::EventsPerSecond => Self::PerSecond,
            _ => Self::Count,
        }
    }
}

/// Figure in both groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricComparison {
    /// Stable name: `tiles-held`, `4-tiles/read/p99`.
    pub id: String,
    /// Number of tiles in its steps; null for figures of whole runs.
    pub tiles: Option<u32>,
    /// Name without the number of tiles, for display.
    pub title: String,
    /// Unit of the medians.
    pub unit: Unit,
    /// Direction of improvement.
    pub better: Better,
    /// Number of repeats in group A.
    pub repeats_a: usize,
    /// Number of repeats in group B.
    pub repeats_b: usize,
    /// Median of group A, in `unit`.
    pub median_a: f64,
    /// Median of group B, in `unit`.
    pub median_b: f64,
    /// True if the median of group A is a lower bound.
    pub at_least_a: bool,
    /// True if the median of group B is a lower bound.
    pub at_least_b: bool,
    /// Change of B against A. Null if A's median is zero and B's is not, or if both medians are
    /// lower bounds.
    pub change: Option<Change>,
    /// Side on which the true change is, if the change is a bound because one of the medians is;
    /// otherwise null.
    pub bound: Option<Bound>,
    /// Two-sided probability of a difference this large by chance. The test is Student's t over
    /// blocks, repeats and runs; or Mann and Whitney's test, if a value is zero or no precision is
    /// known.
    pub p: f64,
    /// Verdict on the figure.
    pub verdict: Verdict,
    /// True if the figure only explains others, as gauges do. The overall verdict ignores it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub explains: bool,
    /// True if only the width of its interval makes it undecided: no other work disturbed it, and
    /// both ends are known. Not stored.
    #[serde(skip)]
    pub is_wide: bool,
    /// Reason for the verdict, if the numbers do not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Relative change of B against A: 0.05 is 5 % more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Ratio of the geometric means minus one; or Hodges and Lehmann's estimate, if a value is zero
    /// or no precision is known.
    pub value: f64,
    /// Lower end of its interval; null if there is no interval, or if it is unbounded below.
    pub low: Option<f64>,
    /// Upper end of its interval; null if there is no interval, or if it is unbounded above.
    pub high: Option<f64>,
}

/// Side of a bound on which the true change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The true change is this or more.
    AtLeast,
    /// The true change is this or less.
    AtMost,
}

/// Verdict on a figure, or on all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval is worse by more than the minimum relevant effect.
    Worse,
    /// The whole interval is better by more than the minimum relevant effect.
    Better,
    /// The whole interval is within the minimum relevant effect.
    Same,
    /// The interval crosses the minimum relevant effect, or there is no interval.
    Inconclusive,
}

impl Verdict {
    /// Returns the verdict's word in documents and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Same => "same",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Treatment of an undecided comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// Only a proven regression fails.
    #[default]
    Lenient,
    /// An undecided comparison also fails.
    Strict,
}

/// Result for a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The comparison does not fail.
    Accept,
    /// A figure is worse.
    Worse,
    /// The comparison is undecided, and the strictness is strict.
    Inconclusive,
}

impl Comparison {
    /// Returns the figures that decide, without the figures that only explain.
    pub fn deciding(&self) -> impl Iterator<Item = &MetricComparison> {
        self.metrics.iter().filter(|metric| !metric.explains)
    }

    /// Returns the distinct reasons with their number of figures, most frequent first.
    pub fn reasons(&self) -> Vec<(&str, usize)> {
        let mut counted: Vec<(&str, usize)> = Vec::new();
        for reason in self.metrics.iter().filter_map(|metric| metric.reason.as_deref()) {
            match counted.iter_mut().find(|(own, _)| *own == reason) {
                Some((_, count)) => *count += 1,
                None => counted.push((reason, 1)),
            }
        }
        counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counted
    }

    /// Returns the result for a script.
    pub fn decision(&self, strictness: Strictness) -> Decision {
        match (self.verdict, strictness) {
            (Verdict::Worse, _) => Decision::Worse,
            (Verdict::Inconclusive, Strictness::Strict) => Decision::Inconclusive,
            _ => Decision::Accept,
        }
    }
}

/// Returns the JSON Schema of the document.
pub fn json_schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Comparison);
    schema.insert("title".to_owned(), SCHEMA.into());
    schema.to_value()
}
