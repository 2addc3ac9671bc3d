use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use untrusted::Malformed;

/// Why a series cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeriesError {
    /// The operating system refused.
    #[error("{attempt} {}: {source}", path.display())]
    Io {
        /// What was attempted: `writing`.
        attempt: &'static str,
        /// On which file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The Parquet library refused.
    #[error("{attempt} {}: {source}", path.display())]
    Parquet {
        /// What was attempted.
        attempt: &'static str,
        /// On which file.
        path: PathBuf,
        /// What it said.
        source: ParquetError,
    },
    /// A file does not hold what a series holds.
    #[error("reading {}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: Malformed,
    },
    /// A slice names something its topology does not have.
    #[error("a slice has {what} {index}, and its step has {count} of them")]
    UnknownId {
        /// What is numbered: `VM`, `action`.
        what: &'static str,
        /// The number in the slice, from 0.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// An earlier write failed.
    #[error("the series in {} is not written on, because an earlier write failed", path.display())]
    Broken {
        /// The run directory.
        path: PathBuf,
    },
}

impl SeriesError {
    /// What to try next, if anything helps.
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

    /// Unwraps what the Parquet library wrapped, so that a full disk is seen as one.
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
