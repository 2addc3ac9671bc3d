use std::ffi::CStr;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use units::Bytes;

use crate::adopt;
use crate::block::{self, BlockStore};
use crate::directory::{self, DirectoryStore};
use crate::file::FileStore;
use crate::held::HeldDir;
use crate::made::{OwnDir, Removal};
use crate::preflight::{Examination, Preflight, Warning};
use crate::{
    DatastoreError, DiskRequest, Fill, Options, Refusal, Target, VirtualDisk, file_examine, layout,
};

/// Checks a target and reports every rule, broken or not. Reads only.
///
/// `needed` is the sum of the disks' sizes, each rounded up to 1 MiB.
pub fn examine(target: &Target, needed: Bytes, options: &Options) -> Examination {
    let mut examination = Examination::new(&target.to_string(), needed);
    check_adoption(target, options, &mut examination);
    match target {
        Target::Directory(path) => {
            directory::examine(path, options, &mut examination);
        }
        Target::File(path) => {
            file_examine::examine(path, options, &mut examination);
        }
        Target::Block(path) => {
            block::examine(path, options, &mut examination);
        }
    }
    examination
}

/// As [`examine`], and the first broken rule is the error. Reads only.
pub fn preflight(target: &Target, needed: Bytes, options: &Options) -> Result<Preflight, Refusal> {
    examine(target, needed, options).into_result()
}

fn check_adoption(target: &Target, options: &Options, examination: &mut Examination) {
    if options.adopt.is_some() {
        match target {
            Target::Directory(_) => {}
            Target::File(path) => adopt::check_kind(path, "file", examination),
            Target::Block(path) => adopt::check_kind(path, "block device", examination),
        }
    }
}

/// What was removed and what stayed.
#[derive(Debug, Clone, Default)]
pub struct Removed {
    /// Directories and files that are gone, and devices whose label was erased.
    pub removed: Vec<PathBuf>,
    /// What was found in a directory of ours and is not ours; it stays, with the directory.
    pub kept: Vec<PathBuf>,
    /// What the file system keeps for as long as it is open somewhere, with the directory.
    pub lingering: Vec<PathBuf>,
    /// What could not be removed; the rest was.
    pub failed: Vec<DatastoreError>,
}

impl Removed {
    fn one(removed: Result<Option<PathBuf>, DatastoreError>) -> Self {
        match removed {
            Ok(path) => Self { removed: path.into_iter().collect(), ..Self::default() },
            Err(error) => Self { failed: vec![error], ..Self::default() },
        }
    }

    /// Removes a directory of ours beside the target, too.
    pub fn outside(&mut self, dir: OwnDir, parent: &HeldDir, name: &CStr) {
        let path = dir.path().to_owned();
        let also = Self::directory(path, dir.remove(parent, name));
        self.removed.extend(also.removed);
        self.kept.extend(also.kept);
        self.lingering.extend(also.lingering);
        self.failed.extend(also.failed);
    }

    fn directory(path: PathBuf, removal: Removal) -> Self {
        let all = |names: Vec<PathBuf>| names.iter().map(|name| path.join(name)).collect();
        let is_complete = removal.is_complete();
        Self {
            kept: all(removal.kept),
            lingering: all(removal.lingering),
            failed: failures(&path, removal.failed),
            removed: if is_complete { vec![path] } else { Vec::new() },
        }
    }
}

/// Failures inside a directory, as errors.
pub(crate) fn failures(path: &Path, failed: Vec<(PathBuf, Errno)>) -> Vec<DatastoreError> {
    let error = |(name, error)| DatastoreError::io("remove", path.join(name), error);
    failed.into_iter().map(error).collect()
}

/// An open datastore. Dropping it closes everything and removes nothing: what a run leaves
/// behind, [`cleanup`](crate::cleanup()) finds.
#[derive(Debug)]
pub struct Datastore {
    preflight: Preflight,
    backing: Backing,
    disks: Vec<VirtualDisk>,
    /// Names of those of `disks` that an earlier run made.
    adopted: Vec<String>,
    capacity: Bytes,
}

