use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Bottleneck, ClimbFacts, Figure, Interval, LimitResult, PerKilowatt, TilesInterval, limit_name,
};

/// Answer of the run. A score never stands alone: the verdict is beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Degree to which the question was answered.
    pub status: Status,
    /// Most tiles at which every limit held; null if unknown.
    pub tiles_held: Option<u32>,
    /// Virtual machines in those tiles.
    pub vms_held: Option<u32>,
    /// Interval of the most tiles that hold; null where nothing was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles_interval: Option<TilesInterval>,
    /// Most tiles that could have been tried: as many as were asked for, fit, and whose users fit
    /// into memory. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles_max: Option<u32>,
    /// Room of the datastore in tiles of full size; null where disks had full size, or where the
    /// room is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// Reason for the end of the search.
    pub edge: Edge,
    /// Answer in a sentence that a person can quote, for readers without this program. It is made
    /// from the other fields ([`super::Run::sentence`]), which this program reads instead.
    pub sentence: String,
    /// First limit that broke one step above the held tiles; null if none did.
    pub first_broken: Option<BrokenLimit>,
    /// Resource at its limit in the step that broke, else in the step that held; absent in runs of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
    /// Score at `tiles_held`, in tiles' worth of work.
    pub score: Figure,
    /// Interval of the score; null without one.
    pub score_interval: Option<Interval>,
    /// Score per kilowatt of the held tiles; empty without a meter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_kilowatt: Vec<PerKilowatt>,
    /// Progress of the run, in words: `5 runs of 3 tile counts, 2 passed; interrupted`.
    pub progress: String,
    /// Course of the search, from which the words are made; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub climb: Option<ClimbFacts>,
}

/// Room for disks of full size, if the measured disks were smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// Tiles of full size that fit.
    pub tiles: u32,
    /// Bytes that one tile of full size needs.
    pub tile_bytes: u64,
    /// Bytes that may be used.
    pub bytes: u64,
}

/// Degree to which the question was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The edge was found, or every step asked for was run.
    Complete,
    /// A user or an error stopped the run; results until then are valid.
    Interrupted,
    /// The run ended, but does not support an answer.
    Inconclusive,
}

/// Reason for the end of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Edge {
    /// One more tile broke a limit.
    LimitBroken,
    /// One more tile did not raise the throughput.
    ThroughputFlat,
    /// The datastore has no room for one more tile.
    CapacityReached,
    /// Every step asked for was run, and held.
    LadderEnded,
    /// No edge was found.
    None,
}

/// A limit that broke, and its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenLimit {
    /// Tiles in the step in which it broke.
    pub tiles: u32,
    /// Repeat of the step, from 1.
    pub repeat: u32,
    /// Tile, from 0; null for a limit of infrastructure operations.
    pub tile: Option<u32>,
    /// Name of the workload.
    pub workload: String,
    /// Number among the copies of this workload in the tile, from 0.
    pub copy: u32,
    /// Limit and measured value.
    pub limit: LimitResult,
}

impl BrokenLimit {
    /// Name of the limit, such as `shop order p95`.
    pub fn name(&self) -> String {
        limit_name(&self.workload, self.limit.on, &self.limit.name, self.limit.statistic)
    }
}
