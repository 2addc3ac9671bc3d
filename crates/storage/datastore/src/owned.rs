//! Tilemark's sub-directories in an open directory: search and removal.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use units::Bytes;

use crate::file_system::Leftovers;
use crate::held::{self, HeldDir, entries, is_named, name_path};
use crate::made::{DEPTH_MAX, Removal, lingers};
use crate::mark::{MARKER_FILE, MARKER_NEW, PREFIX};
use crate::owner::{LockedMarker, Marker, Owned, OwnerState};
use crate::preflight::Examination;
use crate::removed::failures;
use crate::store::Fate;
use crate::{Options, Refusal};

/// Name of the directory for state beside the disks.
pub(crate) const STATE: &CStr = c"state";

/// Sub-directory of Tilemark, held open.
#[derive(Debug)]
pub(crate) struct OwnedDir {
    pub name: CString,
    pub fd: HeldDir,
    /// Marker of the run. `None` if the process was killed between creating the directory and
    /// marking it; then the directory is empty except for a half-written marker.
    pub marker: Option<Marker>,
    pub state: OwnerState,
    /// Bytes that are allocated to the files in the sub-directory, at any depth.
    pub allocated: u64,
}

impl OwnedDir {
    /// Locks the marker, to keep other processes from taking the sub-directory over. The inner
    /// value is `None` if the file system has no locks or there is no marker. The outer value is
    /// `None` if another process holds the lock or has replaced the marker.
    fn lock(&self) -> Option<Option<LockedMarker>> {
        let Some((file, marker)) = read_marker(&self.fd) else { return Some(None) };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => None,
            Err(_) => Some(None),
            Ok(()) => {
                let held = LockedMarker(file);
                let is_same = is_named(&self.fd, MARKER_FILE, &held.0)
                    && self.marker.as_ref() == Some(&marker);
                is_same.then_some(Some(held))
            }
        }
    }
}

/// Checks the rule that the run's sub-directory does not exist yet.
pub(crate) fn check_absent(
    fd: &HeldDir,
    resolved: &Path,
    options: &Options,
    examination: &mut Examination,
) {
    let name = format!("{PREFIX}{}", options.run_id);
    let exists = rustix::fs::statat(fd, &name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    let refusal = exists.then(|| Refusal::AlreadyThere { path: resolved.join(&name) });
    examination.check(
        "already-there",
        ("the run's own sub-directory does not exist", "absent"),
        format!("{name} {}", if exists { "exists" } else { "is absent" }),
        refusal,
    );
}

/// Returns all sub-directories of Tilemark in `parent`, and ignores other entries.
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
    let device = rustix::fs::fstat(&fd).ok()?.st_dev;
    let allocated = allocated(&fd, (device, DEPTH_MAX)).ok()?;
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

/// Returns the sub-directory of a run, with its name. `None` if it does not exist or carries no
/// marker of that run.
pub(crate) fn of_run(parent: impl AsFd, run_id: &str) -> Option<(CString, HeldDir)> {
    let name = CString::new(format!("{PREFIX}{run_id}")).ok()?;
    let dir = HeldDir::of(held::open_dir(parent, &name).ok()?, name_path(&name));
    let (_, marker) = read_marker(&dir)?;
    (marker.run_id == run_id).then_some((name, dir))
}

fn read_marker(dir: impl AsFd) -> Option<(File, Marker)> {
    let (file, bytes) = read_small(dir, MARKER_FILE)?;
    Some((file, Marker::parse(&bytes)?))
}

/// Opens a file without following links and without blocking, and reads its first 64 KiB.
fn read_small(dir: impl AsFd, name: &CStr) -> Option<(File, Vec<u8>)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let mut file = File::from(held::open_at(dir, name, flags, Mode::empty()).ok()?);
    let mut bytes = Vec::new();
    (&mut file).take(64 << 10).read_to_end(&mut bytes).ok()?;
    Some((file, bytes))
}

/// Returns true if the directory holds nothing except a half-written marker of Tilemark, and is too
/// old to be still in creation. Removing it loses nothing.
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

