use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PercentilePoint;

/// `GET /api/v1/compare?a=ID&b=ID`: B against A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparePage {
    /// The news in one sentence.
    pub sentence: String,
    /// `worse`, `better`, `same` or `inconclusive`.
    pub verdict: String,
    /// The baseline.
    pub a: CompareSide,
    /// What is held against it.
    pub b: CompareSide,
    /// Differences of machines, targets and programs.
    pub environment: Vec<DifferenceRow>,
    /// Differences of plans.
    pub plan: Vec<DifferenceRow>,
    /// `same`, `overlapping` or `different` random streams.
    pub seeds: String,
    /// What else a reader should know.
    pub notes: Vec<String>,
    /// Every figure that both have.
    pub metrics: Vec<CompareMetric>,
    /// Each reason for a verdict once, with the number of figures that have it.
    pub reasons: Vec<CompareReason>,
    /// Distributions of reads and writes of both, in the step with the most tiles both have.
    pub curves: Vec<CurveOfSide>,
    /// Edges of the rows of `difference`, nanoseconds.
    pub edges_ns: Vec<u64>,
    /// By class of sizes (8), by row: share of I/Os in B less that in A.
    pub difference: Vec<Vec<f64>>,
}

/// One run of the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompareSide {
    /// Its id.
    pub id: String,
    /// Its answer.
    pub sentence: String,
    /// The tiles whose distributions are shown.
    pub tiles: u32,
}

/// A value that is not the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DifferenceRow {
    /// What: `kernel.release`.
    pub key: String,
    /// In A.
    pub a: String,
    /// In B.
    pub b: String,
}

/// A figure of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompareMetric {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// `higher` or `lower`.
    pub better: String,
    /// Median of A.
    pub a: Option<f64>,
    /// Median of B.
    pub b: Option<f64>,
    /// B less A, by A.
    pub change: Option<f64>,
    /// Lower end of the change's interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Repeats of A and B.
    pub samples: [u64; 2],
    /// `worse`, `better`, `same` or `inconclusive`.
    pub verdict: String,
    /// Why, if it needs words.
    pub reason: Option<String>,
}

/// A reason for verdicts on figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompareReason {
    /// The reason in words.
    pub text: String,
    /// Number of figures that have it.
    pub figures: u64,
}

/// A distribution of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveOfSide {
    /// `a` or `b`.
    pub side: String,
    /// `read` or `write`.
    pub direction: String,
    /// I/Os.
    pub count: u64,
    /// As in [`super::PercentileCurve::points`].
    pub points: Vec<PercentilePoint>,
}
