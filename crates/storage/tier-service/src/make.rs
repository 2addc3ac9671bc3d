use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use tier::{Geometry, IoError, IoTarget, Media, Plan};

use crate::files::{failed, hold, keep_name};
use crate::media::Files;
use crate::{SetError, identity};

/// Size of one write of zeros, in bytes.
const ZEROS: usize = 1 << 20;

/// Creates an empty set in a new file, and allocates all of its space. Returns the layout of the
/// file.
///
/// # Errors
/// If the path is in use, there is too little space, or the size cannot be divided. An unfinished
/// file is removed.
pub fn make(path: &Path, plan: Plan) -> Result<Geometry, SetError> {
    let geometry = Geometry::new(plan)
        .map_err(|source| SetError::Geometry { path: path.to_owned(), source })?;
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
    let file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => SetError::There { path: path.to_owned() },
        _ => failed("make", path)(error),
    })?;
    let made =
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, plan.device_bytes)
            .map_err(|errno| failed("make room in", path)(errno.into()))
            .and_then(|()| fill(path, plan, geometry))
            .and_then(|()| keep_name(path));
    if made.is_err() {
        // A half-made file is useless. The caller needs the first error, not that of the removal.
        let _ = std::fs::remove_file(path);
    }
    made.map(|()| geometry)
}

/// Creates an empty set in an existing file of the plan's size or larger, and overwrites its
/// content.
///
/// # Errors
/// If another process holds the file, it is too short, or its size cannot be divided.
pub fn make_in(path: &Path, plan: Plan) -> Result<Geometry, SetError> {
    let geometry = Geometry::new(plan)
        .map_err(|source| SetError::Geometry { path: path.to_owned(), source })?;
    let length = std::fs::metadata(path).map_err(failed("look at", path))?.len();
    if length < plan.device_bytes {
        let short = io::Error::other(format!("it has {length} B of {}", plan.device_bytes));
        return Err(failed("make a set in", path)(short));
    }
    fill(path, plan, geometry).map(|()| geometry)
}

/// Creates an empty set in an open file or device that the caller holds exclusively, and overwrites
/// its content. `path` is for messages.
///
/// # Errors
/// If the size cannot be divided, or the system returns an error.
pub fn make_on(file: OwnedFd, path: &Path, plan: Plan) -> Result<Geometry, SetError> {
    let geometry = Geometry::new(plan)
        .map_err(|source| SetError::Geometry { path: path.to_owned(), source })?;
    fill_open(file, path, plan, geometry).map(|()| geometry)
}

fn fill(path: &Path, plan: Plan, geometry: Geometry) -> Result<(), SetError> {
    fill_open(hold(path)?.file.into(), path, plan, geometry)
}

fn fill_open(file: OwnedFd, path: &Path, plan: Plan, geometry: Geometry) -> Result<(), SetError> {
    let mut files = Files { cache: Arc::new(file), disks: Vec::new() };
    let set = identity::random().map_err(failed("find a name for", path))?;
    let refused = |error: IoError| failed("write to", path)(io::Error::other(error.to_string()));
    write_logs(&mut files, geometry).map_err(refused)?;
    tier::init(&mut files, geometry, plan.device_bytes, set, identity::host()).map_err(refused)
}

/// Writes zeros to the areas of logs and of the set's metadata. A file system records the first
/// write to each allocated block durably before a durable write completes, and each write of a log
/// would wait for that. Measured with ext4: 3,800 durable writes of 8 KiB per second, and 7,500 to
/// blocks that were written before.
fn write_logs(files: &mut Files, geometry: Geometry) -> Result<(), IoError> {
    let [pages, end] =
        [geometry.page_chunks, geometry.chunks].map(|chunk| geometry.chunk_at(chunk));
    let zeros = vec![0; ZEROS];
    for (from, to) in [(0, geometry.first_chunk), (pages, end)] {
        for at in (from..to).step_by(ZEROS) {
            let bytes = usize::try_from(to - at).unwrap_or(ZEROS).min(ZEROS);
            files.write(IoTarget::Cache, at, &zeros[..bytes])?;
        }
    }
    Ok(())
}
