//! Flash: parallel dies, a write buffer, garbage collection by the closed form, SLC cache.

mod dies;
mod model;
mod parameters;
mod slc;
mod write_amplification;

pub use model::Ssd;
pub use parameters::{SlcCache, SsdParameters, SsdPreset};
pub use write_amplification::{lambert_w0, write_amplification_greedy};
