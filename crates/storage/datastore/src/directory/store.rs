//! Sub-directory of a run, with its disks.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, fchmod, fstat, ioctl_ficlone, unlinkat};
use units::Bytes;

use super::{adopt, filled};
use crate::direct;
use crate::disk_name::disk_file_name;
use crate::held::{self, HeldDir, name_path};
use crate::made::OwnDir;
use crate::mark::{MARKER_FILE, Mark};
use crate::owned::{self, OwnedDir, STATE};
use crate::owner::Marker;
use crate::preflight::Warning;
use crate::removed::Removed;
use crate::reserve::reserve;
use crate::store::{Claim, Claimed, Lent, Remembers};
use crate::{DatastoreError, DiskRequest, Fill, Options, VirtualDisk};

/// Open directory datastore. Dropping it leaves all files in place for `cleanup`.
#[derive(Debug)]
pub(super) struct DirectoryStore {
    parent: HeldDir,
    name: CString,
    own: OwnDir,
    state: OwnDir,
    /// True if an earlier run created the sub-directory. Its existing disks are opened.
    is_adopted: bool,
    path: PathBuf,
    buffered: bool,
}

impl DirectoryStore {
    /// Creates the sub-directory, its marker and the state directory.
    pub fn create(
        (parent, resolved): (HeldDir, PathBuf),
        needed: Bytes,
        options: &Options,
    ) -> Result<Claim, DatastoreError> {
        let marker = Marker::new(&options.run_id, needed);
        let (name, own, mark) = Mark::make(&parent, &resolved, &marker)?;
        let path = resolved.join(name_path(&name));
        let state = own.sub(STATE).map_err(|error| {
            let _ = unlinkat(&parent, &name, AtFlags::REMOVEDIR);
            DatastoreError::io("create the marker in", &path, error)
        })?;
        let buffered = options.buffered;
        let store = Self { parent, name, own, state, is_adopted: false, path, buffered };
        Ok(store.claimed(mark))
    }

    /// Takes the sub-directory of an earlier run over.
    pub fn adopt(
        (parent, resolved): (HeldDir, PathBuf),
        dir: OwnedDir,
        (needed, run_id, options): (Bytes, &str, &Options),
    ) -> Result<Claim, DatastoreError> {
        let path = resolved.join(name_path(&dir.name));
        let (own, state, held) = adopt::claim(&dir, needed, run_id, &path)?;
        let (name, buffered) = (dir.name, options.buffered);
        let store = Self { parent, name, own, state, is_adopted: true, path, buffered };
        Ok(store.claimed(Mark::of(held)))
    }

    fn claimed(self, mark: Mark) -> Claim {
        Claim { mark, claimed: Box::new(self), warnings: Vec::new() }
    }

    fn disk(
        &self,
        file: File,
        request: &DiskRequest,
    ) -> Result<(VirtualDisk, Vec<Warning>), DatastoreError> {
        let (access, warning) =
            direct::choose(&file, &self.path.display().to_string(), self.buffered);
        let disk = request.disk(&Arc::new(file), 0, (access, true))?;
        Ok((disk, warning.into_iter().collect()))
    }

    /// Opens an existing disk in this directory; `None` if it does not exist.
    fn open_in(
        &self,
        dir: &OwnDir,
        request: &DiskRequest,
    ) -> Result<Option<(VirtualDisk, Vec<Warning>)>, DatastoreError> {
        let file_name = disk_file_name(&request.name)?;
        let path = dir.path().join(name_path(&file_name));
        let Some(file) = adopt::open_disk(dir, &file_name, &path)? else { return Ok(None) };
        let has = fstat(&file).map_err(|error| DatastoreError::io("look at", &path, error))?;
        let has = Bytes::new(has.st_size.unsigned_abs());
        if has != request.size {
            let (disk, asked) = (request.name.clone(), request.size);
            return Err(DatastoreError::SizeChanged { disk, has, asked });
        }
        self.disk(file, request).map(Some)
    }
}

impl Claimed for DirectoryStore {
    fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the free bytes above the file system's reserve.
    fn room(&self) -> Bytes {
        crate::file_system::room(&self.own)
    }

