use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `curve`: what more tiles bring, and what breaks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TileCurve {
    /// Where it breaks, and why.
    pub sentence: String,
    /// Tiles held.
    pub tiles_held: Option<u32>,
    /// The least number of tiles that failed.
    pub tiles_failed: Option<u32>,
    /// The limit that broke first.
    pub broken: Option<String>,
    /// Names of limits: `shop order p95`.
    pub limits: Vec<String>,
    /// By tiles, then repeat.
    pub points: Vec<CurvePoint>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Step of the ladder, from 1.
    pub step: u32,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Tiles.
    pub tiles: u32,
    /// VMs.
    pub vms: u32,
    /// `passed`, `failed`, `inconclusive` or `interrupted`.
    pub verdict: String,
    /// Why, in words.
    pub reason: String,
    /// I/Os a second.
    pub operations_per_s: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Actions a second.
    pub actions_per_s: f64,
    /// Score.
    pub score: Option<f64>,
    /// What the same tiles score on ideal storage: their number.
    pub ideal_score: f64,
    /// In the order of [`TileCurve::limits`], all tiles together.
    pub limits: Vec<Option<CurveLimit>>,
}

/// One limit in one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveLimit {
    /// Allowed, nanoseconds.
    pub limit_ns: u64,
    /// Measured, all tiles together.
    pub measured_ns: Option<u64>,
    /// Measured by allowed; none without a measured value.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low_ns: Option<u64>,
    /// Upper end.
    pub high_ns: Option<u64>,
    /// Samples.
    pub samples: u64,
    /// `passed`, `failed` or `inconclusive`.
    pub verdict: String,
    /// The tile that is worst, from 1.
    pub worst_tile: Option<u32>,
}
