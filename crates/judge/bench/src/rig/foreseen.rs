use run_store::gauge::Readings;
use run_store::run::{MeterEnergy, ModelFacts};
use run_store::slice::Slice;
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::rig::{HostEvent, LoadOutcome};

/// All messages from the load of one step in virtual time, in the order in which the step requests
/// them. A step that gets them has exactly the same result as one that drives the load. They are
/// data, so they can be computed on another thread or host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Foreseen {
    /// Slices, up to the last outstanding I/O.
    pub slices: Vec<ForeseenSlice>,
    /// Facts about modelled parts since the start of the measurement.
    pub model: Option<ModelFacts>,
    /// Energy of modelled supplies since the start of the measurement.
    pub energy: Vec<MeterEnergy>,
    /// Events of modelled hosts until the end of the measurement.
    #[serde(default)]
    pub events: Vec<HostEvent>,
    /// Outcome of the load.
    pub outcome: LoadOutcome,
}

/// A slice of the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForeseenSlice {
    /// The slice itself.
    pub slice: Slice,
    /// Gauge readings that belong to the slice.
    pub readings: Readings,
    /// Time of the load at which the slice was complete.
    pub at: Nanos,
}

/// Source of precomputed loads of steps.
pub trait Foresight: std::fmt::Debug {
    /// Returns the load of a step with this many tiles in this round; `None` if the step must drive
    /// it.
    fn of(&self, tiles: u32, round: u64) -> Option<Foreseen>;
}
