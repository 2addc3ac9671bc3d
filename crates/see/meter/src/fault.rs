use http_client::RemoteError;
use units::Nanos;

/// Fault of a meter while it is read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Fault {
    /// No answer.
    #[error("it did not answer: {0}")]
    Unanswered(String),
    /// Meter that has ended, and is not read again.
    #[error("it has ended: {0}")]
    Ended(String),
    /// Answer that contains no valid reading.
    #[error("it reported an impossible value: {0}")]
    Nonsense(String),
    /// Time or counter that went backwards.
    #[error("its {0} jumped back")]
    JumpedBack(&'static str),
    /// Sample that was repeated.
    #[error("it repeated a sample")]
    Repeated,
    /// Clock that differs from this host's.
    #[error("its clock is {ahead_s:.3} s ahead of this host's (limit {limit})")]
    Clock {
        /// Difference in seconds; negative if the meter's clock is behind.
        ahead_s: f64,
        /// Largest allowed difference.
        limit: Nanos,
    },
    /// Meter that is not suitable for measuring.
    #[error("{0}")]
    Unfit(String),
}

impl Fault {
    /// Returns true if the fault makes the energy of a span that contains it void. A missing answer
    /// is only a gap, for which other rules apply.
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
                "it denies access (HTTP status {status} at {path}): credentials=FILE names a file \
                 with NAME:PASSWORD"
            )),
            other => Self::Unanswered(other.to_string()),
        }
    }
}
