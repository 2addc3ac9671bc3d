use std::path::PathBuf;

use sim::plant::PlantError;
use units::Bytes;

/// Why there is no lab.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The place cannot be mounted on.
    #[error("cannot mount on {}: {reason}", path.display())]
    MountPoint {
        /// The path as given.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// FUSE refused.
    #[error("mounting on {} failed", path.display())]
    Mount {
        /// The path as given.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The mount could not be ended.
    #[error("unmounting {} failed", path.display())]
    Unmount {
        /// The mount point.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Nothing can be kept there.
    #[error("{} cannot hold the files", path.display())]
    Backing {
        /// The backing directory; `memory` for memory.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// More than the backing can hold, or too little to be of use.
    #[error("a size of {size} was asked for; allowed are {least} to {most}: {reason}")]
    Size {
        /// What was asked for.
        size: Bytes,
        /// The smallest.
        least: Bytes,
        /// The largest.
        most: Bytes,
        /// What bounds it.
        reason: String,
    },
    /// The array cannot be played.
    #[error("array \"{array}\" cannot be played")]
    Plant {
        /// Its name.
        array: String,
        /// Why.
        source: PlantError,
    },
    /// The schedule of faults is no such thing.
    #[error("the faults in {name} cannot be used: {reason}")]
    Schedule {
        /// The file.
        name: String,
        /// What is wrong, with its place.
        reason: String,
    },
    /// The file for the truth.
    #[error("cannot make {}, in which every fault is written down", path.display())]
    Truth {
        /// Its path.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A thread could not be started.
    #[error("starting a thread failed")]
    Thread(#[source] std::io::Error),
}

impl LabError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::MountPoint { .. } => Some("make an empty directory and mount there"),
            Self::Mount { .. } => {
                Some("FUSE needs /dev/fuse, and root or the program fusermount3 (package fuse3)")
            }
            Self::Unmount { .. } => Some("end what uses it, then: umount MOUNTPOINT"),
            Self::Backing { .. } => Some(
                "give a directory of a local file system with nameless files (ext4, xfs, btrfs, \
                 tmpfs), or memory",
            ),
            Self::Size { .. } => Some("give another --size, another --backing or a larger array"),
            Self::Truth { .. } => Some("give the path of a file that does not exist yet"),
            Self::Schedule { .. } => Some("docs/guides/lab.md has every key with an example"),
            Self::Plant { .. } | Self::Thread(_) => None,
        }
    }
}
