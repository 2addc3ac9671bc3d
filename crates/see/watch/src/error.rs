use std::io;
use std::path::{Path, PathBuf};

use untrusted::Malformed;

/// Reason why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// File or directory that cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// File with content that no writer of this program wrote.
    #[error("{}: {reason}", path.display())]
    Content {
        /// Path of the file.
        path: PathBuf,
        /// Error in the content.
        reason: Malformed,
    },
    /// Directory that is not a store but contains files.
    #[error("{} holds other files and is not a watch store", path.display())]
    Foreign {
        /// Path of the directory.
        path: PathBuf,
    },
    /// Directory without a store.
    #[error("{} is not a watch store", path.display())]
    NoStore {
        /// Path of the directory.
        path: PathBuf,
    },
    /// Store of another major version.
    #[error("{} has the format {found}, but this program reads {}", path.display(), crate::SCHEMA)]
    Version {
        /// Path of the store.
        path: PathBuf,
        /// Format of the store.
        found: String,
    },
    /// Store that another process writes.
    #[error("another `tilemark watch` writes to {}", path.display())]
    Busy {
        /// Path of the store.
        path: PathBuf,
    },
}

impl WatchError {
    /// Returns a hint, as a command or a sentence.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Foreign { .. } => Some("name a new or empty directory"),
            Self::NoStore { .. } => Some("tilemark watch --store DIR creates a store"),
            Self::Version { .. } => {
                Some("use the version of tilemark that wrote it, or a later one")
            }
            Self::Busy { .. } => Some("tilemark watch status --store DIR shows it"),
            Self::Io { .. } | Self::Content { .. } => None,
        }
    }

    /// Returns true if the disk is full, or the share of it that this user may use.
    pub(crate) fn is_full(&self) -> bool {
        let kinds = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        matches!(self, Self::Io { source, .. } if kinds.contains(&source.kind()))
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn content(path: &Path) -> impl FnOnce(Malformed) -> Self + '_ {
        |reason| Self::Content { path: path.to_owned(), reason }
    }
}