    /// Creates a file and allocates all its space.
    fn create_disk(
        &mut self,
        request: &DiskRequest,
    ) -> Result<(VirtualDisk, Vec<Warning>), DatastoreError> {
        let file_name = disk_file_name(&request.name)?;
        let path = self.path.join(name_path(&file_name));
        filled::erase(&self.state, &request.name);
        let file = self
            .own
            .create(&file_name)
            .map_err(|error| DatastoreError::io("create disk file", &path, error))?;
        let undo = |error| {
            let _ = held::unlink(&self.own, &file_name);
            error
        };
        let mut warnings: Vec<Warning> =
            reserve(&file, request.size.get(), request, (&path, &self.path))
                .map_err(undo)?
                .into_iter()
                .collect();
        let (disk, warning) = self.disk(file, request).map_err(undo)?;
        warnings.extend(warning);
        Ok((disk, warnings))
    }

    fn try_link(&self) -> Result<(), DatastoreError> {
        let names = [c"link-tried-from", c"link-tried-to"];
        let tried = || -> std::io::Result<()> {
            let [mut from, to] = [self.own.create(names[0])?, self.own.create(names[1])?];
            from.write_all(&[1; 4096])?;
            Ok(ioctl_ficlone(&to, &from)?)
        };
        let tried = tried();
        for name in names {
            // A file that was not made cannot be unlinked, and any other is removed with the
            // directory.
            let _ = held::unlink(&self.own, name);
        }
        tried.map_err(|source| {
            let (path, source) = (self.path.clone(), Arc::new(source));
            DatastoreError::NoReflink { path, what: None, source }
        })
    }

    fn remembers(&self) -> Option<&dyn Remembers> {
        Some(self)
    }

    /// Removes the files and the sub-directory. If the sub-directory was renamed, it is emptied but
    /// stays.
    fn remove(self: Box<Self>, mark: Mark) -> Removed {
        drop(self.state);
        let place = (&*self.name, &*self.own);
        let removal = owned::remove(&self.parent, place, MARKER_FILE, mark.into_held());
        Removed::directory(self.path, removal)
    }
}

impl Remembers for DirectoryStore {
    fn state_dir(&self) -> &OwnDir {
        &self.state
    }

    fn tree(&self, name: &CStr) -> Result<HeldDir, DatastoreError> {
        let passable = Mode::RWXU | Mode::XGRP | Mode::XOTH;
        let made = fchmod(&self.own, passable).map_err(Into::into);
        made.and_then(|()| self.own.tree(name)).map_err(|error| {
            DatastoreError::io("make a directory for programs in", &self.path, error)
        })
    }

    fn is_taken_over(&self) -> bool {
        self.is_adopted
    }

    fn open_disk(
        &self,
        request: &DiskRequest,
    ) -> Result<Option<(VirtualDisk, Vec<Warning>)>, DatastoreError> {
        if self.is_adopted { self.open_in(&self.own, request) } else { Ok(None) }
    }

    fn lent(&self, run_id: &str, requests: &[DiskRequest]) -> Result<Lent, DatastoreError> {
        let around = self.path.parent().unwrap_or(&self.path);
        let missing =
            || DatastoreError::NoPart { run_id: run_id.to_owned(), path: around.to_owned() };
        let (name, dir) = owned::of_run(&self.parent, run_id).ok_or_else(missing)?;
        let path = around.join(name_path(&name));
        let opened = OwnDir::over(dir.shown_as(&path))
            .and_then(|own| Ok((own.sub(STATE)?, own)))
            .map_err(|error| DatastoreError::io("open", &path, error))?;
        let (state_dir, own) = opened;
        let open = |request: &DiskRequest| {
            let found = self.open_in(&own, request)?;
            found.map(|(disk, _)| disk).ok_or_else(missing)
        };
        let disks = requests.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Lent { state_dir, disks })
    }

    fn has_disk(&self, disk: &str) -> bool {
        disk_file_name(disk).is_ok_and(|name| held::is_plain_file(&self.own, &name))
    }

    fn is_filled(&self, disk: &VirtualDisk, fill: &Fill) -> bool {
        filled::read(&self.state, disk).is_some_and(|recorded| recorded.is_like(fill))
    }

    fn record_filled(&self, disk: &VirtualDisk, fill: &Fill) -> Result<(), DatastoreError> {
        filled::write(&self.state, disk, fill).map_err(|error| {
            DatastoreError::io("record a filled disk in", self.state.path(), error)
        })
    }
}
