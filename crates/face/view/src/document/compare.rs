use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PercentilePoint;

/// Answer of `GET /api/v1/compare?a=ID&b=ID`: B compared with A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparePage {
    /// Result in one sentence.
    pub sentence: String,
    /// Verdict: `worse`, `better`, `same` or `inconclusive`.
    pub verdict: String,
    /// Run A, the baseline.
    pub a: CompareSide,
    /// Run B, which is compared with it.
    pub b: CompareSide,
    /// Differences of hosts, targets and programs.
    pub environment: Vec<DifferenceRow>,
    /// Differences of the plans.
    pub plan: Vec<DifferenceRow>,
    /// Relation of the random streams: `same`, `overlapping` or `different`.
    pub seeds: String,
    /// More notes for the reader.
    pub notes: Vec<String>,
    /// Figures that both runs have.
    pub metrics: Vec<CompareMetric>,
    /// Reasons for verdicts, each once, with the number of figures it applies to.
    pub reasons: Vec<CompareReason>,
    /// Distributions of reads and writes of both runs, in the step with the most tiles that both
    /// have.
    pub curves: Vec<CurveOfSide>,
    /// Edges of the rows of `difference`, nanoseconds.
    pub edges_ns: Vec<u64>,
    /// Difference of the shares of I/Os, B minus A, by size class (8) and row.
    pub difference: Vec<Vec<f64>>,
}

/// A run of the comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompareSide {
    /// Identifier of the run.
    pub id: String,
    /// Answer of the run.
    pub sentence: String,
    /// Number of tiles of the shown distributions.
    pub tiles: u32,
}

/// A value that differs between the runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DifferenceRow {
    /// Name of the value: `kernel.release`.
    pub key: String,
    /// Value in A.
    pub a: String,
    /// Value in B.
    pub b: String,
}

/// A figure of both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompareMetric {
    /// Name of the figure.
    pub name: String,
    /// Unit of the figure.
    pub unit: String,
    /// Direction that is better: `higher` or `lower`.
    pub better: String,
    /// Median value of A.
    pub a: Option<f64>,
    /// Median value of B.
    pub b: Option<f64>,
    /// Relative change: B minus A, divided by A.
    pub change: Option<f64>,
    /// Lower end of the change's interval.
    pub low: Option<f64>,
    /// Upper end of the change's interval.
    pub high: Option<f64>,
    /// Number of repeats of A and of B.
    pub samples: [u64; 2],
    /// Verdict: `worse`, `better`, `same` or `inconclusive`.
    pub verdict: String,
    /// Reason of the verdict; none if the numbers show it.
    pub reason: Option<String>,
}

/// A reason for verdicts on figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompareReason {
    /// The reason in words.
    pub text: String,
    /// Number of figures with this reason.
    pub figures: u64,
}

/// A distribution of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveOfSide {
    /// Side of the comparison: `a` or `b`.
    pub side: String,
    /// Direction: `read` or `write`.
    pub direction: String,
    /// Number of I/Os.
    pub count: u64,
    /// Points of the distribution, as in [`super::PercentileCurve::points`].
    pub points: Vec<PercentilePoint>,
}
