use run_store::run::{BrokenLimit, Statistic, ToolFacts, Verdict};
use schemars::{JsonSchema, schema_for};
use serde::Serialize;

/// Name and version of an answer. Minor versions only add fields.
pub const SCHEMA: &str = "tilemark.what-if/1.0";

/// What would be if. It holds no time of day: the same run, options and program give the same
/// answer to the byte.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WhatIf {
    /// Name and version of this format: `tilemark.what-if/1.0`.
    pub schema: String,
    /// The program.
    pub tool: ToolFacts,
    /// The run that is asked about.
    pub run: String,
    /// What that run said.
    pub run_said: String,
    /// Whether that run was a simulation.
    pub run_simulated: bool,
    /// Its tile.
    pub tile: String,
    /// Virtual machines in one tile.
    pub vms_per_tile: u32,
    /// Where the array that was changed is from.
    pub model: ModelKind,
    /// That array, in a line.
    pub array: String,
    /// What is different, in words.
    pub changes: Vec<String>,
    /// The answer in a sentence a person can quote.
    pub sentence: String,
    /// The same in the virtual machines that somebody has; null without an estate, or without an answer.
    pub estate: Option<String>,
    /// Whether the edges of both were found with every seed, by a model that is not too far off.
    pub conclusive: bool,
    /// The array as it is.
    pub base: Side,
    /// The array with the changes.
    pub changed: Side,
    /// How far the model is from what was measured; null for a simulated run.
    pub model_error: Option<ModelError>,
    /// What the answer assumes.
    pub assumptions: Vec<String>,
    /// Seeds, the run's own first; each gives both sides the same arrivals and addresses.
    pub seeds: Vec<u64>,
}

/// Where the array that stands for a run's storage is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelKind {
    /// The simulated run's own.
    Own,
    /// Another one was given for a simulated run.
    Other,
    /// It was given for a measured run.
    Given,
    /// It was fitted to a measured run.
    Fitted,
}

/// An array and how many tiles it holds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Side {
    /// Tiles predicted: the median over the seeds (the lower of the middle two).
    pub tiles: u32,
    /// Least over the seeds, and with the model's error.
    pub low: u32,
    /// Most over the seeds, and with the model's error.
    pub high: u32,
    /// Whether more was not tried because there was no room, or because none was to be tried.
    pub at_least: bool,
    /// Most tiles that were tried at all: what fits, or what was allowed.
    pub tiles_max: u32,
    /// The edge with each seed.
    pub edges: Vec<SeedEdge>,
    /// What breaks beyond `tiles`; null if nothing did.
    pub breaks: Option<Broken>,
    /// The part that is busiest there; null if nothing is known of parts.
    pub bottleneck: Option<Bottleneck>,
    /// Every step that was simulated, fewest tiles first.
    pub points: Vec<Point>,
}

/// The edge with one seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeedEdge {
    /// The seed.
    pub seed: u64,
    /// Most tiles that hold.
    pub tiles: u32,
    /// What ended the search.
    pub stopped: Stopped,
}

/// What ended a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// One tile more breaks a limit.
    Limit,
    /// One tile more adds no work.
    Flat,
    /// Nothing can be said about one tile more.
    Inconclusive,
    /// No more tiles were tried.
    TilesMax,
}

/// What breaks, and where.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Broken {
    /// Tiles.
    pub tiles: u32,
    /// Why it did not pass, in a sentence.
    pub reason: String,
    /// The limit; null if it was none.
    pub limit: Option<BrokenLimit>,
}

/// The busiest part by the utilisation law, `U = X * D`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bottleneck {
    /// Its name: `pool shelf disks`, `host-1 processors`.
    pub part: String,
    /// Tiles with which it was seen.
    pub tiles: u32,
    /// U: share of the time that the busiest of its servers was busy, 0 to 1; of a host's
    /// processors, of what its machines may have.
    pub utilisation: f64,
    /// X: work done, in tiles' worth; tiles if the tile has no score.
    pub work: f64,
    /// D: busy share for one tile's worth of work.
    pub demand: f64,
    /// `1 / D`: tiles' worth of work with which it is busy all the time.
    pub tiles_full: f64,
}

/// One simulated step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Tiles.
    pub tiles: u32,
    /// The seed.
    pub seed: u64,
    /// What it came to.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub reason: String,
    /// Work done, in tiles' worth; null if the tile has no score.
    pub work: Option<f64>,
    /// I/Os per second.
    pub operations_per_s: f64,
}

/// How far the model is from what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelError {
    /// Why the model is too far off to answer; null if it is not.
    pub refused: Option<String>,
    /// Most tiles that held in the measured run; null if it does not say.
    pub measured_tiles: Option<u32>,
    /// Whether the measured run found no edge, so that more may hold.
    pub measured_at_least: bool,
    /// Whether the measured edge is within the base's edges over the seeds.
    pub reproduced: bool,
    /// What the low end of both intervals is multiplied by, at most 1.
    pub low_factor: f64,
    /// What the high end of both intervals is multiplied by, at least 1.
    pub high_factor: f64,
    /// Measured tile counts, simulated on the unchanged array.
    pub steps: Vec<StepGap>,
    /// All of it in a sentence.
    pub sentence: String,
}

/// A measured step and the model's.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StepGap {
    /// Tiles.
    pub tiles: u32,
    /// I/Os per second, mean over repeats.
    pub measured_operations_per_s: f64,
    /// The same of the model.
    pub modelled_operations_per_s: f64,
    /// What was measured came to.
    pub measured: Verdict,
    /// What the model comes to.
    pub modelled: Verdict,
    /// Limits with a figure on both sides.
    pub limits: Vec<LimitGap>,
}

/// A limit, measured and modelled.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LimitGap {
    /// The workload.
    pub workload: String,
    /// The action or kind of I/O.
    pub name: String,
    /// `mean`, `max` or a percentile: `p95`.
    pub statistic: Statistic,
    /// The limit, in nanoseconds.
    pub limit_ns: u64,
    /// Measured, in nanoseconds, mean over repeats.
    pub measured_ns: u64,
    /// Modelled, in nanoseconds.
    pub modelled_ns: u64,
}

/// The JSON Schema of an answer.
pub fn json_schema() -> serde_json::Value {
    schema_for!(WhatIf).to_value()
}
