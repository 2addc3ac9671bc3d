//! Identity of devices and files by number and inode, because names can be wrong.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

use crate::device_number::DeviceNumber;

/// Identity of a file under any name: number of its file system, and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileId {
    pub device: DeviceNumber,
    pub inode: u64,
}

/// Block device or file in which blocks are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DeviceOrFile {
    Device(DeviceNumber),
    File(FileId),
}

impl DeviceOrFile {
    /// Returns the object to which the path leads: a block device by its number, anything else by
    /// its inode.
    pub fn of(path: &Path) -> Option<Self> {
        // Cached attributes do: a dead network file system must not stop the look-up.
        let flags = AtFlags::STATX_DONT_SYNC;
        let found = statx(CWD, path, flags, StatxFlags::TYPE | StatxFlags::INO).ok()?;
        if FileType::from_raw_mode(found.stx_mode.into()) == FileType::BlockDevice {
            let (major, minor) = (found.stx_rdev_major, found.stx_rdev_minor);
            return Some(Self::Device(DeviceNumber { major, minor }));
        }
        let device = DeviceNumber { major: found.stx_dev_major, minor: found.stx_dev_minor };
        Some(Self::File(FileId { device, inode: found.stx_ino }))
    }
}

/// Returns the device number of a block special file.
pub(crate) fn block_number(path: &Path) -> Option<DeviceNumber> {
    let found = fs::metadata(path).ok()?;
    found.file_type().is_block_device().then(|| DeviceNumber::from_packed(found.rdev()))
}