#[derive(Debug)]
enum Backing {
    Directory(DirectoryStore),
    File(FileStore),
    Block(BlockStore),
}

impl Datastore {
    /// Checks the target as [`preflight`] does and claims it: sub-directory and marker, file
    /// and marker, or exclusive use and label. What was checked and what is claimed is the
    /// same object, whatever happens to its name in between.
    pub fn open(target: &Target, needed: Bytes, options: &Options) -> Result<Self, DatastoreError> {
        let mut examination = Examination::new(&target.to_string(), needed);
        check_adoption(target, options, &mut examination);
        let (preflight, backing) = match target {
            Target::Directory(path) => {
                let examined = directory::examine(path, options, &mut examination);
                let preflight = examination.into_result()?;
                let examined = examined.expect("an examination without refusal has its object");
                let store = DirectoryStore::create(examined, needed, options)?;
                (preflight, Backing::Directory(store))
            }
            Target::File(path) => {
                let examined = file_examine::examine(path, options, &mut examination);
                let preflight = examination.into_result()?;
                let examined = examined.expect("an examination without refusal has its object");
                let store = FileStore::open(examined, &preflight, options)?;
                (preflight, Backing::File(store))
            }
            Target::Block(path) => {
                let (preflight, store) = BlockStore::open(path, examination, options)?;
                (preflight, Backing::Block(store))
            }
        };
        let capacity = Bytes::new(preflight.capacity_bytes);
        let mut datastore =
            Self { preflight, backing, disks: Vec::new(), adopted: Vec::new(), capacity };
        let warnings = match &mut datastore.backing {
            Backing::Directory(_) => Vec::new(),
            Backing::File(store) => store.take_warnings(),
            Backing::Block(store) => store.take_warnings(),
        };
        datastore.add_warnings(warnings);
        Ok(datastore)
    }

    /// What was checked; warnings found later (no `O_DIRECT`, no allocation in advance) are
    /// added to its list.
    pub fn preflight(&self) -> &Preflight {
        &self.preflight
    }

    /// What is allowed but worth knowing, from the preflight and since.
    pub fn warnings(&self) -> &[Warning] {
        &self.preflight.warnings
    }

    /// Bytes the datastore may hold in all.
    pub fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// The disks created so far, in the order of their creation.
    pub fn disks(&self) -> &[VirtualDisk] {
        &self.disks
    }

    /// A directory of ours for state beside the disks; only a directory target has one. What is
    /// made in it through this is removed with the rest.
    pub fn state_dir(&self) -> Option<&OwnDir> {
        match &self.backing {
            Backing::Directory(store) => Some(store.state_dir()),
            Backing::File(_) | Backing::Block(_) => None,
        }
    }

    /// Where everything of ours is: the sub-directory, the file or the device.
    pub fn path(&self) -> &Path {
        match &self.backing {
            Backing::Directory(store) => store.path(),
            Backing::File(store) => store.path(),
            Backing::Block(store) => store.path(),
        }
    }

    /// Whether all this was taken over from an earlier run.
    pub fn is_taken_over(&self) -> bool {
        matches!(&self.backing, Backing::Directory(store) if store.is_adopted())
    }

    /// Whether an earlier run made this disk.
    pub fn is_adopted(&self, disk: &str) -> bool {
        self.adopted.iter().any(|name| name == disk)
    }

    /// Whether there is a disk of that name, opened in this run or left by an earlier one.
    pub fn has_disk(&self, disk: &str) -> bool {
        let is_open = self.disks.iter().any(|open| open.name == disk);
        is_open || matches!(&self.backing, Backing::Directory(store) if store.has_disk(disk))
    }

    /// Whether an earlier run has recorded that it wrote all of the disk, with such data. The
    /// seed is not compared. Only a directory keeps such records.
    pub fn is_filled(&self, disk: &VirtualDisk, fill: &Fill) -> bool {
        matches!(&self.backing, Backing::Directory(store) if store.is_filled(disk, fill))
    }

