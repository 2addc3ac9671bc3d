use serde::{Deserialize, Serialize};

/// One disk's failed I/Os.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Which instance's the first failed I/O was, and of which of its kinds.
    #[serde(default)]
    pub of: (u32, u16),
    /// What the operation was about whose stage it was in: `deploy, copying`.
    #[serde(default)]
    pub during: Option<String>,
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
