//! Query of a file system's UUID through an open file, which needs no device node and no udev.

use std::os::fd::AsFd;

use rustix::ioctl::{Getter, Opcode, ioctl, opcode};

/// `struct fsuuid2` (include/uapi/linux/fs.h).
#[repr(C)]
#[derive(Clone, Copy)]
struct FsUuid {
    length: u8,
    uuid: [u8; 16],
}

/// `FS_IOC_GETFSUUID` of the same header, since Linux 6.9.
const FS_IOC_GETFSUUID: Opcode = opcode::read::<FsUuid>(0x15, 0);

/// Returns the UUID of the file system that has this file.
///
/// # Errors
///
/// `ENOTTY` if the kernel or the file system does not support the call.
pub(crate) fn fs_uuid(file: impl AsFd) -> rustix::io::Result<Vec<u8>> {
    // SAFETY: the command fills one `struct fsuuid2` of 17 bytes, which `FsUuid` is (checked below), and
    // every bit pattern is a valid `FsUuid`.
    let found = unsafe { ioctl(file, Getter::<FS_IOC_GETFSUUID, FsUuid>::new()) }?;
    Ok(found.uuid[..usize::from(found.length).min(16)].to_vec())
}

const _: () = assert!(size_of::<FsUuid>() == 17);
