use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// View `curve`: work by number of tiles, and the limit that breaks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TileCurve {
    /// Edge and its cause, in a sentence.
    pub sentence: String,
    /// Largest number of tiles at which all limits are met.
    pub tiles_held: Option<u32>,
    /// Smallest number of tiles that failed.
    pub tiles_failed: Option<u32>,
    /// The limit that broke first.
    pub broken: Option<String>,
    /// Names of limits: `shop order p95`.
    pub limits: Vec<String>,
    /// Points, sorted by tiles, then by repeat.
    pub points: Vec<CurvePoint>,
}

/// A step of the curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Number of the step in the ladder, from 1.
    pub step: u32,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// Number of tiles.
    pub tiles: u32,
    /// Number of virtual machines.
    pub vms: u32,
    /// Verdict: `passed`, `failed`, `inconclusive` or `interrupted`.
    pub verdict: String,
    /// Reason of the verdict, in words.
    pub reason: String,
    /// I/Os per second.
    pub operations_per_s: f64,
    /// Throughput, in bytes per second.
    pub bytes_per_s: f64,
    /// Actions per second.
    pub actions_per_s: f64,
    /// Score of the step.
    pub score: Option<f64>,
    /// Score of the same number of tiles on ideal storage, which is that number.
    pub ideal_score: f64,
    /// Limits over all tiles together, in the order of [`TileCurve::limits`].
    pub limits: Vec<Option<CurveLimit>>,
}

/// A limit in a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveLimit {
    /// Limit, in nanoseconds.
    pub limit_ns: u64,
    /// Measured value over all tiles together, in nanoseconds.
    pub measured_ns: Option<u64>,
    /// Measured value divided by the limit; none without a measured value.
    pub ratio: Option<f64>,
    /// Lower end of the confidence interval, nanoseconds.
    pub low_ns: Option<u64>,
    /// Upper end of the confidence interval, nanoseconds.
    pub high_ns: Option<u64>,
    /// Number of samples.
    pub samples: u64,
    /// Verdict: `passed`, `failed` or `inconclusive`.
    pub verdict: String,
    /// Number of the worst tile, from 1.
    pub worst_tile: Option<u32>,
}
