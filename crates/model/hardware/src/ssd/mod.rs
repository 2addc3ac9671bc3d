//! Models flash: parallel dies, a write buffer, garbage collection by a closed form, an SLC cache.

mod dies;
mod model;
mod parameters;
mod slc;
mod write_amplification;

pub use model::Ssd;
pub use parameters::{SlcCache, SsdParameters, SsdPreset};
pub use write_amplification::{lambert_w0, write_amplification_greedy};
