//! The score: tiles' worth of work.

mod aggregate;
mod confidence;
mod metric;
mod reference;
#[cfg(test)]
mod tests;

pub use aggregate::{
    APPLICATIONS_WEIGHT, INFRASTRUCTURE_WEIGHT, TileWork, applications_score, tile_means,
    weighted_total,
};
pub use confidence::{BLOCKS_MIN, SliceWork, score_interval, work_interval};
pub use metric::{metric_count, metric_rate, slice_work};
pub use reference::{Reference, References};

pub use crate::error::ReferenceError;
