//! File that is claimed, marked and divided.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, fstat, linkat};
use rustix::io::Errno;
use units::Bytes;

use super::located::{Existing, Located, identity};
use super::marker;
use crate::direct::{self, Access};
use crate::file_system::room;
use crate::held;
use crate::kernel::{OpenElsewhere, open_elsewhere};
use crate::layout::Carver;
use crate::mark::Mark;
use crate::object::reopen;
use crate::owner::Marker;
use crate::preflight::{Preflight, Warning};
use crate::removed::Removed;
use crate::reserve::reserve;
use crate::store::{Claim, Claimed, Remembers};
use crate::{DatastoreError, DiskRequest, Options, Refusal, VirtualDisk};

/// Open file datastore. Dropping it leaves the file for `cleanup`.
#[derive(Debug)]
struct FileStore {
    dir: OwnedFd,
    name: CString,
    path: PathBuf,
    data: Arc<File>,
    access: Access,
    writable: bool,
    /// True if the file existed before Tilemark used it, and therefore stays.
    keep: bool,
    size_before: u64,
    carver: Carver,
}

/// Creates and marks the file, or claims the examined file.
pub(super) fn claim(
    located: Located,
    preflight: &Preflight,
    options: &Options,
) -> Result<Claim, DatastoreError> {
    let Located { dir, name, path, existing, .. } = located;
    let mut marker = Marker::new(&options.run_id, Bytes::new(preflight.needed_bytes));
    let size_before = existing.as_ref().map_or(0, |existing| existing.stat.st_size.unsigned_abs());
    let (file, mark) = match (existing, Mark::read_only(options)) {
        (Some(existing), Some(mark)) => (existing.file, mark),
        (Some(existing), None) => {
            marker.keep = existing.marker.as_ref().is_none_or(|marker| marker.keep);
            take(existing, &dir, &name, &path, &marker)?
        }
        (None, _) => create(&dir, &name, &path, &marker)?,
    };
    let (access, warning) = direct::choose(&file, &path.display().to_string(), options.buffered);
    let store = FileStore {
        dir,
        name,
        path,
        data: Arc::new(file),
        access,
        writable: options.write,
        keep: marker.keep,
        size_before,
        carver: Carver::new(0, preflight.capacity_bytes),
    };
    Ok(Claim { mark, claimed: Box::new(store), warnings: warning.into_iter().collect() })
}

impl Claimed for FileStore {
    fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the bytes that may be assigned to disks above the file system's reserve.
    fn room(&self) -> Bytes {
        if !self.writable {
            return self.carver.available();
        }
        let inside = self.size_before.saturating_sub(self.carver.given());
        self.carver.available().min(room(&*self.data) + Bytes::new(inside))
    }

    /// Creates a disk on the next free range, and allocates its space.
    fn create_disk(
        &mut self,
        request: &DiskRequest,
    ) -> Result<(VirtualDisk, Vec<Warning>), DatastoreError> {
        request.check_alignment(self.access.alignment)?;
        let available = self.carver.available();
        let mut carver = self.carver;
        let base = carver.carve(request.size).ok_or_else(|| DatastoreError::DoesNotFit {
            disk: request.name.clone(),
            target: format!("file:{}", self.path.display()),
            needed: request.size,
            available,
            capacity: available,
        })?;
        let mut warnings = Vec::new();
        if self.writable {
            let end = base + request.size.get();
            let reserved = reserve(&self.data, end, request, (&self.path, &self.path))?;
            warnings.extend(reserved);
        }
        self.carver = carver;
        let disk = request.disk(&self.data, base, (self.access, self.writable))?;
        Ok((disk, warnings))
    }

    /// Always fails: all disks are parts of one file, and reflinks share blocks only between files.
    fn try_link(&self) -> Result<(), DatastoreError> {
        Err(DatastoreError::no_reflink(self.path()))
    }

