use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Bottleneck, ClimbFacts, Figure, Interval, LimitResult, PerKilowatt, TilesInterval, limit_name,
};

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
    /// The answer in a sentence a person can quote, for readers without this program: it is made of
    /// the other fields ([`super::Run::sentence`]), and this program reads them.
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
    /// How far the run got, in words: `5 runs of 3 tile counts, 2 passed; interrupted`.
    pub progress: String,
    /// How the climb went, by which the words are made; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub climb: Option<ClimbFacts>,
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

impl BrokenLimit {
    /// `shop order p95`.
    pub fn name(&self) -> String {
        limit_name(&self.workload, self.limit.on, &self.limit.name, self.limit.statistic)
    }
}
