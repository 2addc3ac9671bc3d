use std::io;

use units::Bytes;

use crate::verify::StateError;

/// Reason why a disk could not be filled.
#[derive(Debug, thiserror::Error)]
pub enum PrefillError {
    /// A write failed (no space, an I/O error, a device that vanished).
    #[error("first write of {length} B to disk \"{disk}\" at offset {offset}: {source}")]
    Write {
        /// Name of the disk.
        disk: String,
        /// Offset on the disk, in bytes.
        offset: u64,
        /// Length of the write, in bytes.
        length: u64,
        /// Error of the system.
        source: io::Error,
    },
    /// The written blocks could not be made durable.
    #[error("fsync of disk \"{disk}\" after filling it: {source}")]
    Sync {
        /// Name of the disk.
        disk: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The verification state could not be kept.
    #[error(transparent)]
    State(#[from] StateError),
    /// The caller asked to stop.
    #[error("filling stopped on request after {done} B of {total} B", done = done.get(), total = total.get())]
    Cancelled {
        /// Bytes written and acknowledged so far.
        done: Bytes,
        /// Total bytes to write.
        total: Bytes,
    },
}

impl PrefillError {
    /// Returns advice on what to try next.
    pub fn hint(&self) -> Option<&'static str> {
        let number = match self {
            Self::Write { source, .. } | Self::Sync { source, .. } => source.raw_os_error()?,
            Self::State(StateError::Io { source, .. }) => source.raw_os_error()?,
            Self::State(error) => return error.hint(),
            Self::Cancelled { .. } => return None,
        };
        match number {
            libc::ENOSPC | libc::EDQUOT => Some(
                "the storage had less space than it reported (thin provisioning, quota, other \
                      writers): free space or run fewer tiles",
            ),
            libc::EIO | libc::ENODEV | libc::ENXIO => {
                Some("the kernel log (dmesg) shows the device's error")
            }
            _ => None,
        }
    }
}