    /// Returns `None`, because a file does not record which disk was where.
    fn remembers(&self) -> Option<&dyn Remembers> {
        None
    }

    /// Removes the file if we created it. If it existed before, only the marker is removed.
    fn remove(self: Box<Self>, mark: Mark) -> Removed {
        if !self.writable {
            return Removed::default();
        }
        let removed = remove_marked(&self.dir, &self.name, &self.data, self.keep)
            .map_err(|error| DatastoreError::io("remove", &self.path, error))
            .map(|gone| gone.then_some(self.path));
        drop(mark);
        Removed::one(removed)
    }
}

/// Opens an examined file for writing: checks that it is the same inode and not open elsewhere,
/// then marks it.
fn take(
    existing: Existing,
    dir: &OwnedFd,
    name: &CString,
    path: &Path,
    owner: &Marker,
) -> Result<(File, Mark), DatastoreError> {
    let file = reopen(&existing.file, OFlags::RDWR)
        .map_err(|error| DatastoreError::io("open for writing", path, error))?;
    let before = existing.stat;
    drop(existing.file);
    let now = fstat(&file).map_err(|error| DatastoreError::io("look at", path, error))?;
    let links = u32::try_from(now.st_nlink).unwrap_or(u32::MAX);
    if links != 1 {
        return Err(Refusal::HardLinks { path: path.to_owned(), links }.into());
    }
    if (identity(&now), now.st_size) != (identity(&before), before.st_size) {
        return Err(Refusal::Changed {
            path: path.to_owned(),
            what: "the size",
            was: before.st_size.to_string(),
            is: now.st_size.to_string(),
        }
        .into());
    }
    if open_elsewhere(&file) == OpenElsewhere::Yes {
        let user = "another process".to_owned();
        return Err(Refusal::FileInUse { path: path.to_owned(), user }.into());
    }
    let mark = Mark::on(&file);
    marker::write(dir, name, &file, owner)
        .map_err(|error| DatastoreError::io("mark", path, error))?;
    Ok((file, mark))
}

/// Creates the file with its marker. If the file system can, the file appears under its name with
/// the marker in place. Otherwise a kill in between leaves an empty file.
fn create(
    dir: &OwnedFd,
    name: &CString,
    path: &Path,
    owner: &Marker,
) -> Result<(File, Mark), DatastoreError> {
    let mode = Mode::RUSR | Mode::WUSR;
    let nameless = held::open_at(dir, c".", OFlags::TMPFILE | OFlags::RDWR, mode);
    let result = match nameless {
        Ok(fd) if marker::write_attribute(&fd, owner).is_ok() => {
            let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
            linkat(rustix::fs::CWD, link, dir, name, AtFlags::SYMLINK_FOLLOW).map(|()| fd)
        }
        _ => held::create(dir, name).and_then(|file| {
            marker::write(dir, name, &file, owner)
                .inspect_err(|_| {
                    let _ = held::unlink(dir, name);
                })
                .map(|()| file.into())
        }),
    };
    match result {
        Ok(fd) => {
            let file = File::from(fd);
            let mark = Mark::on(&file);
            Ok((file, mark))
        }
        Err(Errno::EXIST) => Err(Refusal::AlreadyThere { path: path.to_owned() }.into()),
        Err(error) => Err(DatastoreError::io("create", path, error)),
    }
}

/// Removes a file of Tilemark by name, if the name still leads to it. Returns `false` if the file
/// stays.
pub(super) fn remove_marked(
    dir: &OwnedFd,
    name: &CString,
    file: &File,
    keep: bool,
) -> rustix::io::Result<bool> {
    let named = match held::look(dir, name) {
        Ok(named) => identity(&named) == identity(&fstat(file)?),
        Err(Errno::NOENT) => false,
        Err(error) => return Err(error),
    };
    if named && !keep {
        held::unlink(dir, name)?;
    }
    marker::erase(dir, name, file);
    Ok(named && !keep)
}
