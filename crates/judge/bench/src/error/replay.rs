use std::path::PathBuf;

use units::Bytes;
use workload::replay::ScheduleError;

/// Why a trace cannot be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// It cannot be read.
    #[error(transparent)]
    Trace(#[from] trace::TraceError),
    /// There is no such format.
    #[error("{0}")]
    Format(String),
    /// There is nothing to play in it.
    #[error("{}: there is no read, write or flush to play", trace.display())]
    Nothing {
        /// The trace.
        trace: PathBuf,
    },
    /// It holds references in their order and no times.
    #[error("{}: it says in what order I/Os came and not when", trace.display())]
    NoTimes {
        /// The trace.
        trace: PathBuf,
    },
    /// What waited for what is not known without the time of answers.
    #[error(
        "{}: it does not say when I/Os ended ({format}), so what waited for what is not known",
        trace.display()
    )]
    NoLatency {
        /// The trace.
        trace: PathBuf,
        /// Its format.
        format: String,
    },
    /// Nobody in it has this name.
    #[error("{}: no {what} is called \"{name}\"", trace.display())]
    Unknown {
        /// The trace.
        trace: PathBuf,
        /// VM or device.
        what: &'static str,
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// It does not fit into the memory set aside for it.
    #[error(
        "{}: it has more than {max} I/Os to play, which take {} of memory",
        trace.display(),
        Bytes::new(*bytes)
    )]
    TooMany {
        /// The trace.
        trace: PathBuf,
        /// How many are allowed.
        max: u64,
        /// Memory that they take.
        bytes: u64,
    },
    /// More devices than there may be disks.
    #[error("{}: it has more than {max} devices", trace.display())]
    TooManyDevices {
        /// The trace.
        trace: PathBuf,
        /// How many are allowed.
        max: usize,
    },
}

impl ReplayError {
    /// What to do about it, if anything is known to help.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Trace(error) => error.hint().map(str::to_owned),
            Self::NoTimes { .. } => {
                Some("--speed max plays one I/O after the other, without pauses".to_owned())
            }
            Self::NoLatency { .. } => Some(
                "without --closed it is played by its times; --speed max plays one I/O after the \
                 other"
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
