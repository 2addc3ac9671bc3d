use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use block_server::{Access, ExclusiveFile};
use rustix::fs::{CWD, FlockOperation, RenameFlags, fcntl_lock, flock, renameat_with};
use rustix::io::Errno;
use tier::format::{Identity, SIDECAR_BYTES, SIDECAR_MAGIC, Sidecar};
use tier::word_for_disk;

use crate::SetError;

/// Size of a sidecar file, in bytes: two copies of the sidecar, then the marks of the backing
/// store.
const SIDECAR_FILE_BYTES: u64 = SIDECAR_BYTES as u64 + 4096;

/// Returns the default path of a sidecar: beside the backing file. A device has no default, because
/// files in `/dev` are lost at a reboot.
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

/// Opens a file or device exclusively, and checks that its blocks are not in use under another
/// name.
pub(crate) fn hold(path: &Path) -> Result<ExclusiveFile, SetError> {
    let held = hold_to_look(path)?;
    check_unused(path, &held.file)?;
    Ok(held)
}

/// Refuses a file or device whose blocks are in use under another name.
pub(crate) fn check_unused(path: &Path, file: impl AsFd) -> Result<(), SetError> {
    datastore::check_unused(path, &file)?;
    // The check opens and closes every loop device, and closing drops this process's POSIX lock on
    // it.
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| block_server::OpenError::InUse { path: path.to_owned() })?;
    Ok(())
}

/// Opens a file or device exclusively, for reading only.
pub(crate) fn hold_to_look(path: &Path) -> Result<ExclusiveFile, SetError> {
    Ok(block_server::hold(path, Access::default())?)
}

/// Sidecar that was just created. It is removed on drop, unless its disk is served.
pub(crate) struct MadeSidecar(Option<PathBuf>);

impl MadeSidecar {
    /// Keeps the new sidecar, because its disk is served.
    pub(crate) fn keep(&mut self) {
        self.0 = None;
    }
}

impl Drop for MadeSidecar {
    fn drop(&mut self) {
        // If the removal fails, an empty sidecar stays, which is valid.
        let _ = self.0.take().map(std::fs::remove_file);
    }
}

/// Opens and locks a backing disk's sidecar, or creates an empty one. Symbolic links and files that
/// are not a sidecar are refused.
pub(crate) fn sidecar(
    backing: &Path,
    elsewhere: Option<&Path>,
) -> Result<(Arc<OwnedFd>, MadeSidecar), SetError> {
    let made = Cell::new(None);
    let make = |path: &Path| {
        let file = make_sidecar(path)?;
        made.set(Some(path.to_owned()));
        Ok(file)
    };
    let opened = own_sidecar(backing, elsewhere, make);
    let made = MadeSidecar(made.take());
    Ok((opened?, made))
}

/// Opens and locks an existing sidecar.
pub(crate) fn known_sidecar(
    backing: &Path,
    elsewhere: Option<&Path>,
) -> Result<Arc<OwnedFd>, SetError> {
    own_sidecar(backing, elsewhere, missing)
}

/// Opens a sidecar without a lock, because its owner may hold one. [`replace_sidecar`] makes later
/// writes of that owner ineffective.
pub(crate) fn disputed_sidecar(
    backing: &Path,
    elsewhere: Option<&Path>,
) -> Result<Arc<OwnedFd>, SetError> {
    let path = path_of_sidecar(backing, elsewhere)?;
    Ok(Arc::new(checked(open_sidecar(&path, missing)?, &path)?.into()))
}

