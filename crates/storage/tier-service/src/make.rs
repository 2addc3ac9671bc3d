use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use tier::{Geometry, IoError, Media, Place, Plan};

use crate::files::{failed, hold, keep_name};
use crate::media::Files;
use crate::{SetError, identity};

/// Zeros that are written at once.
const ZEROS: usize = 1 << 20;

/// Makes an empty set in a new file, which takes all of its room at once. Says how it is divided.
///
/// # Errors
/// When something is there, it has no room, or it cannot be divided so. What was begun is removed.
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
        // Nothing of it is of use; that it cannot be removed changes nothing of the error.
        let _ = std::fs::remove_file(path);
    }
    made.map(|()| geometry)
}

/// Makes an empty set in a file that somebody made for it, of the plan's size or longer. What it holds is
/// lost.
///
/// # Errors
/// When somebody else has it, it is too short, or cannot be divided so.
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

/// Makes an empty set on a file or device that is open, and nobody else's until this is done. What it holds
/// is lost. `path` is for messages.
///
/// # Errors
/// When it cannot be divided so, or what the kernel says.
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

/// Zeros where logs and what a set begins with will be. Of room that was never written a file system notes the first
/// write of each place, durably, before it says that the file is: each write of a log would wait for that, too
/// (ext4 here: 3,800 durable writes of 8 KiB a second, and 7,500 of room that was written).
fn write_logs(files: &mut Files, geometry: Geometry) -> Result<(), IoError> {
    let [pages, end] =
        [geometry.page_chunks, geometry.chunks].map(|chunk| geometry.chunk_at(chunk));
    let zeros = vec![0; ZEROS];
    for (from, to) in [(0, geometry.first_chunk), (pages, end)] {
        for at in (from..to).step_by(ZEROS) {
            let bytes = usize::try_from(to - at).unwrap_or(ZEROS).min(ZEROS);
            files.write(Place::Cache, at, &zeros[..bytes])?;
        }
    }
    Ok(())
}
