//! Shared mapping of a state file as 64-bit words. This is the only unsafe code of verification.

use std::fs::File;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// File mapped with `MAP_SHARED`. A store is immediately visible in the kernel's page cache, so it
/// survives the death of this process at any later instruction.
#[derive(Debug)]
pub struct Map {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the mapping is plain memory without ties to a thread, and all access through
// `Map` is atomic.
unsafe impl Send for Map {}
// SAFETY: as above; shared references only ever lead to atomics.
unsafe impl Sync for Map {}

impl Map {
    /// Maps the first `words` words of a file that is at least that long. Before a store to a word,
    /// its file block must be allocated: a store into a hole of a full file system raises SIGBUS.
    /// The file must not be shortened while it is mapped. State files are locked for that reason.
    pub fn new(file: &File, words: usize) -> io::Result<Self> {
        let bytes = words * size_of::<AtomicU64>();
        if words == 0 || file.metadata()?.len() < bytes as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing; the
        // file is at least as long as the mapping (checked above).
        let start = unsafe { mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, file, 0) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, words })
    }

    /// Loads a word. Words are little-endian in the file.
    #[inline]
    pub fn load(&self, index: usize) -> u64 {
        u64::from_le(self.words()[index].load(Ordering::Acquire))
    }

    /// Stores a word. Stores reach the file in program order.
    #[inline]
    pub fn store(&self, index: usize, value: u64) {
        self.words()[index].store(value.to_le(), Ordering::Release);
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: `start` is page-aligned and maps `words` words until `drop`, which cannot
        // run while `self` is borrowed. Every bit pattern is a valid `AtomicU64`. Others who
        // write (the kernel, on `pwrite` by this module's owner) are ordered by the system
        // call, and a `MAP_SHARED` page is the page cache itself.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: exactly the range that `new` mapped, and no reference into it outlives `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.words * size_of::<AtomicU64>()) };
    }
}
