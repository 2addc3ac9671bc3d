use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LimitResult, limit_name};

/// Limit over all tiles of a step together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PooledLimit {
    /// Workload that the limit belongs to.
    pub workload: String,
    /// Tile, from 0, with the largest measured value; null without samples.
    pub worst_tile: Option<u32>,
    /// Limit, and the value measured over all tiles.
    pub result: LimitResult,
}

impl PooledLimit {
    /// Name of the limit, such as `shop order p95`.
    pub fn name(&self) -> String {
        limit_name(&self.workload, self.result.on, &self.result.name, self.result.statistic)
    }
}
