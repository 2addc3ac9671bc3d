use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::types::Fd;
use io_uring::{IoUring, cqueue, opcode, squeue};

use super::abi;

/// `/dev/ublk-control` with a ring of 128-byte entries, which its commands need.
pub(super) struct Control {
    file: OwnedFd,
    ring: IoUring<squeue::Entry128, cqueue::Entry>,
}

impl Control {
    pub fn open() -> io::Result<Self> {
        let file = std::fs::File::options().read(true).write(true).open("/dev/ublk-control")?;
        Ok(Self { file: file.into(), ring: IoUring::builder().build(2)? })
    }

    /// Executes a command and waits for its completion. Returns `bytes`, into which the kernel may
    /// have written an answer.
    pub fn call(
        &mut self,
        command: u32,
        device: u32,
        data: u64,
        mut bytes: Vec<u8>,
    ) -> io::Result<Vec<u8>> {
        let length = u16::try_from(bytes.len()).expect("a command has fewer than 2^16 bytes");
        let address = if bytes.is_empty() { 0 } else { bytes.as_mut_ptr().expose_provenance() };
        let words = abi::control(device, address as u64, length, data);
        let fd = Fd(self.file.as_raw_fd());
        let entry = opcode::UringCmd80::new(fd, command).cmd(words).build();
        // SAFETY: the file is this one's. The bytes are on the heap and nobody else's until the command has ended, which is
        // waited for; where that fails they are left allocated for ever.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::from_raw_os_error(libc::EBUSY))?;
        loop {
            if let Some(entry) = self.ring.completion().next() {
                return match entry.result() {
                    0.. => Ok(bytes),
                    error => Err(io::Error::from_raw_os_error(-error)),
                };
            }
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    std::mem::forget(bytes);
                    return Err(error);
                }
                _ => {}
            }
        }
    }
}