    /// Records that all of a disk is written, once that is durable; the record appears whole or
    /// not at all. Without effect on a file or block target.
    pub fn record_filled(&self, disk: &VirtualDisk, fill: &Fill) -> Result<(), DatastoreError> {
        match &self.backing {
            Backing::Directory(store) => store.record_filled(disk, fill),
            Backing::File(_) | Backing::Block(_) => Ok(()),
        }
    }

    /// Creates the disks that are missing and returns all that were asked for, in that
    /// order. A disk that exists with the same name and size is returned again, or opened if
    /// an earlier run made it. When one
    /// does not fit, those before it stay.
    pub fn provision(
        &mut self,
        requests: &[DiskRequest],
    ) -> Result<Vec<VirtualDisk>, DatastoreError> {
        requests.iter().map(|request| self.provision_one(request)).collect()
    }

    fn provision_one(&mut self, request: &DiskRequest) -> Result<VirtualDisk, DatastoreError> {
        if let Some(disk) = self.disks.iter().find(|disk| disk.name == request.name) {
            if disk.size == request.size {
                return Ok(disk.clone());
            }
            return Err(DatastoreError::SizeChanged {
                disk: request.name.clone(),
                has: disk.size,
                asked: request.size,
            });
        }
        if request.size == Bytes::ZERO || !request.size.get().is_multiple_of(512) {
            return Err(DatastoreError::SizeUnaligned {
                disk: request.name.clone(),
                size: request.size,
                alignment: 512,
            });
        }
        if let Backing::Directory(store) = &self.backing
            && let Some((disk, warnings)) = store.adopt_disk(request)?
        {
            self.add_warnings(warnings);
            self.adopted.push(disk.name.clone());
            self.disks.push(disk.clone());
            return Ok(disk);
        }
        let needed = layout::taken(request.size);
        let available = self.available();
        if needed > available {
            return Err(self.does_not_fit(request, needed, available));
        }
        let (disk, warnings) = match &mut self.backing {
            Backing::Directory(store) => store.create_disk(request)?,
            Backing::File(store) => store.create_disk(request)?,
            Backing::Block(store) => (store.create_disk(request)?, Vec::new()),
        };
        self.add_warnings(warnings);
        self.disks.push(disk.clone());
        Ok(disk)
    }

    fn does_not_fit(
        &self,
        request: &DiskRequest,
        needed: Bytes,
        available: Bytes,
    ) -> DatastoreError {
        DatastoreError::DoesNotFit {
            disk: request.name.clone(),
            target: self.preflight.target.clone(),
            needed,
            available,
            capacity: self.capacity,
        }
    }

    /// Bytes that may still be provisioned now. Others may have filled a file system since
    /// the preflight, so its reserve is looked at again.
    pub fn available(&self) -> Bytes {
        let used = self.disks.iter().map(|disk| layout::taken(disk.size)).sum();
        let planned = self.capacity.saturating_sub(used);
        match &self.backing {
            Backing::Directory(store) => planned.min(store.room()),
            Backing::File(store) => planned.min(store.room()),
            Backing::Block(store) => planned.min(store.room()),
        }
    }

    /// A warning is said once, however many disks it holds for.
    fn add_warnings(&mut self, warnings: Vec<Warning>) {
        for warning in warnings {
            if !self.preflight.warnings.contains(&warning) {
                self.preflight.warnings.push(warning);
            }
        }
    }

    /// As [`Datastore::clear`]; the first thing that could not be removed is the error.
    pub fn remove(self) -> Result<Removed, DatastoreError> {
        let mut removed = self.clear();
        if removed.failed.is_empty() { Ok(removed) } else { Err(removed.failed.remove(0)) }
    }

    /// Closes and removes all that was created: the sub-directory, the file (unless it
    /// existed before), the label. A device that was only read is not touched. What cannot be
    /// removed is told, and keeps nothing else from being removed.
    pub fn clear(self) -> Removed {
        drop(self.disks);
        match self.backing {
            Backing::Directory(store) => {
                let (path, removal) = store.remove();
                Removed::directory(path, removal)
            }
            Backing::File(store) => Removed::one(store.remove()),
            Backing::Block(store) => Removed::one(store.remove()),
        }
    }
}
