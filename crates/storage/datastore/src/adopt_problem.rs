/// Reason why the sub-directory of an earlier run cannot be taken over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdoptProblem {
    /// The sub-directory does not exist.
    #[error("there is none")]
    Missing,
    /// The directory has no valid marker.
    #[error("it carries no valid marker of that run")]
    NotOurs,
    /// The run that made the disks is still alive.
    #[error("it is in use by process {pid}")]
    Alive {
        /// Process id of the owner.
        pid: u32,
    },
    /// Another process has locked the marker.
    #[error("another process holds its marker")]
    Locked,
    /// The file system has no locks, so it is unknown whether the sub-directory is in use.
    #[error("its marker cannot be locked: {reason}")]
    Unlockable {
        /// Text of the system's error.
        reason: String,
    },
    /// The run that made the disks was on another host.
    #[error("it was made on host {host}, which cannot be asked")]
    Elsewhere {
        /// Name of the other host.
        host: String,
    },
    /// An entry is not a regular file without further hard links.
    #[error("{name} in it is a {found}, not a regular file without further hard links")]
    Foreign {
        /// Name of the entry in the directory.
        name: String,
        /// Kind of the entry, in words.
        found: String,
    },
    /// The target is not a directory.
    #[error("only a directory keeps disks for reuse, but this is a {kind}")]
    Kind {
        /// Kind of the target, in words.
        kind: &'static str,
    },
}
