use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LimitResult, limit_name};

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

impl PooledLimit {
    /// `shop order p95`.
    pub fn name(&self) -> String {
        limit_name(&self.workload, self.result.on, &self.result.name, self.result.statistic)
    }
}
