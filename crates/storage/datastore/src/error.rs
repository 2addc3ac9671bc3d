use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use units::Bytes;

use crate::Refusal;

/// Reason why a datastore could not be opened, provisioned or removed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DatastoreError {
    /// The target failed its preflight. Nothing was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The disks need more space than the datastore may use.
    #[error(
        "disk \"{disk}\" needs {needed} ({} B) on {target}, but only {available} ({} B) are left \
        of {capacity}",
        needed.get(), available.get()
    )]
    DoesNotFit {
        /// Name of the first disk that does not fit.
        disk: String,
        /// Target, as text.
        target: String,
        /// Bytes that the disk needs, alignment included.
        needed: Bytes,
        /// Bytes that are left.
        available: Bytes,
        /// Bytes that the datastore may use in all.
        capacity: Bytes,
    },
    /// The file system ran out of space while a disk was created.
    #[error("no space left for disk \"{disk}\" of {size} in {path}")]
    NoSpace {
        /// Name of the disk.
        disk: String,
        /// Size of the disk.
        size: Bytes,
        /// Path at which the disk was to be created.
        path: PathBuf,
    },
    /// A disk of that name exists with another size.
    #[error("disk \"{disk}\" exists with {has}, but was requested with {asked}")]
    SizeChanged {
        /// Name of the disk.
        disk: String,
        /// Present size of the disk.
        has: Bytes,
        /// Requested size.
        asked: Bytes,
    },
    /// The other part of the same run does not exist here, or has no such disk.
    #[error("{} has no disks of {run_id} that this host could drive", path.display())]
    NoPart {
        /// Id of the run whose part was looked for.
        run_id: String,
        /// Path at which the part was looked for.
        path: PathBuf,
    },
    /// A disk's size is zero or not a multiple of the alignment.
    #[error("size {} B of disk \"{disk}\" is not a multiple of {alignment} B above zero", size.get())]
    SizeUnaligned {
        /// Name of the disk.
        disk: String,
        /// Requested size.
        size: Bytes,
        /// Alignment in bytes of which the size must be a multiple.
        alignment: u32,
    },
    /// A disk's name is empty or too long for a file name.
    #[error("disk name \"{disk}\" has {length} bytes as a file name, allowed are 1 to {max}")]
    BadName {
        /// Name of the disk.
        disk: String,
        /// Length of the name as a file name, in bytes.
        length: usize,
        /// Maximum length of a file name, in bytes.
        max: usize,
    },
    /// Files on this target cannot share blocks.
    #[error(
        "disks in {} cannot share blocks ({source}){}",
        path.display(),
        what.as_ref().map_or_else(String::new, |what| format!(": the file system is {what}"))
    )]
    NoReflink {
        /// Path of the directory, file or device.
        path: PathBuf,
        /// Type of the file system; `None` if it is not known or there is none.
        what: Option<String>,
        /// Error that the kernel returned.
        source: Arc<io::Error>,
    },
    /// The operating system refused an operation.
    #[error("cannot {attempted} {}", object.display())]
    Io {
        /// Operation that was attempted, as a verb.
        attempted: &'static str,
        /// Path of the file or device on which it was attempted.
        object: PathBuf,
        /// Error that the system returned.
        #[source]
        source: Arc<io::Error>,
    },
}

impl DatastoreError {
    /// Returns an error of the operating system.
    pub fn io(
        attempted: &'static str,
        object: impl Into<PathBuf>,
        source: impl Into<io::Error>,
    ) -> Self {
        Self::Io { attempted, object: object.into(), source: Arc::new(source.into()) }
    }

    /// Returns the error of a target without files that could share blocks.
    pub fn no_reflink(path: &std::path::Path) -> Self {
        let source = Arc::new(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        Self::NoReflink { path: path.to_owned(), what: None, source }
    }

    /// Returns advice for the user, if there is any.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Refused(refusal) => refusal.hint(),
            Self::DoesNotFit { .. } => {
                Some("use fewer tiles, a smaller footprint or a larger target".to_owned())
            }
            Self::NoSpace { .. } => {
                Some("something else filled the file system; free space and run again".to_owned())
            }
            Self::Io { source, .. } if source.raw_os_error() == Some(libc::EMFILE) => {
                Some("every disk is an open file; allow more of them with ulimit -n".to_owned())
            }
            Self::NoReflink { .. } => Some(
                "linked deployments and snapshots need a directory on a file system with reflinks: \
                 xfs (mkfs.xfs -m reflink=1), btrfs"
                    .to_owned(),
            ),
            Self::SizeChanged { .. } | Self::NoPart { .. } | Self::Io { .. } => None,
            Self::SizeUnaligned { alignment, .. } => {
                Some(format!("use a multiple of {alignment} B"))
            }
            Self::BadName { .. } => Some("shorten the names of tile, workload or disk".to_owned()),
        }
    }
}
