use units::Nanos;

use crate::Fault;

/// Why meters cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum MeterError {
    /// It could not be opened.
    #[error("opening the meter {meter}: {why}")]
    Open {
        /// As it was asked for.
        meter: String,
        /// What it said.
        why: Fault,
    },
    /// It was opened, and showed nothing.
    #[error("the meter {meter} showed nothing within {waited}{}", .why.as_ref().map_or_else(String::new, |why| format!(": {why}")))]
    Silent {
        /// As it was asked for.
        meter: String,
        /// How long it was waited for.
        waited: Nanos,
        /// What went wrong, if anything did.
        why: Option<Fault>,
    },
    /// It is of a host that does not take part.
    #[error("the meter {meter} is of the host \"{host}\", and {known}")]
    Host {
        /// As it was asked for.
        meter: String,
        /// The host.
        host: String,
        /// Who takes part, in words.
        known: String,
    },
    /// A plan file names it, and it runs a program or reads a secret.
    #[error("the meter {meter}: a plan cannot name {what}")]
    Plan {
        /// As it was asked for.
        meter: String,
        /// What it names.
        what: &'static str,
    },
    /// Two are called the same.
    #[error("there is more than one meter \"{0}\"")]
    Name(String),
    /// A thread could not be started.
    #[error("starting a thread for a meter: {0}")]
    Thread(#[source] std::io::Error),
}

impl MeterError {
    /// What helps.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Open { .. } | Self::Silent { .. } => {
                Some("tilemark meter test SPEC reads ten samples and says what it would count")
            }
            Self::Host { .. } => {
                Some("of=NAME, and of=NAME+NAME for several, names hosts of --host")
            }
            Self::Plan { .. } => Some("give it on the command line, with --meter"),
            Self::Name(_) => Some("name=LEFT gives a meter a name of its own"),
            Self::Thread(_) => None,
        }
    }
}
