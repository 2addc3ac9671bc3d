use run_store::run::{BrokenLimit, Statistic, ToolFacts, Verdict};
use schemars::{JsonSchema, schema_for};
use serde::Serialize;

/// Name and version of an answer. Minor versions only add fields.
pub const SCHEMA: &str = "tilemark.what-if/1.0";

/// Answer of what-if. It contains no time of day: the same run, options and program give the same
/// answer to the byte.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WhatIf {
    /// Name and version of this format: `tilemark.what-if/1.0`.
    pub schema: String,
    /// Version of the program.
    pub tool: ToolFacts,
    /// Id of the run.
    pub run: String,
    /// Answer of that run.
    pub run_said: String,
    /// True if that run was a simulation.
    pub run_simulated: bool,
    /// Name of its tile.
    pub tile: String,
    /// Virtual machines in one tile.
    pub vms_per_tile: u32,
    /// Origin of the unchanged array.
    pub model: ModelKind,
    /// Unchanged array, as one line.
    pub array: String,
    /// Changes, as text.
    pub changes: Vec<String>,
    /// Answer as a sentence.
    pub sentence: String,
    /// Answer in virtual machines of the estate; null without an estate, or without an answer.
    pub estate: Option<String>,
    /// True if the model is accurate enough, and most searches of the changed array ended with a
    /// decision.
    pub conclusive: bool,
    /// Array without changes.
    pub base: Side,
    /// Array with the changes.
    pub changed: Side,
    /// Error of the model against the measurement; null for a simulated run.
    pub model_error: Option<ModelError>,
    /// Assumptions of the answer.
    pub assumptions: Vec<String>,
    /// Seeds, the run's own first; each gives both sides the same arrivals and addresses.
    pub seeds: Vec<u64>,
}

/// Origin of the array that represents the storage of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelKind {
    /// Array of the simulated run.
    Own,
    /// Another array, given for a simulated run.
    Other,
    /// Array given for a measured run.
    Given,
    /// Array fitted to a measured run.
    Fitted,
}

/// Array with its predicted number of tiles.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Side {
    /// Predicted number of tiles: the median over the seeds (the lower of the middle two).
    pub tiles: u32,
    /// Lower end of the interval: the minimum over the seeds, reduced by the model's error.
    pub low: u32,
    /// Upper end of the interval: the maximum over the seeds, increased by the model's error, and
    /// at most `tiles_max`. If a seed stopped at `tiles-max`, the interval is open above.
    pub high: u32,
    /// True if no more tiles were tried because there was no space, or because of the requested
    /// maximum.
    pub at_least: bool,
    /// Maximum number of tiles that were tried: the number that fits, or the requested maximum.
    pub tiles_max: u32,
    /// Edge with each seed.
    pub edges: Vec<SeedEdge>,
    /// First broken limit beyond `tiles`; null if there was none.
    pub breaks: Option<Broken>,
    /// Busiest part there; null if unknown.
    pub bottleneck: Option<Bottleneck>,
    /// Simulated steps, in ascending order of tiles.
    pub points: Vec<Point>,
}

impl Side {
    /// Returns the interval as text: `4 to 6`, or `4 or more` if with some seed all tiles that fit
    /// met the limits, so that the upper end says nothing about the speed of the storage.
    pub fn interval(&self) -> String {
        let Self { low, high, edges, .. } = self;
        if edges.iter().any(|edge| edge.stopped == Stopped::TilesMax) {
            format!("{low} or more")
        } else {
            format!("{low} to {high}")
        }
    }
}

/// Edge with one seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeedEdge {
    /// Seed of the search.
    pub seed: u64,
    /// Largest number of tiles that met all limits.
    pub tiles: u32,
    /// Reason why the search ended.
    pub stopped: Stopped,
}

/// Reason why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// One tile more exceeds a limit.
    Limit,
    /// One tile more adds no work.
    Flat,
    /// One tile more is undecided.
    Inconclusive,
    /// No more tiles were tried.
    TilesMax,
}

/// Step that did not pass.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Broken {
    /// Number of tiles.
    pub tiles: u32,
    /// Reason, as a sentence.
    pub reason: String,
    /// Broken limit; null if it was none.
    pub limit: Option<BrokenLimit>,
}

/// The busiest part by the utilisation law, `U = X * D`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bottleneck {
    /// Name: `pool shelf disks`, `host-1 processors`.
    pub part: String,
    /// Tiles of the step.
    pub tiles: u32,
    /// U: share of the time that the busiest of its servers was busy, 0 to 1; for a host's
    /// processors, the share of the time that its VMs may use.
    pub utilisation: f64,
    /// X: work done, in tiles' worth; tiles if the tile has no score.
    pub work: f64,
    /// D: busy share for one tile's worth of work.
    pub demand: f64,
    /// `1 / D`: tiles' worth of work that keeps it always busy.
    pub tiles_full: f64,
}

/// Simulated step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Number of tiles.
    pub tiles: u32,
    /// Seed of the step.
    pub seed: u64,
    /// Verdict of the step.
    pub verdict: Verdict,
    /// Reason, as a sentence.
    pub reason: String,
    /// Work done, in tiles' worth; null if the tile has no score.
    pub work: Option<f64>,
    /// I/Os per second.
    pub operations_per_s: f64,
}

/// Error of the model compared with the measurement.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelError {
    /// Reason why the model is too inaccurate to answer; null if it is not.
    pub refused: Option<String>,
    /// Largest number of tiles that met all limits in the measured run; null if unknown.
    pub measured_tiles: Option<u32>,
    /// True if the measured run found no edge, so that more tiles may meet the limits.
    pub measured_at_least: bool,
    /// True if the interval of the measured edge and the range of the model's edges overlap.
    pub reproduced: bool,
    /// Factor of the low end of both intervals, at most 1.
    pub low_factor: f64,
    /// Factor of the high end of both intervals, at least 1.
    pub high_factor: f64,
    /// Measured tile counts, simulated on the unchanged array.
    pub steps: Vec<StepGap>,
    /// Summary as a sentence.
    pub sentence: String,
}

/// Measured step beside the model's.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StepGap {
    /// Number of tiles.
    pub tiles: u32,
    /// I/Os per second, mean over repeats.
    pub measured_operations_per_s: f64,
    /// I/Os per second of the model.
    pub modelled_operations_per_s: f64,
    /// Verdict of the measurement.
    pub measured: Verdict,
    /// Verdict of the model.
    pub modelled: Verdict,
    /// Limits with a value on both sides.
    pub limits: Vec<LimitGap>,
}

/// Limit, measured and modelled.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LimitGap {
    /// Name of the workload.
    pub workload: String,
    /// Name of the action or kind of I/O.
    pub name: String,
    /// Statistic: `mean`, `max` or a percentile such as `p95`.
    pub statistic: Statistic,
    /// Limit, in nanoseconds.
    pub limit_ns: u64,
    /// Measured, in nanoseconds, mean over repeats.
    pub measured_ns: u64,
    /// Modelled, in nanoseconds.
    pub modelled_ns: u64,
}

/// JSON Schema of an answer.
pub fn json_schema() -> serde_json::Value {
    schema_for!(WhatIf).to_value()
}
