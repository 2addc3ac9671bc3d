use units::Nanos;

use crate::window::GeneratorTotals;

/// What only a load that is driven elsewhere knows of one host's part.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostLoad {
    /// Its generator in the measured time.
    pub generator: GeneratorTotals,
    /// How long after the common moment it began.
    pub began_late: Nanos,
    /// By how much that moment may be wrong there.
    pub clock_uncertainty: Nanos,
    /// Slices that were lost on the way and asked for again.
    pub slices_fetched: u64,
    /// The longest wait for its slices after those of the others.
    pub slice_late_max: Nanos,
}
