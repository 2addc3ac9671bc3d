//! Miss-ratio curves: how often a cache of any size would miss.

mod curve;
mod histogram;
mod shards;
mod stack;
mod timeline;

pub use curve::{CurvePoint, MissRatioCurve};
pub use shards::{SampleRate, Shards};
pub use stack::{ExactStack, ReuseStack};
