use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why nothing can be captured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The kernel's trace file system is not mounted.
    #[error("block events cannot be read: no tracefs is mounted")]
    NoTracefs,
    /// It is there, but not for us.
    #[error("block events cannot be read: {} may be used by root only", path.display())]
    NotAllowed {
        /// What was refused.
        path: PathBuf,
    },
    /// The kernel refuses or was built without them.
    #[error("the kernel offers no block events: {} is missing", path.display())]
    NoEvents {
        /// What is missing.
        path: PathBuf,
    },
    /// A description of the kernel cannot be used.
    #[error("{}: {reason}", path.display())]
    Layout {
        /// Which description.
        path: PathBuf,
        /// What was expected and what was found.
        reason: String,
    },
    /// What was to be watched cannot be.
    #[error("{target}: {reason}")]
    Target {
        /// As it was named.
        target: String,
        /// Why not.
        reason: String,
    },
    /// No QEMU virtual machine that runs has this name.
    #[error("no virtual machine \"{wanted}\" runs here; {}", running_words(running))]
    NoVm {
        /// Name or UUID that was given.
        wanted: String,
        /// Names of the virtual machines that run, sorted.
        running: Vec<String>,
    },
    /// A file failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

fn running_words(running: &[String]) -> String {
    match running {
        [] => "no QEMU virtual machine is running".to_owned(),
        names => format!("running: {}", names.join(", ")),
    }
}

impl CaptureError {
    /// The way out, as a command or a sentence.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoTracefs => {
                Some("as root, mount -t tracefs tracefs /sys/kernel/tracing, and start again")
            }
            Self::NotAllowed { .. } => Some("start it as root: sudo tilemark record ..."),
            Self::NoEvents { .. } => Some(
                "it takes a kernel with CONFIG_BLK_DEV_IO_TRACE, and without lockdown \
                 (cat /sys/kernel/security/lockdown)",
            ),
            Self::Target { .. } => {
                Some("name a block device, or a file or directory on one; lsblk lists devices")
            }
            Self::NoVm { running, .. } if running.is_empty() => Some(
                "--vm takes QEMU virtual machines of this host; record a process with --pid or a \
                 control group with --cgroup",
            ),
            Self::NoVm { .. } => Some("give a name from this list, or a UUID, to --vm"),
            Self::Layout { .. } | Self::Io { .. } => None,
        }
    }

    /// An error of a file; missing rights are told as such.
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::NotAllowed { path },
            _ => Self::Io { path, source },
        }
    }
}