/// Returns the path for the new file of a sidecar. An unfinished file of an interrupted run is
/// removed first; any other file there is refused.
pub(crate) fn room_for_new(sidecar: &Path) -> Result<PathBuf, SetError> {
    let mut name = sidecar.file_name().unwrap_or_default().to_os_string();
    name.push(".new");
    let new = sidecar.with_file_name(name);
    let file = match open_sidecar(&new, missing) {
        Err(SetError::Kernel { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(new);
        }
        opened => opened?,
    };
    let found = file.metadata().map_err(failed("look at", &new))?;
    // A server that was interrupted right after creating the file leaves it empty.
    if !found.is_file() || found.len() > 0 {
        checked(file, &new)?;
    }
    std::fs::remove_file(&new).map_err(failed("remove", &new))?;
    Ok(new)
}

/// Replaces an open sidecar by a new file with `newest` as its newest copy. Processes that have the
/// old file open continue to write to the old, unlinked file. `new` is the path from
/// [`room_for_new`].
pub(crate) fn replace_sidecar(
    path: &Path,
    new: &Path,
    old: &OwnedFd,
    newest: &Sidecar,
) -> Result<Arc<OwnedFd>, SetError> {
    let failed = |errno: rustix::io::Errno| failed("replace", path)(errno.into());
    let mut bytes = vec![0; usize::try_from(SIDECAR_FILE_BYTES).unwrap_or(0)];
    let read = rustix::io::pread(old, &mut bytes, 0).map_err(failed)?;
    if read < bytes.len() {
        return Err(SetError::Sidecar { path: path.to_owned() });
    }
    let file = OwnedFd::from(write_new(new, &bytes)?);
    let newest = Sidecar { place: identity_of(&file, new)?, ..newest.clone() };
    let file = File::from(file);
    file.write_all_at(&newest.encode()[..], newest.place())
        .and_then(|()| file.sync_all())
        .map_err(self::failed("write to", new))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(failed)?;
    std::fs::rename(new, path).map_err(self::failed("replace", path))?;
    keep_name(path)?;
    Ok(Arc::new(file.into()))
}

/// Returns the path of a backing disk's sidecar: `elsewhere`, or beside the backing file.
pub(crate) fn path_of_sidecar(
    backing: &Path,
    elsewhere: Option<&Path>,
) -> Result<PathBuf, SetError> {
    elsewhere.map_or_else(|| sidecar_of(backing), |path| Ok(path.to_owned()))
}

fn missing(path: &Path) -> Result<File, SetError> {
    Err(failed("open", path)(io::ErrorKind::NotFound.into()))
}

fn own_sidecar(
    backing: &Path,
    elsewhere: Option<&Path>,
    without: impl Fn(&Path) -> Result<File, SetError>,
) -> Result<Arc<OwnedFd>, SetError> {
    let path = path_of_sidecar(backing, elsewhere)?;
    let file = open_sidecar(&path, without)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| block_server::OpenError::InUse { path: path.clone() })?;
    Ok(Arc::new(checked(file, &path)?.into()))
}

fn open_sidecar(
    path: &Path,
    without: impl Fn(&Path) -> Result<File, SetError>,
) -> Result<File, SetError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => without(path),
        opened => opened.map_err(failed("open", path)),
    }
}

/// Checks that a file is a sidecar.
fn checked(file: File, path: &Path) -> Result<File, SetError> {
    let found = file.metadata().map_err(failed("look at", path))?;
    let is_ours = found.is_file() && found.len() == SIDECAR_FILE_BYTES && holds_a_sidecar(&file);
    if !is_ours {
        return Err(SetError::Sidecar { path: path.to_owned() });
    }
    Ok(file)
}

/// Creates an empty sidecar, atomically and durably.
fn make_sidecar(path: &Path) -> Result<File, SetError> {
    let new = room_for_new(path)?;
    let made = write_new(&new, &empty_sidecar()).and_then(|file| {
        give_name(&new, path).map_err(failed("make", path))?;
        keep_name(path)?;
        Ok(file)
    });
    if made.is_err() {
        // If the removal fails, the next run recognises the file and removes it.
        let _ = std::fs::remove_file(&new);
    }
    made
}

/// Returns the content of a sidecar without a copy. It begins with the magic number of a copy, so
/// that a file of zeros is not a sidecar.
fn empty_sidecar() -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(SIDECAR_FILE_BYTES).unwrap_or(0)];
    bytes[..SIDECAR_MAGIC.len()].copy_from_slice(SIDECAR_MAGIC);
    bytes
}

