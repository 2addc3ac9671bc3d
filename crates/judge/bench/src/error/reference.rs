use sim::SimError;
use units::Nanos;
use workload::BuildError;

/// Reason why the reference of a workload cannot be computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// On storage without delay, the workload never lets virtual time advance.
    #[error(
        "workload \"{workload}\" has no pause of its own: on ideal storage its rate would be \
         unlimited, so it cannot be its own reference ({source})"
    )]
    Endless {
        /// Name of the workload.
        workload: String,
        /// Error of the simulator.
        source: SimError,
    },
    /// The workload completes no counted work in a long time.
    #[error(
        "workload \"{workload}\" completes nothing that its metric counts within {time} on ideal \
        storage"
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
        /// Reason for the failure.
        source: BuildError,
    },
}

impl ReferenceError {
    /// Returns advice on what to do.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Endless { .. } | Self::Nothing { .. } => {
                Some("set metric.reference to the value that counts as one tile's worth")
            }
            Self::Build { .. } => None,
        }
    }
}
