use crate::Code;

/// Error of a server for a request that it did not carry out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}{message}")]
pub struct Failure {
    /// Error code.
    pub code: Code,
    /// Message of the server after a colon; often empty.
    pub message: String,
}
