/// Reason for a missing or unusable answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// No answer in time.
    #[error("{0}")]
    Unanswered(String),
    /// Unreadable answer.
    #[error("{0}")]
    Nonsense(String),
    /// Answer with an unexpected status.
    #[error("HTTP status {status} at {path}")]
    Status {
        /// Status of the answer.
        status: u16,
        /// Path of the request.
        path: String,
    },
    /// Missing secret, or one in a wrong form.
    #[error("{0}")]
    Credentials(String),
    /// Invalid address.
    #[error("{0}")]
    Address(String),
    /// Invalid fingerprint or certificate of trust.
    #[error("{0}")]
    Trust(String),
}
