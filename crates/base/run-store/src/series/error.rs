use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use untrusted::Malformed;

/// Error of writing or reading a series.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeriesError {
    /// The operating system returned an error.
    #[error("{attempt} {}: {source}", path.display())]
    Io {
        /// Attempted operation: `writing`.
        attempt: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The Parquet library returned an error.
    #[error("{attempt} {}: {source}", path.display())]
    Parquet {
        /// Attempted operation: `reading`, `writing`.
        attempt: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the Parquet library.
        source: ParquetError,
    },
    /// A file has content that a series cannot have.
    #[error("reading {}: {reason}", path.display())]
    Content {
        /// Path of the file.
        path: PathBuf,
        /// Description of the problem.
        reason: Malformed,
    },
    /// A slice refers to an object that its topology does not have.
    #[error("a slice has {what} {index}, but its step has only {count} of them")]
    UnknownId {
        /// Kind of the numbered object: `VM`, `action`.
        what: &'static str,
        /// Number in the slice, from 0.
        index: usize,
        /// Number of these objects in the topology.
        count: usize,
    },
    /// An earlier write failed.
    #[error("writing the series in {} was stopped, because an earlier write \
        failed", path.display())]
    Broken {
        /// Path of the run directory.
        path: PathBuf,
    },
}

impl SeriesError {
    /// Returns advice on what to try next, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("free space there, or choose another place for results with --out")
            }
            _ => None,
        }
    }

    pub(crate) fn io(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { attempt, path: untrusted::named(path), source }
    }

    /// Returns a converter for errors of the Parquet library. A system error inside is unwrapped,
    /// so that a full disk is recognised.
    pub(crate) fn parquet(attempt: &'static str, path: &Path) -> impl FnOnce(ParquetError) -> Self {
        let path = untrusted::named(path);
        move |error| match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(source) => Self::Io { attempt, path, source: *source },
                Err(other) => {
                    Self::Parquet { attempt, path, source: ParquetError::External(other) }
                }
            },
            source => Self::Parquet { attempt, path, source },
        }
    }
}
