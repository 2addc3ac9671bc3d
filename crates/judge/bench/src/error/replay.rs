use std::path::PathBuf;

use units::Bytes;
use workload::replay::ScheduleError;

/// Reason why a trace cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] trace::TraceError),
    /// There is no format with this name.
    #[error("{0}")]
    Format(String),
    /// The trace has no I/O to replay.
    #[error("{}: the trace has no read, write or flush to play", trace.display())]
    Nothing {
        /// Path of the trace.
        trace: PathBuf,
    },
    /// The trace contains references in order, but no times.
    #[error("{}: the trace has the order of I/Os but not their times", trace.display())]
    NoTimes {
        /// Path of the trace.
        trace: PathBuf,
    },
    /// The trace has no completion times, so the dependencies between its I/Os are unknown.
    #[error(
        "{}: the trace has no completion times ({format}), so it is unknown which I/O waited for \
        which",
        trace.display()
    )]
    NoLatency {
        /// Path of the trace.
        trace: PathBuf,
        /// Format of the trace.
        format: String,
    },
    /// The trace has no VM or device of this name.
    #[error("{}: no {what} is called \"{name}\"", trace.display())]
    Unknown {
        /// Path of the trace.
        trace: PathBuf,
        /// Kind of the name: VM or device.
        what: &'static str,
        /// Requested name.
        name: String,
        /// Names in the trace.
        known: Vec<String>,
    },
    /// The trace does not fit into the available memory.
    #[error(
        "{}: the trace has more than {max} I/Os to play, the most that fit into {} of memory",
        trace.display(),
        Bytes::new(*bytes)
    )]
    TooMany {
        /// Path of the trace.
        trace: PathBuf,
        /// Maximum number of I/Os.
        max: u64,
        /// Memory for that many I/Os, in bytes.
        bytes: u64,
    },
    /// The trace has more devices than the maximum number of disks.
    #[error("{}: the trace has more than {max} devices", trace.display())]
    TooManyDevices {
        /// Path of the trace.
        trace: PathBuf,
        /// Maximum number of devices.
        max: usize,
    },
}

impl ReplayError {
    /// Returns advice on what to do, if there is any.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Trace(error) => error.hint().map(str::to_owned),
            Self::NoTimes { .. } => {
                Some("--speed max plays one I/O after another, without pauses".to_owned())
            }
            Self::NoLatency { .. } => Some(
                "without --closed, I/Os are sent at their recorded times; --speed max plays one \
                 I/O after another"
                    .to_owned(),
            ),
            Self::Unknown { name, known, what, .. } => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let many = if *what == "VM" { "VMs" } else { "devices" };
                Some(spec::did_you_mean(name, &known, many))
            }
            Self::TooMany { .. } | Self::TooManyDevices { .. } => {
                Some("play a part of it: --vm NAME or --device NAME".to_owned())
            }
            _ => None,
        }
    }

    pub(crate) fn of_schedule(error: ScheduleError, trace: &std::path::Path) -> Self {
        match error {
            ScheduleError::TooMany { max, bytes } => {
                Self::TooMany { trace: trace.to_owned(), max, bytes }
            }
        }
    }
}
