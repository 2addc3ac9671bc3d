use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use front::{Access, Held};
use tier::format::{FINGERPRINT_BYTES, SIDECAR_BYTES};

use crate::SetError;

/// Where the sidecar of a backing disk is, if nobody says otherwise: beside a file, with its name.
pub(crate) fn sidecar_path(backing: &Path) -> PathBuf {
    let mut name = backing.file_name().unwrap_or_default().to_os_string();
    name.push(".tilemark-tier");
    backing.with_file_name(name)
}

pub(crate) fn failed(what: &'static str, path: &Path) -> impl Fn(io::Error) -> SetError {
    move |source| SetError::Kernel { what, path: path.to_owned(), source }
}

/// A file or device that is held for as long as it is open.
pub(crate) fn hold(path: &Path) -> Result<Held, SetError> {
    Ok(front::hold(path, Access::default())?)
}

/// Opens a sidecar, or makes an empty one. Never through a link.
pub(crate) fn sidecar(path: &Path) -> Result<Arc<OwnedFd>, SetError> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file: File = options.open(path).map_err(failed("open", path))?;
    let found = file.metadata().map_err(failed("look at", path))?;
    if !found.is_file() {
        return Err(SetError::Sidecar { path: path.to_owned() });
    }
    if found.len() < SIDECAR_BYTES as u64 {
        file.set_len(SIDECAR_BYTES as u64).map_err(failed("make room in", path))?;
        file.sync_all().map_err(failed("make durable", path))?;
    }
    Ok(Arc::new(file.into()))
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
