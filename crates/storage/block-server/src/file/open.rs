//! Opening and locking of files and devices that become disks.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, FlockOperation, OFlags, SeekFrom, StatxFlags, fcntl_getfl, fcntl_lock, fcntl_setfl,
    flock, seek, statx,
};
use rustix::io::Errno;

use crate::{Access, OpenError};

/// Maximum wait for a file that a killed process still holds because its last writes are in flight.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// Alignment in bytes if the kernel does not report one (statx does since Linux 6.1).
const UNKNOWN_ALIGNMENT: u32 = 4096;

/// File or device that is open for this process alone.
#[derive(Debug)]
pub struct ExclusiveFile {
    /// Open file.
    pub file: File,
    /// Size in bytes.
    pub size: u64,
    /// Alignment that direct I/O needs, in bytes; `None` if direct I/O is off.
    pub alignment: Option<u32>,
}

/// Opens an existing file or device exclusively.
///
/// # Errors
/// If the path does not exist, is not a disk, or is in use.
pub fn hold(path: &Path, access: Access) -> Result<ExclusiveFile, OpenError> {
    let is_device = check_kind(path)?;
    let exclusive = if is_device { libc::O_EXCL } else { 0 };
    let mut options = OpenOptions::new();
    options.read(true).write(!access.read_only).custom_flags(exclusive);
    let file = open_patiently(path, &options)?;
    lock(&file, path, access)?;
    let alignment = if access.buffered { None } else { set_direct(&file) };
    let size = seek(&file, SeekFrom::End(0));
    let size = size.map_err(|errno| failed("find the size of", path)(errno.into()))?;
    Ok(ExclusiveFile { file, size, alignment })
}

fn failed(what: &'static str, path: &Path) -> impl Fn(io::Error) -> OpenError {
    move |source| OpenError::Kernel { what, path: path.to_owned(), source }
}

/// Checks that the path is a file or device. Returns true for a device, false for a regular file.
fn check_kind(path: &Path) -> Result<bool, OpenError> {
    let there = std::fs::metadata(path).map_err(failed("open", path))?;
    let kind = there.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(false),
        () if kind.is_block_device() => return Ok(true),
        () if kind.is_dir() => "a directory",
        () if kind.is_char_device() => "a character device",
        () => "a pipe or socket",
    };
    Err(OpenError::Kind { path: path.to_owned(), kind: what })
}

/// Opens the path. Retries a device that is in use until [`PATIENCE`] is over.
fn open_patiently(path: &Path, options: &OpenOptions) -> Result<File, OpenError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match options.open(path) {
            Ok(file) => return Ok(file),
            Err(error) if error.raw_os_error() != Some(libc::EBUSY) => {
                return Err(failed("open", path)(error));
            }
            Err(_) if Instant::now() >= until => {
                return Err(OpenError::InUse { path: path.to_owned() });
            }
            Err(_) => std::thread::sleep(LOOK_AGAIN),
        }
    }
}

/// Takes two locks. The first (flock) belongs to the open file. It lasts as long as any I/O on the
/// file, even after the process has exited. The second (fcntl) covers all bytes, so it and QEMU's
/// image locks (bytes from 100 on) exclude each other. The second lock belongs to the process. It
/// is lost when the process closes any other descriptor of the same file, so no file may be opened
/// twice.
fn lock(file: &File, path: &Path, access: Access) -> Result<(), OpenError> {
    let operation = if access.read_only {
        FlockOperation::NonBlockingLockShared
    } else {
        FlockOperation::NonBlockingLockExclusive
    };
    let until = Instant::now() + PATIENCE;
    loop {
        match flock(file, operation).and_then(|()| fcntl_lock(file, operation)) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if Instant::now() >= until => {
                return Err(OpenError::InUse { path: path.to_owned() });
            }
            Err(Errno::WOULDBLOCK) => std::thread::sleep(LOOK_AGAIN),
            Err(errno) => return Err(failed("lock", path)(errno.into())),
        }
    }
}

/// Turns direct I/O on if possible. Returns the alignment that it needs, in bytes.
fn set_direct(file: &File) -> Option<u32> {
    let flags = fcntl_getfl(file).ok()?;
    fcntl_setfl(file, flags | OFlags::DIRECT).ok()?;
    let alignment = alignment(file);
    if alignment.is_none() {
        let _ = fcntl_setfl(file, flags);
    }
    alignment
}

/// Returns the alignment of direct I/O that statx reports, in bytes. `None` if our buffers are not
/// aligned to that.
fn alignment(file: &File) -> Option<u32> {
    let Ok(found) = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) else {
        return Some(UNKNOWN_ALIGNMENT);
    };
    if !StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::DIOALIGN) {
        return Some(UNKNOWN_ALIGNMENT);
    }
    let (memory, offset) = (found.stx_dio_mem_align, found.stx_dio_offset_align);
    (memory > 0 && memory <= 4096 && offset > 0 && offset <= 1 << 16).then_some(offset.max(512))
}
