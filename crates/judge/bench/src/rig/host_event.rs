use run_store::run::StepEvent;

/// Event of a load's hosts, as the driver of the load knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct HostEvent {
    /// The event, without its effect on others.
    pub event: StepEvent,
    /// Affected tiles: those that moved, and all tiles of the host.
    pub affected: Vec<u32>,
}
