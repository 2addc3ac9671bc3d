use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LimitResult;

/// A limit over all tiles of a step together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PooledLimit {
    /// The workload whose limit it is.
    pub workload: String,
    /// The tile, from 0, in which the measured value was largest; null without samples.
    pub worst_tile: Option<u32>,
    /// The limit and what was measured over all tiles.
    pub result: LimitResult,
}
