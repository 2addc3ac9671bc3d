use std::io;

use io_uring::{IoUring, opcode};

/// Tests io_uring: sets up a ring and has the kernel complete an empty request.
///
/// Only this test is reliable: `kernel.io_uring_disabled` does not show system call filters, which
/// container engines install.
///
/// # Errors
///
/// The reason why there is no ring or no completion.
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
