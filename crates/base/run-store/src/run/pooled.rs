use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LimitResult, limit_name};

/// Limit, checked against the samples of all tiles of a step together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PooledLimit {
    /// Workload of the limit.
    pub workload: String,
    /// Tile with the largest measured value, from 0; null without samples.
    pub worst_tile: Option<u32>,
    /// Limit, and the value measured over all tiles.
    pub result: LimitResult,
}

impl PooledLimit {
    /// Returns the name of the limit, such as `shop order p95`.
    pub fn name(&self) -> String {
        limit_name(&self.workload, self.result.on, &self.result.name, self.result.statistic)
    }
}
