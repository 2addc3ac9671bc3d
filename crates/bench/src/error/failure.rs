use serde::{Deserialize, Serialize};

/// One disk's failed I/Os.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Name of the disk.
    pub disk: String,
    /// Byte in the disk at which the first failed I/O began.
    pub offset: u64,
    /// `read`, `write` or `flush`.
    pub operation: String,
    /// What the system said.
    pub error: String,
    /// How many failed.
    pub count: u64,
}
