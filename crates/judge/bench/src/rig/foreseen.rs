use run_store::gauge::Readings;
use run_store::run::{MeterEnergy, ModelFacts};
use run_store::slice::Slice;
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::rig::LoadOutcome;

/// All that the load of one step in virtual time says, in the order in which the step asks: a step that is
/// told it comes to the same, to the bit, as one that drives the load. Data, so that it may be made on another
/// thread or host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Foreseen {
    /// Slices, to the last that was under way.
    pub slices: Vec<ForeseenSlice>,
    /// What modelled parts did since the mark.
    pub model: Option<ModelFacts>,
    /// What modelled supplies gave since the mark.
    pub energy: Vec<MeterEnergy>,
    /// What it came to.
    pub outcome: LoadOutcome,
}

/// A slice of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForeseenSlice {
    /// What was done.
    pub slice: Slice,
    /// What was read beside it.
    pub readings: Readings,
    /// The load's time when it was complete.
    pub at: Nanos,
}

/// Who knows what steps come to before they are run.
pub trait Foresight: std::fmt::Debug {
    /// What the load of so many tiles comes to in this round; nothing if that has to be found out.
    fn of(&self, tiles: u32, round: u64) -> Option<Foreseen>;
}
