use std::io;

use units::Bytes;

use crate::verify::StateError;

/// Why a disk could not be filled.
#[derive(Debug, thiserror::Error)]
pub enum PrefillError {
    /// A write failed (no space, an I/O error, a device that vanished).
    #[error("first write of {length} B to disk \"{disk}\" at offset {offset}: {source}")]
    Write {
        /// The disk's name.
        disk: String,
        /// Byte offset on the disk.
        offset: u64,
        /// Bytes of the write.
        length: u64,
        /// The system's answer.
        source: io::Error,
    },
    /// What was written could not be made durable.
    #[error("fsync of disk \"{disk}\" after filling it: {source}")]
    Sync {
        /// The disk's name.
        disk: String,
        /// The system's answer.
        source: io::Error,
    },
    /// Verification state cannot be kept.
    #[error(transparent)]
    State(#[from] StateError),
    /// The caller asked to stop.
    #[error("filling stopped on request after {done} B of {total} B", done = done.get(), total = total.get())]
    Cancelled {
        /// Bytes acknowledged.
        done: Bytes,
        /// Bytes to write in all.
        total: Bytes,
    },
}

impl PrefillError {
    /// What to try next.
    pub fn hint(&self) -> Option<&'static str> {
        let number = match self {
            Self::Write { source, .. } | Self::Sync { source, .. } => source.raw_os_error()?,
            Self::State(StateError::Io { source, .. }) => source.raw_os_error()?,
            Self::State(_) | Self::Cancelled { .. } => return None,
        };
        match number {
            libc::ENOSPC | libc::EDQUOT => Some(
                "the storage promised more than it has (thin, quota, others writing): free \
                      space or run fewer tiles",
            ),
            libc::EIO | libc::ENODEV | libc::ENXIO => {
                Some("the kernel log (dmesg) says what the device answered")
            }
            _ => None,
        }
    }
}
