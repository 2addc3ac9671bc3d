use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a trace cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file or stream failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No format fits, or the named one does not.
    #[error("{}: {reason}", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// What was expected and what was found.
        reason: String,
    },
    /// More bad lines than allowed.
    #[error("{}: {bad} bad lines, {allowed} allowed; the first: {first}", path.display())]
    TooManyBad {
        /// Which file.
        path: PathBuf,
        /// How many so far.
        bad: u64,
        /// The limit.
        allowed: u64,
        /// Where the first is, and why it is bad.
        first: String,
    },
}
