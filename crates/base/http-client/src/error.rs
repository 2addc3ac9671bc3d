/// Reason for a missing or unusable answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// No answer came in time.
    #[error("{0}")]
    Unanswered(String),
    /// The answer is unreadable.
    #[error("{0}")]
    Nonsense(String),
    /// The answer has an unexpected status.
    #[error("HTTP status {status} at {path}")]
    Status {
        /// Status of the answer.
        status: u16,
        /// Path of the request.
        path: String,
    },
    /// A secret is missing or has a wrong form.
    #[error("{0}")]
    Credentials(String),
    /// The text is no valid address of a server.
    #[error("{0}")]
    Address(String),
    /// The fingerprint or certificate for the trust is invalid.
    #[error("{0}")]
    Trust(String),
}
