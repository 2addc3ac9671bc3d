use units::Nanos;

use crate::Fault;

/// Reason why meters cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum MeterError {
    /// Meter that could not be opened.
    #[error("opening the meter {meter}: {why}")]
    Open {
        /// Meter as given.
        meter: String,
        /// Fault of the meter.
        why: Fault,
    },
    /// Opened meter that gave no sample in time.
    #[error("the meter {meter} had no reading within \
        {waited}{}", .why.as_ref().map_or_else(String::new, |why| format!(": {why}")))]
    Silent {
        /// Meter as given.
        meter: String,
        /// Time waited.
        waited: Nanos,
        /// Fault, if there was one.
        why: Option<Fault>,
    },
    /// Meter of a host that does not take part.
    #[error("the meter {meter} belongs to the host \"{host}\", but {known}")]
    Host {
        /// Meter as given.
        meter: String,
        /// Name of the host.
        host: String,
        /// Hosts that take part, as text.
        known: String,
    },
    /// Meter in a plan file that runs a program or reads a secret.
    #[error("the meter {meter}: a plan may not name {what}")]
    Plan {
        /// Meter as given.
        meter: String,
        /// Forbidden part of the meter's specification.
        what: &'static str,
    },
    /// Name used twice.
    #[error("there is more than one meter \"{0}\"")]
    Name(String),
    /// Thread that could not be started.
    #[error("starting a thread for a meter: {0}")]
    Thread(#[source] std::io::Error),
}

impl MeterError {
    /// Returns a hint on what to do.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Open { .. } | Self::Silent { .. } => {
                Some("tilemark meter test SPEC reads ten samples and shows the result")
            }
            Self::Host { .. } => {
                Some("of=NAME, or of=NAME+NAME for several, gives names of hosts from --host")
            }
            Self::Plan { .. } => Some("give it on the command line, with --meter"),
            Self::Name(_) => Some("give each meter a name of its own, for example name=LEFT"),
            Self::Thread(_) => None,
        }
    }
}
