use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use front::{Access, Held};
use rustix::fs::{FlockOperation, flock};
use tier::format::{FINGERPRINT_BYTES, SIDECAR_BYTES, SIDECAR_MAGIC};

use crate::SetError;

/// A sidecar's two copies, and behind them how its backing file was left.
const SIDECAR_FILE_BYTES: u64 = SIDECAR_BYTES as u64 + 4096;

/// Where the sidecar of a backing disk is, if nobody says otherwise: beside a file, with its name. What is
/// beside a device node is gone with the machine's next start.
pub(crate) fn sidecar_of(backing: &Path) -> Result<PathBuf, SetError> {
    let found = std::fs::metadata(backing).map_err(failed("look at", backing))?;
    if !found.is_file() {
        return Err(SetError::NoSidecar { path: backing.to_owned() });
    }
    let mut name = backing.file_name().unwrap_or_default().to_os_string();
    name.push(".tilemark-tier");
    Ok(backing.with_file_name(name))
}

pub(crate) fn failed(what: &'static str, path: &Path) -> impl Fn(io::Error) -> SetError {
    move |source| SetError::Kernel { what, path: path.to_owned(), source }
}

/// A file or device that is held for as long as it is open.
pub(crate) fn hold(path: &Path) -> Result<Held, SetError> {
    Ok(front::hold(path, Access::default())?)
}

/// Opens a backing disk's sidecar, or makes an empty one, which nobody else has while it is open. Never
/// through a link, and never a file that is something else.
pub(crate) fn sidecar(backing: &Path, elsewhere: Option<&Path>) -> Result<Arc<OwnedFd>, SetError> {
    own_sidecar(backing, elsewhere, make_sidecar)
}

/// The same of one that is there.
pub(crate) fn known_sidecar(
    backing: &Path,
    elsewhere: Option<&Path>,
) -> Result<Arc<OwnedFd>, SetError> {
    own_sidecar(backing, elsewhere, |path| {
        Err(failed("open", path)(io::ErrorKind::NotFound.into()))
    })
}

fn own_sidecar(
    backing: &Path,
    elsewhere: Option<&Path>,
    without: impl Fn(&Path) -> Result<File, SetError>,
) -> Result<Arc<OwnedFd>, SetError> {
    let beside = elsewhere.map_or_else(|| sidecar_of(backing), |path| Ok(path.to_owned()))?;
    let path = beside.as_path();
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file: File = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => without(path)?,
        opened => opened.map_err(failed("open", path))?,
    };
    flock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| front::OpenError::InUse { path: path.to_owned() })?;
    let found = file.metadata().map_err(failed("look at", path))?;
    let is_ours = found.is_file() && found.len() == SIDECAR_FILE_BYTES && holds_a_sidecar(&file);
    if !is_ours {
        return Err(SetError::Sidecar { path: path.to_owned() });
    }
    Ok(Arc::new(file.into()))
}

/// A new file that is there after a power cut, too.
fn make_sidecar(path: &Path) -> Result<File, SetError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(path).map_err(failed("make", path))?;
    file.set_len(SIDECAR_FILE_BYTES)
        .and_then(|()| file.sync_all())
        .map_err(failed("make room in", path))?;
    keep_name(path)?;
    Ok(file)
}

/// Makes it durable that a new file has its name.
pub(crate) fn keep_name(path: &Path) -> Result<(), SetError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(failed("make durable", directory))
}

/// Whether one of the two copies is a sidecar's or nothing yet; the other may be torn.
fn holds_a_sidecar(file: &File) -> bool {
    let mut bytes = vec![0; SIDECAR_BYTES];
    let is_copy =
        |copy: &[u8]| copy.starts_with(SIDECAR_MAGIC) || copy.iter().all(|byte| *byte == 0);
    file.read_exact_at(&mut bytes, 0).is_ok() && bytes.chunks(SIDECAR_BYTES / 2).any(is_copy)
}

/// What tells a backing disk from another: its size, and of a file which one it is.
pub(crate) fn fingerprint(path: &Path, held: &Held) -> Result<[u8; FINGERPRINT_BYTES], SetError> {
    let found = std::fs::metadata(path).map_err(failed("look at", path))?;
    let mut fingerprint = [0; FINGERPRINT_BYTES];
    fingerprint[..8].copy_from_slice(&held.size.to_le_bytes());
    if found.is_file() {
        fingerprint[8..16].copy_from_slice(&found.ino().to_le_bytes());
    }
    Ok(fingerprint)
}
