use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use datastore::VirtualDisk;
use state_machine::{IoRequest, Operation};

/// Virtual disk, as a worker sees it.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    pub(crate) name: String,
    /// Index into the worker's list of files.
    pub(crate) file: u32,
    base: u64,
    size: u64,
    pub(crate) writable: bool,
    /// Open file, for requests that bypass the backend.
    pub(crate) handle: Arc<File>,
}

impl Disk {
    /// Returns the offset of the disk in the file, in bytes.
    pub(crate) const fn base(&self) -> u64 {
        self.base
    }

    /// Returns the size in bytes.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the offset of a request in the file, in bytes.
    ///
    /// # Panics
    /// If the request leaves the disk. The bytes beyond may belong to another disk or another user
    /// of a shared device, so every request is checked, also in release builds.
    #[inline]
    pub(crate) fn locate(&self, request: &IoRequest) -> u64 {
        let end = request.offset.checked_add(u64::from(request.length));
        assert!(
            end.is_some_and(|end| end <= self.size) || request.operation == Operation::Flush,
            "request for {} bytes at {} exceeds disk {} of {} bytes",
            request.length,
            request.offset,
            self.name,
            self.size
        );
        self.base + request.offset
    }
}

/// Open files without duplicates, and the disks in them.
#[derive(Debug, Default)]
pub(crate) struct DiskTable {
    pub(crate) disks: Vec<Disk>,
    pub(crate) files: Vec<Arc<File>>,
}

impl DiskTable {
    /// Adds a disk. Returns its position.
    pub(crate) fn add(&mut self, disk: &VirtualDisk) -> u32 {
        let same = |file: &Arc<File>| file.as_raw_fd() == disk.file.as_raw_fd();
        let file = self.files.iter().position(same).unwrap_or_else(|| {
            self.files.push(Arc::clone(&disk.file));
            self.files.len() - 1
        });
        self.disks.push(Disk {
            name: disk.name.clone(),
            file: u32::try_from(file).expect("fewer than 2^32 files"),
            base: disk.base,
            size: disk.size.get(),
            writable: disk.writable,
            handle: Arc::clone(&disk.file),
        });
        u32::try_from(self.disks.len() - 1).expect("fewer than 2^32 disks")
    }
}
