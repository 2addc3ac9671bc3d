use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `heatmap`: I/Os by time and service time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeatMap {
    /// A sentence about it.
    pub sentence: String,
    /// Begin of each column, nanoseconds on the run's axis.
    pub at_ns: Vec<u64>,
    /// Length of each column.
    pub width_ns: Vec<u64>,
    /// Edges of the rows, nanoseconds, ascending, logarithmic: one more than there are rows. A
    /// row holds what is longer than its lower and at most its upper edge; the first and the
    /// last also hold what lies beyond.
    pub edges_ns: Vec<u64>,
    /// Columns: pairs of row and I/Os, one after the other, rows without I/O left out.
    pub columns: Vec<Vec<u32>>,
    /// Longest in each column.
    pub max_ns: Vec<Option<u64>>,
    /// 99th percentile of each column.
    pub p99_ns: Vec<Option<u64>>,
    /// Most I/Os of any cell.
    pub most: u32,
}

/// `percentiles`: distributions by the breakdown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// A sentence about them.
    pub sentence: String,
    /// `service` or `response`.
    pub clock: String,
    /// One for each group.
    pub curves: Vec<PercentileCurve>,
}

/// One distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentileCurve {
    /// As in [`super::Group::key`].
    pub key: String,
    /// Its name for people.
    pub label: String,
    /// I/Os.
    pub count: u64,
    /// From share 0 to the highest that at least ten I/Os lie above, ascending, and the longest.
    pub points: Vec<PercentilePoint>,
}

/// A point of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentilePoint {
    /// Share of I/Os that took at most this long, 0 to 1.
    pub share: f64,
    /// Nanoseconds.
    pub value_ns: u64,
}

/// `matrix`: where time goes: classes of sizes by service time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyMatrix {
    /// A sentence: the first class whose 99th percentile breaks the limit, or that none does.
    pub sentence: String,
    /// Upper edges of the rows but the last: up to 20 us, 23 about logarithmic rows to 10 s, and
    /// above; 24 edges.
    pub edges_ns: Vec<u64>,
    /// What p99 is held against.
    pub limit_ns: u64,
    /// Where that comes from.
    pub limit_source: String,
    /// Reads, then writes.
    pub panels: Vec<MatrixPanel>,
}

/// One direction of the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatrixPanel {
    /// `read` or `write`.
    pub direction: String,
    /// By class (8), by row (25): I/Os.
    pub cells: Vec<Vec<u64>>,
    /// By class: 99th percentile.
    pub p99_ns: Vec<Option<u64>>,
    /// By class: I/Os.
    pub count: Vec<u64>,
    /// The first class whose p99 breaks the limit, 30 I/Os or more.
    pub first_break: Option<u8>,
}

/// `breaks`: where it breaks: classes of sizes by load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadMatrix {
    /// A sentence: the least load at which a class breaks the limit.
    pub sentence: String,
    /// What the columns are: `tiles` or `outstanding`.
    pub load: String,
    /// Names of the columns, least load first.
    pub columns: Vec<String>,
    /// What p99 is held against.
    pub limit_ns: u64,
    /// Where that comes from.
    pub limit_source: String,
    /// Filled cells.
    pub cells: Vec<LoadCell>,
}

/// A cell of [`LoadMatrix`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadCell {
    /// `read` or `write`.
    pub direction: String,
    /// Class of sizes, 0 to 7.
    pub class: u8,
    /// Position of the column.
    pub column: u32,
    /// I/Os.
    pub count: u64,
    /// 99th percentile of the service time.
    pub p99_ns: u64,
    /// Whether there are 30 I/Os or more.
    pub is_enough: bool,
}
