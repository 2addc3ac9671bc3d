use run_store::gauge::GaugeUnit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of the document. A minor version adds optional fields only.
pub const SCHEMA: &str = "tilemark.compare/1.1";

/// Two groups of runs compared, B against A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// `tilemark.compare/1.0`.
    pub schema: String,
    /// The baseline.
    pub a: SideFacts,
    /// What is held against it.
    pub b: SideFacts,
    /// Smallest relative change that counts: 0.03 for 3 %.
    pub min_effect: f64,
    /// Confidence of the intervals: 0.95 for 95 %.
    pub confidence: f64,
    /// By how much two runs of the same thing differ in 95 % of cases, at least as far as is
    /// known: 0.03 for 3 %.
    pub between_runs: f64,
    /// Where the machines, targets or programs differ.
    pub environment: Vec<Difference>,
    /// Where the plans, tiles or scales differ.
    pub plan: Vec<Difference>,
    /// Whether both groups ran the same random streams.
    pub seeds: Seeds,
    /// What else a reader should know.
    pub notes: Vec<String>,
    /// Every figure that both groups have.
    pub metrics: Vec<MetricComparison>,
    /// Worst news of all figures: worse, then inconclusive, then better, then same.
    pub verdict: Verdict,
}

/// One group of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SideFacts {
    /// Ids of its runs.
    pub runs: Vec<String>,
    /// Their seeds, each once, ascending.
    pub seeds: Vec<u64>,
}

/// Something that is not the same everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// What: `kernel.release`, `measure.duration`.
    pub key: String,
    /// Its values in group A, each once; `absent` where a run does not have it.
    pub a: Vec<String>,
    /// Its values in group B.
    pub b: Vec<String>,
}

/// Whether both groups ran the same random streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Seeds {
    /// The same seeds: the loads asked for the same things in the same order.
    Same,
    /// Some seeds, not all, are in both groups.
    Overlapping,
    /// Different seeds: the difference includes that of the loads.
    Different,
}

/// Which way a figure improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// More is better (throughput, tiles).
    Higher,
    /// Less is better (latency).
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
    /// Of the time, or of all processors, 0 to 1.
    #[serde(rename = "share")]
    Share,
    /// Anything else that is counted: I/Os that wait.
    #[serde(rename = "count")]
    Count,
}

impl Unit {
    /// That of a gauge's level.
    pub(crate) const fn of_gauge(unit: GaugeUnit) -> Self {
        match unit {
            GaugeUnit::Share | GaugeUnit::ShareOfCpus | GaugeUnit::ShareOfTime => Self::Share,
            GaugeUnit::BytesPerSecond => Self::BytesPerSecond,
            GaugeUnit::IosPerSecond | GaugeUnit::EventsPerSecond => Self::PerSecond,
            _ => Self::Count,
        }
    }
}

/// One figure in both groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricComparison {
    /// Stable name: `tiles-held`, `4-tiles/read/p99`.
    pub id: String,
    /// Tile count of the steps it is from; null for figures of whole runs.
    pub tiles: Option<u32>,
    /// The name without the tile count, for people.
    pub title: String,
    /// Unit of the medians.
    pub unit: Unit,
    /// Which way it improves.
    pub better: Better,
    /// Repeats in group A.
    pub repeats_a: usize,
    /// Repeats in group B.
    pub repeats_b: usize,
    /// Median of group A, in `unit`.
    pub median_a: f64,
    /// Median of group B, in `unit`.
    pub median_b: f64,
    /// Whether the true value of group A is its median or more.
    pub at_least_a: bool,
    /// The same of group B.
    pub at_least_b: bool,
    /// How much B differs from A; null where A's median is zero and B's is not, and where both
    /// are lower bounds.
    pub change: Option<Change>,
    /// Whether the change is a bound itself, because one of the groups is; null if not.
    pub bound: Option<Bound>,
    /// Two-sided probability of a difference this large by chance: Student's t over blocks,
    /// repeats and runs; Mann and Whitney's test where a value is zero or nothing says how sure
    /// it is.
    pub p: f64,
    /// What it comes to.
    pub verdict: Verdict,
    /// Whether it only explains the others, as a gauge does: the verdict on all leaves it out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub explains: bool,
    /// Whether only the width of its interval leaves it open: no other work was in the way, and both ends are known.
    /// Not stored.
    #[serde(skip)]
    pub is_wide: bool,
    /// Why, where the numbers do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A relative change of B against A: 0.05 is 5 % more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Ratio of the geometric means less one; Hodges and Lehmann's estimate where a value is
    /// zero or nothing says how sure it is.
    pub value: f64,
    /// Lower end of its interval; null if it has none, or is open there.
    pub low: Option<f64>,
    /// Upper end of its interval; null if it has none, or is open there.
    pub high: Option<f64>,
}

/// On which side of the truth a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The true change is this or more.
    AtLeast,
    /// The true change is this or less.
    AtMost,
}

/// What a figure, or all of them, came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval is worse by more than the smallest change that counts.
    Worse,
    /// The whole interval is better by more than the smallest change that counts.
    Better,
    /// The whole interval is within the smallest change that counts.
    Same,
    /// The interval reaches across, or there is none.
    Inconclusive,
}

impl Verdict {
    /// The word in documents and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Same => "same",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Whether an open question is a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// Only a proven regression fails.
    #[default]
    Lenient,
    /// Not being able to tell fails too.
    Strict,
}

/// What a script should do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Nothing.
    Accept,
    /// A figure is worse.
    Worse,
    /// It could not be told, and that was asked to count.
    Inconclusive,
}

impl Comparison {
    /// The figures that decide, without those that explain.
    pub fn deciding(&self) -> impl Iterator<Item = &MetricComparison> {
        self.metrics.iter().filter(|metric| !metric.explains)
    }

    /// Each reason once, with the number of figures that have it; the commonest first.
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

    /// What a script should do about it.
    pub fn decision(&self, strictness: Strictness) -> Decision {
        match (self.verdict, strictness) {
            (Verdict::Worse, _) => Decision::Worse,
            (Verdict::Inconclusive, Strictness::Strict) => Decision::Inconclusive,
            _ => Decision::Accept,
        }
    }
}

/// The JSON Schema of the document, as a JSON value.
pub fn json_schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Comparison);
    schema.insert("title".to_owned(), SCHEMA.into());
    schema.to_value()
}
