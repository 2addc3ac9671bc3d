use run_store::run::StepEvent;
use serde::{Deserialize, Serialize};

/// Event of a load's hosts, as reported by the driver of the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostEvent {
    /// Event without its effect on other tiles.
    pub event: StepEvent,
    /// Affected tiles: those that moved, and all tiles of the host.
    pub affected: Vec<u32>,
}
