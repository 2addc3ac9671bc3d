use serde::{Deserialize, Serialize};

/// Failed I/Os of one disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Number of the instance of the first failed I/O, and the position of the I/O's kind in the
    /// instance.
    #[serde(default)]
    pub of: (u32, u16),
    /// Operation and stage of the first failed I/O: `deploy, copying`; `None` if it belongs to
    /// none.
    #[serde(default)]
    pub during: Option<String>,
    /// Name of the disk.
    pub disk: String,
    /// Offset of the first failed I/O on the disk, in bytes.
    pub offset: u64,
    /// `read`, `write` or `flush`.
    pub operation: String,
    /// Error of the system.
    pub error: String,
    /// Number of failed I/Os.
    pub count: u64,
}
