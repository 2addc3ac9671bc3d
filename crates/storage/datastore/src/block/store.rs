//! A device that is claimed, labelled and divided.

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

/// An open block device. Exclusive use ends when the store and all its disks are dropped.
#[derive(Debug)]
pub(super) struct BlockStore {
    /// Opened with `O_EXCL` when it is written to; every disk shares it.
    data: Arc<File>,
    /// For the label: through the page cache, because `data` takes aligned buffers only.
    label: Option<File>,
    path: PathBuf,
    access: Access,
    writable: bool,
    /// True once a disk was given out: the middle of the device may hold our data from then on.
    used: bool,
    carver: Carver,
}

impl BlockStore {
    /// Labels a device that is held.
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

    /// Gives out the next free range.
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

    /// All its disks are parts of one, and blocks are shared by whole files.
    fn try_link(&self) -> Result<(), DatastoreError> {
        Err(DatastoreError::no_reflink(self.path()))
    }

    /// A device does not know which disk was where.
    fn remembers(&self) -> Option<&dyn Remembers> {
        None
    }

    /// Erases the label of a device on which no disk was made. Where there was one the label
    /// stays: it is what tells the next run that the data in the middle may be lost.
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
