use std::path::PathBuf;

use sim::plant::PlantError;
use units::Bytes;

/// Reason why a lab cannot be mounted or used.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The path cannot be a mount point, for the given reason.
    #[error("cannot mount on {}: {reason}", path.display())]
    MountPoint {
        /// The path as given.
        path: PathBuf,
        /// Reason why it is invalid.
        reason: String,
    },
    /// Failed FUSE mount.
    #[error("mounting on {} failed", path.display())]
    Mount {
        /// The path as given.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// Failed unmount.
    #[error("unmounting {} failed", path.display())]
    Unmount {
        /// Mount point.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// Backing that cannot be used.
    #[error("{} cannot hold the files", path.display())]
    Backing {
        /// The backing directory; `memory` for memory.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// Size that is too small, or larger than the backing's space.
    #[error("a size of {size} was requested, but allowed are {least} to {most}: {reason}")]
    Size {
        /// Requested size.
        size: Bytes,
        /// Smallest size.
        least: Bytes,
        /// Largest size.
        most: Bytes,
        /// Reason of the limit.
        reason: String,
    },
    /// Array that cannot be simulated.
    #[error("array \"{array}\" cannot be simulated")]
    Plant {
        /// Name of the array.
        array: String,
        /// Error of the plant.
        source: PlantError,
    },
    /// Invalid schedule of faults.
    #[error("the faults in {name} cannot be used: {reason}")]
    Schedule {
        /// Name of the file.
        name: String,
        /// Error with its position.
        reason: String,
    },
    /// Truth file that cannot be created.
    #[error("cannot create {}, the log of all faults", path.display())]
    Truth {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// Thread that could not be started.
    #[error("starting a thread failed")]
    Thread(#[source] std::io::Error),
}

impl LabError {
    /// Returns a hint on what to do.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::MountPoint { .. } => Some("make an empty directory and mount there"),
            Self::Mount { .. } => {
                Some("FUSE needs /dev/fuse, and root or the program fusermount3 (package fuse3)")
            }
            Self::Unmount { .. } => Some("end the programs that use it, then: umount MOUNTPOINT"),
            Self::Backing { .. } => Some(
                "give a directory of a local file system that supports unnamed files (ext4, xfs, \
                 btrfs, tmpfs), or memory",
            ),
            Self::Size { .. } => Some("give another --size, another --backing or a larger array"),
            Self::Truth { .. } => Some("give the path of a file that does not exist yet"),
            Self::Schedule { .. } => Some("docs/guides/lab.md has every key with an example"),
            Self::Plant { .. } | Self::Thread(_) => None,
        }
    }
}
