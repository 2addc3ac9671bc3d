use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use units::Bytes;

use crate::Refusal;

/// Why a datastore could not be opened, provisioned or removed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DatastoreError {
    /// The target did not pass its preflight; nothing was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The disks need more than the datastore may hold.
    #[error(
        "disk \"{disk}\" needs {needed} ({} B) on {target} and {available} ({} B) are left of {capacity}",
        needed.get(), available.get()
    )]
    DoesNotFit {
        /// The first disk that does not fit.
        disk: String,
        /// Target, as text.
        target: String,
        /// Bytes needed, alignment included.
        needed: Bytes,
        /// Bytes left.
        available: Bytes,
        /// Bytes that the datastore may hold in all.
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
    #[error("disk \"{disk}\" exists with {has} and was asked for with {asked}")]
    SizeChanged {
        /// Name of the disk.
        disk: String,
        /// Size that the disk has now.
        has: Bytes,
        /// The size asked for.
        asked: Bytes,
    },
    /// Another part of the same run is not here, or has no such disk.
    #[error("{} has no disks of {run_id} that could be driven from here", path.display())]
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
        /// The size asked for.
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
        /// Longest file name that is allowed, in bytes.
        max: usize,
    },
    /// Files there share no blocks.
    #[error(
        "disks in {} cannot share blocks ({source}){}",
        path.display(),
        what.as_ref().map_or_else(String::new, |what| format!(": the file system is {what}"))
    )]
    NoReflink {
        /// Path of the object.
        path: PathBuf,
        /// The type of the file system, where there is one.
        what: Option<String>,
        /// Error of the kernel.
        source: Arc<io::Error>,
    },
    /// The operating system refused.
    #[error("cannot {attempted} {}", object.display())]
    Io {
        /// Attempted operation, as a verb.
        attempted: &'static str,
        /// Object of the operation.
        object: PathBuf,
        /// Error of the system.
        #[source]
        source: Arc<io::Error>,
    },
}

impl DatastoreError {
    /// An error of the operating system.
    pub fn io(
        attempted: &'static str,
        object: impl Into<PathBuf>,
        source: impl Into<io::Error>,
    ) -> Self {
        Self::Io { attempted, object: object.into(), source: Arc::new(source.into()) }
    }

    /// Error of a target without files that could share blocks.
    pub fn no_reflink(path: &std::path::Path) -> Self {
        let source = Arc::new(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        Self::NoReflink { path: path.to_owned(), what: None, source }
    }

    /// Advice for the user, if there is any.
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
                "linked deployments and snapshots take a directory on a file system with \
                 reflinks: xfs (mkfs.xfs -m reflink=1), btrfs"
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
