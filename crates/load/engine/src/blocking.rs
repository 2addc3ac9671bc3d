use std::fs::File;
use std::io::IoSlice;

use rustix::fs::fdatasync;
use rustix::io::{ReadWriteFlags, pread, pwritev2};
use state_machine::Operation;

use crate::backend::Submission;

/// Gives `work` access to the bytes of a request that was pushed and whose completion was not yet
/// reaped.
pub(crate) fn with_bytes<T>(submission: &Submission, work: impl FnOnce(&mut [u8]) -> T) -> T {
    work(match (submission.operation, submission.buffer) {
        (Operation::Flush, _) => &mut [],
        (_, None) => unreachable!("reads and writes carry a buffer"),
        // SAFETY: the buffer is on loan for this request, at least `length` bytes long, and
        // nobody else touches it until its completion is reaped; it was mapped with content.
        (_, Some(buffer)) => unsafe {
            std::slice::from_raw_parts_mut(buffer.start.as_ptr(), submission.length as usize)
        },
    })
}

/// Executes a request with a blocking call. Returns the bytes moved, or a negated error number.
pub(crate) fn carry_out(file: &File, submission: &Submission) -> i32 {
    with_bytes(submission, |bytes| move_bytes(file, submission, bytes))
}

fn move_bytes(file: &File, submission: &Submission, bytes: &mut [u8]) -> i32 {
    let moved = match submission.operation {
        Operation::Flush => fdatasync(file).map(|()| 0),
        Operation::Read => pread(file, bytes, submission.offset),
        Operation::Write => {
            let durable = ReadWriteFlags::DSYNC;
            let flags = if submission.durable { durable } else { ReadWriteFlags::empty() };
            pwritev2(file, &[IoSlice::new(bytes)], submission.offset, flags)
        }
    };
    moved.map_or_else(
        |error| -error.raw_os_error(),
        |moved| i32::try_from(moved).unwrap_or(i32::MAX),
    )
}
