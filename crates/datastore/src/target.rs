use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use units::Bytes;

/// Where virtual disks live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A directory: one file per virtual disk, as a hypervisor's datastore.
    Directory(PathBuf),
    /// One file, divided between the virtual disks.
    File(PathBuf),
    /// One block device, divided between the virtual disks.
    Block(PathBuf),
}

/// An open virtual disk: a range of an open file or device.
#[derive(Debug, Clone)]
pub struct VirtualDisk {
    /// The open file; several disks of one device share it.
    pub file: Arc<File>,
    /// First byte of the disk in the file.
    pub base: u64,
    /// Size of the disk.
    pub size: Bytes,
    /// Offsets, lengths and buffers must be multiples of this (512 or 4096).
    pub alignment: u32,
    /// Whether the file was opened with `O_DIRECT`.
    pub direct: bool,
    /// Whether writing is allowed.
    pub writable: bool,
    /// For messages.
    pub name: String,
}
