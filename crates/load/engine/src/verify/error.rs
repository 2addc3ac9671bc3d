use std::io;
use std::path::PathBuf;

use super::layout::{FORMAT, HeaderError, Owner};

/// Why a state file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The system refused.
    #[error("{attempt} verification state {path}: {source}", path = path.display())]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// The state file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Another process works on this disk.
    #[error("verification state {path} is in use by another process", path = path.display())]
    Locked {
        /// The state file.
        path: PathBuf,
    },
    /// Somebody shortened it while it was in use.
    #[error(
        "verification state {path} has {bytes} bytes and had {wanted} when it was opened: what was \
         written cannot be verified any more\nhint: verify again from new disks",
        path = path.display()
    )]
    Short {
        /// The state file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
        /// What it had.
        wanted: u64,
    },
    /// The file is not a state file, or of a format this program does not know.
    #[error("{path} is not verification state of format {FORMAT}: {reason}", path = path.display())]
    Format {
        /// The state file.
        path: PathBuf,
        /// What is wrong with it.
        reason: HeaderError,
    },
    /// The file belongs to another disk or to another run.
    #[error(
        "verification state {path} is of {found}, not of {wanted}\nhint: remove it together \
         with the disk it belongs to",
        path = path.display()
    )]
    Other {
        /// The state file.
        path: PathBuf,
        /// What it says it belongs to.
        found: Owner,
        /// What it should belong to.
        wanted: Owner,
    },
}
