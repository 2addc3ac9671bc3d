//! One file as datastore, divided between the virtual disks.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, fstat, linkat};
use rustix::io::Errno;
use units::Bytes;

use crate::direct::{self, Access};
use crate::directory::reserve_to;
use crate::file_examine::{Examined, Existing, identity, locate};
use crate::file_system::room;
use crate::held;
use crate::kernel::{OpenElsewhere, open_elsewhere};
use crate::layout::Carver;
use crate::object::reopen;
use crate::owner::{Marker, OwnerState, lock};
use crate::preflight::{Preflight, Warning};
use crate::{DatastoreError, DiskRequest, Options, Refusal, VirtualDisk, file_marker};

/// An open file datastore. Dropping it leaves the file for `cleanup`.
#[derive(Debug)]
pub(crate) struct FileStore {
    dir: OwnedFd,
    name: CString,
    path: PathBuf,
    data: Arc<File>,
    access: Access,
    writable: bool,
    /// The file existed before us and stays.
    keep: bool,
    size_before: u64,
    carver: Carver,
    warnings: Vec<Warning>,
}

impl FileStore {
    /// Creates and marks the file, or claims the examined one.
    pub fn open(
        examined: Examined,
        preflight: &Preflight,
        options: &Options,
    ) -> Result<Self, DatastoreError> {
        let Examined { dir, name, path, existing } = examined;
        let mut marker = Marker::new(&options.run_id, Bytes::new(preflight.needed_bytes));
        let size_before =
            existing.as_ref().map_or(0, |existing| existing.stat.st_size.unsigned_abs());
        let file = match existing {
            Some(existing) if !options.write => existing.file,
            Some(existing) => {
                marker.keep = existing.marker.as_ref().is_none_or(|marker| marker.keep);
                claim(existing, &dir, &name, &path, &marker)?
            }
            None => create(&dir, &name, &path, &marker)?,
        };
        let (access, warning) =
            direct::choose(&file, &path.display().to_string(), options.buffered);
        Ok(Self {
            dir,
            name,
            path,
            data: Arc::new(file),
            access,
            writable: options.write,
            keep: marker.keep,
            size_before,
            carver: Carver::new(0, preflight.capacity_bytes),
            warnings: warning.into_iter().collect(),
        })
    }

    /// Warnings that came up while opening.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that may be given out now without touching the file system's reserve.
    pub fn room(&self) -> Bytes {
        if !self.writable {
            return self.carver.available();
        }
        let inside = self.size_before.saturating_sub(self.carver.given());
        self.carver.available().min(room(&*self.data) + Bytes::new(inside))
    }

    /// Gives the next range to a disk and reserves its space.
    pub fn create_disk(
        &mut self,
        request: &DiskRequest,
    ) -> Result<(VirtualDisk, Vec<Warning>), DatastoreError> {
        if !request.size.get().is_multiple_of(u64::from(self.access.alignment)) {
            return Err(DatastoreError::SizeUnaligned {
                disk: request.name.clone(),
                size: request.size,
                alignment: self.access.alignment,
            });
        }
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
            match reserve_to(&self.data, base + request.size.get()) {
                Ok(id) => warnings.extend(id.map(|id| {
                    let text = format!(
                        "the file system of {} cannot allocate in advance, so it may fill up during the run",
                        self.path.display()
                    );
                    Warning::new(id, text)
                })),
                Err(Errno::NOSPC | Errno::DQUOT) => {
                    return Err(DatastoreError::NoSpace {
                        disk: request.name.clone(),
                        size: request.size,
                        path: self.path.clone(),
                    });
                }
                Err(error) => return Err(DatastoreError::io("allocate", &self.path, error)),
            }
        }
        self.carver = carver;
        let disk = VirtualDisk {
            file: Arc::clone(&self.data),
            base,
            size: request.size,
            alignment: self.access.alignment,
            direct: self.access.direct,
            writable: self.writable,
            name: request.name.clone(),
        };
        Ok((disk, warnings))
    }

    /// Removes the file if we created it; takes our marker off one that existed before.
    pub fn remove(self) -> Result<Option<PathBuf>, DatastoreError> {
        if !self.writable {
            return Ok(None);
        }
        remove_marked(&self.dir, &self.name, &self.data, self.keep)
            .map_err(|error| DatastoreError::io("remove", &self.path, error))
            .map(|gone| gone.then_some(self.path))
    }
}

/// Opens an examined file for writing: the same inode, checked once more, then marked.
fn claim(
    existing: Existing,
    dir: &OwnedFd,
    name: &CString,
    path: &Path,
    marker: &Marker,
) -> Result<File, DatastoreError> {
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
    lock(&file);
    file_marker::write(dir, name, &file, marker)
        .map_err(|error| DatastoreError::io("mark", path, error))?;
    Ok(file)
}

/// Creates the file with its marker. Where the file system can, it appears under its name
/// with the marker already in place; elsewhere a kill in between leaves an empty file.
fn create(
    dir: &OwnedFd,
    name: &CString,
    path: &Path,
    marker: &Marker,
) -> Result<File, DatastoreError> {
    let mode = Mode::RUSR | Mode::WUSR;
    let nameless = held::open_at(dir, c".", OFlags::TMPFILE | OFlags::RDWR, mode);
    let result = match nameless {
        Ok(fd) if file_marker::write_attribute(&fd, marker).is_ok() => {
            let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
            linkat(rustix::fs::CWD, link, dir, name, AtFlags::SYMLINK_FOLLOW).map(|()| fd)
        }
        _ => held::create(dir, name).and_then(|file| {
            file_marker::write(dir, name, &file, marker)
                .inspect_err(|_| {
                    let _ = held::unlink(dir, name);
                })
                .map(|()| file.into())
        }),
    };
    match result {
        Ok(fd) => {
            lock(&fd);
            Ok(File::from(fd))
        }
        Err(Errno::EXIST) => Err(Refusal::AlreadyThere { path: path.to_owned() }.into()),
        Err(error) => Err(DatastoreError::io("create", path, error)),
    }
}

/// Removes a file of ours by name, if the name still leads to it; `false` when it stays.
fn remove_marked(
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
    file_marker::erase(dir, name, file);
    Ok(named && !keep)
}

/// A marked file, its marker and its owner's state, for `cleanup`.
pub(crate) struct Marked {
    examined: Examined,
    pub marker: Marker,
    pub state: OwnerState,
    pub allocated: u64,
}

/// Looks for our marker on a file; reads only.
pub(crate) fn find_marked(path: &Path) -> Result<Option<Marked>, DatastoreError> {
    let options = Options { write: false, ..Options::default() };
    let mut examined = locate(path, &options)?;
    let Some(existing) = &mut examined.existing else { return Ok(None) };
    let Some(marker) = existing.marker.take() else { return Ok(None) };
    let state = marker.state(&existing.file);
    let allocated = u64::try_from(existing.stat.st_blocks).unwrap_or(0) * 512;
    Ok(Some(Marked { examined, marker, state, allocated }))
}

impl Marked {
    /// Removes the file, or only its marker when it existed before; whether it is gone.
    pub fn remove(self) -> Result<bool, DatastoreError> {
        let Examined { dir, name, path, existing } = self.examined;
        let existing = existing.expect("a marked file exists");
        let links = u32::try_from(existing.stat.st_nlink).unwrap_or(u32::MAX);
        if links != 1 {
            return Err(Refusal::HardLinks { path, links }.into());
        }
        remove_marked(&dir, &name, &existing.file, self.marker.keep)
            .map_err(|error| DatastoreError::io("remove", path, error))
    }
}
