use crate::Code;

/// What a server says of a request that it did not carry out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}{message}")]
pub struct Failure {
    /// Its kind.
    pub code: Code,
    /// What the server says itself, after a colon; often nothing.
    pub message: String,
}
