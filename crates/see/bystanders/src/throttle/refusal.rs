use std::io;
use std::path::PathBuf;

/// Reason why storage cannot be slowed down here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ThrottleRefusal {
    /// Path that does not exist.
    #[error("looking for the device behind {}", .path.display())]
    NoPath {
        /// Path as given.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// Path that is not on exactly one block device.
    #[error(
        "there is no single block device behind {} (memory, a network, or several devices)",
        .0.display()
    )]
    NoDevice(PathBuf),
    /// Kernel without I/O limits.
    #[error("this host has no control group for block I/O that this process can see")]
    NoController,
    /// Control group that cannot be created, usually because root's rights are missing.
    #[error("making the control group {}", .path.display())]
    NotMade {
        /// Path of the group.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// File of a control group that refused a line.
    #[error("writing \"{line}\" to {}", .path.display())]
    NotSet {
        /// Path of the file.
        path: PathBuf,
        /// Line that was written.
        line: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// Group shared with other processes. Version 2 limits only groups whose parent has no
    /// processes.
    #[error(
        "other processes share the control group {}, so version 2 sets no limits below it",
        .group.display()
    )]
    Shared {
        /// Path of the group.
        group: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
}

impl ThrottleRefusal {
    /// Returns a hint on what to do, if there is one.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotMade { .. } => Some("run it as root"),
            Self::Shared { .. } => {
                Some("start it in a group of its own: systemd-run --scope -p Delegate=io ...")
            }
            Self::NoDevice(_) => Some("name a directory on a disk of this host"),
            _ => None,
        }
    }

    /// Returns the whole reason on one line, for a table of left out items.
    pub fn reason(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text += &format!(": {error}");
            cause = error.source();
        }
        if let Some(hint) = self.hint() {
            text += &format!(" (hint: {hint})");
        }
        text
    }
}
