use units::Nanos;

use crate::window::GeneratorTotals;

/// Facts about one host's share of a load that is driven by several hosts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostLoad {
    /// Totals of its generator in the measurement window.
    pub generator: GeneratorTotals,
    /// Delay of its start after the common start.
    pub began_late: Nanos,
    /// Uncertainty of the common start time on that host.
    pub clock_uncertainty: Nanos,
    /// Number of slices that were lost in transfer and fetched again.
    pub slices_fetched: u64,
    /// Maximum wait for a slice of this host after the slices of the other hosts had arrived.
    pub slice_late_max: Nanos,
}
