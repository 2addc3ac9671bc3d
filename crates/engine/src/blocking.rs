use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use machine::Operation;

use crate::backend::Submission;

/// Carries a request out with a blocking call: bytes moved, or a negated error number.
pub(crate) fn carry_out(file: &File, submission: &Submission) -> i32 {
    let (fd, length) = (file.as_raw_fd(), submission.length as usize);
    let Ok(offset) = libc::off_t::try_from(submission.offset) else { return -libc::EINVAL };
    let moved = match (submission.operation, submission.buffer) {
        // SAFETY: an open file; the call takes no memory.
        (Operation::Flush, _) => unsafe { libc::fdatasync(fd) as isize },
        (_, None) => unreachable!("reads and writes carry a buffer"),
        // SAFETY: the buffer is on loan for this request, at least `length` bytes long, until
        // its completion is reaped.
        (Operation::Read, Some(buffer)) => unsafe {
            libc::pread(fd, buffer.start.as_ptr().cast(), length, offset)
        },
        (Operation::Write, Some(buffer)) => {
            let parts = libc::iovec { iov_base: buffer.start.as_ptr().cast(), iov_len: length };
            let flags = if submission.durable { libc::RWF_DSYNC } else { 0 };
            // SAFETY: as above; one part, which lives to the end of the call.
            unsafe { libc::pwritev2(fd, &raw const parts, 1, offset, flags) }
        }
    };
    if moved < 0 {
        return -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    }
    i32::try_from(moved).unwrap_or(i32::MAX)
}
