use sim::SimError;
use units::Nanos;
use workload::BuildError;

/// Why a workload has no reference.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// On storage that answers at once time does not pass.
    #[error(
        "workload \"{workload}\" has no pause of its own: on ideal storage it would do endlessly \
         much work, so it cannot be its own reference ({source})"
    )]
    Endless {
        /// The workload.
        workload: String,
        /// What the simulator saw.
        source: SimError,
    },
    /// Nothing was done in a long time.
    #[error(
        "workload \"{workload}\" finishes nothing its metric counts in {time} on ideal storage"
    )]
    Nothing {
        /// The workload.
        workload: String,
        /// Virtual time that was tried.
        time: Nanos,
    },
    /// The workload cannot be built.
    #[error("building workload \"{workload}\" for its reference")]
    Build {
        /// The workload.
        workload: String,
        /// Why.
        source: BuildError,
    },
}

impl ReferenceError {
    /// What to do about it.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Endless { .. } | Self::Nothing { .. } => {
                Some("give the value that counts as one tile's worth as metric.reference")
            }
            Self::Build { .. } => None,
        }
    }
}
