//! The sub-directories of ours in an open directory: looking, and removing exactly them.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use crate::file_system::Leftovers;
pub(crate) use crate::held::name_path;
use crate::held::{self, HeldDir, entries, is_named};
use crate::made::{Removal, lingers};
use crate::owner::{Held, Marker, OwnerState};

/// The beginning of the name of every sub-directory of ours; the run id follows.
pub(crate) const PREFIX: &str = ".tilemark-";
/// The marker inside.
pub(crate) const MARKER_FILE: &CStr = c"owner.json";
/// The marker while it is being written.
pub(crate) const MARKER_NEW: &CStr = c"owner.json.new";
/// Directory for state kept beside the disks.
pub(crate) const STATE: &CStr = c"state";

/// A sub-directory with a valid marker, held open.
#[derive(Debug)]
pub(crate) struct OwnedDir {
    pub name: CString,
    pub fd: HeldDir,
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
    let fd = HeldDir::of(held::open_dir(parent, &name).ok()?, name_path(&name));
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
    let (file, bytes) = read_small(dir, MARKER_FILE)?;
    Some((file, Marker::parse(&bytes)?))
}

/// A file that is no link and not waited for, with the first 64 KiB of it.
fn read_small(dir: impl AsFd, name: &CStr) -> Option<(File, Vec<u8>)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let mut file = File::from(held::open_at(dir, name, flags, Mode::empty()).ok()?);
    let mut bytes = Vec::new();
    (&mut file).take(64 << 10).read_to_end(&mut bytes).ok()?;
    Some((file, bytes))
}

/// Nothing but a marker half written by us, and old enough not to be in the making. `rmdir` of
/// it loses nothing.
fn is_unfinished(dir: impl AsFd) -> bool {
    const OLD_SECONDS: i64 = 60;
    let Ok(found) = rustix::fs::fstat(&dir) else { return false };
    let Ok(names) = entries(&dir) else { return false };
    let now = jiff::Timestamp::now().as_second();
    let is_half = || read_small(&dir, MARKER_NEW).is_some_and(|(_, half)| Marker::begins(&half));
    let is_rest =
        |name: &CString| if name.as_c_str() == MARKER_NEW { is_half() } else { lingers(name) };
    names.iter().all(is_rest) && now - found.st_mtime >= OLD_SECONDS
}

fn allocated(dir: impl AsFd) -> rustix::io::Result<u64> {
    let mut bytes = 0;
    for name in entries(&dir)? {
        let found = held::look(&dir, &name)?;
        bytes += u64::try_from(found.st_blocks).unwrap_or(0) * 512;
    }
    Ok(bytes)
}

fn size_of_fs(dir: impl AsFd) -> u64 {
    rustix::fs::fstatvfs(dir).map_or(0, |space| space.f_blocks.saturating_mul(space.f_frsize))
}

/// What the given sub-directories hold.
pub(crate) fn leftovers(dirs: &[OwnedDir]) -> Leftovers {
    dirs.iter().fold(Leftovers::default(), |sum, dir| {
        let reserved = match (&dir.marker, &dir.state) {
            (_, OwnerState::Dead) | (None, _) => 0,
            // More than the file system has is nobody's reserve: only what is there counts.
            (Some(marker), _) if marker.reserved_bytes > size_of_fs(&dir.fd) => 0,
            (Some(marker), _) => marker.reserved_bytes,
        };
        Leftovers {
            allocated: sum.allocated.saturating_add(dir.allocated),
            reserved: sum.reserved.saturating_add(dir.allocated.max(reserved)),
        }
    })
}

impl OwnedDir {
    /// What is removed last: the marker, or the half of one.
    pub fn marker_name(&self) -> &'static CStr {
        if self.marker.is_some() { MARKER_FILE } else { MARKER_NEW }
    }
}

/// Removes from `dir` what was made in it, then the file `marker`, then itself under its `name`
/// in `parent`: an interrupted removal is found again. `held` is the marker where it is open: a
/// file system may keep a removed file for as long as it is.
pub(crate) fn remove(
    parent: &HeldDir,
    (name, dir): (&CStr, &HeldDir),
    marker: &CStr,
    held: Option<Held>,
) -> Removal {
    let mut removal = Removal::default();
    let nothing = Path::new("");
    let is_emptied = removal.empty(dir, nothing, &[marker]) && removal.list_of(dir, nothing);
    drop(held);
    if is_emptied && removal.gone(held::unlink(dir, marker), name_path(marker)) {
        removal.removed_dir(parent, name, dir, nothing);
    }
    removal
}
