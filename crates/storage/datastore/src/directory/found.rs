//! Sub-directories of runs in a directory, dead or alive.

use std::ffi::CStr;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, fstat};
use rustix::io::Errno;
use units::Bytes;

use crate::disk_name::disk_name;
use crate::held::{self, HeldDir};
use crate::object::kind_of;
use crate::owned::{self, OwnedDir, STATE};
use crate::owner::Owned;
use crate::store::{Fate, Left, RunLeftover};
use crate::{CleanupOptions, DatastoreError, DiskRequest, Refusal, VirtualDisk, direct};

/// Sub-directory of Tilemark.
struct FoundDir {
    parent: HeldDir,
    item: OwnedDir,
    owned: Owned,
}

/// Finds the sub-directories of Tilemark in a directory.
pub(super) fn find(dir: &Path) -> Result<Vec<Box<dyn RunLeftover>>, DatastoreError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(dir, flags, Mode::empty()).map_err(|error| match error {
        Errno::NOENT => Refusal::Missing { path: dir.to_owned() }.into(),
        Errno::NOTDIR => {
            Refusal::WrongKind { path: dir.to_owned(), found: kind_of(dir), wanted: "directory" }
                .into()
        }
        error => DatastoreError::io("open directory", dir, error),
    })?;
    let parent = HeldDir::of(fd, dir);
    let found = owned::scan(&parent).map_err(|error| DatastoreError::io("list", dir, error))?;
    let found = found.into_iter().map(|item| -> Box<dyn RunLeftover> {
        let owned = item.owned(dir);
        Box::new(FoundDir { parent: parent.clone(), item, owned })
    });
    Ok(found.collect())
}

impl RunLeftover for FoundDir {
    fn owned(&self) -> &Owned {
        &self.owned
    }

    fn disks(&self) -> Result<Vec<DiskRequest>, DatastoreError> {
        let names = held::entries(&self.item.fd)
            .map_err(|error| DatastoreError::io("list", &self.owned.path, error))?;
        Ok(names.iter().filter_map(|file_name| disk_of(&self.item, file_name)).collect())
    }

    fn open(&self) -> Result<Left, DatastoreError> {
        let path = &self.owned.path;
        let disks = open_disks(&self.item, path)?;
        Ok(Left::Disks { state_dir: self.item.fd.shown_as(path).open_dir(STATE).ok(), disks })
    }

    fn remove(self: Box<Self>, _: &CleanupOptions) -> Result<Fate, DatastoreError> {
        Ok(match self.item.locked() {
            Ok(held) => self.item.remove(held, &self.parent, &self.owned.path),
            Err(stays) => stays,
        })
    }
}

fn disk_of(item: &OwnedDir, file_name: &CStr) -> Option<DiskRequest> {
    let name = disk_name(file_name.to_str().ok()?)?;
    let status = held::look(&item.fd, file_name).ok()?;
    let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    is_file.then(|| DiskRequest { name, size: Bytes::new(status.st_size.unsigned_abs()) })
}

fn open_disks(item: &OwnedDir, path: &Path) -> Result<Vec<VirtualDisk>, DatastoreError> {
    let io = |what, error| DatastoreError::io(what, path, error);
    let mut disks = Vec::new();
    for file_name in held::entries(&item.fd).map_err(|error| io("list", error))? {
        let Some(name) = file_name.to_str().ok().and_then(disk_name) else { continue };
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let fd = held::open_at(&item.fd, &file_name, flags, Mode::empty())
            .map_err(|error| io("open a disk in", error))?;
        let status = fstat(&fd).map_err(|error| io("examine a disk in", error))?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            continue;
        }
        let file = File::from(fd);
        let (access, _) = direct::choose(&file, &path.display().to_string(), false);
        disks.push(VirtualDisk {
            file: Arc::new(file),
            base: 0,
            size: Bytes::new(u64::try_from(status.st_size).unwrap_or(0)),
            alignment: access.alignment,
            direct: access.direct,
            writable: false,
            name,
        });
    }
    disks.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(disks)
}
