use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bottleneck, Figure, Interval, LimitResult, PerKilowatt};

/// The run's answer. A score never stands alone: the verdict is beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// How far the question was answered.
    pub status: Status,
    /// Most tiles at which every limit held; null if that is not known.
    pub tiles_held: Option<u32>,
    /// Virtual machines in those tiles.
    pub vms_held: Option<u32>,
    /// Where the most tiles that hold lie; null where nothing was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles_interval: Option<TilesInterval>,
    /// The most tiles that might have been tried: as many as were asked for, fit, and whose users
    /// are kept in memory. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles_max: Option<u32>,
    /// How many tiles of full size the datastore has room for; null where disks had their full
    /// size, or where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// What ended the search.
    pub edge: Edge,
    /// The answer in a sentence a person can quote.
    pub sentence: String,
    /// The first limit that broke one step above; null if none did.
    pub first_broken: Option<BrokenLimit>,
    /// What was at its limit in the step that broke, else in the one that held; absent in runs
    /// of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
    /// Score at `tiles_held`, in tiles' worth of work.
    pub score: Figure,
    /// Interval of the score; null if it has none.
    pub score_interval: Option<Interval>,
    /// The score by the power of the held tiles; empty without a meter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_kilowatt: Vec<PerKilowatt>,
    /// How far the run got: `5 of at most 9 steps, interrupted in step 6 (6 tiles)`.
    pub progress: String,
}

impl Answer {
    /// The sentence up to the score, which stands beside it where there is room for both.
    pub fn without_score(&self) -> &str {
        let clause = self.score.value.map(score_clause);
        let said = clause.and_then(|clause| self.sentence.rsplit_once(&clause));
        said.map_or(self.sentence.as_str(), |(said, _)| said)
    }
}

/// Begins the sentence of a model that is too far from what was measured: its count of tiles is no
/// answer.
pub const CANNOT_ANSWER: &str = "this model cannot answer: ";

/// What the sentence of an answer says of its score: `; score 22.40`.
pub fn score_clause(score: f64) -> String {
    format!("; score {score:.2}")
}

/// The interval of the most tiles that hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TilesInterval {
    /// Lower end.
    pub low: u32,
    /// Upper end; null if it is beyond what was or could be tried.
    pub high: Option<u32>,
    /// Where the edge most probably is by all steps together; it may lie between counts that ran.
    /// Absent where no curve was fitted: then `tiles_held`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_likely: Option<u32>,
    /// Share of such intervals that hold the true count.
    pub confidence: f64,
}

/// Room for disks of full size, when those that were measured were smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// Tiles of full size that fit.
    pub tiles: u32,
    /// What one of them needs, in bytes.
    pub tile_bytes: u64,
    /// What may be used, in bytes.
    pub bytes: u64,
}

/// How far the question was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The edge was found, or every step asked for was run.
    Complete,
    /// Someone or something stopped the run; what was measured until then stands.
    Interrupted,
    /// The run ended, but does not support an answer.
    Inconclusive,
}

/// What ended the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Edge {
    /// One tile more broke a limit.
    LimitBroken,
    /// One tile more raised throughput no more.
    ThroughputFlat,
    /// The datastore has no room for one tile more.
    CapacityReached,
    /// Every step asked for was run, and held.
    LadderEnded,
    /// No edge was found.
    None,
}

/// A limit that broke, and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenLimit {
    /// Tiles in the step in which it broke.
    pub tiles: u32,
    /// Repeat of the step, from 1.
    pub repeat: u32,
    /// Tile, from 0; null if it is a limit of infrastructure operations.
    pub tile: Option<u32>,
    /// Workload.
    pub workload: String,
    /// Which of several of this workload in the tile, from 0.
    pub copy: u32,
    /// The limit and what was measured.
    pub limit: LimitResult,
}
