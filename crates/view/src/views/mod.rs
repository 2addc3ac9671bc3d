//! The views, one file each: what [`crate::answer`] answers.

mod access;
mod breaks;
mod cause;
mod curve;
pub(crate) mod edges;
mod findings;
mod focus;
mod headline;
mod heatmap;
mod heroes;
mod limit;
mod live;
mod machine;
mod map;
mod matrix;
mod moment;
mod overview;
mod page;
mod percentiles;
mod row;
mod series;
mod sizes;
mod tier;

pub(crate) use access::access;
pub(crate) use breaks::breaks;
pub(crate) use curve::curve;
pub(crate) use heatmap::heatmap;
pub(crate) use machine::machine;
pub(crate) use map::map;
pub(crate) use matrix::matrix;
pub(crate) use moment::moment;
pub(crate) use overview::overview;
pub(crate) use percentiles::{percentiles, points_of};
pub use row::{list, row_of};
pub(crate) use series::series;
pub(crate) use tier::tier;
