//! I/O on files that lie in memory (tmpfs), such as a tier in `/dev/shm`.
//!
//! io_uring hands such I/O to a kernel thread, which takes several times as long as copying the
//! bytes at once. The disadvantage: a swapped-out page of such a file blocks the whole server until
//! the page is back.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use rustc_hash::FxHashMap;
use rustix::fs::{fdatasync, fstatfs};
use rustix::io::{pread, pwrite};

use crate::{Action, Buffer};

/// Maximum size of an I/O that is copied at once, in bytes; a longer copy would delay other
/// requests. Our choice: a page of a tier, some 10 us.
const COPY_MAX: usize = 64 << 10;
/// Number of known files above which closed files are removed from the map.
const KNOWN_MAX: usize = 512;

/// Known files by the address of their `Arc`; the flag is true for files in memory.
#[derive(Default)]
pub(crate) struct InMemory(FxHashMap<usize, (Weak<OwnedFd>, bool)>);

impl InMemory {
    /// Copies the bytes at once if the file lies in memory and the I/O is short. Returns the number
    /// of bytes, or a negated error number; `None` if the ring must do the I/O.
    pub fn copy(&mut self, file: &Arc<OwnedFd>, action: Action, data: &mut Buffer) -> Option<i32> {
        if data.len() > COPY_MAX || !self.has(file) {
            return None;
        }
        let done = match action {
            Action::Read { offset, skip } => pread(file, &mut data[skip as usize..], offset),
            Action::Write { offset, skip, .. } => pwrite(file, &data[skip as usize..], offset),
            Action::Flush => fdatasync(file).map(|()| 0),
            Action::Allocate { .. } => return None,
        };
        Some(match done {
            Ok(bytes) => i32::try_from(bytes).expect("at most the requested bytes"),
            Err(errno) => -errno.raw_os_error(),
        })
    }

    fn has(&mut self, file: &Arc<OwnedFd>) -> bool {
        if self.0.len() > KNOWN_MAX {
            self.0.retain(|_, (file, _)| file.strong_count() > 0);
        }
        // A weak reference keeps the allocation, so no other file can have the same address.
        let known = self.0.entry(Arc::as_ptr(file).addr()).or_insert_with(|| {
            let system = fstatfs(file).map(|system| system.f_type);
            (Arc::downgrade(file), system == Ok(libc::TMPFS_MAGIC))
        });
        known.1
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn file_in(directory: &str) -> Arc<OwnedFd> {
        Arc::new(tempfile::tempfile_in(directory).unwrap().into())
    }

    fn elsewhere() -> Arc<OwnedFd> {
        Arc::new(std::fs::File::open("/proc/self/stat").unwrap().into())
    }

    fn bytes(length: usize, value: u8) -> Buffer {
        let mut buffer = Buffer::zeroed(length);
        buffer.fill(value);
        buffer
    }

    #[test]
    fn skipped_bytes_stay_and_a_read_at_the_end_is_short() {
        let (file, mut files) = (file_in("/dev/shm"), InMemory::default());
        let write = Action::Write { offset: 4096, skip: 512, durable: true };
        assert_eq!(files.copy(&file, write, &mut bytes(4096, 7)), Some(3584));
        assert_eq!(files.copy(&file, Action::Flush, &mut Buffer::none()), Some(0));
        let mut read = bytes(8192, 1);
        let action = Action::Read { offset: 4096, skip: 4 };
        assert_eq!(files.copy(&file, action, &mut read), Some(3584), "the file ends there");
        assert!(read[..4] == [1; 4] && read[4..3588].iter().all(|byte| *byte == 7));
        assert!(read[3588..].iter().all(|byte| *byte == 1));
    }

    #[test]
    fn an_error_is_its_number() {
        let mut files = InMemory::default();
        let path = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        let file: Arc<OwnedFd> = Arc::new(std::fs::File::open(path.path()).unwrap().into());
        let write = Action::Write { offset: 0, skip: 0, durable: false };
        assert_eq!(files.copy(&file, write, &mut bytes(512, 7)), Some(-libc::EBADF));
    }

    #[test]
    fn what_is_long_or_is_somewhere_else_is_the_kernels() {
        let mut files = InMemory::default();
        let read = Action::Read { offset: 0, skip: 0 };
        let here = file_in("/dev/shm");
        assert_eq!(files.copy(&here, read, &mut bytes(COPY_MAX, 0)), Some(0));
        assert_eq!(files.copy(&here, read, &mut bytes(2 * COPY_MAX, 0)), None);
        let hole = Action::Allocate { mode: 0, offset: 0, length: 4096 };
        assert_eq!(files.copy(&here, hole, &mut Buffer::none()), None);
        assert_eq!(files.copy(&elsewhere(), read, &mut bytes(512, 0)), None);
    }

    #[test]
    fn no_closed_file_is_taken_for_another_and_few_are_kept() {
        let mut files = InMemory::default();
        for round in 0..4 * KNOWN_MAX {
            let is_in_memory = round % 2 == 0;
            let file = if is_in_memory { file_in("/dev/shm") } else { elsewhere() };
            assert_eq!(files.has(&file), is_in_memory, "round {round}");
        }
        assert!(files.0.len() <= KNOWN_MAX + 1);
    }
}
