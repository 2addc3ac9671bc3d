use units::Nanos;

use crate::window::GeneratorTotals;

/// Facts about one host's part that only a load with several hosts has.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostLoad {
    /// Totals of its generator in the measured time.
    pub generator: GeneratorTotals,
    /// Delay of its begin behind the common start.
    pub began_late: Nanos,
    /// Uncertainty of the common start on that host.
    pub clock_uncertainty: Nanos,
    /// Number of slices that were lost on the way and fetched again.
    pub slices_fetched: u64,
    /// Longest wait for a slice of this host after those of the others had arrived.
    pub slice_late_max: Nanos,
}
