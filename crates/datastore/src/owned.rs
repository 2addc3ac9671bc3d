//! The sub-directories of ours in an open directory: looking, and removing exactly them.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, openat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::file_system::Leftovers;
use crate::owner::{Held, Marker, OwnerState};

/// The beginning of the name of every sub-directory of ours; the run id follows.
pub(crate) const PREFIX: &str = ".tilemark-";
/// The marker inside.
pub(crate) const MARKER_FILE: &CStr = c"owner.json";
/// The marker while it is being written.
pub(crate) const MARKER_NEW: &CStr = c"owner.json.new";
/// Directory for state kept beside the disks.
pub(crate) const STATE: &str = "state";
/// The end of the name of every disk file.
pub(crate) const DISK_SUFFIX: &str = ".disk";

pub(crate) const OPEN_DIR: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A sub-directory with a valid marker, held open.
#[derive(Debug)]
pub(crate) struct OwnedDir {
    pub name: CString,
    pub fd: OwnedFd,
    /// `None`: the process was killed between creating the directory and marking it; there is
    /// nothing in it but perhaps a half-written marker.
    pub marker: Option<Marker>,
    pub state: OwnerState,
    /// Bytes allocated to the files in it.
    pub allocated: u64,
}

impl OwnedDir {
    /// Keeps others from taking it over, where the file system has locks; `None` if another
    /// has just done that.
    pub fn lock(&self) -> Option<Option<Held>> {
        let Some((file, marker)) = read_marker(&self.fd) else { return Some(None) };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => None,
            Err(_) => Some(None),
            Ok(()) => {
                let held = Held(file);
                let is_same = is_named(&self.fd, MARKER_FILE, &held.0)
                    && self.marker.as_ref() == Some(&marker);
                is_same.then_some(Some(held))
            }
        }
    }
}

/// All sub-directories of ours in `parent`; others are passed over in silence.
pub(crate) fn scan(parent: impl AsFd) -> rustix::io::Result<Vec<OwnedDir>> {
    let mut found = Vec::new();
    for name in entries(&parent)? {
        if name.to_bytes().starts_with(PREFIX.as_bytes())
            && let Some(dir) = look(&parent, name)
        {
            found.push(dir);
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn look(parent: impl AsFd, name: CString) -> Option<OwnedDir> {
    let fd = openat(parent, &name, OPEN_DIR, Mode::empty()).ok()?;
    let allocated = allocated(&fd).ok()?;
    match read_marker(&fd) {
        Some((file, marker)) => {
            let named = [PREFIX.as_bytes(), marker.run_id.as_bytes()].concat();
            let state = marker.state(&file);
            (named == name.to_bytes()).then_some(OwnedDir {
                name,
                fd,
                marker: Some(marker),
                state,
                allocated,
            })
        }
        None if is_unfinished(&fd) => {
            Some(OwnedDir { name, fd, marker: None, state: OwnerState::Dead, allocated })
        }
        None => None,
    }
}

fn read_marker(dir: impl AsFd) -> Option<(File, Marker)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(openat(dir, MARKER_FILE, flags, Mode::empty()).ok()?);
    let mut bytes = Vec::new();
    (&mut file).take(64 << 10).read_to_end(&mut bytes).ok()?;
    Some((file, Marker::parse(&bytes)?))
}

/// Nothing but a half-written marker, and old enough not to be in the making. `rmdir` of it
/// loses nothing.
fn is_unfinished(dir: impl AsFd) -> bool {
    const OLD_SECONDS: i64 = 60;
    let Ok(found) = rustix::fs::fstat(&dir) else { return false };
    let Ok(names) = entries(&dir) else { return false };
    let now = jiff::Timestamp::now().as_second();
    names.iter().all(|name| name.as_c_str() == MARKER_NEW) && now - found.st_mtime >= OLD_SECONDS
}

/// The names in a directory, without `.` and `..`.
pub(crate) fn entries(dir: impl AsFd) -> rustix::io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn allocated(dir: impl AsFd) -> rustix::io::Result<u64> {
    let mut bytes = 0;
    for name in entries(&dir)? {
        let found = statat(&dir, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        bytes += u64::try_from(found.st_blocks).unwrap_or(0) * 512;
    }
    Ok(bytes)
}

/// What the given sub-directories hold.
pub(crate) fn leftovers(dirs: &[OwnedDir]) -> Leftovers {
    dirs.iter().fold(Leftovers::default(), |sum, dir| {
        let reserved = match (&dir.marker, &dir.state) {
            (_, OwnerState::Dead) | (None, _) => 0,
            (Some(marker), _) => marker.reserved_bytes,
        };
        Leftovers {
            allocated: sum.allocated.saturating_add(dir.allocated),
            reserved: sum.reserved.saturating_add(dir.allocated.max(reserved)),
        }
    })
}

/// Removes `dir` from `parent`: disk files, the state directory, the marker last, so that an
/// interrupted removal is found again. Returns the names that are not ours and were kept,
/// together with the directory; an empty list means that it is gone.
pub(crate) fn remove(parent: impl AsFd, dir: &OwnedDir) -> rustix::io::Result<Vec<CString>> {
    let mut foreign = Vec::new();
    for name in entries(&dir.fd)? {
        let bytes = name.to_bytes();
        if name.as_c_str() == MARKER_FILE {
            continue;
        }
        if bytes == STATE.as_bytes() {
            remove_tree(&dir.fd, &name, &mut foreign)?;
        } else if (bytes.ends_with(DISK_SUFFIX.as_bytes()) || name.as_c_str() == MARKER_NEW)
            && is_plain_file(&dir.fd, &name)
        {
            gone(unlinkat(&dir.fd, &name, AtFlags::empty()))?;
        } else {
            foreign.push(name);
        }
    }
    if foreign.is_empty() {
        gone(unlinkat(&dir.fd, MARKER_FILE, AtFlags::empty()))?;
        gone(unlinkat(parent, &dir.name, AtFlags::REMOVEDIR))?;
    }
    Ok(foreign)
}

/// Removes the state directory: plain files in one level, nothing else.
fn remove_tree(
    parent: impl AsFd,
    name: &CStr,
    foreign: &mut Vec<CString>,
) -> rustix::io::Result<()> {
    let before = foreign.len();
    let dir = match openat(&parent, name, OPEN_DIR, Mode::empty()) {
        Ok(dir) => dir,
        Err(Errno::LOOP | Errno::NOTDIR) => {
            foreign.push(name.to_owned());
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    for inner in entries(&dir)? {
        if is_plain_file(&dir, &inner) {
            gone(unlinkat(&dir, &inner, AtFlags::empty()))?;
        } else {
            foreign.push(inner);
        }
    }
    if foreign.len() == before {
        gone(unlinkat(parent, name, AtFlags::REMOVEDIR))?;
    }
    Ok(())
}

pub(crate) fn is_plain_file(dir: impl AsFd, name: &CStr) -> bool {
    statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
}

/// Whether `name` leads to the open `file`.
pub(crate) fn is_named(dir: impl AsFd, name: &CStr, file: impl AsFd) -> bool {
    let named = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
    let open = rustix::fs::fstat(file);
    matches!((named, open), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}

/// That something is gone already is what was wanted.
fn gone(result: rustix::io::Result<()>) -> rustix::io::Result<()> {
    match result {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

/// A name as a path, for messages.
pub(crate) fn name_path(name: &CStr) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()))
}
