use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Bottleneck, ClimbFacts, Figure, Interval, LimitResult, PerKilowatt, TilesInterval, limit_name,
};

/// Answer of the run. A score is never shown alone: the verdict is beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// State of the answer.
    pub status: Status,
    /// Maximum number of tiles at which all limits are met; null if unknown.
    pub tiles_held: Option<u32>,
    /// Number of virtual machines in `tiles_held` tiles.
    pub vms_held: Option<u32>,
    /// Confidence interval of the maximum number of tiles; null if nothing was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles_interval: Option<TilesInterval>,
    /// Largest number of tiles that could have been tried. It is bounded by the number asked for,
    /// by the room, and by the memory for users. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles_max: Option<u32>,
    /// Room of the datastore, as a number of tiles of full size; null if the disks had full size,
    /// or if the room is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// Reason for the end of the search.
    pub edge: Edge,
    /// Answer in a sentence that a person can quote, for readers without this program. It is made
    /// from the other fields; this program reads those instead ([`super::Run::sentence`]).
    pub sentence: String,
    /// First limit that was exceeded one step above `tiles_held`; null if none was.
    pub first_broken: Option<BrokenLimit>,
    /// Resource at its limit in the failed step, or in the step that held if none failed. Absent in
    /// runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
    /// Score at `tiles_held`, in tiles' worth of work.
    pub score: Figure,
    /// Confidence interval of the score; null without one.
    pub score_interval: Option<Interval>,
    /// Score per kilowatt at `tiles_held`; empty without a meter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_kilowatt: Vec<PerKilowatt>,
    /// Progress of the run, in words: `5 runs of 3 tile counts, 2 passed; interrupted`.
    pub progress: String,
    /// Progress of the search, from which `progress` is written; absent in runs of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub climb: Option<ClimbFacts>,
}

/// Room for disks of full size, for a run that measured smaller disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// Number of tiles of full size that fit.
    pub tiles: u32,
    /// Bytes that one tile of full size needs.
    pub tile_bytes: u64,
    /// Bytes that the disks may occupy.
    pub bytes: u64,
}

/// State of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The maximum was found, or every step asked for was run.
    Complete,
    /// A user or an error stopped the run. Results until then are valid.
    Interrupted,
    /// The run ended, but its results do not support an answer.
    Inconclusive,
}

/// Reason why the search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Edge {
    /// One more tile exceeded a limit.
    LimitBroken,
    /// One more tile did not raise the throughput.
    ThroughputFlat,
    /// The datastore has no room for one more tile.
    CapacityReached,
    /// Every step asked for was run, and all limits were met.
    LadderEnded,
    /// The maximum was not found.
    None,
}

/// Limit that was exceeded, with its tile and workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenLimit {
    /// Number of tiles in the step that failed.
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
    /// Returns the name of the limit, such as `shop order p95`.
    pub fn name(&self) -> String {
        limit_name(&self.workload, self.limit.on, &self.limit.name, self.limit.statistic)
    }
}
