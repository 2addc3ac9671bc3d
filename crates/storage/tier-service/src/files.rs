use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use block_server::{Access, Held};
use rustix::fs::{CWD, FlockOperation, RenameFlags, fcntl_lock, flock, renameat_with};
use rustix::io::Errno;
use tier::format::{Identity, SIDECAR_BYTES, SIDECAR_MAGIC, Sidecar};
use tier::word_for_disk;

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

/// A file or device that is held for as long as it is open, and whose blocks nobody uses by another name.
pub(crate) fn hold(path: &Path) -> Result<Held, SetError> {
    let held = hold_to_look(path)?;
    check_unused(path, &held.file)?;
    Ok(held)
}

/// Refuses what somebody uses by another name.
pub(crate) fn check_unused(path: &Path, file: impl AsFd) -> Result<(), SetError> {
    datastore::check_unused(path, &file)?;
    // The check opens and closes every loop device, which ends the lock of a process on it.
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| block_server::OpenError::InUse { path: path.to_owned() })?;
    Ok(())
}

/// The same for who writes nothing to it.
pub(crate) fn hold_to_look(path: &Path) -> Result<Held, SetError> {
    Ok(block_server::hold(path, Access::default())?)
}

/// A sidecar that was just made, and is removed again unless its disk comes to be served.
pub(crate) struct MadeSidecar(Option<PathBuf>);

impl MadeSidecar {
    /// Its disk is served.
    pub(crate) fn keep(&mut self) {
        self.0 = None;
    }
}

impl Drop for MadeSidecar {
    fn drop(&mut self) {
        // One that stays is taken for what it is: an empty one.
        let _ = self.0.take().map(std::fs::remove_file);
    }
}

/// Opens a backing disk's sidecar, or makes an empty one, which nobody else has while it is open. Never
/// through a link, and never a file that is something else.
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

/// The same of one that is there.
pub(crate) fn known_sidecar(
    backing: &Path,
    elsewhere: Option<&Path>,
) -> Result<Arc<OwnedFd>, SetError> {
    own_sidecar(backing, elsewhere, missing)
}

/// The same of one that somebody else may have: what he writes there is not to count any more
/// ([`replace_sidecar`]).
pub(crate) fn disputed_sidecar(
    backing: &Path,
    elsewhere: Option<&Path>,
) -> Result<Arc<OwnedFd>, SetError> {
    let path = path_of_sidecar(backing, elsewhere)?;
    Ok(Arc::new(checked(open_sidecar(&path, missing)?, &path)?.into()))
}

/// Where a sidecar's new file is made, and nothing lies there: what somebody left who was stopped is removed, and nothing
/// else is.
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
    // He may not have come further than its name.
    if !found.is_file() || found.len() > 0 {
        checked(file, &new)?;
    }
    std::fs::remove_file(&new).map_err(failed("remove", &new))?;
    Ok(new)
}

/// Puts a new file in the place of a sidecar that is open, with the same in it and this copy as the newest. Whoever
/// has the old one open writes to a file that has no name any more. `new` is of [`room_for_new`].
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

/// Where the sidecar of a backing disk is.
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

/// A file that is a sidecar, or is to be one.
fn checked(file: File, path: &Path) -> Result<File, SetError> {
    let found = file.metadata().map_err(failed("look at", path))?;
    let is_ours = found.is_file() && found.len() == SIDECAR_FILE_BYTES && holds_a_sidecar(&file);
    if !is_ours {
        return Err(SetError::Sidecar { path: path.to_owned() });
    }
    Ok(file)
}

/// A new sidecar, whole or not at all, which is there after a power cut, too.
fn make_sidecar(path: &Path) -> Result<File, SetError> {
    let new = room_for_new(path)?;
    let made = write_new(&new, &empty_sidecar()).and_then(|file| {
        give_name(&new, path).map_err(failed("make", path))?;
        keep_name(path)?;
        Ok(file)
    });
    if made.is_err() {
        // It is taken for what it is the next time.
        let _ = std::fs::remove_file(&new);
    }
    made
}

/// A sidecar to which no copy was written yet. It begins as a copy does, so that a file of zeros is none.
fn empty_sidecar() -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(SIDECAR_FILE_BYTES).unwrap_or(0)];
    bytes[..SIDECAR_MAGIC.len()].copy_from_slice(SIDECAR_MAGIC);
    bytes
}

/// A new file with all of its blocks: writing to it again needs no room, on a file system that writes in place.
fn write_new(path: &Path, bytes: &[u8]) -> Result<File, SetError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(path).map_err(failed("make", path))?;
    file.write_all_at(bytes, 0)
        .and_then(|()| file.sync_all())
        .map_err(failed("make room in", path))?;
    Ok(file)
}

/// Gives a file another name, which nothing has.
fn give_name(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system can (NFS): there, links are never made over something.
        Err(Errno::INVAL | Errno::NOSYS) => {
            std::fs::hard_link(from, to)?;
            std::fs::remove_file(from)
        }
        renamed => Ok(renamed?),
    }
}

/// Makes an empty sidecar in a file that was made for it, of its length and of zeros.
///
/// # Errors
/// It has another length or something in it, or what the kernel says.
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

/// Makes it durable that a new file has its name.
pub(crate) fn keep_name(path: &Path) -> Result<(), SetError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(failed("make durable", directory))
}

/// Whether one of the two copies is a sidecar's; the other may be torn, or not written yet.
fn holds_a_sidecar(file: &File) -> bool {
    let mut bytes = vec![0; SIDECAR_BYTES];
    file.read_exact_at(&mut bytes, 0).is_ok()
        && bytes.chunks(SIDECAR_BYTES / 2).any(|copy| copy.starts_with(SIDECAR_MAGIC))
}

/// Identity of the storage behind an open file or device.
pub(crate) fn identity_of(file: &OwnedFd, path: &Path) -> Result<Identity, SetError> {
    let found = datastore::storage_identity(file).map_err(failed("look at", path))?;
    Ok(Identity { name: found.name, is_lasting: found.is_lasting })
}

/// The newest good copy in a sidecar.
fn newest_copy(sidecar: &OwnedFd) -> Option<Sidecar> {
    let mut bytes = vec![0; SIDECAR_BYTES];
    let read = rustix::io::pread(sidecar, &mut bytes, 0).unwrap_or(0);
    Sidecar::newest(&bytes[..read])
}

/// Whether the owner accepted this identity of a disk's place as the sidecar is now.
pub(crate) fn is_accepted(accepted: &[String], identity: &Identity, sidecar: &OwnedFd) -> bool {
    let word = newest_copy(sidecar).map(|known| word_for_disk(&identity.name, &known));
    word.is_some_and(|word| accepted.contains(&word))
}

/// Whether a sidecar of version 1 is of this file. It has size and inode; of a device it has nothing that tells
/// one from another.
pub(crate) fn is_of_version_1(sidecar: &OwnedFd, backing: &OwnedFd, size: u64) -> bool {
    let known = newest_copy(sidecar).filter(|known| known.backing.name.is_empty());
    let (Some(known), Ok(found)) = (known, rustix::fs::fstat(backing)) else { return false };
    rustix::fs::FileType::from_raw_mode(found.st_mode).is_file()
        && known.fingerprint[..8] == size.to_le_bytes()
        && known.fingerprint[8..16] == found.st_ino.to_le_bytes()
}