/// Creates a file with all of its blocks allocated. On a file system that writes in place, later
/// writes need no new space.
fn write_new(path: &Path, bytes: &[u8]) -> Result<File, SetError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(path).map_err(failed("make", path))?;
    file.write_all_at(bytes, 0)
        .and_then(|()| file.sync_all())
        .map_err(failed("make room in", path))?;
    Ok(file)
}

/// Renames a file to a name that must not be in use.
fn give_name(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems (NFS) cannot rename without replacing. A hard link never replaces a
        // file.
        Err(Errno::INVAL | Errno::NOSYS) => {
            std::fs::hard_link(from, to)?;
            std::fs::remove_file(from)
        }
        renamed => Ok(renamed?),
    }
}

/// Creates an empty sidecar in an existing file of the right length that contains only zeros.
///
/// # Errors
/// Wrong length, bytes other than zero, or an error of the system.
pub fn make_sidecar_in(path: &Path) -> Result<(), SetError> {
    let file = open_sidecar(path, missing)?;
    let mut bytes = vec![0; usize::try_from(SIDECAR_FILE_BYTES).unwrap_or(0)];
    let found = file.metadata().map_err(failed("look at", path))?;
    let is_whole = found.is_file() && found.len() == SIDECAR_FILE_BYTES;
    if !is_whole || file.read_exact_at(&mut bytes, 0).is_err() || bytes.iter().any(|b| *b != 0) {
        return Err(SetError::Sidecar { path: path.to_owned() });
    }
    file.write_all_at(&empty_sidecar(), 0)
        .and_then(|()| file.sync_all())
        .map_err(failed("write to", path))
}

/// Syncs the directory of a new file, so that the name is durable.
pub(crate) fn keep_name(path: &Path) -> Result<(), SetError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(failed("make durable", directory))
}

/// Returns true if at least one of the two copies has the magic number; the other may be torn or
/// not written yet.
fn holds_a_sidecar(file: &File) -> bool {
    let mut bytes = vec![0; SIDECAR_BYTES];
    file.read_exact_at(&mut bytes, 0).is_ok()
        && bytes.chunks(SIDECAR_BYTES / 2).any(|copy| copy.starts_with(SIDECAR_MAGIC))
}

/// Returns the identity of the storage behind an open file or device.
pub(crate) fn identity_of(file: &OwnedFd, path: &Path) -> Result<Identity, SetError> {
    let found = datastore::storage_identity(file).map_err(failed("look at", path))?;
    Ok(Identity { name: found.name, is_lasting: found.is_lasting })
}

/// Returns the newest valid copy in a sidecar.
fn newest_copy(sidecar: &OwnedFd) -> Option<Sidecar> {
    let mut bytes = vec![0; SIDECAR_BYTES];
    let read = rustix::io::pread(sidecar, &mut bytes, 0).unwrap_or(0);
    Sidecar::newest(&bytes[..read])
}

/// Returns true if the owner accepted this identity of a disk's file for the current state of the
/// sidecar.
pub(crate) fn is_accepted(accepted: &[String], identity: &Identity, sidecar: &OwnedFd) -> bool {
    let word = newest_copy(sidecar).map(|known| word_for_disk(&identity.name, &known));
    word.is_some_and(|word| accepted.contains(&word))
}

/// Returns true if a sidecar of version 1 belongs to this file, by size and inode. Version 1 has no
/// field that identifies a device.
pub(crate) fn is_of_version_1(sidecar: &OwnedFd, backing: &OwnedFd, size: u64) -> bool {
    let known = newest_copy(sidecar).filter(|known| known.backing.name.is_empty());
    let (Some(known), Ok(found)) = (known, rustix::fs::fstat(backing)) else { return false };
    rustix::fs::FileType::from_raw_mode(found.st_mode).is_file()
        && known.fingerprint[..8] == size.to_le_bytes()
        && known.fingerprint[8..16] == found.st_ino.to_le_bytes()
}