/// Sums up the bytes that are allocated to all entries below a directory on the file system
/// `device`, at most `depth` levels down: what a removal would free.
fn allocated(dir: &HeldDir, (device, depth): (u64, u32)) -> rustix::io::Result<u64> {
    let mut bytes = 0_u64;
    for name in entries(dir)? {
        // Servers of a live run remove files at any time.
        let Ok(found) = held::look(dir, &name) else { continue };
        if found.st_dev != device {
            continue;
        }
        bytes = bytes.saturating_add(u64::try_from(found.st_blocks).unwrap_or(0) * 512);
        let is_dir = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        if is_dir
            && depth > 0
            && let Ok(inner) = dir.open_dir(&name)
        {
            bytes = bytes.saturating_add(allocated(&inner, (device, depth - 1)).unwrap_or(0));
        }
    }
    Ok(bytes)
}

fn size_of_fs(dir: impl AsFd) -> u64 {
    rustix::fs::fstatvfs(dir).map_or(0, |space| space.f_blocks.saturating_mul(space.f_frsize))
}

/// Sums up the space that these sub-directories use and reserve.
pub(crate) fn leftovers(dirs: &[OwnedDir]) -> Leftovers {
    dirs.iter().fold(Leftovers::default(), |sum, dir| {
        let reserved = match (&dir.marker, &dir.state) {
            (_, OwnerState::Dead) | (None, _) => 0,
            // A reservation larger than the file system is not plausible, so only the allocated
            // bytes count.
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
    /// Describes the sub-directory, which was found in `dir`.
    pub fn owned(&self, dir: &Path) -> Owned {
        let marker = self.marker.as_ref();
        Owned {
            path: dir.join(name_path(&self.name)),
            run_id: marker.map_or_else(String::new, |marker| marker.run_id.clone()),
            state: self.state.clone(),
            bytes: Bytes::new(self.allocated),
            created: marker.map_or_else(String::new, |marker| marker.created.clone()),
        }
    }

    /// Locks the marker like [`OwnedDir::lock`]. If another process holds the lock, returns that as
    /// the reason why the directory stays.
    pub fn locked(&self) -> Result<Option<LockedMarker>, Fate> {
        let stays = || Some("another process holds its marker".to_owned());
        self.lock().ok_or_else(|| Fate { stays: stays(), failed: Vec::new() })
    }

    /// Removes the sub-directory from `parent`, with all objects that were created in it. Messages
    /// show it as `path`.
    pub fn remove(self, held: Option<LockedMarker>, parent: &HeldDir, path: &Path) -> Fate {
        let removal = remove(parent, (&self.name, &self.fd), self.marker_name(), held);
        Fate { stays: stayed(&removal), failed: failures(path, removal.failed) }
    }

    /// Returns the name of the file that is removed last: the marker, or a half-written marker.
    fn marker_name(&self) -> &'static CStr {
        if self.marker.is_some() { MARKER_FILE } else { MARKER_NEW }
    }
}

/// Removes the objects that were created in `dir`, then the file `marker`, then the directory under
/// its `name` in `parent`. This order lets a cleanup find an interrupted removal. `held` is the
/// open marker, if any. It is closed before the marker is removed, because a file system may keep a
/// removed file while it is open.
pub(crate) fn remove(
    parent: &HeldDir,
    (name, dir): (&CStr, &HeldDir),
    marker: &CStr,
    held: Option<LockedMarker>,
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

/// Returns the reasons why a sub-directory stays, with the names for each reason.
fn stayed(removal: &Removal) -> Option<String> {
    let list = |what: &str, names: &[PathBuf]| {
        let names: Vec<String> = names.iter().map(|name| name.display().to_string()).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    let failed: Vec<PathBuf> = removal.failed.iter().map(|(name, _)| name.clone()).collect();
    let reasons: Vec<String> = [
        list("not made by Tilemark, so it stays", &removal.kept),
        list("kept by the file system until it is closed elsewhere", &removal.lingering),
        list("cannot be removed", &failed),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}
