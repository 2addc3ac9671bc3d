//! Model of a disk with one arm: geometry, seek curve, rotation, zones, a reordering queue,
//! read-ahead. Writes go to the platter before they are answered, as arrays configure it.

mod geometry;
mod model;
mod parameters;
mod seek;

pub use model::Hdd;
pub use parameters::{HddParameters, HddPreset, Order};
pub use seek::{SeekCurve, SeekTimes};
