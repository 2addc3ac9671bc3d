//! Reservation of a disk's space before anything is written to it.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate, fstat};
use rustix::io::Errno;

use crate::preflight::Warning;
use crate::{DatastoreError, DiskRequest};

/// Allocates the first `size` bytes of the file at `path` for a disk. If the file system of `place`
/// cannot allocate, only the file's size is set, and a warning is returned.
pub(crate) fn reserve(
    file: &File,
    size: u64,
    request: &DiskRequest,
    (path, place): (&Path, &Path),
) -> Result<Option<Warning>, DatastoreError> {
    match reserve_to(file, size) {
        Ok(warning) => Ok(warning.map(|id| {
            let text = format!(
                "the file system of {} cannot allocate in advance, so it may fill up during the run",
                place.display()
            );
            Warning::new(id, text)
        })),
        Err(Errno::NOSPC | Errno::DQUOT) => Err(DatastoreError::NoSpace {
            disk: request.name.clone(),
            size: request.size,
            path: path.to_owned(),
        }),
        Err(error) => Err(DatastoreError::io("allocate", path, error)),
    }
}

/// Grows `file` to `size` bytes. Returns the id of a warning if the space is not reserved.
fn reserve_to(file: &File, size: u64) -> rustix::io::Result<Option<&'static str>> {
    if fstat(file)?.st_size.unsigned_abs() >= size && size > 0 {
        // A file is never shortened. An existing file may still be sparse.
        let allocated = fallocate(file, FallocateFlags::KEEP_SIZE, 0, size);
        return match allocated {
            Ok(()) => Ok(None),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(Some("not-allocated")),
            Err(error) => Err(error),
        };
    }
    match fallocate(file, FallocateFlags::empty(), 0, size) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            rustix::fs::ftruncate(file, size)?;
            Ok(Some("not-allocated"))
        }
        other => other.map(|()| None),
    }
}
