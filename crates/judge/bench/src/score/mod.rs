//! The score: work in multiples of one tile's work.

mod aggregate;
mod confidence;
mod metric;
mod per_kilowatt;
mod reference;
#[cfg(test)]
mod tests;

pub use aggregate::{
    APPLICATIONS_WEIGHT, INFRASTRUCTURE_WEIGHT, TileWork, applications_score, infrastructure_score,
    score, tile_means, weighted_total,
};
pub use confidence::{BLOCKS_MIN, SliceWork, score_interval, work_interval};
pub use metric::{metric_count, metric_rate, slice_work};
pub use per_kilowatt::{Metered, per_kilowatt};
pub use reference::{Reference, References};

pub use crate::error::ReferenceError;
