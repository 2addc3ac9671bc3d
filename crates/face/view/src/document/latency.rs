use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// View `heatmap`: I/Os by time and service time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeatMap {
    /// Summary in one sentence.
    pub sentence: String,
    /// Begin of each column, nanoseconds on the run's axis.
    pub at_ns: Vec<u64>,
    /// Length of each column, nanoseconds.
    pub width_ns: Vec<u64>,
    /// Boundaries of the rows, nanoseconds, ascending, logarithmic: one more than rows. A row
    /// contains values above its lower and up to its upper boundary; the first and the last row
    /// also contain all values beyond.
    pub edges_ns: Vec<u64>,
    /// Cells by column: pairs of row and number of I/Os in a flat list; rows without I/O are left
    /// out.
    pub columns: Vec<Vec<u32>>,
    /// Longest service time of each column, nanoseconds.
    pub max_ns: Vec<Option<u64>>,
    /// 99th percentile of each column, nanoseconds.
    pub p99_ns: Vec<Option<u64>>,
    /// Largest number of I/Os of any cell.
    pub most: u32,
}

/// View `percentiles`: distributions of latency, one for each line of the breakdown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// Summary in one sentence.
    pub sentence: String,
    /// Clock of the times: `service` or `response`.
    pub clock: String,
    /// Distribution of each group.
    pub curves: Vec<PercentileCurve>,
}

/// Distribution of one group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentileCurve {
    /// Key of the group, as in [`super::Group::key`].
    pub key: String,
    /// Name for people.
    pub label: String,
    /// Number of I/Os.
    pub count: u64,
    /// Points from share 0 up to the highest share with at least ten I/Os above it, ascending, and
    /// then the longest time.
    pub points: Vec<PercentilePoint>,
}

/// A point of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentilePoint {
    /// Share of I/Os that took at most this long, 0 to 1.
    pub share: f64,
    /// Time in nanoseconds.
    pub value_ns: u64,
}

/// View `matrix`: I/Os by size class and service time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyMatrix {
    /// Summary: the first class whose 99th percentile breaks the limit, or that no class does.
    pub sentence: String,
    /// Upper boundaries of all rows but the last: 20 us, then 23 nearly logarithmic boundaries to
    /// 10 s; 24 in total.
    pub edges_ns: Vec<u64>,
    /// Limit for the 99th percentiles, in nanoseconds.
    pub limit_ns: u64,
    /// Source of the limit, in words.
    pub limit_source: String,
    /// Panels of reads, then of writes.
    pub panels: Vec<MatrixPanel>,
}

/// Panel of one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatrixPanel {
    /// Direction: `read` or `write`.
    pub direction: String,
    /// Number of I/Os by class (8) and row (25).
    pub cells: Vec<Vec<u64>>,
    /// 99th percentile by class, nanoseconds.
    pub p99_ns: Vec<Option<u64>>,
    /// Number of I/Os by class.
    pub count: Vec<u64>,
    /// First size class whose p99 breaks the limit, among classes with at least 30 I/Os.
    pub first_break: Option<u8>,
}

/// View `breaks`: p99 by size class and load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadMatrix {
    /// Summary: the smallest load at which a class breaks the limit.
    pub sentence: String,
    /// Kind of load of the columns: `tiles` or `outstanding`.
    pub load: String,
    /// Names of the columns, smallest load first.
    pub columns: Vec<String>,
    /// Limit for the 99th percentiles, in nanoseconds.
    pub limit_ns: u64,
    /// Source of the limit, in words.
    pub limit_source: String,
    /// Cells that are not empty.
    pub cells: Vec<LoadCell>,
}

/// A cell of [`LoadMatrix`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadCell {
    /// Direction: `read` or `write`.
    pub direction: String,
    /// Size class, 0 to 7.
    pub class: u8,
    /// Position of the cell's column, from 0.
    pub column: u32,
    /// Number of I/Os.
    pub count: u64,
    /// 99th percentile of the service time.
    pub p99_ns: u64,
    /// True if there are at least 30 I/Os.
    pub is_enough: bool,
}
