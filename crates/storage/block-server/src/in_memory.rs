//! Files that are in memory already (tmpfs): a tier in `/dev/shm`.
//!
//! The kernel's ring hands what is asked of them to a thread of its own, which takes several times as long as to copy
//! their bytes at once. A part of such a file that was swapped out keeps everybody waiting until it is back.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use rustc_hash::FxHashMap;
use rustix::fs::{fdatasync, fstatfs};
use rustix::io::{pread, pwrite};

use crate::{Action, Buffer};

/// Bytes that are copied at once; more would keep others waiting. Our choice: a page of a tier, some 10 us.
const COPY_MAX: usize = 64 << 10;
/// Files that are known before those are forgotten that are closed.
const KNOWN_MAX: usize = 512;

/// Which files those are, by where they are.
#[derive(Default)]
pub(crate) struct InMemory(FxHashMap<usize, (Weak<OwnedFd>, bool)>);

impl InMemory {
    /// Does it, if it is quickly done: a number of bytes, or a negated error number.
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
            Ok(bytes) => i32::try_from(bytes).expect("no more than was asked for"),
            Err(errno) => -errno.raw_os_error(),
        })
    }

    fn has(&mut self, file: &Arc<OwnedFd>) -> bool {
        if self.0.len() > KNOWN_MAX {
            self.0.retain(|_, (file, _)| file.strong_count() > 0);
        }
        // While it is pointed to, weakly at least, no other file can be in its place.
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
    fn what_is_written_is_read_behind_what_is_skipped_and_short_at_the_end() {
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
