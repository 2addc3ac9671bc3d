//! What a backing file looked like when its tier was closed, behind its sidecar: whoever writes to it
//! meanwhile makes its pages cold.

use std::os::fd::OwnedFd;

use rustix::fs::{FileType, fdatasync, fstat};
use rustix::io::{Errno, pread, pwrite};
use tier::format::{FINGERPRINT_BYTES, SIDECAR_BYTES, Sidecar, payload_sum};

/// Where it is, and how long.
const AT: u64 = SIDECAR_BYTES as u64;
const BYTES: usize = 40;
const MAGIC: &[u8; 8] = b"TMCLOSED";

/// Of a regular file: size, and when it was last written. A device has nothing of the kind.
fn look(backing: &OwnedFd) -> Result<Option<[u8; BYTES]>, Errno> {
    let found = fstat(backing)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let mut record = [0; BYTES];
    record[..8].copy_from_slice(MAGIC);
    record[8..16].copy_from_slice(&found.st_size.to_le_bytes());
    record[16..24].copy_from_slice(&found.st_mtime.to_le_bytes());
    record[24..32].copy_from_slice(&found.st_mtime_nsec.to_le_bytes());
    let sum = payload_sum(&record[..32]);
    record[32..].copy_from_slice(&sum.to_le_bytes());
    Ok(Some(record))
}

/// Remembers how the backing file is left.
pub(crate) fn remember(backing: &OwnedFd, sidecar: &OwnedFd) -> Result<(), Errno> {
    if let Some(record) = look(backing)? {
        pwrite(sidecar, &record, AT)?;
        fdatasync(sidecar)?;
    }
    Ok(())
}

/// Whether the backing file is another than it was left as. Where nothing was remembered, as after a
/// kill, nothing can be said.
pub(crate) fn is_changed(backing: &OwnedFd, sidecar: &OwnedFd) -> Result<bool, Errno> {
    let mut record = [0; BYTES];
    let read = pread(sidecar, &mut record, AT)?;
    let is_one = read == BYTES
        && record.starts_with(MAGIC)
        && record[32..] == payload_sum(&record[..32]).to_le_bytes();
    if !is_one {
        return Ok(false);
    }
    Ok(look(backing)?.is_some_and(|now| now != record))
}

/// Forgets it: from now on the backing file is written by its tier. Only after the sidecar has what
/// [`is_changed`] said, or a crash would lose it.
pub(crate) fn forget(sidecar: &OwnedFd) -> Result<(), Errno> {
    pwrite(sidecar, &[0; BYTES], AT)?;
    fdatasync(sidecar)
}

/// The part of a fingerprint that changes with each change that was noticed, as the sidecar has it.
pub(crate) fn changes(sidecar: &OwnedFd) -> Result<[u8; 8], Errno> {
    let mut bytes = vec![0; SIDECAR_BYTES];
    let read = pread(sidecar, &mut bytes, 0)?;
    bytes.truncate(read);
    let mut changes = [0; 8];
    if let Some(sidecar) = Sidecar::newest(&bytes) {
        changes.copy_from_slice(&sidecar.fingerprint[FINGERPRINT_BYTES - 8..]);
    }
    Ok(changes)
}
