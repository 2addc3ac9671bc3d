use std::io;
use std::path::PathBuf;

use nbd::ExportError;
use tier::{GeometryError, OpenError};

/// Why a set is not made or opened.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// The kernel refused.
    #[error("could not {what} {}: {source}", path.display())]
    Kernel {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something is there.
    #[error("{} is there already; a set is made in a new file\nhint: name another file, or remove this one if nothing of it is needed", path.display())]
    There {
        /// What.
        path: PathBuf,
    },
    /// It cannot be divided so.
    #[error("a set in {} cannot be made: {source}", path.display())]
    Geometry {
        /// Where.
        path: PathBuf,
        /// Why.
        source: GeometryError,
    },
    /// The set is not opened.
    #[error("the set in {} is not opened: {source}", path.display())]
    Open {
        /// Where.
        path: PathBuf,
        /// Why.
        source: OpenError,
    },
    /// A file cannot be held.
    #[error(transparent)]
    Held(#[from] front::OpenError),
    /// A disk cannot be offered.
    #[error("disk \"{name}\" cannot be offered: {source}")]
    Export {
        /// Its name.
        name: String,
        /// Why.
        source: ExportError,
    },
    /// Two disks are one.
    #[error("disk \"{name}\" is named twice")]
    Twice {
        /// Its name.
        name: String,
    },
    /// Too many.
    #[error("{disks} disks are more than the {most} that the set has room for")]
    Many {
        /// How many were asked for.
        disks: usize,
        /// How many there may be.
        most: usize,
    },
    /// A sidecar that is not a plain file.
    #[error("{} is no plain file, and a sidecar is one", path.display())]
    Sidecar {
        /// Which.
        path: PathBuf,
    },
}
