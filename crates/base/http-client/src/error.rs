/// Why there is no answer, or none that counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// Nothing came, or not in time.
    #[error("{0}")]
    Unanswered(String),
    /// What came cannot be understood.
    #[error("{0}")]
    Nonsense(String),
    /// It came with another status than was wanted.
    #[error("HTTP status {status} at {path}")]
    Status {
        /// The status.
        status: u16,
        /// What was asked for.
        path: String,
    },
    /// The secret is not there, or has not the form that it must have.
    #[error("{0}")]
    Credentials(String),
    /// It is no address.
    #[error("{0}")]
    Address(String),
    /// Whom to trust cannot be told.
    #[error("{0}")]
    Trust(String),
}
