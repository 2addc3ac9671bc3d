use std::io;
use std::path::PathBuf;

/// Why storage cannot be slowed down here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ThrottleRefusal {
    /// Nothing is at the path.
    #[error("looking for the device behind {}", .path.display())]
    NoPath {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// There is no one block device to limit.
    #[error(
        "no single block device is behind {} (memory, a network, or several devices)",
        .0.display()
    )]
    NoDevice(PathBuf),
    /// The kernel offers nothing to limit I/O with.
    #[error("this machine has no control group for block I/O that this process can see")]
    NoController,
    /// A control group cannot be made, most often for want of root's rights.
    #[error("making the control group {}", .path.display())]
    NotMade {
        /// The group.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file of a control group did not take a line.
    #[error("writing \"{line}\" to {}", .path.display())]
    NotSet {
        /// The file.
        path: PathBuf,
        /// What was written.
        line: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Version 2 limits only groups without processes of their own above them.
    #[error(
        "other processes share the control group {}, and version 2 sets no limits below it then",
        .group.display()
    )]
    Shared {
        /// The group.
        group: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl ThrottleRefusal {
    /// What to do about it, if anything is known to help.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotMade { .. } => Some("run it as root"),
            Self::Shared { .. } => {
                Some("start it in a group of its own: systemd-run --scope -p Delegate=io ...")
            }
            Self::NoDevice(_) => Some("name a directory on a disk of this machine"),
            _ => None,
        }
    }

    /// The whole reason in one line, for a table that says why something was left out.
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
