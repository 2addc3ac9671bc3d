use run_store::run::StepEvent;

/// Something that happened to hosts of a load, as whoever drives it knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct HostEvent {
    /// What, but for what the others felt.
    pub event: StepEvent,
    /// The tiles that it happened to: those that moved, and all of the host.
    pub affected: Vec<u32>,
}
