use http_client::RemoteError;
use units::Nanos;

/// What goes wrong with a meter while it is read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Fault {
    /// It did not answer.
    #[error("it did not answer: {0}")]
    Unanswered(String),
    /// It has ended, and is not asked again.
    #[error("it has ended: {0}")]
    Ended(String),
    /// What it said is no reading.
    #[error("it said what cannot be: {0}")]
    Nonsense(String),
    /// Its time or its counter went back.
    #[error("its {0} jumped back")]
    JumpedBack(&'static str),
    /// It told the same sample again.
    #[error("it repeated a sample")]
    Repeated,
    /// Its clock is not ours.
    #[error("its clock is {ahead_s:.3} s ahead of this machine's (limit {limit})")]
    Clock {
        /// By so many seconds; negative if it is behind.
        ahead_s: f64,
        /// What is allowed.
        limit: Nanos,
    },
    /// It was not fit to measure.
    #[error("{0}")]
    Unfit(String),
}

impl Fault {
    /// Whether energy over a time in which it happened means nothing. A question without an answer
    /// is a gap, and gaps have a rule of their own.
    pub const fn voids(&self) -> bool {
        !matches!(self, Self::Unanswered(_))
    }
}

impl From<RemoteError> for Fault {
    fn from(error: RemoteError) -> Self {
        match error {
            RemoteError::Nonsense(text) => Self::Nonsense(text),
            RemoteError::Credentials(text)
            | RemoteError::Trust(text)
            | RemoteError::Address(text) => Self::Unfit(text),
            RemoteError::Status { status: status @ (401 | 403), path } => Self::Unfit(format!(
                "it refuses who asks (HTTP status {status} at {path}): credentials=FILE names a file with \
                 NAME:PASSWORD"
            )),
            other => Self::Unanswered(other.to_string()),
        }
    }
}
