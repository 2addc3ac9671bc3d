//! Device that is claimed, labelled and divided.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use units::Bytes;

use super::node::Identity;
use crate::direct::{self, Access};
use crate::label::{LABEL_LENGTH, Label, RESERVED};
use crate::layout::Carver;
use crate::mark::Mark;
use crate::object::reopen;
use crate::preflight::{Preflight, Warning};
use crate::removed::Removed;
use crate::store::{Claim, Claimed, Remembers};
use crate::{DatastoreError, DiskRequest, Options, VirtualDisk};

/// Open block device. Exclusive use ends when the store and all its disks are dropped.
#[derive(Debug)]
pub(super) struct BlockStore {
    /// Device, opened with `O_EXCL` if it is written to. All disks share it.
    data: Arc<File>,
    /// Device for writes of the label. It uses the page cache, because `data` takes aligned buffers
    /// only.
    label: Option<File>,
    path: PathBuf,
    access: Access,
    writable: bool,
    /// True once a disk was created: from then on the middle of the device may hold our data.
    used: bool,
    carver: Carver,
}

impl BlockStore {
    /// Labels a device that is open exclusively.
    pub fn claim(
        (node, identity): (&OwnedFd, &Identity),
        (file, claims): (File, Vec<File>),
        (path, preflight, options): (&Path, &Preflight, &Options),
    ) -> Result<Claim, DatastoreError> {
        let label = options
            .write
            .then(|| write_label(node, identity, options))
            .transpose()
            .map_err(|error| DatastoreError::io("label", path, error))?;
        let (mut access, warning) =
            direct::choose(&file, &path.display().to_string(), options.buffered);
        if let Some(facts) = &preflight.device {
            access.alignment = facts.logical_sector_bytes.max(512);
        }
        let store = Self {
            data: Arc::new(file),
            label,
            path: path.to_owned(),
            access,
            writable: options.write,
            used: false,
            carver: Carver::new(RESERVED, RESERVED + preflight.capacity_bytes),
        };
        let mark = Mark::holding(claims);
        Ok(Claim { mark, claimed: Box::new(store), warnings: warning.into_iter().collect() })
    }
}

impl Claimed for BlockStore {
    fn path(&self) -> &Path {
        &self.path
    }

    fn room(&self) -> Bytes {
        self.carver.available()
    }

    /// Creates a disk on the next free range.
    fn create_disk(
        &mut self,
        request: &DiskRequest,
    ) -> Result<(VirtualDisk, Vec<Warning>), DatastoreError> {
        request.check_alignment(self.access.alignment)?;
        let base = self.carver.carve(request.size).ok_or_else(|| DatastoreError::DoesNotFit {
            disk: request.name.clone(),
            target: format!("block:{}", self.path.display()),
            needed: request.size,
            available: self.carver.available(),
            capacity: self.carver.available(),
        })?;
        self.used = true;
        Ok((request.disk(&self.data, base, (self.access, self.writable))?, Vec::new()))
    }

    /// Always fails: all disks are parts of one device, and reflinks share blocks only between
    /// files.
    fn try_link(&self) -> Result<(), DatastoreError> {
        Err(DatastoreError::no_reflink(self.path()))
    }

    /// Returns `None`, because a device does not record which disk was where.
    fn remembers(&self) -> Option<&dyn Remembers> {
        None
    }

    /// Erases the label of a device on which no disk was created. If there was a disk, the label
    /// stays, because it tells the next run that the data in the middle may be destroyed.
    fn remove(self: Box<Self>, mark: Mark) -> Removed {
        let Self { label, used, path, .. } = *self;
        let Some(label) = label.filter(|_| !used) else { return Removed::default() };
        let removed = erase_label(&label)
            .map_err(|error| DatastoreError::io("erase the label of", &path, error))
            .map(|()| Some(path));
        drop(mark);
        Removed::one(removed)
    }
}

fn write_label(node: &OwnedFd, identity: &Identity, options: &Options) -> std::io::Result<File> {
    let file = reopen(node, OFlags::RDWR)?;
    let size = Bytes::new(identity.size);
    file.write_all_at(&Label::new(size, &options.run_id).encode(), 0)?;
    file.sync_data()?;
    Ok(file)
}

/// Erases the label, and nothing else on the device.
pub(super) fn erase_label(file: &File) -> std::io::Result<()> {
    file.write_all_at(&[0; LABEL_LENGTH], 0)?;
    file.sync_data()
}
