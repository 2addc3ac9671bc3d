use std::io;

use io_uring::{IoUring, opcode};

/// Whether io_uring works here: sets a ring up and has the kernel answer a request that does
/// nothing.
///
/// What `kernel.io_uring_disabled` says is not asked: a filter of system calls, which container
/// engines have, is seen by trying alone.
///
/// # Errors
///
/// Why there is no ring, or no answer.
pub fn try_ring() -> io::Result<()> {
    let mut ring = IoUring::new(1)?;
    if !ring.params().is_feature_ext_arg() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel is before Linux 5.11"));
    }
    let nothing = opcode::Nop::new().build();
    // SAFETY: the entry has no buffer and no file, so nothing must outlive it.
    let pushed = unsafe { ring.submission().push(&nothing) };
    pushed.expect("the ring has room for one entry");
    ring.submit_and_wait(1)?;
    let answer = ring.completion().next().map(|entry| entry.result());
    match answer {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::ErrorKind::WouldBlock.into()),
    }
}
