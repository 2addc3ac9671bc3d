use crate::Code;

/// Error reply of a server to a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}{message}")]
pub struct Failure {
    /// Error code of the server.
    pub code: Code,
    /// Message of the server after a colon; often empty.
    pub message: String,
}
