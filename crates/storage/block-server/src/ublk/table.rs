use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::abi::{DEPTH, Descriptor};

const BYTES: usize = DEPTH as usize * size_of::<Descriptor>();

/// Table of request descriptors by tag, which the kernel writes.
#[derive(Debug)]
pub(super) struct Table(NonNull<Descriptor>);

// SAFETY: it is only read, and is the same memory for every thread.
unsafe impl Send for Table {}

impl Table {
    /// Maps the table of the first queue of `/dev/ublkcN`.
    pub fn of(file: &OwnedFd) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at a place of the kernel's choice touches no memory that is in use.
        let start = unsafe { mmap(ptr::null_mut(), BYTES, ProtFlags::READ, flags, file, 0) }?;
        Ok(Self(NonNull::new(start.cast()).expect("a mapping is not at address 0")))
    }

    /// Returns the descriptor of a request that arrived and is not answered. The kernel does not
    /// change the descriptor until the answer.
    pub fn get(&self, tag: u16) -> Descriptor {
        assert!(tag < DEPTH, "the tag was fetched");
        // SAFETY: so many are mapped until this is dropped; any bytes are a descriptor. Volatile, for another one writes it.
        unsafe { self.0.add(usize::from(tag)).read_volatile() }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: it was mapped so, and nothing borrows it.
        let unmapped = unsafe { munmap(self.0.as_ptr().cast(), BYTES) };
        debug_assert!(unmapped.is_ok(), "our own mapping can be unmapped");
    }
}
