use run_store::gauge::Readings;
use run_store::run::{MeterEnergy, ModelFacts};
use run_store::slice::Slice;
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::rig::LoadOutcome;

/// All messages of the load of one step in virtual time, in the order in which the step asks for
/// them. A step that gets them has the same result, to the bit, as one that drives the load. They
/// are data, so they can be made on another thread or host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Foreseen {
    /// Slices, up to the last I/O that was under way.
    pub slices: Vec<ForeseenSlice>,
    /// Facts about modelled parts since the mark.
    pub model: Option<ModelFacts>,
    /// Energy of modelled supplies since the mark.
    pub energy: Vec<MeterEnergy>,
    /// Outcome of the load.
    pub outcome: LoadOutcome,
}

/// A slice of the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForeseenSlice {
    /// The slice itself.
    pub slice: Slice,
    /// Readings beside the slice.
    pub readings: Readings,
    /// Time of the load at which the slice was complete.
    pub at: Nanos,
}

/// Source of loads of steps that were computed before the steps run.
pub trait Foresight: std::fmt::Debug {
    /// Load of a step of that many tiles in this round; `None` if the step must drive it.
    fn of(&self, tiles: u32, round: u64) -> Option<Foreseen>;
}
