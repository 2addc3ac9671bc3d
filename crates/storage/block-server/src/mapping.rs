use std::alloc::{Layout, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Zeroed, page-aligned memory from the kernel, which returns to the kernel on drop. An allocator
/// would keep memory that lies between longer-lived blocks.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: nobody else has the mapping, and it is the same memory for every thread.
unsafe impl Send for Mapping {}
// SAFETY: shared references only allow reads.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` zeroed bytes, at least one. All pages are allocated at once, because the caller
    /// writes all of them.
    pub(crate) fn zeroed(bytes: usize) -> Self {
        let (protection, flags) =
            (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::POPULATE);
        // SAFETY: a new mapping at a place of the kernel's choice touches no memory that is in use.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), bytes, protection, flags) };
        let start = start.ok().and_then(|start| NonNull::new(start.cast()));
        let layout = || Layout::array::<u8>(bytes).unwrap_or(Layout::new::<u8>());
        Self { start: start.unwrap_or_else(|| handle_alloc_error(layout())), bytes }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped so, and nothing borrows it any more.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "our own mapping can be unmapped");
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: so many bytes are mapped from there, initialized, until it is dropped.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl DerefMut for Mapping {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow is the only one.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}
