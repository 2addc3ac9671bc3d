//! Object below a loop device: a file or another device, identified by number and inode. The name
//! in sysfs is the path at the time of attaching. The object may have been renamed or deleted
//! since, and the path may lead to another file.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fstat};
use rustix::io::Errno;

use crate::device_number::DeviceNumber;
use crate::kernel::{LoopStatus, loop_status};
use crate::place::{DeviceOrFile, FileId, block_number};
use crate::sysfs::Device;

/// Name of an object that the kernel does not identify.
pub(crate) struct Unidentified(pub String);

/// Returns the object below a loop device; `None` for other devices.
pub(crate) fn below(device: &Device) -> Option<Result<DeviceOrFile, Unidentified>> {
    let name = device.attribute("loop/backing_file")?;
    let asked =
        open(device, OFlags::empty()).and_then(|file| loop_status(&file)).ok().map(|status| {
            match status {
                LoopStatus::Device(packed) => {
                    DeviceOrFile::Device(DeviceNumber::from_packed(packed))
                }
                LoopStatus::File { device, inode } => {
                    DeviceOrFile::File(FileId { device: DeviceNumber::from_packed(device), inode })
                }
            }
        });
    Some(asked.or_else(|| DeviceOrFile::of(Path::new(&name))).ok_or(Unidentified(name)))
}

/// Returns the path of the file below a loop device, if the path still leads to that file.
pub(crate) fn verified_path(device: &Device) -> Option<String> {
    let name = device.attribute("loop/backing_file")?;
    let place @ DeviceOrFile::File(_) = below(device)?.ok()? else { return None };
    (DeviceOrFile::of(Path::new(&name)) == Some(place)).then_some(name)
}

/// Opens a device for reading by its node in `/dev`, if the node is this device.
pub(crate) fn open(device: &Device, flags: OFlags) -> rustix::io::Result<File> {
    let node = PathBuf::from("/dev").join(&device.name);
    // Checked before the open, because only a block device may be opened.
    if block_number(&node) != Some(device.number) {
        return Err(Errno::NOENT);
    }
    let file: File =
        rustix::fs::open(&node, flags | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?.into();
    let opened = DeviceNumber::from_packed(fstat(&file)?.st_rdev);
    if opened == device.number { Ok(file) } else { Err(Errno::NODEV) }
}
