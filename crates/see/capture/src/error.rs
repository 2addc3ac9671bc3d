use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Reason why I/O cannot be captured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// Kernel trace file system that is not mounted.
    #[error("block events cannot be read: no tracefs is mounted")]
    NoTracefs,
    /// Trace file system that this user may not use.
    #[error("block events cannot be read: only root may use {}", path.display())]
    NotAllowed {
        /// Path that was refused.
        path: PathBuf,
    },
    /// Block events that the kernel does not have or does not allow.
    #[error("the kernel has no block events: {} is missing", path.display())]
    NoEvents {
        /// Missing path.
        path: PathBuf,
    },
    /// Kernel description that cannot be used.
    #[error("{}: {reason}", path.display())]
    Layout {
        /// Path of the description.
        path: PathBuf,
        /// Expected and found text.
        reason: String,
    },
    /// Target whose I/O cannot be captured.
    #[error("{target}: {reason}")]
    Target {
        /// Target as given.
        target: String,
        /// Reason of the refusal.
        reason: String,
    },
    /// Name that no running QEMU virtual machine has.
    #[error("no virtual machine \"{wanted}\" runs here; {}", running_words(running))]
    NoVm {
        /// Given name or UUID.
        wanted: String,
        /// Names of the running virtual machines, sorted.
        running: Vec<String>,
    },
    /// File that failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
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
    /// Returns a hint, as a command or a sentence.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoTracefs => {
                Some("as root, mount -t tracefs tracefs /sys/kernel/tracing, and start again")
            }
            Self::NotAllowed { .. } => Some("start it as root: sudo tilemark record ..."),
            Self::NoEvents { .. } => Some(
                "the kernel needs CONFIG_BLK_DEV_IO_TRACE, and no lockdown (cat \
                 /sys/kernel/security/lockdown)",
            ),
            Self::Target { .. } => {
                Some("name a block device, or a file or directory on one; lsblk lists devices")
            }
            Self::NoVm { running, .. } if running.is_empty() => Some(
                "--vm accepts QEMU virtual machines of this host; record a process with --pid or a \
                 control group with --cgroup",
            ),
            Self::NoVm { .. } => Some("give a name from this list, or a UUID, to --vm"),
            Self::Layout { .. } | Self::Io { .. } => None,
        }
    }

    /// Makes the error of a file; a missing permission has an error kind of its own.
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::NotAllowed { path },
            _ => Self::Io { path, source },
        }
    }
}
