//! Query of the object below a loop device, by number and inode instead of by name.

use std::fs::File;

use rustix::ioctl::{Getter, Opcode, ioctl};

/// `struct loop_info64` (include/uapi/linux/loop.h); only the first three fields are used.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopInfo {
    device: u64,
    inode: u64,
    real_device: u64,
    rest: [u64; 26],
}

/// `LOOP_GET_STATUS64` of the same header; its number does not encode direction or size.
const LOOP_GET_STATUS64: Opcode = 0x4C05;

/// Object below a loop device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopStatus {
    /// A file: the packed number of its file system, and its inode.
    File { device: u64, inode: u64 },
    /// A block device: its packed number.
    Device(u64),
}

/// Returns the object below an attached loop device.
///
/// # Errors
///
/// `ENXIO` if nothing is attached, `ENOTTY` if the file is not a loop device.
pub(crate) fn loop_status(file: &File) -> rustix::io::Result<LoopStatus> {
    // SAFETY: the command fills one `struct loop_info64` of 232 bytes, which `LoopInfo` is
    // (checked below), and every bit pattern is a valid `LoopInfo`.
    let info = unsafe { ioctl(file, Getter::<LOOP_GET_STATUS64, LoopInfo>::new()) }?;
    // For a file the kernel reports no number of its own: 0, or that of its file system.
    let is_device = info.real_device != 0 && info.real_device != info.device;
    Ok(if is_device {
        LoopStatus::Device(info.real_device)
    } else {
        LoopStatus::File { device: info.device, inode: info.inode }
    })
}

const _: () = assert!(size_of::<LoopInfo>() == 232);
