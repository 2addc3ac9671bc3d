//! Miss-ratio curves (the share of misses for each cache size) and sizes of working sets.

mod curve;
mod histogram;
mod shards;
mod stack;
mod timeline;
mod working_set;

pub use curve::{CurvePoint, MissRatioCurve};
pub use shards::{SampleRate, Shards};
pub use stack::{ExactStack, ReuseStack};
pub use working_set::{SavedSets, SetSize, Use, WorkingSets};
