use sim::SimError;
use units::Nanos;
use workload::BuildError;

/// Reason why a workload has no reference.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// On storage that answers at once, the workload never lets virtual time pass.
    #[error(
        "workload \"{workload}\" has no pause of its own: on ideal storage it would do endlessly \
         much work, so it cannot be its own reference ({source})"
    )]
    Endless {
        /// Name of the workload.
        workload: String,
        /// Error of the simulator.
        source: SimError,
    },
    /// The workload finishes nothing in a long time.
    #[error(
        "workload \"{workload}\" finishes nothing its metric counts in {time} on ideal storage"
    )]
    Nothing {
        /// Name of the workload.
        workload: String,
        /// Virtual time of the longest attempt.
        time: Nanos,
    },
    /// The workload cannot be built.
    #[error("building workload \"{workload}\" for its reference")]
    Build {
        /// Name of the workload.
        workload: String,
        /// Error that caused this one.
        source: BuildError,
    },
}

impl ReferenceError {
    /// Advice on what to do.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Endless { .. } | Self::Nothing { .. } => {
                Some("give the value that counts as one tile's worth as metric.reference")
            }
            Self::Build { .. } => None,
        }
    }
}
