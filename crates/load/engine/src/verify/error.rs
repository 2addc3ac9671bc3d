use std::io;
use std::path::PathBuf;

use super::layout::{FORMAT, HeaderError, Owner};

/// Reason why a state file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The system refused an operation.
    #[error("{attempt} verification state {path}: {source}", path = path.display())]
    Io {
        /// Operation that was attempted.
        attempt: &'static str,
        /// Path of the state file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Another process uses this disk.
    #[error("verification state {path} is in use by another process", path = path.display())]
    Locked {
        /// Path of the state file.
        path: PathBuf,
    },
    /// The file was shortened while it was in use.
    #[error(
        "verification state {path} has {bytes} bytes, but had {wanted} when it was opened: earlier \
         writes can no longer be verified",
        path = path.display()
    )]
    Short {
        /// Path of the state file.
        path: PathBuf,
        /// Length in bytes.
        bytes: u64,
        /// Length when it was opened, in bytes.
        wanted: u64,
    },
    /// The file is not a state file, or has a format that this program does not know.
    #[error("{path} is not verification state of format {FORMAT}: {reason}", path = path.display())]
    Format {
        /// Path of the state file.
        path: PathBuf,
        /// Fault in the header.
        reason: HeaderError,
    },
    /// The file belongs to another disk or to another verification.
    #[error("verification state {path} belongs to {found}, not to {wanted}", path = path.display())]
    Other {
        /// Path of the state file.
        path: PathBuf,
        /// Owner according to the file.
        found: Owner,
        /// Expected owner.
        wanted: Owner,
    },
}

impl StateError {
    /// Returns advice on what to try next.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Short { .. } => Some("verify again with new disks"),
            Self::Other { .. } => Some("remove it together with its disk"),
            Self::Io { .. } | Self::Locked { .. } | Self::Format { .. } => None,
        }
    }
}
